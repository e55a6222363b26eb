"""Settings by prefix: filters with their modes and thresholds, and all others; judged by what a crawl fetched."""

from __future__ import annotations

from pathlib import Path

import msgspec
from little_web import LittleWeb, crawl, settings

from thresher.config.settings import FilterSettings, Override, Settings
from thresher.crawler.core.model import State
from thresher.crawler.explain.explain import Explainer
from thresher.storage.view import View

COPY = b"<title>copy</title>" + b" ".join(b"word%d" % i for i in range(60))
_OF_TEXTS = ("soft_error", "near_replica", "dust", "pattern_yield", "depth_cutoff", "canary")


def configured(general: Settings, *overrides: Override, **modes: str) -> Settings:
    """Return a configuration whose filters are in the modes that are named, those that judge texts off without a name."""
    of = FilterSettings()
    chosen = dict.fromkeys(_OF_TEXTS, "off") | modes
    changed = {name: msgspec.structs.replace(getattr(of, name), mode=mode) for name, mode in chosen.items()}
    filters = msgspec.structs.replace(of, audit_share=0.0, **changed)
    return msgspec.structs.replace(general, filters=filters, overrides=list(overrides))


def a_web(web: LittleWeb) -> None:
    """Put the same below /a, /b and /c: two copies of one page, and three links to what is said to be no page: by its name, by its content
    type, by the link's `type`.
    """
    parts = ("a", "b", "c")
    links = [f"<a href=/{part}/{name}>x</a>" for part in parts for name in ("first", "second", "p.png", "typed")]
    links += [f"<a href=/{part}/said type=application/pdf>x</a>" for part in parts]
    web.file("s.test/", "text/html", "".join(links).encode())
    for part in parts:
        for name in ("first", "second"):
            web.file(f"s.test/{part}/{name}", "text/html", COPY)
        web.file(f"s.test/{part}/typed", "image/png", b"\x89PNG")
        web.file(f"s.test/{part}/p.png", "text/html", b"a page with the name of a picture, of %s" % part.encode())
        web.file(f"s.test/{part}/said", "text/html", b"a page that was called a document, of %s" % part.encode())


