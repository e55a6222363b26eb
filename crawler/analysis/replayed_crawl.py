"""A simulated crawl of a recorded graph, one request at a time, with the real filters and the real rules for held URLs (filters/tail).

A page was worth its request if its text is new or, as in a crawl, if the filters say so (`trusts_filters`). The request of a URL without a
recorded answer is counted, and nothing is learned from it.

The frontier here is breadth-first within a host. Whether other hosts have fresh URLs is known as of the last round, as agents learn it from
each other by messages.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from thresher.crawler.analysis.recorded_graph import RecordedGraph, is_document
from thresher.crawler.analysis.replayed_panel import JudgedAnswer, ReplayedPanel
from thresher.crawler.core.effects import Effect, Release, ReleaseURL
from thresher.crawler.core.url import origin_of
from thresher.crawler.settlement.tail import lineage
from thresher.filters.evidence.audits import draw_order
from thresher.filters.evidence.decay import Recent
from thresher.filters.pattern_yield.patterns import shape_of
from thresher.filters.tail.membership import (
    Membership,
    Source,
    SourceOutcome,
    drop,
    join,
    keeps,
    leave,
    membership,
    refill,
    refills,
    releases,
)
from thresher.filters.tail.records import Draw, HostTail, TailClass, TailPolicy, new_class
from thresher.filters.tail.serve import HostCrawl, Promotion, TailEnd, audits, may_serve, promote, settle

_NOTHING = Draw("", 0)


@dataclass
class Result:
    """What a simulated crawl requested and found."""

    texts: list[str] = field(default_factory=list)  # text of each request in order; "" if it had none, or a known one
    asked: list[tuple[int, bool]] = field(default_factory=list)  # (URL, whether it was drawn from a class), in order
    left: dict[str, int] = field(default_factory=dict)  # class → number of URLs that were not fetched
    struck: set[str] = field(default_factory=set)  # texts whose URLs were requested during an outage
    unknown: set[int] = field(default_factory=set)  # requested URLs whose answers were never recorded
    n_own: int = 0  # requests that filters asked for
    unkept: set[str] = field(default_factory=set)  # texts of which every page was dropped by filters
    ends: dict[str, TailEnd] = field(default_factory=dict)  # host → why no more of its tail was fetched

    @property
    def documents(self) -> set[str]:
        """The texts that were found."""
        return {text for text in self.texts if is_document(text)}

    def found(self, n: int) -> int:
        """Return the documents found by the first n requests."""
        return sum(map(is_document, self.texts[:n]))


class HostOpinions(Protocol):
    """Opinions about URLs of one host, beside those of the filters."""

    has_lineage: bool  # URLs to which only held pages link are held, too

    def on_url(self, url: str) -> None: ...

    def learn(self, url: str, text: str, *, is_good: bool) -> None: ...

    def holder(self, url: str) -> str: ...

    def copies(self, url: str) -> str: ...

    def lineage(self, holder: str, url: str) -> str: ...

    def recent(self, holder: str) -> Recent: ...


class NoOpinions:
    """No opinions: only filters hold URLs. Classes of links from held pages have their names as in a crawl."""

    has_lineage = True

    def on_url(self, url: str) -> None:
        """Learn nothing."""

    def learn(self, url: str, text: str, *, is_good: bool) -> None:
        """Learn nothing."""

    def holder(self, url: str) -> str:
        return ""

    def copies(self, url: str) -> str:
        return ""

    def lineage(self, holder: str, url: str) -> str:
        return lineage(holder, shape_of(url, origin_of(url)))

    def recent(self, holder: str) -> Recent:
        return Recent()


@dataclass
class HeldPlace:
    """Where a held URL waits."""

    of: Membership
    cohort: int
    order: bytes


class ReplayedHost:
    """One host's queue: fresh URLs, promoted ones, classes."""

    def __init__(self, name: str, opinions: HostOpinions) -> None:
        self.name = name
        self.fresh: deque[int] = deque()
        self.promoted: deque[tuple[int, Draw]] = deque()
        self.audits: deque[tuple[int, Draw]] = deque()
        self.tail = HostTail()
        self.classes: dict[str, TailClass] = {}
        self.members: dict[tuple[str, int], list[tuple[bytes, int]]] = {}
        self.dropped: dict[tuple[str, int], list[tuple[bytes, int]]] = {}  # URLs that are counted, not stored
        self.waiting: dict[int, HeldPlace] = {}
        self.opinions = opinions
        self.end: TailEnd | None = None


