"""Writes this agent's messages to the other agents: URLs of their sites, redirects that lead there, ends of chains that began there,
targets of redirected robots.txt, requests of filters and their results, sitemaps and announced URLs.

Every message is part of the visit that makes it, and is sent once that is committed (crawler/cluster/transport.py). A URL of another agent
is known here in the state `outbox`, so it is sent once, and again only if it is found nearer, by a second other site, or with a higher
level of worth: then its owner does what `Admission` does with a queued URL. Each pair of sites is sent once, under an order that counts
linking sites.
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

_REMEMBERED = 65_536  # URLs whose finders are cached; 8 MB
_REMEMBERED_SITES = 4_096  # sites whose linked sites are cached; 1 MB if each links to 20


class Outbox:
    """Writes messages into the open group."""

    def __init__(self, tables: Tables, ownership: Ownership, labels: SeedLabels, *, counts_sites: bool) -> None:
        self._tables = tables
        self._ownership = ownership
        self._labels = labels
        self._counts_sites = counts_sites
        self._lately: dict[bytes, set[bytes]] = {}  # site → sites that it has linked to
        self._finders: dict[int, bytes] = {}  # sequence number of a URL → site of the page that named it first

    def is_own(self, key: bytes) -> bool:
        """Return whether a key, which begins with the hash of a site, belongs to this agent."""
        return self._ownership.is_own(key)

    def _send(self, key: bytes, message: Message) -> None:
        self._tables.channels.send(self._ownership.owner(key), encode(message))

    def links(self, source: CrawlURL, sifted: Sifted, cash: Cash, gift: float, now: float, *, is_redirect: bool) -> list[int]:
        """Send the links of a page to sites of other agents; return the sequence numbers of those that were new here."""
        foreign = sifted.foreign
        seqs, sites = range(0), set[bytes]()
        if foreign is not None:
            first = self._tables.seen.add_links(foreign, slice(0, len(foreign)), State.OUTBOX, cash.level_of(1.0 + gift), now)
            seqs, sites = range(first, first + len(foreign)), set(foreign.site_keys)
            if gift:
                cash.begin_all(seqs, 1.0 + gift)
        sites.update(key[:8] for key, row, _ in sifted.known if row.state is State.OUTBOX)
        finding, worth = FoundPlace.of(source, is_redirect=is_redirect), cash.giver(gift)
        for key, text, row, nearest in found_again(finding, sifted.known, State.OUTBOX, worth=worth, first_site=self._found_by):
            self._tables.seen.update(key, nearest)  # its owner moves it forward because of this link
            self._send_links(source, [(key, text)], (), cash.step(row.worth, nearest.worth), is_redirect=is_redirect)
        if sites:
            found = [] if foreign is None else [*zip(foreign.keys, foreign.texts, strict=True)]
            self._send_links(source, found, self._first_linked(source.key[:8], sites), gift, is_redirect=is_redirect)
        return [*seqs]

    def _found_by(self, seq: int) -> bytes:
        """Return the site (8 bytes) whose page named a URL first; cached."""
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
        """Send a redirect to the target's owner, if that is another agent that has got the target."""
        if not self.is_own(to_key) and (row := self._tables.seen.row(to_key)) is not None and row.state is State.OUTBOX:
            self._send(to_key, Edge(original, target, status))

    def end(self, original: bytes, hops: int, target: CrawlURL, status: int, fingerprint: bytes) -> None:
        """Send the end of a chain of redirects to the original's owner."""
        self._send(original, ChainEnd(original, hops, target.text, status, fingerprint))

    # -- robots.txt

    def ask(self, hop: CrawlURL) -> None:
        """Ask the owner of `hop` to request it; the answer comes as a `RobotsAnswer`."""
        self._send(hop.key, RobotsAsk(self._ownership.me, hop.text, hop.text, hop.hops))

    def answer(self, peer: PeerAsking, outcome: Outcome) -> None:
        """Send another agent the answer to the robots.txt for which it asked; nothing is sent if that agent no longer exists."""
        if peer.agent in self._ownership.others:
            self._tables.channels.send(peer.agent, encode(answer_of(peer.asked, outcome)))

    # -- sitemaps

    def submit(self, key: bytes, submitted: Submitted) -> None:
        """Ask a sitemap's owner to read it.

        Args:
            key: The key of the sitemap.
        """
        self._send(key, submitted)

    def announce(self, sitemap: str, label: str, found: Iterable[tuple[bytes, SitemapEntry]]) -> None:
        """Send the owners of URLs what a sitemap says about them."""
        entries: dict[int, list[SitemapEntry]] = {}
        for key, entry in found:
            entries.setdefault(self._ownership.owner(key), []).append(entry)
        for to in sorted(entries):
            self._tables.channels.send(to, encode(Announced(sitemap, entries[to], label)))

    # -- requisites

    def need(self, source: CrawlURL, hop: int, hops: int, found: Iterable[tuple[bytes, str]]) -> None:
        """Ask the owners of URLs to fetch them as requisites; arguments as of `Requisites.want`."""
        texts: dict[int, list[str]] = {}
        for key, text in found:
            texts.setdefault(self._ownership.owner(key), []).append(text)
        for to in sorted(texts):
            self._tables.channels.send(to, encode(Needed(source.text, source.seed_distance, hop, hops, texts[to], self._labels.of(source))))

    # -- filters

    def request(self, url: CrawlURL, who: str) -> None:
        """Ask a URL's owner to make a filter's request; the answer comes as `Answered`."""
        self._send(url.key, Ask(self._ownership.me, who, url.text, url.purpose))

    def reduced_answer(self, prober: int, who: str, reduced: bytes) -> None:
        """Send another agent the answer to a filter's request; nothing is sent if that agent no longer exists."""
        if prober in self._ownership.others:
            self._tables.channels.send(prober, encode(Answered(who, reduced)))

    def tell(self, who: str, tell: Tell) -> None:
        """Send a filter's finding to the same filter at the owner of a site."""
        self._send(tell.key, News(who, tell.news))


def robots_hop(message: RobotsAsk, url: CrawlURL) -> CrawlURL:
    """Return the URL that another agent asks to request."""
    return CrawlURL(url.text, url.site, url.host, url.key, hops=message.hops, purpose=Purpose.ROBOTS)
