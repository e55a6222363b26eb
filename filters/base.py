"""The contract of a filter, the same at every gate. What else a filter can do: capabilities.py; how its parts are put together: spec.py.

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
| redirect | `RedirectPair` | `Verdict`      | when the last page of a chain of redirects is settled          |
| page     | `Page`         | `Verdict`      | once per response, after the parse                             |

Laws (tests/filters/test_filter_laws.py holds every registered filter to them): deciding twice gives the same ruling; replaying the
journal into empty memories gives equal memories; a page that any filter dropped teaches no "kept" memory; `observe` mode changes
nothing but recorded verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from thresher.crawler.core.effects import Effect, Hold
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Head, Judgement, Page, Reason, RedirectPair, Verdict
from thresher.crawler.core.ports import Memory

Effects = tuple[Effect, ...]
NO_EFFECTS: Effects = ()


class Gate(IntEnum):
    """Where a filter is asked. The number is written to the journal."""

    STATIC = 0
    LEARNED = 1
    HEAD = 2
    REDIRECT = 3
    PAGE = 4
    ANSWER = 5  # no gate: what a filter learned from its own request
    UNREAD = 6  # no gate: an answer whose body the head gate refused
    STUDY = 7  # no gate: what a filter learned from a study of what it had gathered
    RELINKS = 8  # no gate: a page links to known URLs that are queued or held
    NEWS = 9  # no gate: what the same filter at another agent has found
    VOID = 10  # no gate: a wall has answered: what was learned about a site since then is no evidence
    TAIL = 11  # no gate: events of held URLs (filters/tail/history.py)
    BELIEVED = 12  # no gate: a site's hosts are known to be themselves, not behind a wall
    ARRIVED = 13  # no gate: sites came from another agent, with what was known of them (storage/tables/journal.py)
    DEPARTED = 14  # no gate: sites went to another agent
    AGAIN = 15  # no gate: pages are fetched again, since a wall may have answered in their place


class LinkColumns(NamedTuple):
    """Distinct links in canonical form before the seen test, as columns of one length: subject of the static gate."""

    texts: Sequence[str]
    hosts: Sequence[str]  # scheme and authority of each
    sites: Sequence[str]

    @classmethod
    def of(cls, text: str, host: str, site: str) -> LinkColumns:
        """Make the columns of one URL."""
        return cls((text,), (host,), (site,))


class LinkRuling(msgspec.Struct, frozen=True):
    """The links of a batch that a learned filter refuses: position → verdict. All others pass."""

    refused: Mapping[int, Verdict] = msgspec.field(default_factory=dict)


class LinkJudgement(msgspec.Struct, frozen=True):
    """The whole panel's judgement of a batch: the links that are admitted, and for each of the others the verdict that refused it."""

    admitted: npt.NDArray[np.bool_]
    refused: Mapping[int, Verdict]


NOTHING_REFUSED = LinkRuling()


class _NothingLearned(tuple[Effect, ...]):
    """No effects. A separate type, because one empty tuple cannot be distinguished from another."""

    __slots__ = ()


NOTHING_LEARNED: Effects = _NothingLearned()  # `observe` returns it if the memory did not change: the journal then skips the measure

S = TypeVar("S", contravariant=True)
M = TypeVar("M")
R = TypeVar("R", covariant=True)
J = TypeVar("J", contravariant=True)


class Filter(Protocol[S, M, R, J]):
    """A judgement with a memory, at one gate."""

    name: str
    measure_type: type[Any]  # what `measure` returns: a msgspec type, for the journal; NoneType: nothing is learned, `observe` not called

    def measure(self, subject: S, /) -> M:
        """Reduce the subject to what deciding and learning need. Pure."""
        ...

    def decide(self, measure: M, memory: Memory, /) -> tuple[R, Effects]:
        """Rule on a subject from what the memory holds now; change nothing."""
        ...

    def observe(self, measure: M, judgement: J, memory: Memory, /) -> Effects:
        """Learn from the panel's judgement. Only this method writes the memory; it returns `NOTHING_LEARNED` if it did not."""
        ...


class HeldLink(NamedTuple):
    """A link that a learned filter holds in a class of its host."""

    at: int  # position in the batch
    holder: str  # name of the class; its first word is the filter's name ("draft section 3"), which is put there for plug-ins
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
        """Return the refused links: position → reason. All others pass."""
        ...


class HeadFilter(Protocol):
    """A rule on status line and headers."""

    name: str

    def refuses(self, head: Head, /) -> Reason | None: ...
