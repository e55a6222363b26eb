"""The messages to the filter: an answer to a URL of the crawl, a wish for a canary, an answer to one of the filter's own requests."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from thresher.filters.canary.sighting import TOKEN
from thresher.filters.canary.vocabulary import MOST
from thresher.filters.soft_error.looks import Look

_Key = Annotated[bytes, Meta(min_length=16, max_length=16)]
_Words = Annotated[bytes, Meta(max_length=4 * MOST)]  # u32, each once, ascending
_Token = Annotated[bytes, Meta(max_length=TOKEN)]  # b"": it cannot be used


class Seen(msgspec.Struct, array_like=True, tag=0, frozen=True):
    """One answer to a URL of the crawl."""

    queue: _Key
    key: _Key
    url: str
    token: _Token
    least: Annotated[int, Meta(ge=0, le=1 << 16)]
    via: Annotated[bytes, Meta(max_length=16)] = b""  # key of what redirected to it
    is_kept: bool = False
    look: Look | None = None  # of a page that becomes a candidate
    speaks: Annotated[int, Meta(ge=0, le=2)] = 0  # whether a page uses its host's words: vocabulary.Speech
    words: _Words = b""  # of a page of which its host's words are learned
    shown: Look | None = None  # of a page that shows what another answer has shown
    sample: Look | None = None  # of a page that becomes a sample
    n_links: Annotated[int, Meta(ge=0)] = 0  # of a page

    def __post_init__(self) -> None:
        _check(self.words)


class CanaryRequest(msgspec.Struct, array_like=True, tag=1, frozen=True):
    """A canary is wanted: a decision for good about a host is pending, or it has nothing else to fetch and answers are in doubt."""

    queue: _Key
    is_drained: bool = False


class Found(msgspec.Struct, array_like=True, frozen=True):
    """The answer to a request of this filter."""

    key: bytes
    at: float
    token: bytes
    status: int
    look: Look | None
    told: str
    was_asked: bool  # False: the request may not be made
    words: _Words = b""  # of a page
    n_links: int = 0  # of a page

    def __post_init__(self) -> None:
        _check(self.words)


def _check(words: bytes) -> None:
    if len(words) % 4:
        raise ValueError(f"expected words of 4 bytes, found {len(words)} bytes")
