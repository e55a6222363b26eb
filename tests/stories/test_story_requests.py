"""Requests that filters ask for, probes and audits, made by a real crawl of a real server; the store is sound after each."""

from __future__ import annotations

from pathlib import Path

import pytest
from little_web import LittleWeb, crawl, settings, space
from planted import LinkScript, PageScript

from thresher.config.settings import DnsSettings, FilterSettings, LimitSettings, PolitenessSettings, RetrySettings
from thresher.crawler.core.effects import Hold, Release, Request, Rewrite
from thresher.crawler.core.model import Mode, Purpose, State
from thresher.filters.spec import FilterSpec

RULE = "same page"


def pages(script: PageScript, mode: Mode = Mode.ENFORCE) -> FilterSpec:
    return FilterSpec(script.name, mode, page=script, prober=script)


def links(script: LinkScript, mode: Mode = Mode.ENFORCE) -> FilterSpec:
    return FilterSpec(script.name, mode, learned=script)


async def test_a_probe_is_answered_to_its_filter_and_is_no_page_of_the_crawl(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1", "a.test/2")
        web.page("a.test/1")
        web.page("a.test/2")
        web.page("a.test/probe", "a.test/behind", text="what a probe finds")
        web.page("a.test/missing", status=404)
        prober = PageScript("prober", asks={web.url("a.test/"): (Request(web.url("a.test/probe"), Purpose.PROBE),)})
        prober.asks_on_answer = {web.url("a.test/probe"): (Request(web.url("a.test/missing"), Purpose.VALIDATION),)}
        other = PageScript("other")
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"]), [pages(prober), pages(other)])
    assert web.requests == ["a.test/", "a.test/probe", "a.test/missing", "a.test/1", "a.test/2"], "ahead of their host's queue"
    assert [(web.place(answer.url), answer.status) for answer in prober.answers] == [("a.test/probe", 200), ("a.test/missing", 404)]
    assert "what a probe finds" in (prober.answers[0].text or "")
    assert not other.answers
    assert other.judged == [web.url(place) for place in ("a.test/", "a.test/1", "a.test/2")]
    assert set(crawled.rows) == set(crawled.pages) == {web.url(place) for place in ("a.test/", "a.test/1", "a.test/2")}
    assert crawled.links[web.url("a.test/")] == {web.url("a.test/1"), web.url("a.test/2")}
    assert crawled.status.pages == 3
    assert crawled.status.requests == 6


async def test_a_probe_of_a_known_url_leaves_the_url_what_it_is(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1")
        web.page("a.test/1")
        probes = tuple(Request(web.url(place), Purpose.PROBE) for place in ("a.test/", "a.test/1"))
        prober = PageScript("prober", asks={web.url("a.test/"): probes})
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"]), [pages(prober)])
    assert web.requests == ["a.test/", "a.test/", "a.test/1", "a.test/1"]
    assert [web.place(answer.url) for answer in prober.answers] == ["a.test/", "a.test/1"]
    assert crawled.status.pages == 2
    assert {row.state for row in crawled.rows.values()} == {State.DONE}


async def test_every_probe_is_answered_even_when_there_is_no_answer(tmp_path: Path) -> None:
    """Denied by robots.txt, a server's error, a redirect, an unknown name, no URL, a site that may have no more hosts: the filter hears for
    each why there is no page.
    """
    places = ["robots.test/private/1", "a.test/error", "a.test/moved", "a.invalid/x", "y.site.test/"]
    async with LittleWeb() as web:
        web.page("a.test/", "x.site.test/", "a.test/held")
        web.page("x.site.test/")
        web.page("a.test/held")
        web.robots("robots.test", "User-agent: *\nDisallow: /private/")
        web.page("a.test/error", status=500)
        web.redirect("a.test/moved", "a.test/elsewhere")
        asked = [*(web.url(place) for place in places), "http://[bad/"]
        prober = PageScript("prober", asks={web.url("x.site.test/"): tuple(Request(url, Purpose.PROBE) for url in asked)})
        vain = "http://[bad/", web.url("y.site.test/")
        prober.asks_on_answer = {
            url: (Request(url, Purpose.PROBE), Release(url)) for url in vain
        }  # repeated in vain, and then reported to the filter
        holder = LinkScript("holder", asks=lambda url: [Hold(url, name) for name in vain] if url.endswith("held") else [])
        configuration = settings(
            web,
            ["a.test/"],
            limits=LimitSettings(min_free_disk=0, max_wait=5.0, max_hosts_per_site=1),
            retry=RetrySettings(scale=1e-6, max_tries=2),
            dns=DnsSettings(static={".test": web.address}, servers=["127.0.0.1:9"]),
        )
        crawled = await crawl(tmp_path / "c", configuration, [pages(prober), links(holder)])
    told = {web.place(answer.url): (answer.failure or web.place(answer.target), answer.status) for answer in prober.answers}
    assert told == {
        "robots.test/private/1": ("robots_denied", 0),
        "a.test/error": ("http_5xx", 500),
        "a.test/moved": ("a.test/elsewhere", 301),
        "a.invalid/x": ("dns_fail", 0),
        "y.site.test/": ("site_host_limit", 0),
        "[bad/": ("bad_url", 0),
    }
    assert {answer.text for answer in prober.answers} == {None}
    assert len(prober.answers) == len(asked)
    assert "robots.test/private/1" not in web.requests
    assert {web.place(url): row.state for url, row in crawled.rows.items()} == dict.fromkeys(
        ("a.test/", "x.site.test/", "a.test/held"), State.DONE
    )


async def test_a_probe_keeps_its_host_s_delay(tmp_path: Path) -> None:
    delay_s = 0.1
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1")
        web.page("a.test/1")
        prober = PageScript(
            "prober", asks={web.url("a.test/"): tuple(Request(web.url(f"a.test/probe{i}"), Purpose.PROBE) for i in range(3))}
        )
        configuration = settings(
            web, ["a.test/"], politeness=PolitenessSettings(min_delay=delay_s, delay_factor=0.0, jitter=0.0, address_delay=0.0)
        )
        await crawl(tmp_path / "c", configuration, [pages(prober)])
    assert web.requests == ["a.test/", "a.test/probe0", "a.test/probe1", "a.test/probe2", "a.test/1"]
    assert min(web.gaps("a.test")) >= delay_s


async def test_a_probe_that_waits_when_the_crawl_stops_is_answered_in_the_next_life(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1")
        web.page("a.test/1")
        web.page("a.test/probe")
        prober = PageScript("prober", asks={web.url("a.test/"): (Request(web.url("a.test/probe"), Purpose.PROBE),)})
        await crawl(tmp_path / "c", settings(web, ["a.test/"], limits=LimitSettings(min_free_disk=0, max_pages=1)), [pages(prober)])
        assert not prober.answers
        await crawl(tmp_path / "c", settings(web, ["a.test/"]), [pages(prober)])
    assert web.requests == ["a.test/", "a.test/probe", "a.test/1"]
    assert [web.place(answer.url) for answer in prober.answers] == ["a.test/probe"]


async def test_an_audit_revives_what_was_held_and_counts_as_a_page(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/held", "a.test/alias", "a.test/refused", "a.test/last")
        for place in ("held", "alias", "refused", "last", "canonical"):
            web.page(f"a.test/{place}")
        one = LinkScript(
            "one",
            refuses=lambda url: url.endswith("refused"),
            asks=lambda url: (
                [Hold(url, "rule")]
                if url.endswith("held")
                else [Rewrite(url, web.url("a.test/canonical"), RULE)]
                if url.endswith("alias")
                else []
            ),
        )
        audits = tuple(Request(web.url(f"a.test/{place}"), Purpose.AUDIT) for place in ("held", "alias", "refused", "last"))
        two = PageScript("two", asks={web.url("a.test/canonical"): audits})
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"]), [links(one), pages(two)])
    assert web.requests == ["a.test/", "a.test/last", "a.test/canonical", "a.test/held", "a.test/alias", "a.test/refused"]
    assert {web.place(url) for url, page in crawled.pages.items() if page.purpose == Purpose.AUDIT} == {
        "a.test/held",
        "a.test/alias",
        "a.test/refused",
    }
    assert {row.state for row in crawled.rows.values()} == {State.DONE}
    assert (crawled.held_by, crawled.aliases) == ({}, {})
    assert crawled.status.pages == 6
    assert not two.answers, "an audit is a page of the crawl: every filter sees it, nobody is answered"
    assert web.url("a.test/held") in two.judged


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
async def test_an_audited_share_of_what_is_refused_is_fetched_and_marked(tmp_path: Path, share: float) -> None:
    n = 100
    async with LittleWeb() as web:
        web.page("a.test/", *[f"a.test/{i}" for i in range(n)])
        script = LinkScript("refuser", refuses=lambda url: not url.endswith("/"))
        configuration = settings(web, ["a.test/"], filters=FilterSettings(audit_share=share))
        crawled = await crawl(tmp_path / "c", configuration, [links(script)])
        below = int(share * 2**32)
        keys = space(web, tmp_path / "c")
    chosen = {url for i in range(n) if int.from_bytes(keys.key(url := web.url(f"a.test/{i}"))[-4:], "big") < below}
    audited = {url for url, row in crawled.rows.items() if row.purpose is Purpose.AUDIT}
    assert audited == chosen == {web.url(place) for place in web.requests[1:]}
    assert {row.state for url, row in crawled.rows.items() if url not in chosen and url != web.url("a.test/")} <= {State.REFUSED}
    assert abs(len(chosen) - share * n) <= 4 * (share * (1 - share) * n) ** 0.5
    assert crawled.status.saved.get("refuser", 0) == n - len(chosen)
