"""Carries out the messages of other agents. Each one is committed together with the number up to which its sender's messages are done.

A message is decoded completely before anything is changed. It is put into quarantine instead, in the same commit, if it cannot be decoded,
or if it killed an earlier process of this agent (crawler/children/crash_suspects.py).
"""

from __future__ import annotations

from collections.abc import Callable

from thresher.crawler.children.crash_suspects import message_work
from thresher.crawler.core.effects import Request
from thresher.crawler.core.frontier import Frontier
from thresher.crawler.core.messages import (
    Announced,
    Answered,
    Ask,
    ChainEnd,
    Edge,
    FoundLinks,
    Message,
    Needed,
    News,
    RobotsAnswer,
    RobotsAsk,
    Submitted,
    decode,
    outcome_of,
)
from thresher.crawler.core.model import FILTERS_OWN, Cause, CrawlURL, Failed, Purpose
from thresher.crawler.gates.link_gate import Gated
from thresher.crawler.gates.robots_cache import PeerAsking
from thresher.crawler.settlement.outbox import robots_hop
from thresher.crawler.settlement.settler import Settler
from thresher.crawler.visit import VisitContext
from thresher.storage.records import QuarantineRecord
from thresher.storage.store import Store
from thresher.storage.tables.requests import Requester

Deed = Callable[[float], None]  # does what a message asks for; its argument is the time now, in seconds
_WORDS: dict[type, str] = {
    FoundLinks: "links",
    Edge: "redirects",
    ChainEnd: "ends of redirects",
    RobotsAsk: "questions for robots.txt",
    RobotsAnswer: "answers for robots.txt",
    Submitted: "sitemaps",
    Announced: "URLs of sitemaps",
    Needed: "requisites",
}
_UNREADABLE = "unreadable messages"


