"""A site in two languages, of which one is hardly translated. URLs that the filter believes to be aliases are fetched last, and where it
was wrong, the pages are found.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from little_web import LittleWeb, crawl, settings

from thresher.config.settings import DustSettings, ExactDuplicateSettings, FilterSettings
from thresher.crawler.core.model import State
from thresher.storage.view import View

N, TRANSLATED = 60, frozenset(range(50, 60))
_ON = ("dust", "exact_duplicate")


def aliases(tail_yield: float) -> FilterSettings:
    of = FilterSettings(
        audit_share=0.0, tail_yield=tail_yield, dust=DustSettings(mode="enforce"), exact_duplicate=ExactDuplicateSettings(mode="enforce")
    )
    others = [name for name in of.__struct_fields__ if hasattr(getattr(of, name), "mode") and name not in _ON]
    return msgspec.structs.replace(of, **{name: msgspec.structs.replace(getattr(of, name), mode="off") for name in others})


def text(number: int, language: str) -> str:
    own = language if number in TRANSLATED else ""
    return " ".join(f"w{own}{number}-{n}" for n in range(60))


async def crawled(path: Path, tail_yield: float) -> tuple[list[str], dict[str, State | None], dict[str, list[str]]]:
    """Return the requests in order, what became of each URL, and who holds it."""
    async with LittleWeb() as web:
        web.page("a.test/", *(f"a.test/{language}/{i}" for i in range(N) for language in ("en", "da")))
        for i in range(N):
            for language in ("en", "da"):
                web.page(f"a.test/{language}/{i}", text=text(i, language))
        found = await crawl(path, settings(web, ["a.test/"], filters=aliases(tail_yield)))
        urls = {f"{language}/{i}": web.url(f"a.test/{language}/{i}") for i in range(N) for language in ("en", "da")}
    states = {name: found.state(url) for name, url in urls.items()}
    with View(path, at_once=True) as view:
        by_text = {row.text: row.key for row, _ in view.all_urls()}
        holders = {name: view.tables.held.holders(by_text[url]) for name, url in urls.items() if states[name] is State.HELD}
    return [place.partition("/")[2] for place in web.requests], states, holders


async def test_what_is_believed_to_be_an_alias_is_fetched_last(tmp_path: Path) -> None:
    """Mutation: the filter is not asked again when a URL's turn comes."""
    requests, states, _ = await crawled(tmp_path / "c", tail_yield=0.0)
    assert {states[f"da/{i}"] for i in TRANSLATED} == {State.DONE}, "what was believed wrongly is found"
    assert set(states.values()) == {State.DONE}
    last_english = max(at for at, place in enumerate(requests) if place.startswith("en/"))
    assert sum(place.startswith("da/") for place in requests[:last_english]) <= 15


async def test_a_held_url_names_its_family(tmp_path: Path) -> None:
    _, states, holders = await crawled(tmp_path / "c", tail_yield=1.0)
    held = [name for name, state in states.items() if state is State.HELD]
    assert len(held) >= 40
    assert all(name.startswith("da/") for name in held)
    assert all(holder.startswith("dust family http://a.test") for name in held for holder in holders[name])
