"""What canaries cost: few requests of a host that no wall stands before, and not many of one that walls stand before again and again."""

from __future__ import annotations

from pathlib import Path

from little_web import LittleWeb, crawl, settings

from thresher.config.settings import FilterSettings, PolitenessSettings, SoftErrorSettings
from thresher.crawler.analysis.walls import standings
from thresher.storage.view import View

N = {"well.test": 600, "walled.test": 200}  # pages
SHARES = {"well.test": 0.01, "walled.test": 0.12}  # of requests that may be canaries
EVERY, FOR = 60, 6  # requests from the beginning of one wall to the next, and for which it stands
SLOW = PolitenessSettings(
    min_delay=0.0, delay_factor=0.0, jitter=0.0, address_delay=0.0, backoff_initial=0.01, backoff_max=0.02, dead_after=1000
)


async def test_few_requests_are_canaries(tmp_path: Path) -> None:
    """Of the host without a wall each twentieth page is gone, with one text. Nothing is lost of either.

    Mutations: answers that were found honest ask for the next canary as soon, whatever it costs; a canary after `.2 / share` answers.
    """
    async with LittleWeb() as web:
        n_asked = dict.fromkeys(N, 0)

        def heard(place: str) -> None:
            host, _, name = place.partition("/")
            if name == "robots.txt":
                return
            n_asked[host] += 1
            i = int(name or 0)
            links = [f"{host}/{j}" for j in range(10 * i + 1, 10 * i + 11) if j < N[host]]
            if host == "walled.test" and n_asked[host] % EVERY >= EVERY - FOR:
                web.page(place, text="Log in to see this page of ours, please, or ask for an account")
            elif host == "well.test" and i % 20 == 19 and not links:
                web.page(place, text="this page is gone, as all things go", status=404)
            else:
                web.page(place, *links, text=" ".join(f"{host[:4]}{i}x{k}" for k in range(40)))

        web.on_request = heard
        of = FilterSettings(audit_share=0.0, tail_yield=0.0, soft_error=SoftErrorSettings(max_probes=0))
        found = await crawl(tmp_path / "c", settings(web, [f"{host}/" for host in N], filters=of, politeness=SLOW, canaries=True))
        wanted = {web.url(f"walled.test/{i or ''}") for i in range(N["walled.test"])}
    asked = [place for place in web.requests if not place.endswith("/robots.txt")]
    with View(tmp_path / "c") as view:
        (again,) = [one.fetched_again for one in standings(view) if one.host.startswith("walled")]
    again_of = {"well.test": 0, "walled.test": again}
    for host, share in SHARES.items():
        places = [place for place in asked if place.startswith(host)]
        n_canaries = len(places) - len(set(places)) - again_of[host]
        assert 0 < n_canaries <= share * len(places)
    assert wanted <= {url for url, page in found.pages.items() if page.keep and page.n_bytes > 300}
