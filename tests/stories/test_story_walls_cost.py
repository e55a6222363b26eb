"""What canaries cost: few requests of a host before which no wall ever stands, and not many of one before which walls stand again and
again.
"""

from __future__ import annotations

from pathlib import Path

from little_web import LittleWeb, crawl, settings
from replaying import misremembered

from thresher.config.settings import FilterSettings, LimitSettings, PolitenessSettings, SoftErrorSettings
from thresher.crawler.analysis.walls import standings
from thresher.crawler.core.model import State
from thresher.storage.view import View

N = {"well.test": 600, "walled.test": 200}  # pages
SHARES = {"well.test": 0.015, "walled.test": 0.21}  # of requests that may be canaries
EVERY, FOR = 60, 6  # requests from the beginning of one wall to the next, and for which it stands
SLOW = PolitenessSettings(
    min_delay=0.0, delay_factor=0.0, jitter=0.0, address_delay=0.0, backoff_initial=0.01, backoff_max=0.02, dead_after=1000
)


async def test_few_requests_are_canaries(tmp_path: Path) -> None:
    """Each twentieth page of the host without a wall is gone, with one text. No page of either host is lost. Mutations: answers that proved
    honest make the filter ask for the next canary as soon, whatever it costs; a canary after every `.2 / share` answers.
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


def code_of_laws(web: LittleWeb, *, n_titles: int, n_sections: int, in_force: int = 0) -> None:
    """Serve a code of laws: its sections are repealed, with one text for each number.

    Args:
        web: Serves it.
        n_titles: Titles.
        n_sections: Sections of each title.
        in_force: One of so many sections is in force and has a text of its own; 0: none is.
    """
    web.page("law.test/", *(f"law.test/title/{i}" for i in range(n_titles)))
    for i in range(n_titles):
        web.page(f"law.test/title/{i}", *(f"law.test/title/{i}/sec/{k}" for k in range(n_sections)))
        for k in range(n_sections):
            repealed = f"Section {k} of this title was repealed by the assembly"
            has_text = bool(in_force) and (7 * i + k) % in_force == 0
            web.page(f"law.test/title/{i}/sec/{k}", text="" if has_text else repealed, title=f"Section {k}")


async def test_while_a_host_has_a_tail_no_canary_is_asked_for_small_groups_of_alike_answers(tmp_path: Path) -> None:
    """Each number of a section makes one more group of alike answers, and each batch of held URLs shows new ones. Mutations: a host with
    held URLs counted as one that has nothing else to fetch; `FEW` of doubts.py was 4,000, so that many honest groups did not make the next
    one larger that asks for a canary.
    """
    async with LittleWeb() as web:
        code_of_laws(web, n_titles=10, n_sections=40, in_force=5)
        of = FilterSettings(soft_error=SoftErrorSettings(max_probes=0))
        limits = LimitSettings(min_free_disk=0, max_wait=5.0, max_pages=10_000)  # so that held URLs wait until nothing else is left
        found = await crawl(tmp_path / "c", settings(web, ["law.test/"], filters=of, politeness=SLOW, limits=limits, canaries=True))
    asked = [place for place in web.requests if not place.endswith(("/robots.txt", "/sitemap.xml"))]
    last_new = max(i for i, place in enumerate(asked) if place not in asked[:i])
    n_again = last_new + 1 - len(set(asked))
    assert len(found.pages) == len(set(asked)) == 411
    assert n_again <= 0.03 * last_new
    assert len(asked) > last_new + 1, "the last groups are looked at when nothing else is left"


async def test_doubts_are_cleared_where_a_tail_has_used_its_share_of_requests(tmp_path: Path) -> None:
    """Mutations: `serve_tail` asks for canaries only before a class is closed; when no held URL is left, doubts stay; what a tail asks for
    in a visit of its own came into the journal after its answer.
    """
    async with LittleWeb() as web:
        code_of_laws(web, n_titles=8, n_sections=90)
        of = FilterSettings(soft_error=SoftErrorSettings(max_probes=0))
        found = await crawl(tmp_path / "c", settings(web, ["law.test/"], filters=of, politeness=SLOW, canaries=True))
    asked = [place for place in web.requests if not place.endswith("/robots.txt")]
    n_held = sum(row.state is State.HELD for row in found.rows.values())
    last_new = max(i for i, place in enumerate(asked) if place not in asked[:i])
    assert n_held > 100
    assert len(asked) > last_new + 1
    with View(tmp_path / "c") as view:
        assert misremembered(view, tmp_path / "replayed") == []
