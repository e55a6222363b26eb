"""Sites whose documents say little: pages of a few words and numbers are documents, and come as early as without filters."""

from __future__ import annotations

import random
from pathlib import Path

from little_web import LittleWeb, crawl, settings

from thresher.config.settings import FilterSettings, LimitSettings, SoftErrorSettings

N_WORKS, N_SERIES, WAYS = 160, 10, ("large", "dark", "light", "ask")
N_MORE = 20  # pages that are crawled after those that a story looks at
MENU = "Home About Contact Press The gallery is open on all days but Monday and shows what was made in this house. All rights reserved."


def first(n: int) -> LimitSettings:
    """Limit a crawl to the pages that a story looks at, and some more: what comes later changes nothing about these."""
    return LimitSettings(min_free_disk=0, max_wait=5.0, max_pages=n + N_MORE)


async def test_works_of_a_painter_come_before_their_views(tmp_path: Path) -> None:
    """Their pages differ in numbers alone, so nothing on them is new to somebody who counts words; series name them, and each has a view.

    Mutation: sixteen such pages in a row are enough to hold what a good page names: 86 of 160 works by then.
    """
    dice = random.Random(1)
    n = 1 + N_SERIES + N_WORKS + 10
    async with LittleWeb() as web:
        web.page("a.test/", *(f"a.test/series/{s}" for s in range(N_SERIES)))
        for s in range(N_SERIES):
            web.page(f"a.test/series/{s}", *(f"a.test/work/{i}" for i in range(s, N_WORKS, N_SERIES)))
        for i in range(N_WORKS):
            size = f"{dice.choice(['Oil', 'Ink', 'Etching'])} on paper, {dice.randint(20, 200)} x {dice.randint(20, 200)} cm"
            links = f"a.test/work/{(i + N_SERIES) % N_WORKS}", *(f"a.test/{way}?of=w{i}" for way in WAYS)
            web.page(f"a.test/work/{i}", *links, text=f"{MENU} Untitled No. {i}. {size}, {dice.randint(1980, 2020)}", title="Works")
            for way in WAYS:
                web.page(f"a.test/{way}?of=w{i}", text=f"{MENU} Work {i} {way}", title="Works")
        await crawl(tmp_path / "c", settings(web, ["a.test/"], limits=first(n)))
    early = web.requests[:n]
    assert len(early) == n
    assert sum("/work/" in place for place in early) >= N_WORKS - 10


async def test_pictures_of_albums_that_are_all_one_text_come_before_their_views(tmp_path: Path) -> None:
    """Each album shows the same words and other pictures, so all but one are copies, whose links are held. Two good draws free them.

    Mutation: what copies name is fetched when nothing else is left: 100 of 288 photographs by then in place of 188.
    """
    n = 1 + 24 + 288 + 60
    async with LittleWeb() as web:
        web.page("a.test/", *(f"a.test/album/{album}" for album in range(24)))
        for album in range(24):
            photos = range(album * 12, album * 12 + 12)
            web.page(f"a.test/album/{album}", *(f"a.test/photo/{i}" for i in photos), text=MENU, title="Album")
            for i in photos:
                web.page(f"a.test/photo/{i}", *(f"a.test/photo/{i}/{way}" for way in WAYS))
                for way in WAYS:
                    web.page(f"a.test/photo/{i}/{way}", text=f"{MENU} {way} {i}", title="Photos")
        filters = FilterSettings(tail_yield=0.0, soft_error=SoftErrorSettings(max_probes=0))
        await crawl(tmp_path / "c", settings(web, ["a.test/"], filters=filters, limits=first(n)))
    early = web.requests[:n]
    assert len(early) == n
    assert sum(place.count("/") == 2 for place in early) >= 24 + 160


async def test_pages_that_say_what_their_address_says_come_after_chapters(tmp_path: Path) -> None:
    """Every chapter names three combinations of tags, under which there is nothing: a dozen words, three of which its address has.

    Mutation: texts of less than twenty words were not compared: 29 of 80 chapters by then, and not all.
    """
    async with LittleWeb() as web:
        for i in range(80):
            combined = [f"a.test/tagged/tag{i}+tag{i + k}+tag{2 * i + k}" for k in (1, 2, 3)]
            web.page(f"a.test/{f'chapter/{i}' if i else ''}", *combined, f"a.test/chapter/{i + 1}")
            for place in combined:
                tags = place.rpartition("/")[2].replace("+", " ")
                web.page(place, text=f"Questions tagged {tags} none so far Home About Contact", title="Questions")
        await crawl(tmp_path / "c", settings(web, ["a.test/"], limits=first(120)))
    assert sum("/chapter/" in place for place in web.requests[:120]) >= 60
