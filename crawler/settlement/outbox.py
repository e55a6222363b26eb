"""What this agent writes to the others: URLs of their sites, redirects that lead there, ends of chains that began there, robots.txt hops,
requests of filters and what these have found, sitemaps and what they announce.

Every message joins the visit that makes it: it goes out once that is committed (crawler/cluster/transport.py). A URL of another agent is
known here in the state `outbox`, so it is sent once, and again only when it is found nearer, by a second other site, or worth a level more:
what `Admission` does with a URL that waits, the owner then does. Each pair of sites is sent once, under an order that counts linking sites.
"""

from __future__ import annotations

from collections.abc import Iterable

from thresher.crawler.core.effects import Tell
from thresher.crawler.core.found_again import FoundPlace, found_again
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
    RobotsAsk,
    Submitted,
    answer_of,
    encode,
)
from thresher.crawler.core.model import CrawlURL, Outcome, Purpose, State
from thresher.crawler.core.order.cash import Cash
from thresher.crawler.core.ownership import Ownership
from thresher.crawler.core.sitemap import SitemapEntry
from thresher.crawler.gates.link_gate import Sifted
from thresher.crawler.gates.robots_cache import PeerAsking
from thresher.crawler.settlement.seed_labels import SeedLabels
from thresher.storage.tables import Tables

_REMEMBERED = 65_536  # URLs whose finders are; 8 MB
_REMEMBERED_SITES = 4_096  # whose linked sites are; 1 MB where each links to 20


