"""The contract of a filter, the same at every gate.

`measure` is pure and may be slow; its result is written to the journal. A value that is too expensive to compute for every subject may be
computed when it is first read: the measure keeps a reference to its subject, which is not written to the journal. Subjects never change, so
the value does not depend on when it is computed. `decide` reads the filter's memory and changes nothing. Only `observe` and the handlers
`on_answer`, `on_finding` and `on_news` change the memory. `observe` is given the whole panel's judgement, so that a page which any filter
dropped teaches no "kept" memory.

Gates, in the order of a URL's journey:

| gate     | subject        | ruling         | asked                                                          |
|----------|----------------|----------------|----------------------------------------------------------------|
| static   | `LinkColumns`  | `Reason`s      | a page's links at a time, before the seen test; no memory, pure, counted only |
| learned  | `LinkBatch`    | `LinkRuling`   | once per new URL, a page's links at a time                     |
| head     | `Head`         | `Reason` or no | when the headers have arrived; no memory                       |
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
    RELINKS = 8  # no gate: a page links to known URLs that are queued or held
    NEWS = 9  # no gate: what the same filter at another agent has found
    TAIL = 10  # no gate: what befell held URLs (filters/tail/history.py)


class LinkColumns(NamedTuple):
    """Distinct links in canonical form before the seen test, as columns of one length: subject of the static gate."""

    texts: Sequence[str]
    hosts: Sequence[str]  # scheme and authority of each
    sites: Sequence[str]

    @classmethod
    def of(cls, text: str, host: str, site: str) -> LinkColumns:
        """Make the columns of one URL."""
        return cls((text,), (host,), (site,))


class Relinks(NamedTuple):
    """Links of a judged page to URLs that were known before and are queued or held."""

    source: CrawlURL
    keys: Sequence[bytes]


class LinkRuling(msgspec.Struct, frozen=True):
    """What a learned filter refuses of a batch: position → verdict. Everything else passes."""

    refused: Mapping[int, Verdict] = msgspec.field(default_factory=dict)


class LinkJudgement(msgspec.Struct, frozen=True):
    """The whole panel's judgement of a batch: which links are admitted, and the verdict that refused each of the others."""

    admitted: npt.NDArray[np.bool_]
    refused: Mapping[int, Verdict]


NOTHING_REFUSED = LinkRuling()


class _NothingLearned(tuple[Effect, ...]):
    """No effects; a type of its own, since there is only one empty tuple."""

    __slots__ = ()


NOTHING_LEARNED: Effects = _NothingLearned()  # `observe` returns it if the memory did not change: the journal then skips the measure

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


class HeldLink(NamedTuple):
    """A link that a learned filter holds in a class of its host."""

    at: int  # position in the batch
    holder: str  # name of the class
    verdict: Callable[[], Verdict]  # recorded in place of the hold when the filter only observes


def hold_links(batch: LinkBatch, links: Sequence[HeldLink], *, only_observes: bool) -> tuple[LinkRuling, Effects]:
    """Hold links of a batch.

    Args:
        batch: The new links of one page.
        links: Those of them that are to be held.
        only_observes: Whether the filter's mode is `observe`. The links are then not held; the verdicts say that they would be.

    Returns:
        The ruling and the effects that `decide` of a learned filter returns.
    """
    if not links:
        return NOTHING_REFUSED, NO_EFFECTS
    if only_observes:
        return LinkRuling({link.at: link.verdict() for link in links}), NO_EFFECTS
    return NOTHING_REFUSED, tuple(Hold(batch.texts[link.at], link.holder) for link in links)


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
    """A filter that learns which queued or held URLs a page links to again, with the panel's judgement of the page."""

    name: str
    measure_type: type[Any]  # what `measure` returns: a msgspec type, for the journal

    def listens(self, source: CrawlURL, memory: Memory, /) -> bool:
        """Return whether the filter may learn anything from the links of this page. Asked of every page."""
        ...

    def measure(self, relinks: Relinks, /) -> Any:
        """Reduce the links to what learning needs. Pure."""
        ...

    def observe(self, measure: Any, judgement: Judgement, memory: Memory, /) -> Effects:
        """Learn from the links. `NOTHING_LEARNED` if the memory did not change."""
        ...


class Prober(Protocol):
    """A filter that makes requests of its own: it is called when each has ended, and may write its memory then."""

    name: str
    answer_type: type[Any]  # what `reduce` returns: a msgspec type, for the journal

    def reduce(self, answer: Answer, /) -> Any:
        """Reduce the answer to what learning needs. Pure."""
        ...

    def on_answer(self, reduced: Any, memory: Memory, /) -> Effects:
        """Learn from an answer, as `reduce` returned it."""
        ...


class BackgroundLearner(Protocol):
    """A filter that computes for longer than the event loop may be blocked. It asks for a computation by the effect `Study`:

    gather (in the loop) → study (pure, in another process: `crawler/children/studies.py` names it) → on_finding (in the loop, in a commit
    of its own)
    """

    name: str
    finding_type: type[Any]  # type of a study's result, which is encoded in msgpack

    def gather(self, site: bytes, memory: Memory, /) -> Iterator[bytes]:
        """Yield a copy of what is to be studied, in pieces of a few milliseconds' work each: other tasks run between them.

        Args:
            site: First 8 bytes of the keys of the site's URLs.
            memory: The filter's memory.
        """
        ...

    def on_finding(self, site: bytes, finding: Any, memory: Memory, /) -> Effects:
        """Learn from the finding.

        What the filter has observed since `gather` is in the memory, but not in the finding.

        Args:
            site: First 8 bytes of the keys of the site's URLs.
            finding: The result of the study, a `finding_type`.
            memory: The filter's memory.
        """
        ...


class PeerFilter(Protocol):
    """A filter that learns facts about sites of other agents: it sends them to the site's owner (`Tell`), where `on_news` is called.

    Each message is delivered once, in the order in which its sender sent it. Two agents may find the same fact, though: a fact that arrives
    twice must count once.
    """

    name: str
    news_type: Any  # a msgspec type, or a union of such types, for channels and journal

    def on_news(self, news: Any, memory: Memory, /) -> Effects:
        """Learn from a message of the same filter at another agent."""
        ...


Again = Callable[[bytes, Memory], bool]


def always(_key: bytes, _memory: Memory, /) -> bool:
    """Return True: every URL is judged again when its turn comes."""
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
    peer_filter: PeerFilter | None = None  # used only where there are several agents
    again: Again | None = None  # given a URL's key when its turn comes: does `learned` judge it again? A URL that it holds is not fetched
    recent: Callable[[str, Memory], Recent | None] | None = None  # what the fetches of a class came to before the class existed
    unread: bool = False  # `page` also observes answers whose body the head gate refused, as pages without text that are not kept

    def parts(self) -> Sequence[tuple[Gate, Any]]:
        """Return the parts that learn, with their gates."""
        parts = ((Gate.LEARNED, self.learned), (Gate.REDIRECT, self.redirect), (Gate.PAGE, self.page))
        return [(gate, part) for gate, part in parts if part is not None]
