"""Labelled webs: planted sites for the filters, where the truth about every URL is known.

A labelled web is made of parts (`DemoSettings.parts`), each with hosts, seeds and traps of its own: they can be crawled one by one or all
together. To the server it is a web like the plain one. Its truth: `label` of any URL, `truth` of all URLs that can be reached, `graph`.

    soft        soft errors of nine kinds, and honest redirects and thin pages beside them      soft.py
    aliases     documents under many URLs, with rules that name them, and decoys                aliases.py
    patterns    URL patterns that yield nothing new, late bloomers, archives, translations      patterns.py
    depth       calendar, facets, session ids; a chain of 40 real pages, a plain tree           depth.py
    replicas    edits of known size, mirrors, template twins, indexes of one archive            replicas.py
    rank        hubs, local-link farms, sites by Zipf's law                                     rank.py

robots.txt allows everything on every host. Addresses are in 127.0.0.0/8, one per host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from thresher.crawler.demo.aliases import AliasPart
from thresher.crawler.demo.demo_settings import DemoSettings
from thresher.crawler.demo.depth import depth_part
from thresher.crawler.demo.labels import Label, LabelledTrap, Labels, label_of, walk
from thresher.crawler.demo.page_truth import PageTruth, gone, print_page
from thresher.crawler.demo.part_context import Part, PartContext
from thresher.crawler.demo.patterns import pattern_part
from thresher.crawler.demo.rank import RankPart
from thresher.crawler.demo.replicas import replica_part
from thresher.crawler.demo.seeded_random import SeededRandom
from thresher.crawler.demo.soft import SoftPart
from thresher.crawler.demo.truth import split
from thresher.crawler.demo.web import Reply

PARTS: dict[str, Callable[[PartContext], Part]] = {
    "soft": SoftPart,
    "aliases": AliasPart,
    "patterns": pattern_part,
    "depth": depth_part,
    "replicas": replica_part,
    "rank": RankPart,
}
_ROBOTS = b"User-agent: *\nDisallow:\n"


class LabelledWeb:
    """One labelled web, as seen on one port."""

    def __init__(self, demo_settings: DemoSettings, *, port: int = 80) -> None:
        self.demo_settings = demo_settings
        self._suffix = "" if port == 80 else f":{port}"
        rng, sizes = (
            SeededRandom(demo_settings.seed),
            {"n_sites": demo_settings.part_sites, "n_pages": demo_settings.part_pages, "n_shared": demo_settings.shared_sites},
        )
        self.parts: dict[str, Part] = {name: PARTS[name](PartContext(name, rng, self.origin, **sizes)) for name in demo_settings.parts}
        self._part_of = {host: name for name, part in self.parts.items() for host in part.hosts()}

        self._truth: Labels | None = None

    # seeds, addresses, traps

    def origin(self, host: str) -> str:
        return f"http://{host}{self._suffix}"

    def seeds(self) -> list[str]:
        """Return the URLs to start from: those of each part."""
        return [url for part in self.parts.values() for url in part.seeds()]

    def hosts(self) -> list[str]:
        return list(self._part_of)

    def static_dns(self) -> dict[str, str]:
        """Return name → address for `dns.static`."""
        return {host: f"127.{10 + i // 60_000}.{i // 240 % 250}.{1 + i % 240}" for i, host in enumerate(self._part_of)}

    def traps(self) -> tuple[LabelledTrap, ...]:
        """Return all endless parts."""
        return tuple(trap for part in self.parts.values() for trap in part.traps())

    # robots.txt

    def allows(self, host: str, path: str) -> bool:
        """Return True: no host forbids anything."""
        return True

    def crawl_delay(self, host: str) -> float:
        """Return 0: no host asks for a delay."""
        return 0.0

    # the truth

    def locate(self, url: str) -> tuple[str, PageTruth]:
        """Return (the part of a canonical URL or "", what is at the URL)."""
        host, path = split(url)
        name = self._part_of.get(host, "")
        return name, (self.parts[name].find(host, path) if name else gone())

    def label(self, url: str) -> Label:
        """Return what any canonical URL is, linked or not."""
        return label_of(url, *self.locate(url))

    def truth(self) -> Labels:
        """Return all URLs that links and redirects lead to from the seeds; computed once. Time: some 10 µs a link."""
        if self._truth is None:
            self._truth = walk(self.seeds(), self.locate, self.traps())
        return self._truth

    def graph(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield (URL, out-links in page order, with repetitions) for every URL of the truth; the only out-link of a redirect is its
        target.
        """
        for url in self.truth().urls:
            truth = self.locate(url)[1]
            yield url, (truth.target,) if truth.target else tuple(anchor.url for anchor in truth.anchors())

    # answers

    def respond(self, host: str, path: str, attempt: int = 1) -> Reply:
        """Answer GET `path` (with query) of `host`, which may name a port; every attempt gets the same."""
        name = host.partition(":")[0].rstrip(".").lower()
        part = self._part_of.get(name)
        if part is None:
            return Reply(404, (("content-type", "text/plain"),), b"no such host\n")
        if path == "/robots.txt":
            return Reply(200, (("content-type", "text/plain"),), _ROBOTS)
        truth = self.parts[part].find(name, path)
        location = (("location", truth.target),) if truth.target else ()
        return Reply(truth.status, (("content-type", truth.mime), *location), print_page(truth, self.origin(name)))