async def test_a_filter_that_a_prefix_takes_back_refuses_nothing_there(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        a_web(web)
        named = ("filters.media.mode", "filters.exact_duplicate.mode")
        modes = (("b", "observe"), ("c", "off"))
        overrides = [Override(match=web.url(f"s.test/{part}/"), options=dict.fromkeys(named, mode)) for part, mode in modes]
        crawled = await crawl(tmp_path / "c", configured(settings(web, ["s.test/"]), *overrides))
    asked = {place.removeprefix("s.test") for place in web.requests}
    assert {"/b/p.png", "/c/p.png", "/b/said", "/c/said"} <= asked
    assert not {"/a/p.png", "/a/said"} & asked
    assert web.url("s.test/b/typed") in crawled.pages
    assert web.url("s.test/a/typed") not in crawled.pages
    kept = {part: [crawled.pages[web.url(f"s.test/{part}/{name}")].keep for name in ("first", "second")] for part in "abc"}
    assert kept["a"].count(True) <= 1
    assert kept["b"] == kept["c"] == [True, True]
    words = {part: [v.filter for v in crawled.pages[web.url(f"s.test/{part}/second")].verdicts] for part in "abc"}
    assert "exact_duplicate" in words["b"]
    assert "exact_duplicate" not in words["c"]
    with View(crawled.path) as view:
        today = Explainer(view, view.settings, 0.0).story(web.url("s.test/b/new.png")).today
        off = Explainer(view, view.settings, 0.0).story(web.url("s.test/c/new.png")).today
    assert today is not None
    assert off is not None
    assert [(r.by, r.mode, r.override, r.answer) for r in today.rulings if r.by == "media"] == [
        ("media", "observe", web.url("s.test/b/"), "bad_type")
    ]
    assert ("media", "off", web.url("s.test/c/"), "pass") in [(r.by, r.mode, r.override, r.answer) for r in off.rulings]


async def test_what_a_filter_has_learned_does_not_act_below_a_prefix_that_takes_it_back(tmp_path: Path) -> None:
    """Shapes of URLs that have given errors only are no longer fetched, but for those below the prefix."""
    names = [f"{i}" for i in range(1, 13)]
    async with LittleWeb() as web:
        for site in ("s", "t"):
            links = [f"{site}.test/{part}/x?id={n}" for n in names for part in ("dead", "spared")]
            web.page(f"{site}.test/", *links)
        tight = {"path_trap": "enforce"}
        chosen = configured(
            settings(web, ["s.test/", "t.test/"]),
            Override(match=web.url("s.test/spared/"), options={"filters.path_trap.mode": "observe"}),
            **tight,
        )
        of = msgspec.structs.replace(chosen.filters.path_trap, max_per_prefix=2)
        policy = msgspec.structs.replace(chosen.filters, path_trap=of, tail_yield=1.0)
        crawled = await crawl(tmp_path / "c", msgspec.structs.replace(chosen, filters=policy))
    fetched = {
        f"{site}/{part}": sum(crawled.state(web.url(f"{site}.test/{part}/x?id={n}")) is State.DONE for n in names)
        for site in ("s", "t")
        for part in ("dead", "spared")
    }
    assert fetched["s/spared"] == len(names)
    assert max(fetched["s/dead"], fetched["t/dead"], fetched["t/spared"]) < len(names)


async def test_a_filter_s_threshold_holds_below_its_prefix_and_its_memory_is_one(tmp_path: Path) -> None:
    """URLs of a shape that shows always one text are left after two answers below one prefix, and after a thousand elsewhere. Texts of few
    words are no copies in general, but are below another prefix: there a page counts as the copy of a page that was kept elsewhere.
    """
    names = [f"{i}" for i in range(1, 13)]
    short = b"<title>short</title>one two three four five six seven"
    async with LittleWeb() as web:
        web.page("s.test/", *[f"s.test/{part}/x?id={n}" for n in names for part in ("tight", "loose")], "s.test/first", "s.test/copies/1")
        for place in ("s.test/first", "s.test/copies/1"):
            web.file(place, "text/html", short)
        chosen = configured(
            settings(web, ["s.test/"]),
            Override(match=web.url("s.test/tight/"), options={"filters.path_trap.max_per_prefix": 2}),
            Override(match=web.url("s.test/copies/"), options={"filters.exact_duplicate.min_tokens": 3}),
            path_trap="enforce",
            exact_duplicate="enforce",
        )
        chosen = msgspec.structs.replace(chosen, filters=msgspec.structs.replace(chosen.filters, tail_yield=1.0))
        crawled = await crawl(tmp_path / "c", chosen)
        fetched = {part: sum(crawled.state(web.url(f"s.test/{part}/x?id={n}")) is State.DONE for n in names) for part in ("tight", "loose")}
        assert fetched["loose"] == len(names)
        assert fetched["tight"] < len(names)
        assert crawled.pages[web.url("s.test/first")].keep
        with View(crawled.path) as view:
            story = Explainer(view, view.settings, 0.0).story(web.url("s.test/tight/new"))
    assert story.today is not None
    assert [(one.key, one.value) for one in story.today.overrides] == [("filters.path_trap.max_per_prefix", 2)]
    assert {ruling.override for ruling in story.today.rulings if ruling.by == "path_trap"} == {web.url("s.test/tight/")}


def parts(web: LittleWeb) -> None:
    """Put the same below /a and /b, once for each setting that is another below /b."""
    names = ("links", "follow", "x?sid=1&q=2", "secret", "p.png", "cookie", "picture")
    web.page("s.test/", *[f"s.test/{part}/{name}" for part in "ab" for name in names], "t.test/")
    for part in "ab":
        web.page(f"s.test/{part}/links", *[f"s.test/{part}/l{i}" for i in range(5)])
        web.file(f"s.test/{part}/follow", "text/html", b"<a rel=nofollow href=nf>x</a> a page with a link that is not vouched for")
        web.file(f"s.test/{part}/p.png", "text/html", b"a page of /%s with the name of a picture" % part.encode())
        web.file(f"s.test/{part}/picture", "image/png", b"\x89PNG")
        web.with_cookie(f"s.test/{part}/cookie", "a=b", f"s.test/{part}/cookie")
    for host in ("s", "t"):
        web.robots(f"{host}.test", f"Sitemap: {web.url(f'{host}.test/map.xml')}\n")
        web.file(
            f"{host}.test/map.xml", "application/xml", f"<urlset><url><loc>{web.url(f'{host}.test/told')}</loc></url></urlset>".encode()
        )
    web.page("t.test/", *[f"t.test/{i}" for i in range(5)])


async def test_any_setting_may_be_another_below_a_prefix_or_at_a_host(tmp_path: Path) -> None:
    """Of URLs and of hosts alike."""
    async with LittleWeb() as web:
        parts(web)
        of_b = {
            "limits.max_links_per_page": 2,
            "robots.nofollow_links": True,
            "url.strip_params": ["sid"],
            "scope.exclude": ["secret"],
            "filters.media.skip_extensions": ["gif"],
            "fetch.cookies": "chain",
            "fetch.accept_types": ["image/png", "text/html"],
            "fetch.headers": {"X-Part": "b"},
            "store.bodies": False,
        }
        of_t = {"sitemaps": "off", "limits.max_pages_per_host": 3}
        chosen = configured(
            settings(web, ["s.test/", "t.test/"], sitemaps="robots"),
            Override(match=f"test,s:{web.port})/b/", options=of_b),
            Override(match="t.test", options=of_t),
        )
        crawled = await crawl(tmp_path / "c", chosen)
    asked = {place.removeprefix("s.test") for place in web.requests}
    assert {f"/a/l{i}" for i in range(5)} | {"/a/secret", "/a/x?sid=1&q=2", "/b/l0", "/b/l1", "/b/nf", "/b/x?q=2", "/b/p.png"} <= asked
    assert not {"/a/nf", "/a/p.png", "/b/l2", "/b/l3", "/b/secret", "/b/x?sid=1&q=2"} & asked
    stored = {
        place: place in {web.place(url) for url in crawled.pages} for place in ("s.test/b/cookie", "s.test/b/picture", "s.test/a/cookie")
    }
    assert stored == {"s.test/b/cookie": True, "s.test/b/picture": True, "s.test/a/cookie": False}
    assert crawled.pages[web.url("s.test/a/links")].has_body
    assert not crawled.pages[web.url("s.test/b/links")].has_body
    below_b = [b" /b/" in head.partition(b"\r\n")[0] for head in web.heads]
    assert [b"X-Part: b" in head for head in web.heads] == below_b
    assert [b"image/png" in head for head in web.heads] == below_b
    assert "/map.xml" in asked
    assert "t.test/map.xml" not in web.requests
    assert sum(place.startswith("t.test/") for place in web.requests) == 3
