"""Are all pages of a large forum found, and does an endless space beside it end? `python -m benchmarks.quality.forum [--topics 4331]`.

All topics of the forum lie in one directory. It is crawled twice in the default configuration, but without delays: once with topics as
paths (topic-17.html), once as queries (viewtopic.php?t=17). A list page names fifty topics, so that all topics are known long before most
are fetched. The site also has an endless directory whose pages show one text, and an endless calendar. Prints how many topics were found
and how many requests each endless space took. Exits with 1 if a topic is missing, or if an endless space took more requests than the path
trap allows. About 20 CPU seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

_TESTS = Path(__file__).parents[2] / "tests"
sys.path[:0] = [str(_TESTS), str(_TESTS / "stories")]

from little_web import LittleWeb, crawl, settings  # found where the suite finds it

from thresher.config.settings import FilterSettings, PathTrapSettings
from thresher.filters.path_trap import GENEROUS

SPELLINGS = {"by path": "forum.test/topic-{}.html", "by query": "forum.test/viewtopic.php?t={}"}
_A_LIST = 50
_DAYS, _MONTHS = 28, 12


def main() -> int:
    """Serve, crawl, print; return 1 if a topic was lost, or if an endless space did not end."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.forum", description="A large forum beside endless spaces.")
    parser.add_argument("--topics", type=int, default=4_331, metavar="N", help="topics of the forum; default 4331")
    n_topics = parser.parse_args().topics
    return max(asyncio.run(measure(name, spelling, n_topics)) for name, spelling in SPELLINGS.items())


async def measure(name: str, spelling: str, n_topics: int) -> int:
    """Crawl one forum; return 1 if a topic was not found, or if an endless space did not end."""
    bounds = PathTrapSettings()
    async with LittleWeb() as web:
        topics = list(map(spelling.format, range(n_topics)))
        _put(web, topics)
        with tempfile.TemporaryDirectory(prefix="thresher-forum-") as directory:
            crawled = await crawl(Path(directory) / "crawl", settings(web, ["forum.test/"], filters=FilterSettings()))
        n_found = len({web.place(url) for url in crawled.pages} & set(topics))
        n_trap, n_days = (sum(place.startswith(host) for place in web.requests) for host in ("trap.test", "cal.test"))
    while web._writers:  # noqa: ASYNC110, SLF001 - the server says of no connection that it has ended
        await asyncio.sleep(0)
    print(f"{name}: {n_found:,} of {n_topics:,} topics found, {len(web.requests):,} requests: {crawled.ending.why}")
    print(f"  of the endless directory {n_trap:,}, of the endless calendar {n_days:,}")
    most_days = GENEROUS * bounds.max_calendar
    return int(n_found < n_topics or n_trap > bounds.max_per_prefix + 1 or n_days > most_days)


def _put(web: LittleWeb, topics: list[str]) -> None:
    lists = [f"forum.test/index.php?start={start}" for start in range(0, len(topics), _A_LIST)]
    web.page("forum.test/", lists[0], "trap.test/tags/1", "cal.test/2024/01/01/")
    for i, place in enumerate(lists):
        web.page(place, *lists[i + 1 : i + 4], *topics[i * _A_LIST : (i + 1) * _A_LIST])
    for topic in topics:
        web.page(topic, "forum.test/")
    web.generate = _endless
    web.generated_text = "what each page of an endless space shows " * 4


def _endless(place: str) -> list[str]:
    if place.startswith("trap.test/tags/"):
        number = int(place.rpartition("/")[2])
        return [f"trap.test/tags/{2 * number + i}" for i in (0, 1)]
    if place.startswith("cal.test/"):
        year, month, day = map(int, place.split("/")[1:4])
        at = ((year * _MONTHS) + month - 1) * _DAYS + day
        return [_date(at), _date(at + _DAYS - 1)]
    return []


def _date(at: int) -> str:
    months, day = divmod(at, _DAYS)
    return f"cal.test/{months // _MONTHS:04}/{months % _MONTHS + 1:02}/{day + 1:02}/"


if __name__ == "__main__":
    sys.exit(main())
