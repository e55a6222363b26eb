"""The contract of a filter, the same at every gate.

`measure` is pure and may be slow; its result is written to the journal. What costs too much to take of every subject may be taken later,
from the subject that stands beside its measure and not in the journal: subjects never change, so that it is the same whenever it is taken.
`decide` reads the filter's memory and changes nothing. `observe` is the only mutation, beside what a `Prober` learns from its requests:
it sees the whole panel's judgement, so that a page which any filter dropped teaches no "kept" memory.

Gates, in the order of a URL's journey:

| gate     | subject        | ruling         | asked                                                          |
|----------|----------------|----------------|----------------------------------------------------------------|
| static   | `LinkColumns`        | `Reason`s      | a page's links at a time, before the seen test; no memory, pure, counted only |
| learned  | `LinkBatch`    | `LinkRuling`   | once per new URL, a page's links at a time                     |
| head     | `Head`         | `Reason` or no | when the headers are in; no memory                             |
| redirect | `RedirectPair` | `Verdict`      | when a redirect's end has settled                              |
| page     | `Page`         | `Verdict`      | once per response, after the parse                             |

Laws (tests/filters/test_filter_laws.py holds every registered filter to them): deciding twice gives the same ruling; replaying the
journal into empty memories gives equal memories; a page that any filter dropped teaches no "kept" memory; `observe` mode changes
nothing but recorded verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from thresher.crawler.core.model import (
    Answer,
    CrawlURL,
    Effect,
    Head,
    Hold,
    Judgement,
    LinkBatch,
    Mode,
    Page,
    Reason,
    RedirectPair,
    Verdict,
)
from thresher.crawler.core.ports import Memory
from thresher.filters.evidence.decay import Recent

Effects = tuple[Effect, ...]
NO_EFFECTS: Effects = ()


class Gate(IntEnum):
    """Where a filter is asked. The number stands in the journal."""

    STATIC = 0
    LEARNED = 1
    HEAD = 2
    REDIRECT = 3
    PAGE = 4
    ANSWER = 5  # no gate: what a filter learned from a request of its own
    UNREAD = 6  # no gate: an answer whose body the head gate refused
    STUDY = 7  # no gate: what a filter learned from a study of what it had gathered
    NAMED = 8  # no gate: a page named URLs that wait or are held
    TOLD = 9  # no gate: what the same filter at another agent has found
    TAIL = 10  # no gate: what befell postponed URLs (filters/tail/history.py)


class LinkColumns(NamedTuple):
    """Distinct links in canonical form before the seen test, as columns of one length: subject of the static gate."""

    texts: Sequence[str]
    hosts: Sequence[str]  # scheme and authority of each
    sites: Sequence[str]

    @classmethod
    def of(cls, text: str, host: str, site: str) -> LinkColumns:
        """Make the columns of one URL."""
        return cls((text,), (host,), (site,))


class Naming(NamedTuple):
    """The links of a judged page that were known before, and wait or are held."""

    source: CrawlURL
    keys: Sequence[bytes]


class LinkRuling(msgspec.Struct, frozen=True):
    """What a learned filter refuses of a batch: position → verdict. Everything else passes."""

    refused: Mapping[int, Verdict] = msgspec.field(default_factory=dict)


class LinkJudgement(msgspec.Struct, frozen=True):
    """The whole panel's word on a batch: which links are admitted, and the verdict that refused each of the others."""

    admitted: npt.NDArray[np.bool_]
    refused: Mapping[int, Verdict]


NOTHING_REFUSED = LinkRuling()


class _NothingLearned(tuple[Effect, ...]):
    """No effects; a type of its own, since there is only one empty tuple."""


NOTHING_LEARNED: Effects = _NothingLearned()  # of `observe`: the memory is as it was, the journal need not keep the measure

S = TypeVar("S", contravariant=True)
M = TypeVar("M")
R = TypeVar("R", covariant=True)
J = TypeVar("J", contravariant=True)


