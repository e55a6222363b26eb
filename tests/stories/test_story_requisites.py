"""An archive with `requisites: true` has all that is needed to show its pages, and obeys every rule of the crawl."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from little_web import LittleWeb, crawl
from raw_web import answers, archived, faults, records

from thresher.config.load import load
from thresher.config.settings import ArchiveSettings, FilterSettings, LimitSettings, ScopeSettings, Settings, SoftErrorSettings
from thresher.crawler.explain.explain import Explainer
from thresher.crawler.start.rounds import begin_round
from thresher.storage.records import REQUISITE, RequisiteRecord
from thresher.storage.schema import REQUISITES
from thresher.storage.view import View

WHOLE = ArchiveSettings(format="warc", requisites=True)
EXAMPLE = Path(__file__).parents[2] / "config/examples/archive.yaml"
PNG = b"\x89PNG\r\n\x1a\n"


def whole(web: LittleWeb, seeds: list[str], **sections: object) -> Settings:
    """Return the configuration of a crawl of the seeds' hosts that archives what pages need."""
    return archived(web, seeds, **{"archive": WHOLE, "scope": ScopeSettings(type="host"), **sections})


def image(web: LittleWeb, place: str) -> str:
    web.file(place, "image/png", PNG + place.encode() * 9)
    return web.url(place)


def css(web: LittleWeb, place: str, text: str) -> str:
    web.file(place, "text/css", text.encode())
    return web.url(place)


def fates(store: Path) -> dict[str, RequisiteRecord]:
    with View(store, at_once=True) as view:
        return {(record := REQUISITE.decode(value)).text: record for _, value in view.rows(REQUISITES)}


def shop(web: LittleWeb) -> set[str]:
    """Put a shop of 12 products with 60 images, on two hosts, and with styles, scripts and fonts; return all that its pages need."""
    font, deep = web.url("fonts.test/f.woff2"), web.url("fonts.test/deep.woff2")
    web.file("fonts.test/f.woff2", "font/woff2", b"wOF2" + bytes(99))
    web.file("fonts.test/deep.woff2", "font/woff2", b"wOF2" + bytes(98))
    background = image(web, "shop.test/bg.png")
    typefaces = css(
        web, "cdn.test/type.css", f"@import '{web.url('cdn.test/more.css')}'; @font-face {{ src: url({font}) format('woff2') }}"
    )
    last = css(web, "cdn.test/last.css", f"@font-face {{ src: url({deep}) }}")  # after four imports, which is too far
    fourth = css(web, "cdn.test/fourth.css", f"@import '{last}'")
    more = css(web, "cdn.test/more.css", f"@import '{fourth}'")
    style = css(web, "shop.test/style.css", f"@import url({typefaces}); body {{ background: url('bg.png') }} a {{ filter: url(#x) }}")
    web.file("shop.test/app.js", "text/javascript", b"var a = 1;")
    needed = {style, typefaces, more, fourth, last, font, background, web.url("shop.test/app.js"), image(web, "shop.test/favicon.ico")}
    head = f'<link rel="stylesheet" href="{style}"><script src="/app.js"></script>'
    for n in range(12):
        images = [image(web, f"{'cdn' if i % 2 else 'shop'}.test/i{n}-{i}.png") for i in range(5)]
        needed.update(images)
        shown = f'<img src="{images[0]}" srcset="{images[1]} 2x, {images[2]} 3x">'
        shown += f'<video poster="{images[3]}"></video><p style="background: url({images[4]})"></p>'
        web.page(f"shop.test/{n}", head=head + shown)
    web.page("shop.test/", *(f"shop.test/{n}" for n in range(12)), "cdn.test/page", head=head)
    web.page("cdn.test/page")
    return needed


