"""A crawl of a graph in which opinions hold URLs: the real evidence and the real policy of the tail, hosts in turn, one request at a time.

The frontier here is breadth-first within a host. Whether other hosts have fresh URLs is known as it was a round ago, as agents learn it of
each other by messages.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.quality.deferral.graph import Graph, is_document
from benchmarks.quality.deferral.opinions import Beliefs, Notes, Opinions
from benchmarks.quality.deferral.real import RealFilters
from thresher.crawler.core.model import Effect, Release, ReleaseURL
from thresher.filters.evidence.audits import draw_order
from thresher.filters.tail.membership import Membership, Outcome, Source, drop, join, keeps, leave, membership, refill, refills, releases
from thresher.filters.tail.records import Draw, HostTail, TailClass, TailPolicy
from thresher.filters.tail.serve import End, HostCrawl, Promotion, audits, may_serve, promote, settle

_NOTHING = Draw("", 0)


@dataclass
class Result:
    """What a crawl came to."""

    texts: list[str] = field(default_factory=list)  # of each request in order; "" if it showed none, or a known one
    left: dict[str, int] = field(default_factory=dict)  # class → URLs that were not fetched
    struck: set[str] = field(default_factory=set)  # texts whose URLs were asked in an outage
    ends: dict[str, End] = field(default_factory=dict)  # host → why its tail was left

    @property
    def documents(self) -> set[str]:
        """The texts that were found."""
        return {text for text in self.texts if is_document(text)}

    def found(self, n: int) -> int:
        """Return the documents found by the first n requests."""
        return sum(map(is_document, self.texts[:n]))


def plain(graph: Graph) -> Result:
    """Crawl breadth-first, nothing held."""
    never = Beliefs(has_shapes=False, has_families=False, has_lineage=False)
    return Crawl(graph, TailPolicy(), never).run()


@dataclass
class Waiting:
    """Where a held URL waits."""

    of: Membership
    cohort: int
    order: bytes


class Host:
    """One host's queue: fresh URLs, promoted ones, classes."""

    def __init__(self, name: str, opinions: Opinions) -> None:
        self.name = name
        self.fresh: deque[int] = deque()
        self.lane: deque[tuple[int, Draw]] = deque()
        self.audits: deque[tuple[int, Draw]] = deque()
        self.tail = HostTail()
        self.classes: dict[str, TailClass] = {}
        self.members: dict[tuple[str, int], list[tuple[bytes, int]]] = {}
        self.dropped: dict[tuple[str, int], list[tuple[bytes, int]]] = {}  # counted, not stored
        self.waiting: dict[int, Waiting] = {}
        self.opinions = opinions
        self.end: End | None = None
        self.exempt: set[int] = set()  # drawn or freed: not judged again


