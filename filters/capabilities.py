"""What a filter may do beside judging at its gates: hear of links that are named again, make requests, study, know of other agents' sites.

Each is optional, and stands in its own field of a `FilterSpec` (spec.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

from thresher.crawler.core.model import Answer, CrawlURL, Judgement
from thresher.crawler.core.ports import Memory
from thresher.filters.base import Effects


class Naming(NamedTuple):
    """The links of a judged page that were known before, and wait or are held."""

    source: CrawlURL
    keys: Sequence[bytes]


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

    gather (in the loop) → study (pure, in another process) → found (in the loop, in a commit of its own)
    """

    name: str
    study: str  # `module:function`, bytes → bytes: the other process imports it
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


def study_at(place: str) -> Callable[[bytes], bytes]:
    """Return the function that a filter names as its study.

    Args:
        place: `module:function`.

    Raises:
        ImportError, AttributeError, ValueError: There is no such function.
    """
    module, _, function = place.partition(":")
    study: Callable[[bytes], bytes] = attrgetter(function)(import_module(module))
    return study