async def test_a_shop_is_there_with_all_that_its_pages_need(tmp_path: Path) -> None:
    """60 images, styles, scripts, fonts, up to three hops away by three imports in a row, also out of scope: each is requested once, and
    none counts as a page. Mutation: if style sheets are not read, or requisites must be in scope, fonts and half of the images are missing.
    """
    async with LittleWeb() as web:
        needed = shop(web)
        labels = {web.url("shop.test/"): "Läden"}
        crawled = await crawl(tmp_path, whole(web, ["shop.test/"], labels=labels))
        by_url = answers(tmp_path)
        pages = {web.url("shop.test/"), *(web.url(f"shop.test/{n}") for n in range(12))}
        assert len([url for url in needed if url.endswith("png")]) == 61
        assert needed - by_url.keys() == set()
        assert set(crawled.pages) == pages
        assert crawled.rows.keys() & needed == set()
        assert crawled.links.keys() == pages - {url for url in pages if url not in crawled.links}
        assert crawled.status.pages == len(pages)
        assert sorted(web.requests) == sorted({web.place(url) for url in needed | pages}), "nothing twice, nothing else"
        told = {record.url: record.fields for record in records(tmp_path) if record.kind == "metadata"}
        assert told[web.url("cdn.test/type.css")]["hopsFromSeed"] == ["EE"]
        assert told[web.url("cdn.test/type.css")]["via"] == [web.url("shop.test/style.css")]
        assert told[web.url("fonts.test/f.woff2")]["purpose"] == ["requisite"]
        assert {url: told[url].get("label") for url in needed | pages} == {url: ["Läden"] for url in needed | pages}
    known = fates(tmp_path)
    assert {url: record.why for url, record in known.items() if record.state != "fetched"} == {
        web.url("fonts.test/deep.woff2"): "requisite_limit imports"
    }
    assert faults(tmp_path) == []


async def test_a_limit_of_imports_and_redirects_on_the_way(tmp_path: Path) -> None:
    """A redirect leads to each style sheet; redirects are no hops. The font behind one import too many has a record that says why it is
    missing.
    """
    async with LittleWeb() as web:
        font = web.url("a.test/4.woff2")
        for n in range(1, 4):
            web.redirect(f"a.test/to{n}", f"a.test/{n}.css")
            css(web, f"a.test/{n}.css", f"@import '/to{n + 1}'" if n < 3 else f"@font-face {{ src: url({font}) }}")
        web.page("a.test/", head='<link rel=icon href="data:,"><link rel=stylesheet href="/to1">')
        archive = ArchiveSettings(format="warc", requisites=True, max_imports=1)
        await crawl(tmp_path, whole(web, ["a.test/"], archive=archive))
        assert web.requests == ["a.test/", *(place for n in range(1, 4) for place in (f"a.test/to{n}", f"a.test/{n}.css"))]
        assert fates(tmp_path)[font].why == "requisite_limit imports"
    with View(tmp_path, at_once=True) as view:
        assert [(line.url, line.reason) for line in view.all_skipped()] == [(font, "requisite_limit")]
    assert faults(tmp_path) == []


@pytest.mark.parametrize("via", ["d.css", "to-d", "late.css"])
async def test_what_is_too_deep_for_one_page_is_there_for_a_nearer_one(tmp_path: Path, via: str) -> None:
    """A later page, a redirect, or a style sheet names the last of four style sheets directly, so that its font is near enough. Mutation:
    with the depth below the page that named it first, the font is missing.
    """
    async with LittleWeb() as web:
        for name, following in zip("abc", "bcd", strict=True):
            css(web, f"a.test/{name}.css", f"@import '{following}.css'")
        css(web, "a.test/d.css", "@import 'e.css'")
        css(web, "a.test/e.css", "p { background: url(deep.png) }")
        css(web, "a.test/late.css", "@import 'c.css'")
        web.redirect("a.test/to-d", "a.test/d.css")
        image(web, "a.test/deep.png")
        icon = '<link rel=icon href="data:,"><link rel=stylesheet href='
        web.page("a.test/", "a.test/next", head=f"{icon}a.css>")
        web.page("a.test/next", head=f"{icon}{via}>")
        await crawl(tmp_path, whole(web, ["a.test/"], archive=ArchiveSettings(format="warc", requisites=True, max_imports=1)))
        fetched = {web.place(record.text) for record in fates(tmp_path).values() if record.state == "fetched"}
        near = {"a.test/d.css"} | ({"a.test/e.css", "a.test/deep.png"} if "late" not in via else {"a.test/late.css"})
        assert fetched == {"a.test/a.css", "a.test/b.css", "a.test/c.css"} | near
        assert len(web.requests) == len(set(web.requests)), "each once"
    assert faults(tmp_path) == []


