"""What a page shows, for comparing it with pages whose URLs differ from its own at one place (families.py)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import numpy as np
import xxhash

from thresher.crawler.core.model import LOOKS_LIKE, OF_SERIES, TOLD_APART, Judgement, Page, Reason, Verdict
from thresher.crawler.native import NATIVE, native

HASH: Final = 5  # bytes
_SAID: Final = 20  # words from which a page with those of another, in another order, is compared by what it names, too
_COPIES: Final = frozenset((Reason.DUPLICATE_CONTENT, Reason.NEAR_REPLICA))


class ShownPage(NamedTuple):
    """What a page shows, for comparing."""

    text: bytes  # hash of its words
    original: bytes  # hash of the key of the page that it is said to copy; else of its own key
    is_copy: bool

    @classmethod
    def of(cls, words: bytes, key: bytes, original: bytes = b"") -> ShownPage:
        """Build it from hashes and keys, cut to the stored lengths.

        Args:
            words: Hash of the page's words.
            key: Key of the page.
            original: Key of the page of which it is said to be a copy, b"" if there is none.
        """
        return cls(words[:HASH], (original or key)[-HASH:], bool(original))


def copy_verdict(judgement: Judgement, judges: Collection[str]) -> Verdict | None:
    """Return the verdict of one of `judges` that a page shows what another has shown, None if there is none."""
    if judgement.is_new:
        return None
    return next((verdict for verdict in judgement.standing if verdict.reason in _COPIES and verdict.filter in judges), None)


def original_of(judgement: Judgement, judges: Collection[str]) -> bytes:
    """Return the key of the page that a page shows once more by the word of one of `judges`, b"" if none says so.

    A replica counts although its host names each of its pages canonical, as most software does: also under menus in another language a text
    has one original for a reader. Not if the two pages belong to a series, such as days, whose template they have in common.
    """
    if (copy := copy_verdict(judgement, judges)) is not None:
        return bytes.fromhex(str(copy.evidence.get("copy_of") or copy.evidence.get("replica_of") or ""))
    for verdict in judgement.standing:
        if TOLD_APART in verdict.evidence and verdict.filter in judges and OF_SERIES not in verdict.evidence:
            return bytes.fromhex(str(verdict.evidence[LOOKS_LIKE]))
    return b""


def words_of(page: Page) -> bytes:
    """Return 5 bytes that are the same for pages of the same words in any order that name the same paths; b"": nothing to compare.

    Of a page of few words, which no other filter calls a copy, the words alone decide. Time: 2 µs, and half of one for each link in Python.
    """
    if not page.tokens.size:
        return page.fingerprint[:HASH]
    words = int(np.add.reduce(page.tokens)).to_bytes(8, "big") + page.tokens.size.to_bytes(4, "big")
    links = page.links if page.tokens.size >= _SAID else ()
    return xxhash.xxh3_64_digest(words + _paths(links))[:HASH]


def _paths(links: Sequence[str]) -> bytes:
    """Return the different paths of canonical URLs, ascending, a line each: orders and views are named by queries."""
    if NATIVE:
        return native.paths(links)
    return "\n".join(sorted({link.partition("?")[0].split("/", 3)[-1] for link in links})).encode()
