"""A crawl of the labelled soft-error web, and what its truth says of what the crawl recorded.

A URL counts as caught if the filter's standing verdict calls it a soft error, if it was refused as one before it was fetched, or if it
waits at a host that was parked since it shows nothing but a wall. What is fetched and not caught is missed; so is what was never reached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from little_web import Crawled, LittleWeb, crawl, settings

from thresher.config.settings import DnsSettings, FetchSettings, FilterSettings, SoftErrorSettings
from thresher.crawler.core.model import Reason, State
from thresher.crawler.core.url import origin_of, queue_name
from thresher.crawler.demo.demo_settings import PROFILES
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.crawler.demo.log import ServerLog
from thresher.crawler.demo.server import Server
from thresher.crawler.demo.soft import HONEST, SOFT
from thresher.filters.soft_error.probe import N_LETTERS, directory_of
from thresher.filters.soft_error.score import sigma
from thresher.filters.soft_error.spelling import same_page
from thresher.storage.records import HOST
from thresher.storage.schema import HOSTS
from thresher.storage.view import View

NAME = "soft_error"
KINDS = {"soft_root": "root", "login_wall": "login", "shell": "js_shell"}  # the truth's name → the filter's, where they differ


class Share(NamedTuple):
    """Precision and recall, and what they are made of."""

    n_right: int
    n_wrong: int
    n_missed: int

    @property
    def precision(self) -> float:
        return self.n_right / max(1, self.n_right + self.n_wrong)

    @property
    def recall(self) -> float:
        return self.n_right / max(1, self.n_right + self.n_missed)


def only_soft_errors(**options: Any) -> FilterSettings:
    """Return filters of which no other one that learns is on, so that all effects are those of this one."""
    of = FilterSettings(audit_share=0.0, soft_error=SoftErrorSettings(**options))
    learning = [name for name in of.__struct_fields__ if hasattr(getattr(of, name), "mode") and name not in (NAME, "media")]
    return msgspec.structs.replace(of, **{name: msgspec.structs.replace(getattr(of, name), mode="off") for name in learning})


@dataclass
class Outcome:
    """The results of a crawl of the labelled web."""

    crawled: Crawled
    web: LabelledWeb
    log: ServerLog
    verdicts: dict[str, dict[str, Any]]  # URL → evidence of the standing verdict that calls it a soft error
    caught: set[str] = field(default_factory=set)

    def share(self, caught: Iterable[str] | None = None) -> Share:
        """Compare what was caught with the truth over all kinds."""
        called = self.caught if caught is None else set(caught)
        labels = self.web.truth().urls
        wrong = sum(self.web.label(url).kind in HONEST for url in called)
        right = {url for url, label in labels.items() if label.kind in SOFT}
        return Share(len(right & called), wrong, len(right - called))

    def by_kind(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Return (kind, variant) → caught, all; of soft kinds and honest ones."""
        counts: dict[tuple[str, str], list[int]] = {}
        for url, label in self.web.truth().urls.items():
            if label.kind in SOFT | HONEST:
                count = counts.setdefault((label.kind, label.variant), [0, 0])
                count[0] += url in self.caught
                count[1] += 1
        return {kind: (count[0], count[1]) for kind, count in sorted(counts.items())}

    def probes(self) -> dict[str, int]:
        """Return how many probes the server saw, by directory; redirects of probes that were followed do not count."""
        found: Counter[str] = Counter()
        for request in self.log.requests:
            url = f"http://{request.host}{request.path}"
            name = request.path.rstrip("/").rpartition("/")[2].partition(".")[0].rpartition("=")[2]
            if len(name) == N_LETTERS and name.isalpha() and self.web.label(url).depth < 0 and url not in self.crawled.rows:
                found[directory_of(url)] += 1
        return dict(found)

    def by_score_alone(self, threshold: float = 3.0) -> set[str]:
        """Return the URLs that the paper's score alone would call soft errors, from the same redirect log when it is complete."""
        pairs = [(url, target) for url, (target, _, _) in self.crawled.pairs.items() if not same_page(url, target)]
        hosts = {url: queue_name(origin_of(url)) for pair in pairs for url in pair}
        to_target = Counter(target for _, target in pairs)
        from_host = Counter(hosts[url] for url, _ in pairs)
        targets: dict[str, set[str]] = {}
        target_hosts: dict[str, set[str]] = {}
        for url, target in pairs:
            targets.setdefault(hosts[url], set()).add(target)
            target_hosts.setdefault(hosts[url], set()).add(hosts[target])
        return {
            url
            for url, target in pairs
            if sigma(to_target[target], from_host[hosts[url]], len(targets[hosts[url]]), len(target_hosts[hosts[url]])) >= threshold
        }


async def crawl_soft_web(path: Path, *, part_pages: int = 0, **sections: Any) -> Outcome:
    """Crawl the labelled web of soft errors to its end. part_pages: URLs of a host, 0 for 300."""
    log = path / "server.log"
    async with Server(replace(PROFILES["soft"], part_pages=part_pages), log=log) as server:
        web = server.web
        assert isinstance(web, LabelledWeb)
        base: dict[str, Any] = {
            "fetch": FetchSettings(allow_addresses=["127.0.0.0/8"], allow_ports=[server.port], concurrency=32),
            "dns": DnsSettings(static=web.static_dns()),
            "sitemaps": "off",
        }
        configuration = msgspec.structs.replace(settings(LittleWeb(), [], **{**base, **sections}), seeds=web.seeds())
        crawled = await crawl(path / "store", configuration)
    verdicts = standing(path / "store")
    return Outcome(crawled, web, ServerLog.read(log), verdicts, caught(path / "store", crawled, verdicts))


def standing(path: Path) -> dict[str, dict[str, Any]]:
    """Return URL → evidence of every URL whose standing verdict of the filter is a soft error."""
    found: dict[str, dict[str, Any]] = {}
    with View(path, at_once=True) as view:
        for _, page in view.all_pages():
            said = [verdict for verdict in page.verdicts if verdict.filter == NAME]
            if said and said[-1].reason == Reason.SOFT_ERROR:
                found[page.url] = dict(said[-1].evidence)
        for url, _ in view.all_urls():
            revisions = [revision.verdict for revision in view.tables.verdicts.revisions(url.key) if revision.verdict.filter == NAME]
            if revisions and revisions[-1].reason == Reason.SOFT_ERROR:
                found[url.text] = dict(revisions[-1].evidence)
            elif revisions:
                found.pop(url.text, None)
    return found


def caught(path: Path, crawled: Crawled, verdicts: Iterable[str]) -> set[str]:
    """Return the URLs that were caught, in each of the three ways."""
    with View(path, at_once=True) as view:
        parked = {record.name for _, value in view.rows(HOSTS) if (record := HOST.decode(value)).parked == Reason.WALLED}
        refused = {line.url for line in view.all_skipped() if line.reason == Reason.SOFT_ERROR}
    waiting = {url for url, row in crawled.rows.items() if row.state is State.QUEUED and queue_name(origin_of(url)) in parked}
    refused |= {url for url, row in crawled.rows.items() if row.reason is Reason.SOFT_ERROR}
    return {*verdicts, *refused, *waiting}