async def test_what_becomes_nearer_while_it_waits_leads_on_from_there(tmp_path: Path) -> None:
    """A style sheet of another host is imported first, and then named by a page before that host answers. It redirects, and its font is
    near enough.
    """
    async with LittleWeb() as web:
        icon, slow = '<link rel=icon href="data:,">', web.stall("b.test/slow")
        style = css(web, "a.test/1.css", f"@import '{web.url('b.test/to')}'")
        first = f'<img src="{image(web, "b.test/slow")}"><link rel=stylesheet href="{style}">'
        web.page("a.test/", "a.test/2", head=icon + first)
        web.page("a.test/2", "a.test/3", head=f'{icon}<link rel=stylesheet href="{web.url("b.test/to")}">')
        web.page("a.test/3", head=icon)
        web.redirect("b.test/to", "b.test/2.css")
        css(web, "b.test/2.css", "p { background: url(deep.png) }")
        image(web, "b.test/deep.png")
        web.on_request = lambda place: slow.set() if place == "a.test/3" else None
        archive = ArchiveSettings(format="warc", requisites=True, max_imports=0)
        await crawl(tmp_path, whole(web, ["a.test/"], archive=archive))
        assert [place for place in web.requests if place.startswith("b")] == ["b.test/slow", "b.test/to", "b.test/2.css", "b.test/deep.png"]


@pytest.mark.parametrize(("linked", "is_read"), [("", False), ("page", True), ("image", False)])
async def test_sitemaps_of_a_host_that_is_only_needed_are_not_read(tmp_path: Path, linked: str, is_read: bool) -> None:
    """The sitemaps of a host of which only requisites are fetched are not read, also with scope `any`, in which every host is in scope. A
    link to an image makes no page of it. The host's robots.txt is read for the image, before any page is known. Mutation: a host that is in
    scope does not count as one of requisites only.
    """
    async with LittleWeb() as web:
        web.robots("cdn.test", f"User-agent: *\nSitemap: {web.url('cdn.test/sitemap.txt')}")
        web.file("cdn.test/sitemap.txt", "text/plain", f"{web.url('cdn.test/announced')}\n".encode())
        web.page("cdn.test/announced")
        web.page("cdn.test/page")
        shown = f'<img src="{image(web, "cdn.test/image")}"><link rel=icon href="data:,">'
        web.page("a.test/", "a.test/next", head=shown)
        web.page("a.test/next", *([f"cdn.test/{linked}"] if linked else []), head='<link rel=icon href="data:,">')
        filters = FilterSettings(audit_share=0.0, soft_error=SoftErrorSettings(max_probes=0))
        chosen = whole(web, ["a.test/"], scope=ScopeSettings(type="any"), sitemaps="robots", filters=filters)
        await crawl(tmp_path, msgspec.structs.replace(chosen, limits=msgspec.structs.replace(chosen.limits, max_pages=2)))
        assert "cdn.test/sitemap.txt" not in web.requests
        await crawl(tmp_path, chosen)
        asked = [place for place in web.requests if place.startswith("cdn")]
    expected = ["cdn.test/image", *(["cdn.test/page", "cdn.test/sitemap.txt", "cdn.test/announced"] if is_read else [])]
    assert [place for place in asked if "favicon" not in place] == expected
    assert faults(tmp_path) == []


@pytest.mark.parametrize("text", ["the same words", "quite other words than before"])
async def test_a_page_that_needs_something_else_when_it_is_visited_again(tmp_path: Path, text: str) -> None:
    """In a later round, whether its words have changed or only its picture; what is in the archive already is not requested again."""
    async with LittleWeb() as web:
        icon = '<link rel=icon href="data:,">'
        old, new = image(web, "a.test/old.png"), image(web, "cdn.test/new.png")
        web.page("a.test/", text="the same words", head=f'{icon}<img src="{old}">')
        chosen = whole(web, ["a.test/"])
        await crawl(tmp_path, chosen)
        web.page("a.test/", text=text, head=f'{icon}<img src="{old}"><img src="{new}">')
        begin_round(tmp_path, older_than_s=0.0, where=())
        await crawl(tmp_path, chosen)
        assert web.requests == ["a.test/", "a.test/old.png", "a.test/", "cdn.test/new.png"]
        assert {new, old} <= answers(tmp_path).keys()
    assert faults(tmp_path) == []


