"""The inline filter in a whole crawl of the labelled web of replicas, judged by what was planted there."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from little_web import Crawled, LittleWeb, crawl, settings
from long import shortened

from thresher.config.settings import DnsSettings, FetchSettings, FilterSettings, NearReplicaSettings
from thresher.crawler.core.minhash import shingles
from thresher.crawler.core.model import Reason, State
from thresher.crawler.core.sketch import token_hashes
from thresher.crawler.core.url import is_home
from thresher.crawler.demo.demo_settings import PROFILES
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.crawler.demo.replicas import planted_mirrors
from thresher.crawler.demo.server import Server
from thresher.storage.export.judged import standing
from thresher.storage.view import View

NAME = "near_replica"


def only_replicas(tail_yield: float = 0.02, **options: Any) -> FilterSettings:
    """Return filters of which this one alone is at work."""
    of = FilterSettings(audit_share=0.0, tail_yield=tail_yield, near_replica=NearReplicaSettings(mode="enforce", **options))
    others = [name for name in of.__struct_fields__ if hasattr(getattr(of, name), "mode") and name != NAME]
    return msgspec.structs.replace(of, **{name: msgspec.structs.replace(getattr(of, name), mode="off") for name in others})


@dataclass
class Outcome:
    """The results of a crawl of the labelled web."""

    crawled: Crawled
    web: LabelledWeb
    replica_of: dict[str, str]  # URL → URL of the kept page that it replicates, by the verdicts that stand
    reported: set[str]  # URLs that look like a kept page, and are kept
    mirror_of: dict[str, str]

    @property
    def planted(self) -> dict[str, str]:
        return planted_mirrors(self.web.parts["replicas"])

    def mirrored(self, origin: str) -> str:
        """Return the host that a planted mirror mirrors, of another host itself."""
        host = origin.removeprefix("http://").partition(":")[0]
        return self.planted.get(host, host)

    def document(self, url: str) -> str:
        return self.web.label(url).document

    def right(self) -> int:
        return sum(self.document(url) == self.document(kept) for url, kept in self.replica_of.items())

    def resembling(self, least: float) -> list[str]:
        """Return the fetched pages, home pages aside, whose text resembles one of the same document met before by `least`."""
        met: dict[str, list[frozenset[int]]] = defaultdict(list)
        found = []
        for url in self.crawled.pages:
            document = self.document(url)
            own = frozenset(shingles(token_hashes("\n".join(self.web.locate(url)[1].text())), 5).tolist())
            if any(len(own & other) >= least * len(own | other) for other in met[document]) and document and not is_home(url):
                found.append(url)
            met[document].append(own)
        return found


async def crawl_replicas(path: Path, *, part_pages: int = 46, turn: int = 1, **options: Any) -> Outcome:
    """Crawl the part with this filter alone. turn: -1 for the last seed first, so that copies come before their originals"""
    async with Server(replace(PROFILES["replicas"], part_pages=part_pages)) as server:
        web = server.web
        assert isinstance(web, LabelledWeb)
        base: dict[str, Any] = {
            "fetch": FetchSettings(allow_addresses=["127.0.0.0/8"], allow_ports=[server.port], concurrency=32),
            "dns": DnsSettings(static=web.static_dns()),
            "sitemaps": "off",
            "filters": only_replicas(**options),
        }
        configuration = msgspec.structs.replace(settings(LittleWeb(), [], **base), seeds=web.seeds()[::turn])
        crawled = await crawl(path, configuration)
    replica_of, mirror_of = {}, {}
    reported = set()
    with View(path, at_once=True) as view:
        texts = {row.key: row.text for row, _ in view.all_urls()}
        for url, page in crawled.pages.items():
            for said in standing(page, view.tables.verdicts.revisions(page.key)):
                evidence = said.verdict.evidence
                if said.verdict.filter == NAME and said.verdict.reason == Reason.NEAR_REPLICA:
                    replica_of[url] = texts[bytes.fromhex(str(evidence["replica_of"]))]
                if "looks_like" in evidence:
                    reported.add(url)
                if "mirror_of" in evidence:
                    mirror_of[str(evidence["mirror"])] = str(evidence["mirror_of"])
    return Outcome(crawled, web, replica_of, reported, mirror_of)


@pytest.mark.parametrize("turn", shortened([-1, 1], 1))
async def test_replicas_are_named_and_pages_of_one_text_with_other_children_are_not(turn: int, tmp_path: Path) -> None:
    """Of two pages of one document the later one is called the replica, whichever that is: hosts are crawled at the same time."""
    outcome = await crawl_replicas(tmp_path / "c", mirrors="keep", turn=turn)
    assert outcome.right() == len(outcome.replica_of)
    resembling = outcome.resembling(0.82)
    assert len(outcome.reported.union(outcome.replica_of).intersection(resembling)) >= 0.95 * len(resembling)
    for least, bar in ((0.9, 0.93), (0.94, 0.99)):
        resembling = outcome.resembling(least)
        assert len(resembling) > 100
        assert len(outcome.replica_of.keys() & resembling) >= bar * len(resembling), least
    kinds = {outcome.web.label(url).kind for url in outcome.replica_of}
    assert {"mirror", "empty"} <= kinds
    assert not kinds & {"twin", "index"}, "documents of their own"
    assert {outcome.mirrored(url) for url in outcome.mirror_of} == set(outcome.planted.values())
    assert all(outcome.mirrored(url) == outcome.mirrored(of) for url, of in outcome.mirror_of.items())
    assert len(outcome.mirror_of) == len(outcome.planted), "of each text's hosts one is no mirror"


async def test_mirrors_are_held_and_next_to_nothing_is_lost(tmp_path: Path) -> None:
    outcome = await crawl_replicas(tmp_path / "c", tail_yield=1.0)  # held URLs are never fetched
    assert outcome.crawled.status.hosts_parked == {}
    lost = outcome.web.truth().documents().keys() - {outcome.document(url) for url in outcome.crawled.pages}
    assert len(lost) <= 0.02 * len(outcome.web.truth().documents())
    unfetched = outcome.web.truth().urls.keys() - outcome.crawled.pages.keys()
    assert len(unfetched) >= 0.1 * len(outcome.web.truth().urls)


@pytest.mark.parametrize(("mirrors", "state"), [("hold", State.HELD), ("drop", State.REFUSED)])
async def test_the_queue_of_a_mirror_is_held_or_dropped(mirrors: str, state: State, tmp_path: Path) -> None:
    """Mutation: the filter is not asked again when a URL's turn comes."""
    async with LittleWeb() as web:
        for host in ("a.test", "b.test"):
            web.page(f"{host}/", *(f"{host}/{i}" for i in range(50)))
            for i in range(50):
                web.page(f"{host}/{i}", *(["b.test/"] if i == 49 else []), text=" ".join(f"w{i}-{n}" for n in range(60)))
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=only_replicas(mirrors=mirrors, tail_yield=1.0)))
    asked = [place for place in web.requests if place.startswith("b.test/")]
    assert 20 <= len(asked) <= 25
    rest = {crawled.state(web.url(f"b.test/{i}")) for i in range(50) if f"b.test/{i}" not in asked}
    assert rest == {state}
    assert crawled.status.hosts_parked == {}
    assert {f"a.test/{i}" for i in range(50)} <= set(web.requests), "what it mirrors is fetched"