class Filter(Protocol[S, M, R, J]):
    """A judgement with a memory, at one gate."""

    name: str
    measure_type: type[Any]  # what `measure` returns: a msgspec type, for the journal; NoneType: nothing is learned from it

    def measure(self, subject: S, /) -> M:
        """Reduce the subject to what deciding and learning need. Pure."""
        ...

    def decide(self, measure: M, memory: Memory, /) -> tuple[R, Effects]:
        """Rule on a subject from today's memory; change nothing."""
        ...

    def observe(self, measure: M, judgement: J, memory: Memory, /) -> Effects:
        """Learn from the panel's judgement: the only place that writes the memory. `NOTHING_LEARNED` if it did not."""
        ...


class SetBack(NamedTuple):
    """A link that a filter sets back until later."""

    at: int  # in the batch
    holder: str
    verdict: Callable[[], Verdict]  # what is said of it by a filter that observes


def set_back(batch: LinkBatch, found: Sequence[SetBack], *, only_says: bool) -> tuple[LinkRuling, Effects]:
    """Hold links of a batch, or only say that they would be."""
    if not found:
        return NOTHING_REFUSED, NO_EFFECTS
    if only_says:
        return LinkRuling({link.at: link.verdict() for link in found}), NO_EFFECTS
    return NOTHING_REFUSED, tuple(Hold(batch.texts[link.at], link.holder) for link in found)


LinkFilter = Filter[LinkBatch, Any, LinkRuling, LinkJudgement]
RedirectFilter = Filter[RedirectPair, Any, Verdict, Judgement]
PageFilter = Filter[Page, Any, Verdict, Judgement]


class StaticFilter(Protocol):
    """A rule on the URL alone."""

    name: str

    def refuses(self, links: LinkColumns, /) -> Mapping[int, Reason]:
        """Return what is refused: position → why. Everything else passes."""
        ...


class HeadFilter(Protocol):
    """A rule on status line and headers."""

    name: str

    def refuses(self, head: Head, /) -> Reason | None: ...


class RelinkListener(Protocol):
    """A filter that hears which waiting or held URLs a page names again, with the panel's judgement of the page."""

    name: str
    measure_type: type[Any]  # what `measure` returns: a msgspec type, for the journal

    def listens(self, source: CrawlURL, memory: Memory, /) -> bool:
        """Return whether it may learn anything from what a page names. Asked of every page."""
        ...

    def measure(self, naming: Naming, /) -> Any:
        """Reduce the naming to what learning needs. Pure."""
        ...

    def observe(self, measure: Any, judgement: Judgement, memory: Memory, /) -> Effects:
        """Learn from it. `NOTHING_LEARNED` if it did not."""
        ...


class Prober(Protocol):
    """A filter that makes requests of its own is told how each ended, and may write its memory then."""

    name: str
    answer_type: type[Any]  # what `reduce` returns: a msgspec type, for the journal

    def reduce(self, answer: Answer, /) -> Any:
        """Reduce the answer to what learning needs. Pure."""
        ...

    def answered(self, reduced: Any, memory: Memory, /) -> Effects:
        """Learn from an answer."""
        ...


class BackgroundLearner(Protocol):
    """A filter that thinks about a site for longer than the loop may wait. A `Study` that it asks for goes this way:

    gather (in the loop) → study (pure, in another process: `crawler/children/studies.py` names it) → found (in the loop, in a commit of its
    own)
    """

    name: str
    finding_type: type[Any]  # what a study's bytes are, in msgpack

    def gather(self, site: bytes, memory: Memory, /) -> Iterator[bytes]:
        """Yield a copy of what is to be studied, in pieces of a few milliseconds' work: the loop goes on between them."""
        ...

    def found(self, site: bytes, finding: Any, memory: Memory, /) -> Effects:
        """Learn from the finding. What has come in meanwhile is in the memory, not in the finding."""
        ...


class PeerFilter(Protocol):
    """A filter that knows of sites which other agents have: it tells their owners (`Tell`), and learns from what it is told.

    Each news is told once, in the order of the teller; what its owner has been told twice must count once all the same, since one fact
    may be found by two.
    """

    name: str
    news_type: Any  # msgspec type, or a union of such, for lanes and journal

    def told(self, news: Any, memory: Memory, /) -> Effects:
        """Learn from the news."""
        ...


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
