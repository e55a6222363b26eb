"""One configured filter: its mode, its parts by gate (base.py), its optional capabilities (capabilities.py). The panel holds these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from thresher.crawler.core.model import Mode
from thresher.crawler.core.ports import Memory
from thresher.filters.base import Gate, HeadFilter, LinkFilter, PageFilter, RedirectFilter, StaticFilter
from thresher.filters.capabilities import BackgroundLearner, Concluder, PeerFilter, Prober, RelinkListener
from thresher.filters.evidence.decay import Recent

Again = Callable[[bytes, Memory], bool]


def always(_key: bytes, _memory: Memory, /) -> bool:
    """Return True: every URL is judged again just before it is requested."""
    return True


class FilterSpec(msgspec.Struct, frozen=True):
    """One configured filter: its mode and its parts by gate."""

    name: str
    mode: Mode
    static: StaticFilter | None = None
    learned: LinkFilter | None = None
    head: HeadFilter | None = None
    redirect: RedirectFilter | None = None
    page: PageFilter | None = None
    relinks: RelinkListener | None = None
    prober: Prober | None = None
    learner: BackgroundLearner | None = None
    concluder: Concluder | None = None  # not beside a `learner`, which takes its findings up itself
    peer_filter: PeerFilter | None = None  # used only where there are several agents
    again: Again | None = None  # given a URL's key before it is requested: whether `learned` judges it once more
    recent: Callable[[str, Memory], Recent | None] | None = None  # what the fetches of a class gave before its URLs were held
    adopts: Callable[[bytes, Any, Memory], bool] | None = None  # given a site and a study's finding: whether that decides anything for good
    stale: Callable[[bytes], None] | None = None  # given a site whose records have gone back: drop what is kept of them
    voids: bool = False  # it may find that what all others have learned is no evidence (filters/evidence/undo.py)
    by_url: Callable[[str], Mode] | None = None  # the mode by URL, if overrides name the filter; `mode` is then the strongest of all
    unread: bool = False  # `page` also observes answers whose body was refused: pages that have no text and are not kept

    def mode_of(self, text: str) -> Mode:
        """Return the mode for a canonical URL."""
        return self.mode if self.by_url is None else self.by_url(text)

    def parts(self) -> Sequence[tuple[Gate, Any]]:
        """Return the parts that learn, each with its gate."""
        parts = ((Gate.LEARNED, self.learned), (Gate.REDIRECT, self.redirect), (Gate.PAGE, self.page))
        return [(gate, part) for gate, part in parts if part is not None]