class ReplayedCrawl:
    """One simulated crawl."""

    def __init__(
        self,
        graph: RecordedGraph,
        policy: TailPolicy,
        opinions: Callable[[], HostOpinions] = NoOpinions,
        *,
        secret: bytes = b"1",
        max_pages: int = 0,
        filters: ReplayedPanel | None = None,
        trusts_filters: bool = False,
        progress: Callable[[int], None] = lambda _n: None,
    ) -> None:
        """Create a simulated crawl.

        Args:
            opinions: Makes the opinions of a host, beside those of `filters`.
            max_pages: Most pages of the whole crawl; 0: no limit.
            progress: Called with 1 after each request.
        """
        self._filters = filters
        self._graph, self._policy, self._opinions, self._secret, self._max_pages = graph, policy, opinions, secret, max_pages
        self._trusts_filters = trusts_filters
        self._progress = progress
        self._hosts: dict[str, ReplayedHost] = {}
        self._seen: set[int] = set()
        self._done: set[int] = set()
        self._texts: set[str] = set()
        self._kept: set[str] = set()
        self.result = Result()

    def run(self) -> Result:
        """Crawl until nothing may be fetched."""
        for root in self._graph.roots:
            self._admit(root, Source(SourceOutcome.NEW))
        while not self._is_over():
            was = len(self.result.texts) + len(self.result.unknown)
            others = {name for name, host in self._hosts.items() if host.fresh and name not in self._graph.parked}
            for host in list(self._hosts.values()):
                if not self._is_over():
                    self._serve(host, others_fresh=bool(others - {host.name}))
            if len(self.result.texts) + len(self.result.unknown) == was and not others:
                break  # all fresh URLs of these hosts may have been left out: then the next round serves tails
        for host in self._hosts.values():
            self.result.left |= {of.holder: of.left for of in host.classes.values() if of.left}
            if host.end is not None:
                self.result.ends[host.name] = host.end
        return self.result

    def _is_over(self) -> bool:
        return bool(self._max_pages) and len(self.result.texts) >= self._max_pages

    def _serve(self, host: ReplayedHost, *, others_fresh: bool) -> None:
        if host.name in self._graph.parked:
            return
        if host.audits:
            self._fetch(host, *host.audits.popleft())
            return
        while host.fresh:
            number = host.fresh.popleft()
            if self._is_skipped(host, number):
                continue
            self._fetch(host, number, _NOTHING)
            return
        state = HostCrawl(has_due=False, backs_off=False, is_budgeted=bool(self._max_pages), others_fresh=others_fresh)
        if not may_serve(state):
            return
        if not host.promoted:
            self._refill(host)
            answer = promote(host.tail, [host.classes[name] for name in sorted(host.classes)], self._policy)
            host.end = answer if isinstance(answer, TailEnd) else None
            if isinstance(answer, Promotion):
                host.promoted.extend(self._draw(host, answer))
        if host.promoted:
            self._fetch(host, *host.promoted.popleft())

    def _is_skipped(self, host: ReplayedHost, number: int) -> bool:
        """Return whether a URL whose turn has come is not requested: it is held, refused, or an alias of another."""
        ruling = self._filters.turn(number) if self._filters is not None else None
        holder = (ruling.holder if ruling is not None else "") or host.opinions.holder(self._graph.urls[number])
        if holder:
            self._hold(host, number, Membership(holder, is_inherited=False))
        elif ruling is not None and ruling.alias is not None:
            self._admit(ruling.alias, Source(SourceOutcome.NEW))
        return bool(holder) or (ruling is not None and (ruling.is_refused or ruling.alias is not None))

    def _store(self, host: ReplayedHost, of: TailClass, cohort: int, member: tuple[bytes, int]) -> None:
        """Store a member if it is among the first of its cohort. Otherwise only count it, or the member that it replaces."""
        members = host.members.setdefault((of.holder, cohort), [])
        last = members[-1][0] if members else b""
        if not keeps(member[0], n_stored=len(members), last=last, cap=self._policy.cap):
            self._count(host, of, cohort, member)
            return
        if len(members) >= self._policy.cap:
            self._count(host, of, cohort, members.pop())
        insort(members, member)

    def _count(self, host: ReplayedHost, of: TailClass, cohort: int, member: tuple[bytes, int]) -> None:
        drop(of, cohort)
        host.dropped.setdefault((of.holder, cohort), []).append(member)

    def _refill(self, host: ReplayedHost) -> None:
        """Find again the URLs that were only counted. The simulation remembers them; a crawl reads them from the links of stored pages."""
        for of in host.classes.values():
            for cohort in refills(of):
                dropped = sorted(host.dropped[of.holder, cohort])
                again, host.dropped[of.holder, cohort] = dropped[: self._policy.cap], dropped[self._policy.cap :]
                host.members[of.holder, cohort].extend(again)
                refill(of, cohort, len(again))

    def _draw(self, host: ReplayedHost, of: Promotion) -> list[tuple[int, Draw]]:
        members = host.members[of.draw.holder, of.draw.cohort]
        drawn, members[: of.n] = members[: of.n], []
        for _, number in drawn:
            host.waiting.pop(number)
        return [(number, of.draw) for _, number in drawn]

    def _fetch(self, host: ReplayedHost, number: int, draw: Draw) -> None:
        self._progress(1)
        self.result.asked.append((number, bool(draw.holder)))
        if not self._graph.is_known(number):
            self._ask_in_vain(host, number, draw)
            return
        graph, at = self._graph, len(self.result.texts)
        is_out = graph.outage[0] <= at < graph.outage[1]
        text, links = ("outage", ()) if is_out else (graph.texts[number], graph.links[number])
        if is_out:
            self.result.struck.add(graph.texts[number])
        is_new = bool(text) and text not in self._texts
        self.result.texts.append(text if is_new else "")
        self._done.add(number)
        judged = self._judge(number, text, links)
        self._note_kept(text, judged, is_new=is_new)
        is_good = judged.is_good if self._trusts_filters and judged is not None else is_new
        host.opinions.learn(graph.urls[number], text, is_good=is_good)
        if draw.holder:
            is_alike = is_good and judged is not None and judged.is_alike
            settle(host.tail, host.classes[draw.holder], draw, is_good, policy=self._policy, is_alike=is_alike)
            if host.classes[draw.holder].is_freed:
                self._release(host, [held for held, waits in host.waiting.items() if waits.of.holder == draw.holder])
        else:
            host.tail.useful += is_good
        source = self._source(host, number, draw, judged, is_good=is_good)
        for target in links:
            if judged is None or target not in judged.left_out:
                self._admit(target, source, judged.held.get(target, "") if judged is not None else "")
        for target in judged.aliases if judged is not None else ():
            self._admit(target, source)
        self._carry_out(judged.asked if judged is not None else ())

    def _note_kept(self, text: str, judged: JudgedAnswer | None, *, is_new: bool) -> None:
        """Note whether any page with this text was kept."""
        self._texts.add(text)
        if is_document(text) and judged is not None:
            if judged.is_kept:
                self.result.unkept.discard(text)
                self._kept.add(text)
            elif text not in self._kept:
                self.result.unkept.add(text)
            self.result.n_own += judged.n_asked

    def _source(self, host: ReplayedHost, number: int, draw: Draw, judged: JudgedAnswer | None, *, is_good: bool) -> Source:
        """Return the source of an answer's links; it decides which class of held URLs they inherit."""
        outcome = SourceOutcome.NEW if is_good else SourceOutcome.BARREN
        if self._trusts_filters and judged is not None:
            return Source(outcome, draw.holder, f"links {judged.stopped_by}" if judged.stopped_by else "")
        has_lineage, text = host.opinions.has_lineage, self._graph.texts[number]
        follow = "" if is_good or not has_lineage or not text else f"links of copies{host.opinions.copies(self._graph.urls[number])}"
        return Source(outcome, draw.holder if has_lineage else "", follow)

    def _ask_in_vain(self, host: ReplayedHost, number: int, draw: Draw) -> None:
        """Make a request without a recorded answer; nothing is learned from it."""
        self.result.unknown.add(number)
        self._done.add(number)
        if draw.holder:
            host.classes[draw.holder].cohorts[draw.cohort].pending -= 1
            leave(host.classes[draw.holder], draw.cohort)

    def _judge(self, number: int, text: str, links: Sequence[int]) -> JudgedAnswer | None:
        """Return what the filters decide about an answer and its new links."""
        if self._filters is None:
            return None
        new = [target for target in links if target not in self._seen]
        waiting = [target for target in links if target in self._seen and target not in self._done]
        return self._filters.judged(number, text, new, waiting)

    def _carry_out(self, asked: Iterable[Effect]) -> None:
        for effect in asked:
            if isinstance(effect, Release):
                for host in self._hosts.values():
                    self._release(host, [number for number, waits in host.waiting.items() if waits.of.holder == effect.holder])
            elif isinstance(effect, ReleaseURL) and self._filters is not None:
                number = self._filters.number(effect.key)
                self._release(self._hosts[self._graph.host(number)], [number])

    def _release(self, host: ReplayedHost, numbers: Iterable[int]) -> None:
        """Release held URLs: they become fresh."""
        for number in numbers:
            waiting = host.waiting.get(number)
            members = host.members[waiting.of.holder, waiting.cohort] if waiting else []
            if waiting is not None and (waiting.order, number) in members:
                host.waiting.pop(number)
                members.remove((waiting.order, number))
                leave(host.classes[waiting.of.holder], waiting.cohort)
                host.fresh.append(number)

    def _admit(self, number: int, source: Source, held: str = "") -> None:
        """Admit a link; `held` is the class in which filters hold it, "" for none."""
        name = self._graph.host(number)
        host = self._hosts.setdefault(name, ReplayedHost(name, self._opinions()))
        if number in self._seen:
            waiting = host.waiting.get(number)
            if waiting is not None and releases(source, waiting.of):
                self._release(host, [number])
            return
        self._seen.add(number)
        url = self._graph.urls[number]
        host.opinions.on_url(url)
        of = membership(source, held or host.opinions.holder(url))
        if of is not None and of.is_inherited:
            holder = host.opinions.lineage(of.holder, url)
            is_freed = holder in host.classes and host.classes[holder].is_freed
            of = None if is_freed else Membership(holder, is_inherited=True)
        if of is None:
            host.fresh.append(number)
        else:
            self._hold(host, number, of)

    def _hold(self, host: ReplayedHost, number: int, of: Membership) -> None:
        record = host.classes.get(of.holder)
        if record is None:
            known = self._filters.recent(of.holder) if self._filters is not None else None
            record = host.classes[of.holder] = new_class(of.holder, known or host.opinions.recent(of.holder))
        cohort = join(record)
        order = draw_order(self._secret, of.holder.encode(), self._graph.urls[number].encode())
        host.waiting[number] = HeldPlace(of, cohort, order)
        self._store(host, record, cohort, (order, number))
        audit = audits(record, self._policy)
        if audit is not None:
            host.audits.extend(self._draw(host, audit))