async def test_a_mirror_s_own_pages_are_found_by_the_tail(tmp_path: Path) -> None:
    """An outdated mirror: most of its pages are the original's, the last five are not. Mutation: URLs of mirrors are dropped, not held."""
    async with LittleWeb() as web:
        for host in ("a.test", "b.test"):
            web.page(f"{host}/", *(f"{host}/{i}" for i in range(50)))
            for i in range(50):
                own = host if i >= 45 else ""
                web.page(f"{host}/{i}", *(["b.test/"] if i == 44 else []), text=" ".join(f"w{own}{i}-{n}" for n in range(60)))
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=only_replicas()))
    assert {crawled.state(web.url(f"b.test/{i}")) for i in range(45, 50)} == {State.DONE}


async def test_content_of_replicas_is_kept_unless_it_is_to_be_dropped(tmp_path: Path) -> None:
    """Mutation: `store_replicas` is not asked."""
    for store, name in ((False, "once"), (True, "again")):
        outcome = await crawl_replicas(tmp_path / name, part_pages=12, mirrors="keep", store_replicas=store)
        assert outcome.replica_of
        assert {outcome.crawled.pages[url].has_body for url in outcome.replica_of} == {store}
        assert all(outcome.crawled.pages[url].has_body for url in outcome.replica_of.values())


async def test_a_verdict_is_revised_in_the_background_when_the_neighbourhood_has_become_known(tmp_path: Path) -> None:
    """Two lists have one text. The pages that they link to turn out to be the same under other names, once both lists have been judged.
    Mutation: no pass in the background.
    """
    words = {name: " ".join(f"{name}{i}" for i in range(80)) for name in ("list", "item0", "item1", "item2")}
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/list", "a.test/list?print=1", "a.test/on/1")
        for form in ("", "?print=1"):
            web.page(f"a.test/list{form}", *(f"a.test/item{i}{form}" for i in range(3)), text=words["list"], title="list")
            for i in range(3):
                web.page(f"a.test/item{i}{form}", text=words[f"item{i}"], title="item")
        web.page("a.test/on/1", "a.test/on/2")
        web.page("a.test/on/2", *(f"a.test/more/{i}" for i in range(70)))
        for i in range(70):
            web.page(f"a.test/more/{i}", text=" ".join(f"more{i}-{n}" for n in range(60)))
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=only_replicas()))
    [(revised, by)] = crawled.revised.items()
    assert web.place(revised) in ("a.test/list", "a.test/list?print=1"), "whichever came second"
    assert by == [NAME]
    assert crawled.pages[revised].keep, "it was kept when it came"