async def test_what_pages_need_goes_ahead_of_further_pages(tmp_path: Path) -> None:
    """When `max_pages` is reached, requisites of the fetched pages are still fetched: the last page is as complete as the first."""
    async with LittleWeb() as web:
        for n in range(4):
            shown = "".join(f'<img src="{image(web, f"a.test/{n}-{i}.png")}">' for i in range(3))
            web.page(f"a.test/{n}", f"a.test/{n + 1}", head=f'<link rel=icon href="{image(web, f"a.test/i{n}.png")}">{shown}')
        limits = LimitSettings(min_free_disk=0, max_wait=5.0, max_pages=3)
        crawled = await crawl(tmp_path, whole(web, ["a.test/0"], limits=limits))
        expected = [f"a.test/{n}{end}" for n in range(3) for end in ("", "-0.png", "-1.png", "-2.png")]
        assert [place for place in web.requests if "/i" not in place] == expected
        assert crawled.status.pages == 3
        assert "max_pages" in crawled.ending.why
        await crawl(tmp_path, whole(web, ["a.test/0"]))
        assert web.requests.count("a.test/3") == 1, "what waited beyond the limit is not lost"


async def test_every_rule_holds_for_what_pages_need(tmp_path: Path) -> None:
    """robots.txt, dangerous links, exclusion, ports; and the sitemaps of a host that is only needed are not read."""
    async with LittleWeb() as web:
        refused = [image(web, f"cdn.test/{name}") for name in ("private/a.png", "logout?x=1", "no/a.png")]
        shown = "".join(f'<img src="{url}">' for url in [*refused, image(web, "cdn.test/fine.png"), "http://cdn.test:1/port.png"])
        web.robots("cdn.test", f"User-agent: *\nDisallow: /private\nSitemap: {web.url('cdn.test/sitemap.xml')}")
        web.page("a.test/", head=f'{shown}<link rel=icon href="data:,">')
        scope = ScopeSettings(type="host", exclude=["/no/"])
        await crawl(tmp_path, whole(web, ["a.test/"], scope=scope, sitemaps="robots"))
        assert [place for place in web.requests if place.startswith("cdn")] == ["cdn.test/fine.png"]
        known = fates(tmp_path)
    with View(tmp_path, at_once=True) as view:
        explainer = Explainer(view, view.settings, view.clock)
        denied, fine = (explainer.story(url).answer for url in (refused[0], web.url("cdn.test/fine.png")))
    assert denied.startswith(f"It was found and not fetched, since {web.url('a.test/')} needs it to be shown (robots_denied robots)")
    assert fine.startswith("It was fetched with status 200")
    assert (known[refused[0]].state, known[refused[0]].why) == ("refused", "robots_denied robots")
    with View(tmp_path, at_once=True) as view:
        skipped = {line.url: line.reason for line in view.all_skipped()}
    assert [skipped[url] for url in refused] == ["robots_denied", "unsafe", "excluded"]
    assert faults(tmp_path) == []


async def test_redirects_and_failures_of_what_pages_need(tmp_path: Path) -> None:
    """A redirect is followed beyond the scope; what fails or is not there says so; a loop ends."""
    async with LittleWeb() as web:
        web.redirect("a.test/moved.png", "cdn.test/there.png")
        web.redirect("a.test/loop.png", "a.test/pool.png")
        web.redirect("a.test/pool.png", "a.test/loop.png")
        there = image(web, "cdn.test/there.png")
        web.file("a.test/broken.png", "text/html", b"oops", status=500)
        names = ("moved", "loop", "broken", "gone")
        web.page("a.test/", head="".join(f'<img src="/{name}.png">' for name in names))
        await crawl(tmp_path, whole(web, ["a.test/"]))
        known = fates(tmp_path)
        states = {name: known[web.url(f"a.test/{name}.png")].state for name in names}
        assert states == {"moved": "redirected", "loop": "redirected", "broken": "failed", "gone": "fetched"}
        assert known[web.url("a.test/gone.png")].status == 404
        assert known[there].state == "fetched"
        assert web.requests.count("a.test/loop.png") == 1
        told = {record.url: record.fields for record in records(tmp_path) if record.kind == "metadata"}
        assert told[there]["hopsFromSeed"] == ["ER"]


