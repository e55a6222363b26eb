"""What each filter saved and lost in a crawl: the crawl is replayed with all of them, without each, and without any.

A replay is a crawl of what was recorded (replayed_crawl.py) with the real filters and empty memories. A filter is judged by the difference
between the replay without it and the one with all filters: the requests that it saves, the documents that are lost, and those that are
found later. A document is a text, by its digest. A document that is not found counts as a near copy if a page that resembles it is found.

If the crawl never fetched a URL, its answer is not known: a replay that requests it counts the request and learns nothing. So if filters
were on in the crawl, the requests that a filter saves are counted, but not the documents behind them. Gates that refuse by the form of a
URL (scope, media, danger) left nothing to replay. Requests of filters (probes, validations) are not made again: the filter gets the answer
from the journal.

Memory: the graph (recorded_store.py), and the memories of one replay. Time: some 1 ms an answer and replay.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from thresher.config.settings import Settings
from thresher.crawler.analysis.filter_clock import clocked
from thresher.crawler.analysis.recorded_graph import is_document
from thresher.crawler.analysis.recorded_store import Recorded
from thresher.crawler.analysis.replayed_crawl import ReplayedCrawl, Result
from thresher.crawler.analysis.replayed_panel import ReplayedPanel
from thresher.crawler.core.minhash import minhash
from thresher.crawler.core.model import U64, Mode
from thresher.crawler.core.url import URLSpace
from thresher.crawler.settlement.tail import policy_of
from thresher.filters.registry import specs
from thresher.filters.spec import FilterSpec

ALL, NONE = "all", "none"
NEAR = 0.9  # share of minima that a near copy has in common
_SLOTS, _SHINGLE = 128, 5
_HALF = 2
_PARTS = ("learned", "redirect", "page", "relinks")


@dataclass
class FilterReplay:
    """One replay: with all filters, with none, or without one."""

    name: str
    result: Result
    cpu_s: dict[str, float]  # filter → CPU seconds of its own steps

    @property
    def n_requests(self) -> int:
        return len(self.result.texts) + len(self.result.unknown)

    def places(self) -> dict[str, int]:
        """Return after how many requests each document was found."""
        return {text: n for n, text in enumerate(self.result.texts, 1) if is_document(text)}


class Worth(msgspec.Struct, kw_only=True):
    """The figures of one filter, or of all of them together."""

    filter: str
    requests: int  # of the replay with it
    requests_without: int
    saved: int
    unknown: int  # of the requests without it: URLs whose answers are not known
    lost: int  # documents that are found without it and not with it; near copies are not counted
    near: int  # documents that are found without it, and with it only a near copy
    late: int  # documents that come in the first half of the requests without it, and in the second half with it
    unkept: int  # documents that are found and dropped with every page that shows them
    classes: int  # classes of held URLs that are not used up at the end
    left: int  # URLs that are left in them
    cpu_us: float  # µs of its own steps per request


@dataclass
class JudgedCrawl:
    """All replays of a crawl."""

    recorded: Recorded
    replays: dict[str, FilterReplay] = field(default_factory=dict)

    def worths(self) -> Iterator[Worth]:
        """Yield the figures of all filters together, then of each."""
        for name, replay in self.replays.items():
            if name != ALL:
                yield self._worth(name, replay)

    def _worth(self, name: str, without: FilterReplay) -> Worth:
        whole = self.replays[ALL]
        mine = [of for of in whole.result.left if name in (NONE, of.partition(" ")[0])]
        places, before = whole.places(), without.places()
        missing = [text for text in before if text not in places]
        n_near = self._n_near(missing, places)
        half = without.n_requests / _HALF
        cpu_s = sum(whole.cpu_s.values()) if name == NONE else whole.cpu_s.get(name, 0.0)
        return Worth(
            filter=ALL if name == NONE else name,
            requests=whole.n_requests,
            requests_without=without.n_requests,
            saved=without.n_requests - whole.n_requests,
            unknown=len(without.result.unknown),
            lost=len(missing) - n_near,
            near=n_near,
            late=sum(n <= half < places[text] for text, n in before.items() if text in places),
            unkept=len(whole.result.unkept - without.result.unkept),
            classes=len(mine),
            left=sum(whole.result.left[of] for of in mine),
            cpu_us=round(1e6 * cpu_s / max(1, whole.n_requests), 1),
        )

    def _n_near(self, missing: Sequence[str], found: dict[str, int]) -> int:
        """Return how many missing texts resemble one that was found."""
        if not missing:
            return 0
        tokens = self._tokens()
        sketches = np.array([_sketch(tokens[text]) for text in found if text in tokens])
        if not len(sketches):
            return 0
        shares = [(sketches == _sketch(tokens[text])).mean(axis=1).max() for text in missing if text in tokens]
        return sum(share >= NEAR for share in shares)

    def _tokens(self) -> dict[str, U64]:
        graph = self.recorded.graph
        return {graph.texts[number]: page.tokens for number, page in graph.pages.items() if graph.texts[number] and page.tokens.size}


def replays_of(settings: Settings) -> list[str]:
    """Return the names of a crawl's replays: with all filters, without any, without each that learns and enforces."""
    return [ALL, NONE, *(spec.name for spec in specs(settings, settings.seeds) if learns(spec))]