class Outbox:
    """Writes messages into the open group."""

    def __init__(self, tables: Tables, ownership: Ownership, labels: SeedLabels, *, counts_sites: bool) -> None:
        self._tables = tables
        self._ownership = ownership
        self._labels = labels
        self._counts_sites = counts_sites
        self._lately: dict[bytes, set[bytes]] = {}  # sites that were linked to, by source
        self._finders: dict[int, bytes] = {}  # site of the page that named a URL first, by sequence number

    def is_own(self, key: bytes) -> bool:
        """Return whether a key that begins with a site's hash is this agent's."""
        return self._ownership.is_own(key)

    def _send(self, key: bytes, message: Message) -> None:
        self._tables.channels.send(self._ownership.owner(key), encode(message))

    def links(self, source: CrawlURL, sifted: Sifted, cash: Cash, gift: float, now: float, *, is_redirect: bool) -> list[int]:
        """Send what a page names of other agents' sites; return the numbers of those URLs that were new here."""
        foreign = sifted.foreign
        seqs, sites = range(0), set[bytes]()
        if foreign is not None:
            first = self._tables.seen.add_links(foreign, slice(0, len(foreign)), State.OUTBOX, cash.level_of(1.0 + gift), now)
            seqs, sites = range(first, first + len(foreign)), set(foreign.by_site)
            if gift:
                cash.begin_all(seqs, 1.0 + gift)
        sites.update(key[:8] for key, row, _ in sifted.known if row.state is State.OUTBOX)
        finding, worth = FoundPlace.of(source, is_redirect=is_redirect), cash.giver(gift)
        for key, text, row, nearest in found_again(finding, sifted.known, State.OUTBOX, worth=worth, first_site=self._found_by):
            self._tables.seen.update(key, nearest)  # its owner moves it forward for this link
            self._send_links(source, [(key, text)], (), cash.step(row.worth, nearest.worth), is_redirect=is_redirect)
        if sites:
            found = [] if foreign is None else [*zip(foreign.keys, foreign.texts, strict=True)]
            self._send_links(source, found, self._first_linked(source.key[:8], sites), gift, is_redirect=is_redirect)
        return [*seqs]

    def _found_by(self, seq: int) -> bytes:
        """Return the site whose page named a URL first, 8 bytes; remembered."""
        site = self._finders.get(seq)
        if site is None:
            if len(self._finders) >= _REMEMBERED:
                self._finders.clear()
            site = self._finders[seq] = self._tables.seen.record(seq).via[:8]
        return site

    def _send_links(
        self, source: CrawlURL, found: list[tuple[bytes, str]], sites: Iterable[bytes], gift: float, *, is_redirect: bool
    ) -> None:
        """Send one message to each agent that has any of the URLs or sites."""
        owner = self._ownership.owner
        texts: dict[int, list[str]] = {}
        linked: dict[int, list[bytes]] = {}
        for key, text in found:
            texts.setdefault(owner(key), []).append(text)
        for site in sites:
            linked.setdefault(owner(site), []).append(site)
        place, label = (source.text, source.seed_distance, source.site_depth, source.hops), self._labels.of(source)
        for to in sorted({*texts, *linked}):
            self._tables.channels.send(to, encode(FoundLinks(*place, is_redirect, gift, texts.get(to, []), linked.get(to, []), label)))

    def _first_linked(self, source: bytes, sites: set[bytes]) -> list[bytes]:
        """Return the sites of other agents that the source's site had not linked to before."""
        if not self._counts_sites:
            return []
        lately = self._lately.get(source)
        if lately is None:
            if len(self._lately) >= _REMEMBERED_SITES:
                self._lately.clear()
            lately = self._lately[source] = set()
        new = sorted(sites - lately)
        lately.update(new)
        return [site for site in new if self._tables.site_links.is_first(source, site)]

    def target(self, alias: CrawlURL, target: CrawlURL) -> None:
        """Send the URL that an alias stands for; it takes the alias's place in the crawl."""
        place = (alias.text, alias.seed_distance, alias.site_depth, alias.hops)
        self._send(target.key, FoundLinks(*place, True, 0.0, [target.text], [], self._labels.of(alias)))

    # -- redirects

    def edge(self, original: bytes, to_key: bytes, target: str, status: int) -> None:
        """Tell the target's owner of a redirect, if it is another agent that has been told of the target."""
        if not self.is_own(to_key) and (row := self._tables.seen.row(to_key)) is not None and row.state is State.OUTBOX:
            self._send(to_key, Edge(original, target, status))

    def end(self, original: bytes, hops: int, target: CrawlURL, status: int, fingerprint: bytes) -> None:
        """Tell the original's owner where its chain ended."""
        self._send(original, ChainEnd(original, hops, target.text, status, fingerprint))

    # -- robots.txt

    def ask(self, hop: CrawlURL) -> None:
        """Let the hop's owner request it; the answer comes as a `RobotsAnswer`."""
        self._send(hop.key, RobotsAsk(self._ownership.me, hop.text, hop.text, hop.hops))

    def answer(self, peer: PeerAsking, outcome: Outcome) -> None:
        """Tell another agent how the robots.txt that it asked for was answered; nobody, if there is no such agent any more."""
        if peer.agent in self._ownership.others:
            self._tables.channels.send(peer.agent, encode(answer_of(peer.asked, outcome)))

    # -- sitemaps

    def submit(self, key: bytes, submitted: Submitted) -> None:
        """Let a sitemap's owner read it.

        Args:
            key: The key of the sitemap.
        """
        self._send(key, submitted)

    def announce(self, sitemap: str, label: str, found: Iterable[tuple[bytes, SitemapEntry]]) -> None:
        """Tell the owners of URLs what a sitemap says of them."""
        entries: dict[int, list[SitemapEntry]] = {}
        for key, entry in found:
            entries.setdefault(self._ownership.owner(key), []).append(entry)
        for to in sorted(entries):
            self._tables.channels.send(to, encode(Announced(sitemap, entries[to], label)))

    # -- requisites

    def need(self, source: CrawlURL, hop: int, hops: int, found: Iterable[tuple[bytes, str]]) -> None:
        """Tell the owners of URLs that something needs them, as `Requisites.want` is told."""
        texts: dict[int, list[str]] = {}
        for key, text in found:
            texts.setdefault(self._ownership.owner(key), []).append(text)
        for to in sorted(texts):
            self._tables.channels.send(to, encode(Needed(source.text, source.seed_distance, hop, hops, texts[to], self._labels.of(source))))

    # -- filters

    def request(self, url: CrawlURL, who: str) -> None:
        """Let a URL's owner make a filter's request; the answer comes as `Answered`."""
        self._send(url.key, Ask(self._ownership.me, who, url.text, url.purpose))

    def reduced_answer(self, prober: int, who: str, reduced: bytes) -> None:
        """Tell another agent what became of a filter's request; nobody, if there is no such agent any more."""
        if prober in self._ownership.others:
            self._tables.channels.send(prober, encode(Answered(who, reduced)))

    def tell(self, who: str, tell: Tell) -> None:
        """Tell a filter at the owner of a site what was found."""
        self._send(tell.key, News(who, tell.news))


def robots_hop(message: RobotsAsk, url: CrawlURL) -> CrawlURL:
    """Return the request that another agent asks for."""
    return CrawlURL(url.text, url.site, url.host, url.key, hops=message.hops, purpose=Purpose.ROBOTS)
