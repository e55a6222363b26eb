"""One configured filter: its mode, its parts by gate (base.py), its optional capabilities (capabilities.py). The panel holds these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from thresher.crawler.core.model import Mode, Page
from thresher.crawler.core.ports import Memory
from thresher.filters.base import Gate, HeadFilter, LinkFilter, PageFilter, RedirectFilter, StaticFilter
from thresher.filters.capabilities import BackgroundLearner, Concluder, PeerFilter, Prober, RelinkListener
from thresher.filters.evidence.decay import Recent

RejudgeTest = Callable[[bytes, Memory], bool]
Foresight = Callable[[Page, bytes, Memory], None]
OnAgain = Callable[[Sequence[bytes], Memory], None]
_PARTS: Final = {
    Gate.LEARNED: "learned",
    Gate.REDIRECT: "redirect",
    Gate.PAGE: "page",
    Gate.UNREAD: "page",
    Gate.RELINKS: "relinks",
}


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
    concluder: Concluder | None = None  # not together with a `learner`, which uses its findings itself
    peer_filter: PeerFilter | None = None  # used only where there are several agents
    foresee: Foresight | None = None  # (page, key of its host's queue, memory): computes what learning will probably need; changes nothing
    again: RejudgeTest | None = None  # given a URL's key before it is requested: whether `learned` judges it once more
    recent: Callable[[str, Memory], Recent | None] | None = None  # returns the yield of a class's fetches before its URLs were held
    adopts: Callable[[bytes, Any, Memory], bool] | None = None  # (site, finding, memory) → whether the finding would have permanent effects
    on_restored: Callable[[bytes], None] | None = None  # called with a site whose records were restored: drops what is cached of them
    on_again: OnAgain | None = None  # called with the keys of pages that are fetched again, as a wall may have shown them
    voids: bool = False  # it may ask to undo what all other filters learned (filters/evidence/undo.py)
    by_url: Callable[[str], FilterSpec] | None = None  # the filter as overrides make it for a URL; `mode` is then the strongest of all
    shared: Any = None  # cached memory that it must share with its variants under other settings
    learns_late: bool = False  # pages of other sites may be judged before it observes one: it decides about a site by its records alone
    unread: bool = False  # `page` also observes answers whose body was refused: pages that have no text and are not kept

    def of(self, text: str) -> FilterSpec:
        """Return the filter's variant for a canonical URL: it has the same memory and maybe other settings."""
        return self if self.by_url is None else self.by_url(text)

    def mode_of(self, text: str) -> Mode:
        """Return the mode for a canonical URL."""
        return self.mode if self.by_url is None else self.by_url(text).mode

    def part(self, gate: Gate) -> Any:
        """Return the part that learns at a gate."""
        return getattr(self, _PARTS[gate])