def judge(
    recorded: Recorded,
    settings: Settings,
    space: URLSpace,
    *,
    on_begin: Callable[[str], None] = lambda _name: None,
    progress: Callable[[int], None] = lambda _n: None,
) -> JudgedCrawl:
    """Replay a crawl.

    Args:
        recorded: Its answers.
        settings: The settings of the replays.
        space: The form of URLs.
        on_begin: Called with the name of each replay before it begins.
        progress: Called with 1 after each request.
    """
    judged = JudgedCrawl(recorded)
    for name in replays_of(settings):
        on_begin(name)
        judged.replays[name] = _replay(recorded, settings, space, name, progress)
    return judged


def _replay(recorded: Recorded, settings: Settings, space: URLSpace, name: str, progress: Callable[[int], None]) -> FilterReplay:
    of = settings.filters
    wanted = [spec for spec in specs(_without(settings, name), settings.seeds) if learns(spec)]
    spent: Counter[str] = Counter()
    panel = ReplayedPanel(recorded.graph, [clocked(spec, spent) for spec in wanted], space, audit_share=of.audit_share)
    policy = policy_of(of.tail_yield, of.tail_share, of.audit_share)
    crawl = ReplayedCrawl(recorded.graph, policy, filters=panel, trusts_filters=True, progress=progress)
    result = crawl.run()
    cpu_s: defaultdict[str, float] = defaultdict(float)
    for step, ns in spent.items():
        cpu_s[step.partition(" ")[0]] += ns / 1e9
    return FilterReplay(name, result, dict(cpu_s))


def learns(spec: FilterSpec) -> bool:
    """Return whether a filter can be replayed: it enforces, and has more than a rule on URLs or heads."""
    return spec.mode is Mode.ENFORCE and any(getattr(spec, part) is not None for part in _PARTS)


def _without(settings: Settings, name: str) -> Settings:
    """Return the settings without the filter `name`, or without any filter. Other filters learn nothing from the verdicts of a left-out
    one.
    """
    of = settings.filters
    off = {
        each: msgspec.structs.replace(getattr(of, each), mode="off")
        for each in of.__struct_fields__
        if hasattr(getattr(of, each), "mode") and name in (NONE, each)
    }
    overrides = [
        msgspec.structs.replace(one, options={key: value for key, value in one.options.items() if not _is_of(key, off)})
        for one in settings.overrides
    ]
    return msgspec.structs.replace(settings, filters=msgspec.structs.replace(of, **off), overrides=overrides)


def _is_of(key: str, filters: Collection[str]) -> bool:
    """Return whether an option belongs to one of `filters`."""
    section, _, name = key.partition(".")
    return section == "filters" and name.partition(".")[0] in filters


def _sketch(tokens: U64) -> U64:
    return minhash(tokens, _SLOTS, _SHINGLE)
