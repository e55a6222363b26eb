"""A simulated crawl of a recorded graph, one request at a time, with the real filters and the real rules for held URLs (filters/tail).

A page was worth its request if its text is new or, as in a crawl, if the filters say so (`trusts_filters`). The request of a URL without a
recorded answer is counted, and nothing is learned from it.

Within a host URLs wait as in a crawl (replayed_queue.py): so do audits and what is released. Hosts are served in turn; whether others have
fresh URLs is known as of the last round, as agents learn it from each other by messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from thresher.crawler.analysis.recorded_graph import RecordedGraph, is_document
from thresher.crawler.analysis.replayed_host import HeldPlace, HostOpinions, NoOpinions, ReplayedHost
from thresher.crawler.analysis.replayed_panel import JudgedAnswer, ReplayedPanel
from thresher.crawler.analysis.replayed_queue import ReplayedPlaces
from thresher.crawler.core.effects import Effect, Release, ReleaseURL
from thresher.filters.evidence.audits import draw_order
from thresher.filters.tail.membership import Membership, Source, SourceOutcome, join, leave, membership, releases
from thresher.filters.tail.records import Draw, TailPolicy, new_class
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
        self._places = ReplayedPlaces(graph)
        self._draws: dict[int, tuple[ReplayedHost, Draw]] = {}  # URLs that were drawn and have not ended → whence
        self._audits: set[int] = set()  # drawn URLs that nobody asks about again when their turn comes
        self._seen: set[int] = set()
        self._done: set[int] = set()
        self._texts: set[str] = set()
        self._kept: set[str] = set()
        self.result = Result()

    def run(self) -> Result:
        """Crawl until nothing may be fetched."""
        for root in self._graph.roots:
            self._places.begin(root)
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
        while host.fresh:
            number = host.fresh.pop()
            if number in self._audits or not self._is_skipped(host, number):
                self._fetch(host, number)
                return
        state = HostCrawl(has_due=False, backs_off=False, is_budgeted=bool(self._max_pages), others_fresh=others_fresh)
        if not may_serve(state):
            return
        if not host.promoted:
            host.refill(self._policy.cap)
            answer = promote(host.tail, [host.classes[name] for name in sorted(host.classes)], self._policy)
            host.end = answer if isinstance(answer, TailEnd) else None
            if isinstance(answer, Promotion):
                host.promoted.extend(sorted(self._drawn(host, answer), key=self._places.discovered))
        if host.promoted:
            self._fetch(host, host.promoted.popleft())

    def _is_skipped(self, host: ReplayedHost, number: int) -> bool:
        """Return whether a URL whose turn has come is not requested: it is held, refused, or an alias of another."""
        ruling = self._filters.turn(number) if self._filters is not None else None
        holder = (ruling.holder if ruling is not None else "") or host.opinions.holder(self._graph.urls[number])
        if holder:
            self._hold(host, number, Membership(holder, is_inherited=False))
        elif ruling is not None and ruling.alias is not None:
            self._admit_original(ruling.alias, number, Source(SourceOutcome.NEW))
        is_skipped = bool(holder) or (ruling is not None and (ruling.is_refused or ruling.alias is not None))
        if is_skipped:
            self._leave_draw(number)
        return is_skipped

    def _drawn(self, host: ReplayedHost, of: Promotion) -> list[int]:
        numbers = host.draw(of)
        self._draws |= dict.fromkeys(numbers, (host, of.draw))
        self._audits.update(numbers)
        return numbers

    def _fetch(self, host: ReplayedHost, number: int) -> None:
        drawn = self._draws.get(number)
        draw = drawn[1] if drawn is not None else _NOTHING
        self._progress(1)
        self.result.asked.append((number, bool(draw.holder)))
        if not self._graph.is_known(number):
            self._ask_in_vain(number)
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
        is_led_on = graph.is_redirect(number) and bool(links) and links[0] not in self._seen
        self._admit_links(number, links, self._source(host, number, draw, judged, is_good=is_good), judged)
        self._carry_out(judged.asked if judged is not None else ())
        if not (is_led_on and self._passes_on(number, links[0])):
            self._settle(host, number, judged, is_good=is_good)

    def _passes_on(self, number: int, to: int) -> bool:
        """Move the draw of a redirect to its target, which was new, if that is queued: its answer decides what the draw was worth."""
        host = self._hosts[self._graph.host(to)] if number in self._draws else None
        if host is None or to not in host.fresh or not self._places.are_of_one_site(number, to):
            return False
        self._draws[to] = self._draws.pop(number)
        return True

    def _settle(self, host: ReplayedHost, number: int, judged: JudgedAnswer | None, *, is_good: bool) -> None:
        """Tell the tail what a request has given."""
        drawn = self._draws.pop(number, None)
        if drawn is None:
            host.tail.useful += is_good
            return
        whose, draw = drawn
        of, is_alike = whose.classes[draw.holder], is_good and judged is not None and judged.is_alike
        settle(whose.tail, of, draw, is_good, policy=self._policy, is_alike=is_alike)
        if of.is_freed:
            self._release(whose, whose.held_by(draw.holder))

    def _admit_links(self, number: int, links: Sequence[int], source: Source, judged: JudgedAnswer | None) -> None:
        """Admit the links of an answer: those that are known are worth more now, the others are queued or held."""
        gift = self._places.gift(number, links)
        hosts = {target: host for target in links if (host := self._hosts.get(self._graph.host(target))) and target in host.fresh}
        for target in self._places.found_again(number, hosts, gift):
            hosts[target].fresh.put(target, *self._places.place(target))
        for target in links:
            if judged is None or target not in judged.left_out:
                held = judged.held.get(target, "") if judged is not None else ""
                if target not in self._seen:
                    self._places.name(number, target)
                self._admit(target, source, held, gift)
        for target in judged.aliases if judged is not None else ():
            self._admit_original(target, number, source)

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
        if self._graph.is_redirect(number):
            return Source(SourceOutcome.BARREN)
        if self._trusts_filters and judged is not None:
            return Source(outcome, draw.holder, f"links {judged.stopped_by}" if judged.stopped_by else "")
        has_lineage, text = host.opinions.has_lineage, self._graph.texts[number]
        follow = "" if is_good or not has_lineage or not text else f"links of copies{host.opinions.copies(self._graph.urls[number])}"
        return Source(outcome, draw.holder if has_lineage else "", follow)

    def _ask_in_vain(self, number: int) -> None:
        """Make a request without a recorded answer; nothing is learned from it."""
        self.result.unknown.add(number)
        self._done.add(number)
        self._leave_draw(number)

    def _leave_draw(self, number: int) -> None:
        """End a draw without evidence."""
        drawn = self._draws.pop(number, None)
        if drawn is not None:
            host, draw = drawn
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
                    self._release(host, host.held_by(effect.holder))
            elif isinstance(effect, ReleaseURL) and self._filters is not None:
                number = self._filters.number(effect.key)
                self._release(self._hosts[self._graph.host(number)], [number])

    def _release(self, host: ReplayedHost, numbers: Iterable[int]) -> None:
        """Release held URLs: they become fresh."""
        for number in numbers:
            if host.release(number):
                host.fresh.put(number, *self._places.place(number))

    def _admit(self, number: int, source: Source, held: str = "", gift: float = 0.0) -> None:
        """Admit a link.

        Args:
            held: The class in which filters hold it, "" for none.
            gift: The cash that the page which names it gives to it.
        """
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
            self._places.give(number, gift)
            host.fresh.put(number, *self._places.place(number))
        else:
            self._hold(host, number, of)

    def _admit_original(self, number: int, alias: int, source: Source) -> None:
        """Admit the URL that an alias stands for, in the alias's place."""
        if number not in self._seen:
            self._places.stand_in(number, alias)
        self._admit(number, source)

    def _hold(self, host: ReplayedHost, number: int, of: Membership) -> None:
        record = host.classes.get(of.holder)
        if record is None:
            known = self._filters.recent(of.holder) if self._filters is not None else None
            record = host.classes[of.holder] = new_class(of.holder, known or host.opinions.recent(of.holder))
        cohort = join(record)
        order = draw_order(self._secret, of.holder.encode(), self._graph.urls[number].encode())
        host.hold(number, HeldPlace(of, cohort, order), cap=self._policy.cap)
        audit = audits(record, self._policy)
        for drawn in self._drawn(host, audit) if audit is not None else ():
            host.fresh.put(drawn, *self._places.place(drawn))
