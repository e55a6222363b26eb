"""The law of deferral, on generated webs: with `tail_yield` 0, no limit and an end, filters cost no document.

    python -m benchmarks.proofs.finite_sites [--webs 30] [--seed 1] [--keep DIR]

Each web is made from a seed: two sites on three hosts, of which one shows the pages of another (aliases over hosts), documents in trees,
print views, sessions, near copies, calendars with something at their end, forms that return to each page, and a wall that answers for one
host for some requests and then ends. It is crawled without filters and walls, then with every filter on, and this second crawl is stopped
at random pages and resumed. The second crawl must find every text that the first has found, or a near copy of it. At the end nothing is
held, and every URL is in one state (`thresher verify`). Prints a row for each web; exits with 1 if a document is lost. Two seconds of CPU a
web.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

_TESTS = Path(__file__).parents[2] / "tests"
sys.path[:0] = [str(_TESTS), str(_TESTS / "stories")]

from little_web import Crawled, LittleWeb, crawl, settings  # found where the suite finds it

from thresher.config.settings import FilterSettings, LimitSettings, PolitenessSettings, Settings

_HOSTS = ("a.test", "b.test", "m.a.test")  # the last shows the pages of the first
_WALLS = ("form", "busy", "maintenance", "language")
_FORM = 'Log in to see this page. <form method="post"><input name="user"><input type="password" name="word"></form>'
_SHIFTED = str.maketrans("abcdefghijklmnopqrstuvwxyz", "bcdefghijklmnopqrstuvwxyza")


class Shown(NamedTuple):
    """What a place shows."""

    text: str
    links: tuple[str, ...]


class Outcome(NamedTuple):
    """What became of one web."""

    seed: int
    n_documents: int
    lost: list[str]  # URLs of texts that were not found, nor a near copy of them
    n_near: int  # documents of which only a near copy was found
    n_held: int  # at the end
    requests: int
    n_walled: int  # requests that a wall answered
    n_lives: int
    wall: str


@dataclass
class Web:
    """One generated web."""

    rng: random.Random
    places: dict[str, Shown] = field(default_factory=dict)
    clusters: dict[str, int] = field(default_factory=dict)  # text → number of the cluster of its near copies

    def document(self, near: str = "") -> str:
        """Return a new text, or one with a word changed."""
        if near:
            words = near.split(" ")
            words[self.rng.randrange(45, len(words))] = f"changed{len(self.clusters)}"
            text = " ".join(words)
            self.clusters[text] = self.clusters[near]
            return text
        own = "".join(self.rng.choices("bcdfghklmnprstvw", k=5))
        template = " ".join(f"our{'abcdefghij'[i % 10]}{'klmnopqrst'[i // 10]}" for i in range(40))
        text = f"{template} " + " ".join(f"{own}{i}" for i in range(self.rng.randint(90, 140)))
        self.clusters[text] = len(self.clusters)
        return text

    def put(self, place: str, text: str, links: Sequence[str] = ()) -> None:
        self.places[place] = Shown(text, tuple(links))


def generated(seed: int, n: int) -> Web:
    """Return the web of a seed.    n: about how many documents a host has"""
    web = Web(random.Random(seed))
    for host in _HOSTS[:2]:
        _site(web, host, web.rng.randint(n // 2, n))
    mirrored = [place for place in web.places if place.startswith("a.test/doc")]
    for place in mirrored[: web.rng.randint(0, len(mirrored))]:
        shown = web.places[place]
        web.put(f"m.{place}", shown.text, [f"m.{link}" if link.startswith("a.test/doc") else link for link in shown.links])
    web.put("m.a.test/", web.document(), [f"m.{place}" for place in mirrored[:4]])
    web.places["a.test/"] = web.places["a.test/"]._replace(links=(*web.places["a.test/"].links, "b.test/", "m.a.test/"))
    return web


def _site(web: Web, host: str, n: int) -> None:
    rng, texts = web.rng, [web.document()]
    has_prints, has_sessions, has_forms = (rng.random() < 0.6 for _ in range(3))
    for _ in range(n - 1):
        texts.append(web.document(rng.choice(texts) if rng.random() < 0.15 else ""))
    parents = [rng.randrange(max(1, i)) for i in range(n)]
    months = rng.randint(0, n // 2)
    for i, text in enumerate(texts):
        links = [f"{host}/doc{child}" for child in range(1, n) if parents[child] == i]
        links += [f"{host}/print/doc{i}"] if has_prints else []
        links += [f"{host}/doc{rng.randrange(n)}?sid={rng.getrandbits(32):08x}"] if has_sessions else []
        links += [f"{host}/login?return=doc{i}"] if has_forms else []
        web.put(f"{host}/doc{i}", text, links)
        web.put(f"{host}/print/doc{i}", text, [f"{host}/doc{i}"])
        web.put(f"{host}/login?return=doc{i}", _FORM)
    for month in range(months):
        web.put(f"{host}/calendar/{month}", "there are no events in this month " * 8, [f"{host}/calendar/{month + 1}", f"{host}/"])
    web.put(f"{host}/calendar/{months}", web.document())
    web.put(f"{host}/", web.document(), [f"{host}/doc0", f"{host}/calendar/0"])


@dataclass
class Served:
    """A web as it is asked for, with its wall."""

    web: Web
    little: LittleWeb
    wall: str = ""
    host: str = ""
    stands: range = range(0)  # numbers of the host's requests that the wall answers
    n: Counter[str] = field(default_factory=Counter)
    n_walled: int = 0

    def on_request(self, place: str) -> None:
        """Put the page that a request for a place gets."""
        host = place.partition("/")[0]
        if place.endswith("/robots.txt"):
            return
        self.n[host] += 1
        shown = self.web.places.get(place) or self.web.places.get(place.partition("?")[0])
        if shown is None:
            self.little.page(place, text="there is nothing here", status=404)
        elif self.wall and host == self.host and self.n[host] in self.stands:
            self.n_walled += 1
            self._walled(place, shown)
        else:
            self.little.page(place, *shown.links, text=shown.text)

    def _walled(self, place: str, shown: Shown) -> None:
        match self.wall:
            case "form":
                self.little.page(place, text=_FORM)
            case "busy":
                self.little.page(place, text="we will be back soon", status=503)
            case "maintenance":
                self.little.page(place, text="the site is down for maintenance and we thank you for your patience until we are back")
            case "language":
                self.little.page(place, *shown.links, text=shown.text.translate(_SHIFTED))


async def judged(seed: int, directory: Path, n: int) -> Outcome:
    """Crawl the web of a seed without filters, and with all of them in several lives."""
    web = generated(seed, n)
    rng = random.Random(-seed)
    async with LittleWeb() as little:
        served = Served(web, little)
        little.on_request = served.on_request
        plain = await crawl(directory / f"{seed}-off", _settings(little, enforced=False))
        first = rng.randint(16, 30)
        wall, host, stands = rng.choice(_WALLS), rng.choice(_HOSTS[:2]), range(first, first + rng.randint(6, 25))
        served = Served(web, little, wall, host, stands)
        little.on_request = served.on_request
        ends = sorted(rng.sample(range(5, len(plain.pages)), rng.randint(0, 2)))
        for end in ends:
            await crawl(directory / f"{seed}-on", _settings(little, max_pages=end))
        found = await crawl(directory / f"{seed}-on", _settings(little))
    return _outcome(seed, web, plain, found, served, len(ends) + 1)


def _outcome(seed: int, web: Web, plain: Crawled, found: Crawled, served: Served, n_lives: int) -> Outcome:
    shown = {url: web.places[served.little.place(url)].text for url in plain.pages if served.little.place(url) in web.places}
    of_text = {page.fingerprint: shown[url] for url, page in plain.pages.items() if page.status == 200 and url in shown}
    kept = {of_text[page.fingerprint] for page in found.pages.values() if page.keep and page.fingerprint in of_text}
    clusters = {web.clusters[text] for text in kept if text in web.clusters}
    missing = {text for text in of_text.values() if text in web.clusters and text not in kept}
    lost = {text for text in missing if web.clusters[text] not in clusters}
    urls = [url for url, text in shown.items() if text in lost]
    n_documents = len(set(of_text.values()) & set(web.clusters))
    return Outcome(
        seed, n_documents, urls, len(missing) - len(lost), found.status.held, served.n.total(), served.n_walled, n_lives, served.wall
    )


def _settings(little: LittleWeb, *, enforced: bool = True, max_pages: int | None = None) -> Settings:
    of = FilterSettings(tail_yield=0.0)
    named = {name: one for name in of.__struct_fields__ if hasattr(one := getattr(of, name), "mode")}
    of = msgspec.structs.replace(
        of, **{name: msgspec.structs.replace(one, mode="enforce" if enforced else "off") for name, one in named.items()}
    )
    quick = PolitenessSettings(
        min_delay=0.0, delay_factor=0.0, jitter=0.0, address_delay=0.0, backoff_initial=0.01, backoff_max=0.02, dead_after=10_000
    )
    limits = LimitSettings(min_free_disk=0, max_wait=60.0, max_pages=max_pages)
    return settings(little, ["a.test/"], filters=of, politeness=quick, limits=limits, canaries=enforced)


async def run(n_webs: int, seed: int, directory: Path, *, n: int = 60) -> list[Outcome]:
    """Judge webs of seeds in a row; print each."""
    found = []
    for each in range(seed, seed + n_webs):
        outcome = await judged(each, directory, n)
        print(
            f"web {each}: {outcome.n_documents} documents, lost {len(outcome.lost)}, near {outcome.n_near}, held {outcome.n_held}; "
            f"{outcome.requests} requests, {outcome.n_walled} behind a wall ({outcome.wall}), {outcome.n_lives} lives",
            *outcome.lost[:5],
            flush=True,
        )
        found.append(outcome)
    return found


def main() -> int:
    """Run it; return 1 if a document is lost or held."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--webs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1, help="of the first web")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the stores there")
    args = parser.parse_args()
    with nullcontext(args.keep) if args.keep else tempfile.TemporaryDirectory(prefix="thresher-finite-") as directory:
        found = asyncio.run(run(args.webs, args.seed, Path(directory)))
    n_lost, n_held = sum(len(one.lost) for one in found), sum(one.n_held for one in found)
    print(f"{sum(one.n_documents for one in found)} documents of {len(found)} webs: {n_lost} URLs lost, {n_held} held")
    return int(n_lost + n_held > 0)


if __name__ == "__main__":
    sys.exit(main())
