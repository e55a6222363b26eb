"""Modes of filters by prefix: where an override takes a filter back, nothing that it has learned acts; judged by what a crawl fetched."""

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
    """Below /a, /b and /c the same: two copies of one page, and a picture by its name, by its type and by what its link says."""
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
        modes = ({"media": "observe", "exact_duplicate": "observe"}, {"media": "off", "exact_duplicate": "off"})
        overrides = [Override(match=web.url(f"s.test/{part}/"), filters=of) for part, of in zip(("b", "c"), modes, strict=True)]
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
    """Shapes of URLs that give errors alone are left, but for those below the prefix."""
    names = [f"{i}" for i in range(1, 13)]
    async with LittleWeb() as web:
        for site in ("s", "t"):
            links = [f"{site}.test/{part}/x?id={n}" for n in names for part in ("dead", "spared")]
            web.page(f"{site}.test/", *links)
        tight = {"path_trap": "enforce"}
        chosen = configured(
            settings(web, ["s.test/", "t.test/"]),
            Override(match=web.url("s.test/spared/"), filters={"path_trap": "observe"}),
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
