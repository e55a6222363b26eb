"""One configured filter: its mode, its parts by gate (base.py), and what else it can do (capabilities.py). The panel is made of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from thresher.crawler.core.model import Mode
from thresher.crawler.core.ports import Memory
from thresher.filters.base import Gate, HeadFilter, LinkFilter, PageFilter, RedirectFilter, StaticFilter
from thresher.filters.capabilities import BackgroundLearner, PeerFilter, Prober, RelinkListener
from thresher.filters.evidence.decay import Recent

Again = Callable[[bytes, Memory], bool]


def always(_key: bytes, _memory: Memory, /) -> bool:
    """Have every URL judged again when its turn comes."""
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
    hears: RelinkListener | None = None
    prober: Prober | None = None
    learner: BackgroundLearner | None = None
    peer_filter: PeerFilter | None = None  # only where there are several agents
    again: Again | None = None  # told by a URL's key when its turn comes: is `learned` to judge it again? What it holds is not fetched
    recent: Callable[[str, Memory], Recent | None] | None = (
        None  # what a holder's fetches came to before its class was opened: asked right then
    )
    unread: bool = False  # `page` observes, too, what the head gate refused: a page without text that is not kept

    def parts(self) -> Sequence[tuple[Gate, Any]]:
        """Return the parts that learn, with their gates."""
        parts = ((Gate.LEARNED, self.learned), (Gate.REDIRECT, self.redirect), (Gate.PAGE, self.page))
        return [(gate, part) for gate, part in parts if part is not None]
