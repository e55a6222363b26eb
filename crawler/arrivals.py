"""What the other agents write to this one, carried out: each message is a visit, committed with the sender's watermark."""

from __future__ import annotations

from crawler.core.frontier import Frontier
from crawler.core.model import Cause, Failed, Purpose, Request
from crawler.messages import Answered, Ask, Edge, End, Links, News, RobotsAnswer, RobotsAsk, decode, outcome_of
from crawler.post import in_place_of_origin, robots_hop
from crawler.settle import Settler
from crawler.visit import Tools
from storage.env import Store


class Arrivals:
    """Carries messages out, in the order of their numbers."""

    def __init__(self, store: Store, frontier: Frontier, tools: Tools, settler: Settler) -> None:
        self._store = store
        self._frontier = frontier
        self._tools = tools
        self._settler = settler

    def carry_out(self, sender: int, packed: bytes, now: float) -> None:
        """Do what a message asks for. Nothing here awaits."""
        match decode(packed):
            case Links() as links:
                self._links(links, now)
            case Edge() as edge:
                self._settler.told_of_redirect(edge.original, edge.target, now)
            case End() as end:
                self._settler.told_of_end(end.original, end.hops, self._tools.urls.url(end.target), end.status, end.fingerprint, now)
            case RobotsAsk() as hop:
                self._ask(hop, now)
            case RobotsAnswer() as answer:
                self._settler.told_of_robots(self._tools.urls.url(answer.asked), outcome_of(answer, self._tools.urls), now)
            case Ask() as ask:
                self._settler.requested(ask.asker, ask.who, Request(ask.url, Purpose(ask.purpose)), now)
            case Answered() as answered:
                self._settler.learned(self._tools.panel.answered_abroad(answered.who, answered.reduced), now)
            case News() as news:
                self._settler.learned(self._tools.panel.told(news.who, news.news), now)
        self._settler.close()
        self._store.lanes.hear(sender)
        self._store.end_visit()

    def _links(self, links: Links, now: float) -> None:
        source = self._tools.urls.url(links.source, seed_distance=links.seed_distance, site_depth=links.site_depth, hops=links.hops)
        sifted = self._tools.links.sift(source, self._tools.links.gate(links.texts), is_redirect=links.is_redirect)
        self._settler.admit_foreign(source, sifted, links.gift, now, is_redirect=links.is_redirect)
        for site in self._store.site_links.add(source.key[:8], set(links.sites)):
            self._frontier.linked(site)

    def _ask(self, ask: RobotsAsk, now: float) -> None:
        hop = robots_hop(ask, self._tools.urls.url(ask.hop))
        self._tools.robots.wait_for(hop, {in_place_of_origin(ask)})
        if not self._frontier.request_ahead(hop, now):
            self._settler.told_of_robots(hop, Failed(hop, Cause.UNREACHABLE, "redirected to a host that is parked"), now)
