"""Crawls that were stopped half way and are kept in `crawls/`, one of each schema: `crawls/7.tar.xz` was made by code of schema 7.

    PYTHONPATH=tests/stories python tests/storage/stored_crawl.py     makes that of today's schema, if there is none

Today's code must go on with each of them (test_storage_forms.py). The web in which they go on is the one in which they began: `put` and the
names in it stay as they are.
"""

from __future__ import annotations

import asyncio
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from little_web import LittleWeb, crawl, settings

from thresher.config.settings import FetchSettings, FilterSettings, LimitSettings, NearReplicaSettings, Settings
from thresher.storage.compacting import compact
from thresher.storage.schema import VERSION

CRAWLS = Path(__file__).parent / "crawls"
SEEDS = ["many.test/", "few.test/", "copies.test/", "moved.test/", "dates.test/", "twin.test/", "mirror.test/"]
MANY, FEW, LATE = ([f"{host}/{i}" for i in range(1, n + 1)] for host, n in (("many.test/a", 60), ("few.test", 6), ("late.test", 30)))
PLAIN = MANY + FEW + LATE  # each has a text of its own
HALF = 100  # pages of the first part: then some lists of a host's first pages are open, and others closed
_MAP = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'
_LOST = "page not found: what you asked for is not here, or not here any more"


def put(web: LittleWeb) -> None:
    """Put pages from which each filter learns something."""
    _plain(web, "many.test/", MANY)
    _plain(web, "few.test/", FEW)
    _plain(web, "late.test/", LATE)
    web.page(MANY[7], "many.test/", "late.test/", text=_text("many.test/", MANY[7]))  # the host is met late
    _plain(web, "copies.test/", [f"copies.test/p/{i}{query}" for i in range(1, 25) for query in ("", "?print=1", f"?sid={i % 3}")])
    web.page("moved.test/", *(f"moved.test/{place}/{i}" for i in range(1, 13) for place in ("old", "gone", "lost", "dead")))
    for i in range(1, 13):
        web.redirect(f"moved.test/old/{i}", f"moved.test/new/{i}")
        web.page(f"moved.test/new/{i}", "moved.test/", text=_text("new", i))
        web.redirect(f"moved.test/gone/{i}", "moved.test/", status=302)
        web.page(f"moved.test/lost/{i}", "moved.test/", text=_LOST, title="404")
    web.robots("many.test", "User-agent: *\nDisallow: /private\n")
    web.robots("few.test", f"Sitemap: {web.url('few.test/map.xml')}\n")
    web.file(
        "few.test/map.xml", "application/xml", _MAP.format("".join(f"<url><loc>{web.url(place)}</loc></url>" for place in FEW)).encode()
    )
    web.missing["dates.test/day/"] = lambda place: web.page(place, *_days(int(place.rpartition("/")[2])), text="nothing is on this day")
    web.page("dates.test/", "dates.test/day/1")
    for host in ("twin.test", "mirror.test"):
        for i in range(1, 13):
            web.page(f"{host}/t/{i}", f"{host}/", f"{host}/t/{i % 12 + 1}", text=_text("twin", i) + f" {host}" * (i % 3))
        web.page(f"{host}/", *(f"{host}/t/{i}" for i in range(1, 13)))


def _plain(web: LittleWeb, home: str, places: list[str]) -> None:
    web.page(home, *places)
    for i, place in enumerate(places):
        web.page(place, home, places[(i + 1) % len(places)], text=_text(home, place.partition("?")[0]))


def _text(*of: object) -> str:
    """Return words that all pages have, and words of one page alone."""
    own = "".join(char for char in "".join(map(str, of)) if char.isalnum())
    return " ".join(f"common{chr(97 + i)}" for i in range(24)) + "".join(f" {own}x{chr(97 + i % 26)}{i}" for i in range(40))


def _days(day: int) -> list[str]:
    return [f"dates.test/day/{day + 1}", f"dates.test/day/{day + 30}"]


def configuration(web: LittleWeb, **limits: Any) -> Settings:
    """Return the configuration of the crawls: all filters, canaries too; one request at a time."""
    return settings(
        web,
        SEEDS,
        canaries=True,
        limits=LimitSettings(min_free_disk=0, max_wait=5.0, **limits),
        fetch=FetchSettings(allow_addresses=["127.0.0.0/8"], allow_ports=[web.port], concurrency=1),
        filters=FilterSettings(near_replica=NearReplicaSettings(min_tokens=10)),
        sitemaps="robots",
    )


def unpacked(schema: int, directory: Path) -> Path:
    """Unpack the crawl of a schema; return its directory."""
    with tarfile.open(CRAWLS / f"{schema}.tar.xz") as archive:
        archive.extractall(directory, filter="data")
    return directory / "crawl"


async def make(directory: Path) -> Path:
    """Begin a crawl, and stop it half way; return its directory."""
    async with LittleWeb() as web:
        put(web)
        await crawl(directory / "crawl", configuration(web, max_pages=HALF))
    compact(directory / "crawl")
    return directory / "crawl"


def main() -> None:
    """Make the crawl of today's schema."""
    path = CRAWLS / f"{VERSION}.tar.xz"
    if path.exists():
        sys.exit(f"{path}: there is one. If its rows cannot be read any more, raise `VERSION` in storage/schema.py")
    with tempfile.TemporaryDirectory() as place:
        made = asyncio.run(make(Path(place)))
        with tarfile.open(path, "x:xz") as archive:
            archive.add(made, "crawl", filter=lambda found: None if found.name.endswith((".lock", "lock.mdb")) else found)
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