class Crawl:
    """One simulated crawl."""

    def __init__(
        self,
        graph: Graph,
        policy: TailPolicy,
        beliefs: Beliefs,
        *,
        secret: bytes = b"1",
        max_pages: int = 0,
        filters: RealFilters | None = None,
    ) -> None:
        """max_pages: budget of the whole crawl; 0: none. filters: whose opinions hold beside those of `beliefs`"""
        self._filters = filters
        self._graph, self._policy, self._beliefs, self._secret, self._max_pages = graph, policy, beliefs, secret, max_pages
        self._notes = Notes()
        self._hosts: dict[str, Host] = {}
        self._seen: set[int] = set()
        self._done: set[int] = set()
        self._texts: set[str] = set()
        self.result = Result()

    def run(self) -> Result:
        """Crawl until nothing may be fetched."""
        self._admit(0, Source(Outcome.NEW))
        while not self._is_over():
            was = len(self.result.texts)
            others = {name for name, host in self._hosts.items() if host.fresh and name not in self._graph.parked}
            for host in list(self._hosts.values()):
                if not self._is_over():
                    self._serve(host, others_fresh=bool(others - {host.name}))
            if len(self.result.texts) == was:
                break
        for host in self._hosts.values():
            self.result.left |= {of.holder: of.left for of in host.classes.values() if of.left}
            if host.end is not None:
                self.result.ends[host.name] = host.end
        return self.result

    def _is_over(self) -> bool:
        return bool(self._max_pages) and len(self.result.texts) >= self._max_pages

    def _serve(self, host: Host, *, others_fresh: bool) -> None:
        if host.name in self._graph.parked:
            return
        if host.audits:
            self._fetch(host, *host.audits.popleft())
            return
        while host.fresh:
            number = host.fresh.popleft()
            if number not in host.exempt and (holder := self._holder(host, number)):
                host.exempt.add(number)
                self._hold(host, number, Membership(holder, is_inherited=False))
                continue
            self._fetch(host, number, _NOTHING)
            return
        state = HostCrawl(has_due=False, backs_off=False, is_budgeted=bool(self._max_pages), others_fresh=others_fresh)
        if not may_serve(state):
            return
        if not host.lane:
            self._refill(host)
            answer = promote(host.tail, [host.classes[name] for name in sorted(host.classes)], self._policy)
            host.end = answer if isinstance(answer, End) else None
            if isinstance(answer, Promotion):
                host.lane.extend(self._draw(host, answer))
        if host.lane:
            self._fetch(host, *host.lane.popleft())

    def _holder(self, host: Host, number: int) -> str:
        """Return the class that holds a URL whose turn has come."""
        found = self._filters.holder(number) if self._filters is not None else ""
        return found or host.opinions.holder(self._graph.urls[number])

    def _store(self, host: Host, of: TailClass, cohort: int, member: tuple[bytes, int]) -> None:
        """Store a member if it is among the first of its cohort; count it, or the one that makes room for it, otherwise."""
        members = host.members.setdefault((of.holder, cohort), [])
        last = members[-1][0] if members else b""
        if not keeps(member[0], n_stored=len(members), last=last, cap=self._policy.cap):
            self._count(host, of, cohort, member)
            return
        if len(members) >= self._policy.cap:
            self._count(host, of, cohort, members.pop())
        insort(members, member)

    def _count(self, host: Host, of: TailClass, cohort: int, member: tuple[bytes, int]) -> None:
        drop(of, cohort)
        host.dropped.setdefault((of.holder, cohort), []).append(member)

    def _refill(self, host: Host) -> None:
        """Find URLs that were only counted again; here they are remembered instead of read from the links of stored pages."""
        for of in host.classes.values():
            for cohort in refills(of):
                dropped = sorted(host.dropped[of.holder, cohort])
                again, host.dropped[of.holder, cohort] = dropped[: self._policy.cap], dropped[self._policy.cap :]
                host.members[of.holder, cohort].extend(again)
                refill(of, cohort, len(again))

    def _draw(self, host: Host, of: Promotion) -> list[tuple[int, Draw]]:
        members = host.members[of.draw.holder, of.draw.cohort]
        drawn, members[: of.n] = members[: of.n], []
        for _, number in drawn:
            host.waiting.pop(number)
            host.exempt.add(number)
        return [(number, of.draw) for _, number in drawn]

    def _fetch(self, host: Host, number: int, draw: Draw) -> None:
        graph, at = self._graph, len(self.result.texts)
        is_out = graph.outage[0] <= at < graph.outage[1]
        text, links = ("outage", ()) if is_out else (graph.texts[number], graph.links[number])
        if is_out:
            self.result.struck.add(graph.texts[number])
        is_good = bool(text) and text not in self._texts
        self._texts.add(text)
        self.result.texts.append(text if is_good else "")
        host.opinions.learn(graph.urls[number], text, is_good=is_good)
        if draw.holder:
            settle(host.tail, host.classes[draw.holder], draw, is_good, policy=self._policy)
        else:
            host.tail.useful += is_good
        outcome = Outcome.NEW if is_good else Outcome.BARREN
        follow = (
            "" if is_good or not self._beliefs.has_lineage or not text else f"links of copies{host.opinions.copies(graph.urls[number])}"
        )
        source = Source(outcome, draw.holder if self._beliefs.has_lineage else "", follow)
        self._done.add(number)
        held, asked = self._judge(number, text, links)
        for target in links:
            self._admit(target, source, held.get(target, ""))
        self._carry_out(asked)

    def _judge(self, number: int, text: str, links: Sequence[int]) -> tuple[dict[int, str], list[Effect]]:
        """Return who holds which new links, and what the filters ask for."""
        if self._filters is None:
            return {}, []
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

    def _release(self, host: Host, numbers: Iterable[int]) -> None:
        """Let URLs that wait in classes be fresh."""
        for number in numbers:
            waiting = host.waiting.get(number)
            members = host.members[waiting.of.holder, waiting.cohort] if waiting else []
            if waiting is not None and (waiting.order, number) in members:
                host.waiting.pop(number)
                members.remove((waiting.order, number))
                leave(host.classes[waiting.of.holder], waiting.cohort)
                host.fresh.append(number)

    def _admit(self, number: int, source: Source, held: str = "") -> None:
        """Admit a link. held: by which class of the filters"""
        name = self._graph.host(number)
        host = self._hosts.setdefault(name, Host(name, Opinions(self._beliefs, self._notes)))
        if number in self._seen:
            waiting = host.waiting.get(number)
            if waiting is not None and releases(source, waiting.of):
                self._release(host, [number])
            return
        self._seen.add(number)
        url = self._graph.urls[number]
        host.opinions.met(url)
        of = membership(source, held or host.opinions.holder(url))
        if of is not None and of.is_inherited:
            of = Membership(host.opinions.lineage(of.holder, url), is_inherited=True)
        if of is None:
            host.fresh.append(number)
        else:
            self._hold(host, number, of)

    def _hold(self, host: Host, number: int, of: Membership) -> None:
        record = host.classes.get(of.holder)
        if record is None:
            known = self._filters.recent(of.holder) if self._filters is not None else None
            record = host.classes[of.holder] = TailClass(of.holder, recent=known or host.opinions.recent(of.holder))
        cohort = join(record)
        order = draw_order(self._secret, of.holder.encode(), self._graph.urls[number].encode())
        host.waiting[number] = Waiting(of, cohort, order)
        self._store(host, record, cohort, (order, number))
        audit = audits(record, self._policy)
        if audit is not None:
            host.audits.extend(self._draw(host, audit))