async def test_what_is_linked_and_needed_is_requested_once(tmp_path: Path) -> None:
    """An image that one page shows and another links to; a style sheet that was fetched as a page: its fonts are fetched all the same."""
    async with LittleWeb() as web:
        both = image(web, "a.test/both")
        font = image(web, "b.test/font.woff")
        style = css(web, "a.test/s.css", f"@font-face {{ src: url({font}) }}")
        web.page("a.test/", both, "a.test/next", head=f'<img src="{both}"><link rel=icon href="{both}">')
        web.page("a.test/next", head=f'<link rel=stylesheet href="{style}"><link rel=icon href="{both}">')
        fetch = archived(web, ["a.test/", "a.test/s.css"]).fetch
        filters = FilterSettings(audit_share=0.0, soft_error=SoftErrorSettings(max_probes=0))
        crawled = await crawl(tmp_path, whole(web, ["a.test/s.css", "a.test/"], fetch=fetch, filters=filters))
        assert sorted(web.requests).count("a.test/both") == 1
        assert web.requests.count("b.test/font.woff") == 1
        assert both not in crawled.pages


@pytest.mark.parametrize(("budget", "n_fetched"), [({"max_requisites_per_page": 2}, 2), ({"max_requisites_per_host": 3}, 3)])
async def test_what_pages_need_has_budgets_of_its_own(tmp_path: Path, budget: dict[str, Any], n_fetched: int) -> None:
    """There is a limit for each page and one for each host; limits of pages do not count requisites. What is left out is reported, also in
    the archive.
    """
    async with LittleWeb() as web:
        web.page("a.test/", head="".join(f'<img src="{image(web, f"a.test/{n}.png")}">' for n in range(9)))
        limits = LimitSettings(min_free_disk=0, max_wait=5.0, max_pages_per_host=1)
        archive = ArchiveSettings(format="warc", requisites=True, **budget)
        await crawl(tmp_path, whole(web, ["a.test/"], archive=archive, limits=limits))
        assert len(web.requests) == 1 + n_fetched
    page = web.url("a.test/")
    (told,) = [record.fields for record in records(tmp_path) if record.kind == "metadata" and record.url == page]
    with View(tmp_path, at_once=True) as view:
        skipped = [(line.url, line.by) for line in view.all_skipped() if line.reason == "requisite_limit"]
    if n_fetched == 2:
        words = "8 addresses beyond archive.max_requisites_per_page"
        assert skipped == [(page, words)]
        assert told["skipped-requisites"] == [words]
    else:
        assert [by for _, by in skipped] == ["archive"] * 7


async def test_the_archival_example_keeps_what_it_promises(tmp_path: Path) -> None:
    """The shop under config/examples/archive.yaml itself, but for addresses and delays: all of its images, styles, scripts and fonts."""
    example = load([EXAMPLE], sets=["identity.contact=https://example.org/bot"]).settings
    async with LittleWeb() as web:
        needed = shop(web)
        base = whole(web, ["shop.test/"])
        fetch = msgspec.structs.replace(example.fetch, allow_addresses=["127.0.0.0/8"], allow_ports=[web.port])
        limits = msgspec.structs.replace(example.limits, min_free_disk=0, max_wait=5.0)
        again = {"dns": base.dns, "politeness": base.politeness, "sitemaps": "off", "fetch": fetch, "limits": limits}
        await crawl(tmp_path, msgspec.structs.replace(example, seeds=[web.url("shop.test/")], **again))
        assert needed - answers(tmp_path).keys() == set()
    assert faults(tmp_path) == []