class Inbox:
    """Carries out messages, those of one sender in the order of their numbers."""

    def __init__(self, store: Store, frontier: Frontier, context: VisitContext, settler: Settler) -> None:
        self._store = store
        self._frontier = frontier
        self._context = context
        self._settler = settler

    def carry_out(self, sender: int, packed: bytes, now: float) -> None:
        """Do what a message asks for, or quarantine it. A plain function: nothing else runs in between.

        Args:
            sender: Number of the agent that sent it.
            packed: The message, encoded (core/messages.py).
            now: Seconds of the crawl's clock.
        """
        number = self._store.tables.channels.received(sender) + 1
        work, suspects = message_work(sender, number), self._context.suspects

        def row(why: str) -> QuarantineRecord:
            return QuarantineRecord("message", kind_of(packed), now, why, payload=packed, sender=sender, number=number)

        try:
            deed = self.read(packed)
        except Exception as error:  # noqa: BLE001 - of any kind: nothing has been changed yet
            suspects.quarantine(work, row(unreadable(error)))
        else:
            suspects.attempt(work, lambda: self.do(deed, now), row)
        self._store.tables.channels.hear(sender)
        self._store.end_visit()

    def do(self, deed: Deed, now: float) -> None:
        """Do what a message asks for, within a visit that the caller ends."""
        deed(now)
        self._settler.learning.write(now)

    def send_on(self, packed: bytes) -> bool:
        """Send a message on if its site has moved to another agent since it was sent; return whether it has."""
        owners, message = self._context.ownership, decode(packed)
        key = self._place(message) if owners is not None else b""
        if owners is None or not key or owners.is_own(key):
            return False
        self._store.tables.channels.send(owners.owner(key), packed)
        return True

    def _place(self, message: Message) -> bytes:
        """Return the key of the URL that a message is about; b"" if it may be about several sites, as a batch of links is."""
        match message:
            case Edge(target=text) | RobotsAsk(hop=text) | Ask(url=text) | Submitted(sitemap=text):
                return self._context.urls.key(text)
            case ChainEnd(original=key):
                return key
            case _:
                return b""

    def read(self, packed: bytes) -> Deed:
        """Return a function that does what a message asks for. Changes nothing itself.

        Raises:
            Exception: Of any kind, if the message cannot be decoded or is about a site of another agent.
        """
        message: Message = decode(packed)
        owners, key = self._context.ownership, self._place(message)
        if owners is not None and key and not owners.is_own(key):
            raise ValueError(f"it is about a site that agent {owners.owner(key)} has")
        match message:
            case FoundLinks() | Edge() | ChainEnd():
                return self._read_found(message)
            case Ask() | Answered() | News():
                return self._read_of_filters(message)
            case _:
                return self._read_of_no_page(message)

    def _read_found(self, message: FoundLinks | Edge | ChainEnd) -> Deed:
        """Return what to do with links and redirects."""
        url, learning = self._context.urls.url, self._settler.learning
        match message:
            case FoundLinks() as links:
                gated = self._context.links.gate(list(dict.fromkeys(links.texts)))
                url(links.source)
                return lambda now: self._links(links, gated, now)
            case Edge() as edge:
                return lambda now: learning.on_foreign_redirect(edge.original, edge.target, now)
            case ChainEnd() as end:
                target = url(end.target)
                return lambda now: learning.on_foreign_end(end.original, end.hops, target, end.status, end.fingerprint, now)

    def _read_of_filters(self, message: Ask | Answered | News) -> Deed:
        """Return what to do for a filter of another agent, or with what that filter has found."""
        settler, panel = self._settler, self._context.panel
        match message:
            case Ask() as wish:
                if Purpose(wish.purpose) not in FILTERS_OWN:
                    raise ValueError(f"a filter asks for a request with the purpose {Purpose(wish.purpose).name}")
                request = Request(wish.url, Purpose(wish.purpose))
                return lambda now: settler.on_request(Requester(wish.who, wish.prober), request, now)
            case Answered() as answered:
                read = panel.reports.read_answer(answered.who, answered.reduced)
                return lambda now: settler.learning.carry_out(panel.reports.on_reduced_answer(answered.who, answered.reduced, read), now)
            case News() as news:
                found = panel.reports.read_news(news.who, news.news)
                return lambda now: settler.learning.carry_out(panel.reports.on_news(news.who, news.news, found), now)

    def _read_of_no_page(self, message: RobotsAsk | RobotsAnswer | Submitted | Announced | Needed) -> Deed:
        """Return what to do with robots.txt, sitemaps and requisites."""
        url, settler = self._context.urls.url, self._settler
        match message:
            case RobotsAsk() as ask:
                hop = robots_hop(ask, url(ask.hop))
                return lambda now: self._ask(ask, hop, now)
            case RobotsAnswer() as answer:
                asked, outcome = url(answer.asked), outcome_of(answer, self._context.urls)
                return lambda now: settler.robots.on_hop_answer(asked, outcome, now)
            case Submitted() as submitted:
                url(submitted.sitemap)
                return lambda now: settler.sitemaps.submit(submitted, now)
            case Announced() as announced:
                sitemap = url(announced.sitemap)
                for entry in announced.entries:
                    url(entry.loc)
                return lambda now: self._announced(sitemap, announced, now)
            case Needed() as needed:
                of = url(needed.source, seed_distance=needed.seed_distance)
                for text in needed.texts:
                    url(text)
                return lambda now: self._needed(of, needed, now)

    def _links(self, links: FoundLinks, gated: Gated, now: float) -> None:
        source = self._context.urls.url(links.source, seed_distance=links.seed_distance, site_depth=links.site_depth, hops=links.hops)
        self._settler.labels.keep(source, links.label)
        sifted = self._context.links.sift(source, gated, is_redirect=links.is_redirect)
        self._settler.admit_foreign(source, sifted, links.gift, now, is_redirect=links.is_redirect)
        for site in self._store.tables.site_links.add(source.key[:8], set(links.sites)):
            self._frontier.on_link(site)

    def _needed(self, source: CrawlURL, needed: Needed, now: float) -> None:
        self._settler.labels.keep(source, needed.label)
        self._settler.requisites.want(source, needed.texts, needed.step, needed.hops, now)

    def _announced(self, sitemap: CrawlURL, announced: Announced, now: float) -> None:
        self._settler.labels.keep(sitemap, announced.label)
        self._settler.announcements.announce(sitemap, announced.entries, now)

    def _ask(self, ask: RobotsAsk, hop: CrawlURL, now: float) -> None:
        self._context.robots.wait_for(hop, {PeerAsking(ask.prober, ask.asked)})
        if not self._frontier.request_ahead(hop, now):
            self._settler.robots.on_hop_answer(hop, Failed(hop, Cause.UNREACHABLE, "redirected to a host that is parked"), now)


def unreadable(error: Exception) -> str:
    """Return a description of why a message could not be read."""
    return f"cannot be read: {type(error).__name__}: {error}"


def kind_of(packed: bytes) -> str:
    """Return the kind of a message, for the operator."""
    try:
        message = decode(packed)
    except ValueError:
        return _UNREADABLE
    match message:
        case News(who=who):
            return f"news of {who}"
        case Ask(who=who):
            return f"requests of {who}"
        case Answered(who=who):
            return f"answers to {who}"
        case _:
            return _WORDS[type(message)]
