"""Generated lists of URLs that make mining work hard, as pairs (URL, what it shows): for benchmarks/speed/dust_mining.py and tests.

listing     a server's directories, each in nine orders: few parts, which stand together in every way
facets      a shop's searches: nine parameters in any order
escaped     a wiki's titles in escapes: a hundred tokens a URL
calendar    days by view, category, language: thousands of pages that show nothing, which agree with whatever they are compared
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import count, islice
from urllib.parse import quote

Shown = tuple[str, str]  # URL, text


def _words(rng: random.Random, n: int) -> list[str]:
    return [f"w{rng.randrange(10**5)}" for _ in range(n)]


def _listing(rng: random.Random) -> Iterator[Shown]:
    words, paths = _words(rng, 500), [""]
    for i in count():
        path = f"{rng.choice(paths[-200:])}{rng.choice(words)}-{rng.randrange(9)}.{rng.randrange(20)}/"
        paths.append(path)
        base = f"http://ftp.example/{path}"
        yield base, f"listing {i} N A"
        for column, order in ((column, order) for column in "NMSD" for order in "AD"):
            key = f"{column} {order}" if column != "D" and rng.random() < 0.5 else f"N {order}"
            yield f"{base}?C={column};O={order}", f"listing {i} {key}"
        for j in range(rng.randrange(6)):
            yield f"{base}{rng.choice(words)}_{rng.randrange(9)}.{rng.randrange(9)}_{j}.html", f"file {i} {j}"


def _facets(rng: random.Random) -> Iterator[Shown]:
    names = ("cid", "page", "sort", "colour", "size", "min_price", "max_price", "brand", "view")
    for _ in count():
        section = rng.choice(("men", "women", "kids"))
        base = f"https://www.shop.example/store/en_GB/category/{section}/shoes-and-boots/listing.jsp?"
        chosen = [(name, str(rng.randrange(3 + 5 * i))) for i, name in enumerate(names)]
        shown = f"{section} {chosen}"
        for _ in range(3):
            yield base + "&".join(map("=".join, chosen)), shown
            rng.shuffle(chosen)
        yield f"{base}{'&'.join(map('='.join, chosen))}&utm_source=mail&utm_campaign=c{rng.randrange(5)}", shown


def _escaped(rng: random.Random) -> Iterator[Shown]:
    letters = "абвгдежзиклмнопрстуфхцчшэюя"
    words = ["".join(rng.choice(letters) for _ in range(rng.randrange(4, 10))) for _ in range(400)]
    for i in count():
        page = quote(f"{'_'.join(rng.choice(words) for _ in range(3))}_({i})")
        site = "http://ru.example"
        for url in (
            f"/wiki/{page}",
            f"/w/index.php?title={page}",
            f"/wiki/{page}?printable=yes",
            f"/w/index.php?title={page}&oldid={i + 10**6}",
        ):
            yield site + url, f"page {i}"
        yield f"http://ru.m.example/wiki/{page}", f"page {i}"
        for action in ("history", "edit", "info"):
            yield f"{site}/w/index.php?title={page}&action={action}", f"{action} {i}"


def _calendar(rng: random.Random) -> Iterator[Shown]:
    for i in count():
        year, month, day = rng.randrange(2000, 2010), rng.randrange(1, 9), rng.randrange(1, 9)
        view, about = rng.choice(("day", "week", "month", "list")), rng.choice(("all", "music", "art", "talks", "film"))
        language, other = rng.choice(("en", "de", "fr", "es")), f"frame={rng.randrange(2)}&sort={rng.choice('ab')}&print={rng.randrange(2)}"
        url = f"http://{language}.events.example/cal/{year}/{month}/{day}/?view={view}&cat={about}&lang={language}&{other}"
        chance = rng.random()
        yield url, "no events" if chance < 0.3 else f"{year} {month} {view} {about}" if chance < 0.9 else f"event {i}"


_KINDS: dict[str, Callable[[random.Random], Iterator[Shown]]] = {
    "listing": _listing,
    "facets": _facets,
    "escaped": _escaped,
    "calendar": _calendar,
}
KINDS = tuple(_KINDS)


def shown(kind: str, n: int) -> dict[str, str]:
    """Return the first `n` distinct URLs of a kind of list, or a few less, with what they show."""
    return dict(islice(_KINDS[kind](random.Random(kind)), n))
