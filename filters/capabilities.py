"""What a filter can do beside judging: notice that links are named again, make requests, study, exchange news with other agents.

Each is optional, and has a field in `FilterSpec` (spec.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any, Final, NamedTuple, Protocol

from thresher.crawler.core.effects import Answer
from thresher.crawler.core.model import CrawlURL, Judgement
from thresher.crawler.core.ports import Memory
from thresher.filters.base import Effects

NOTHING_REDUCED: Final = object()  # in place of `Prober.reduce`'s result: the filter does not get this answer


class StudyAbandonedError(Exception):
    """`BackgroundLearner.gather` failed: there is no study of this site."""


class Relinks(NamedTuple):
    """Links of a judged page to URLs that were known before and are queued or held."""

    source: CrawlURL
    keys: Sequence[bytes]


class RelinkListener(Protocol):
    """A filter that learns which queued or held URLs a page links to again, with the panel's judgement of the page."""

    name: str
    measure_type: type[Any]  # what `measure` returns: a msgspec type, for the journal

    def listens(self, source: CrawlURL, memory: Memory, /) -> bool:
        """Return whether the filter may learn anything from the links of this page. Called for every page."""
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


class Concluder(Protocol):
    """A filter that decides something with permanent effects, for example that a host is a mirror. It asks for that by the effect
    `Conclude`.
    """

    name: str
    finding_type: type[Any]

    def on_finding(self, site: bytes, finding: Any, memory: Memory, /) -> Effects:
        """Learn from a finding, now that the site's hosts are known to be themselves. It may come twice, and be out of date."""
        ...


class BackgroundLearner(Protocol):
    """A filter that computes for longer than the event loop may be blocked. It asks for a computation by the effect `Study`:

    gather (in the loop) → study (pure, in another process) → on_finding (in the loop, in a separate commit)
    """

    name: str
    study: str  # `module:function`, bytes → bytes: the other process imports it
    finding_type: type[Any]  # type of a study's result, which is encoded in msgpack

    def gather(self, site: bytes, memory: Memory, /) -> Iterator[bytes]:
        """Yield a copy of the data to study, in pieces of a few milliseconds' work each: other tasks run between them.

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


def study_at(place: str) -> Callable[[bytes], bytes]:
    """Return the function that a filter names as its study.

    Args:
        place: `module:function`.

    Raises:
        ImportError, AttributeError, ValueError: If there is no such function.
    """
    module, _, function = place.partition(":")
    study: Callable[[bytes], bytes] = attrgetter(function)(import_module(module))
    return study
