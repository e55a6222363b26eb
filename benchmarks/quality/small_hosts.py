"""Many small hosts, as most hosts of a large crawl are: how much do the filters' own requests delay their pages?

    python -m benchmarks.quality.small_hosts [--pages 20]

One host of each kind of small honest sites (honest_kinds.py) answers on loopback. All are crawled twice, without filters and in the default
configuration. Prints how many documents (texts) each crawl has found after a tenth, a quarter, half, three quarters and all of the requests
of the crawl without filters, and the purposes of the other crawl's requests. Exit 1 if the default has found fewer at any of these by more
than 2 % and 5 documents, or loses one. Five seconds of CPU.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from benchmarks.quality.honest_kinds import HONEST
from benchmarks.quality.honest_sites import N_PAGES, LittleWeb, crawl, served
from thresher.config.settings import FilterSettings, LogSettings

SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
_SPARE, _SPARE_SHARE = 5, 0.02
_ALWAYS_ON = "media"


class Made(NamedTuple):
    """The requests of a crawl, and the documents that it got."""

    requests: list[tuple[str, str]]  # purpose and URL of each in order, without robots.txt
    shown: dict[str, bytes]  # URL → document

    def found(self, n_requests: int) -> int:
        """Return the documents that the first requests have shown."""
        return len({self.shown[url] for _, url in self.requests[:n_requests] if url in self.shown})


async def made(path: Path, n_pages: int, filters: FilterSettings) -> Made:
    """Crawl one host of each kind."""
    log = path.with_suffix(".log")
    async with LittleWeb() as web:
        configuration = served(web, {f"s{i}.test": site for i, site in enumerate(HONEST)}, n_pages, filters)
        crawled = await crawl(path, replace(configuration, log=LogSettings(requests=str(log))))
    rows = [line.split("\t") for line in log.read_text("ascii").splitlines()]
    requests = [(row[4], row[6]) for row in rows if row[4] != "robots"]
    return Made(requests, {url: page.fingerprint for url, page in crawled.pages.items() if page.status == 200})


def without_filters() -> FilterSettings:
    """Return settings in which every filter is off that can be."""
    of = FilterSettings()
    named = [name for name in of.__struct_fields__ if hasattr(getattr(of, name), "mode") and name != _ALWAYS_ON]
    return replace(of, **{name: replace(getattr(of, name), mode="off") for name in named})


def judge(plain: Made, default: Made) -> int:
    """Print the curves; return 1 if the default is below the crawl without filters, or loses a document."""
    found = [(plain.found(n), default.found(n)) for n in (int(len(plain.requests) * share) for share in SHARES)]
    shares = ", ".join(f"{share:.0%}" for share in SHARES)
    print(f"documents after {shares} of {len(plain.requests):,} requests, without filters and by default:")
    print("   ".join(f"{without}, {with_}" for without, with_ in found))
    purposes = Counter(purpose for purpose, _ in default.requests)
    print(f"by default {len(default.requests):,} requests: {', '.join(f'{n} {purpose}' for purpose, n in purposes.most_common())}")
    lost = {plain.shown[url] for _, url in plain.requests if url in plain.shown} - set(default.shown.values())
    print(f"{len(lost)} documents lost")
    is_below = any(with_ < without - max(_SPARE, _SPARE_SHARE * without) for without, with_ in found)
    return int(is_below or bool(lost))


def main(arguments: Sequence[str] | None = None) -> int:
    """Crawl twice, print, judge."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.small_hosts", description="What filters cost small hosts.")
    parser.add_argument("--pages", type=int, default=N_PAGES, help="pages of a host")
    n_pages = parser.parse_args(arguments).pages
    with tempfile.TemporaryDirectory(prefix="small-hosts-") as name:
        plain = asyncio.run(made(Path(name) / "plain", n_pages, without_filters()))
        default = asyncio.run(made(Path(name) / "default", n_pages, FilterSettings()))
    return judge(plain, default)


if __name__ == "__main__":
    sys.exit(main())
