"""Hosts that show for a while the pages of another host, or one view of each page. Before the filters believe what they find then, a canary
is fetched.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from little_web import Crawled, LittleWeb, crawl, settings

from thresher.config.settings import CanarySettings, ExactDuplicateSettings, FilterSettings, NearReplicaSettings, PolitenessSettings

N = 60  # pages of a host, or views of its pages
FROM, UNTIL = 6, 31  # requests of the host at which it begins, and stops, to answer for another
OWN = "as it is"


def only(**of: Any) -> FilterSettings:
    """Return filters of which only these are on; no number of answers makes them ask for canaries."""
    every = FilterSettings(
        audit_share=0.0, tail_yield=0.0, canary=CanarySettings(share=0.0), exact_duplicate=ExactDuplicateSettings(mode="enforce"), **of
    )
    others = [name for name in every.__struct_fields__ if hasattr(getattr(every, name), "mode")]
    kept = {"canary", "exact_duplicate", *of}
    off = {name: msgspec.structs.replace(getattr(every, name), mode="off") for name in others if name not in kept}
    return msgspec.structs.replace(every, **off)


SLOW = PolitenessSettings(
    min_delay=0.0, delay_factor=0.0, jitter=0.0, address_delay=0.0, backoff_initial=0.01, backoff_max=0.02, dead_after=1000
)


def text(name: str) -> str:
    return " ".join(f"w{name}x{i}" for i in range(80))


async def mirrored(path: Path) -> tuple[Crawled, set[str]]:
    """Crawl two hosts, of which the second shows the first one's pages for a while; return which of the second's pages are lost."""
    async with LittleWeb() as web:
        n = 0

        def put(place: str, *, stands: bool) -> None:
            host, _, name = place.partition("/")
            links = [f"{host}/{i}" for i in range(N)] if not name else []
            web.page(place, *links, text=text(f"a{name}" if stands else f"{host[0]}{name}"), title="" if stands else OWN)

        def heard(place: str) -> None:
            nonlocal n
            if not place.endswith("/robots.txt"):
                n += place.startswith("b.")
                put(place, stands=place.startswith("b.") and FROM <= n < UNTIL)

        web.on_request = heard
        for i in range(N):
            put(f"a.test/{i}", stands=False)
        of = only(near_replica=NearReplicaSettings(mode="enforce"))
        await crawl(path, settings(web, ["a.test/"], filters=of, politeness=SLOW, canaries=True))
        found = await crawl(path, settings(web, ["a.test/", "b.test/"], filters=of, politeness=SLOW, canaries=True))
        wanted = {web.url(f"b.test/{i}") for i in range(N)}
    return found, wanted - {url for url, one in found.pages.items() if one.keep and one.title == OWN}


async def test_before_a_host_is_taken_for_a_mirror_a_canary_is_fetched(tmp_path: Path) -> None:
    """Mutation: `Canaries.waits` returned None, so that findings took effect at once: 25 pages were lost."""
    found, lost = await mirrored(tmp_path / "c")
    assert lost == set()
    assert found.status.fetched_again > 20
