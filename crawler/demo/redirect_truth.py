"""A redirect log whose truth is known, with the classes of [LEE09]: for tests and benchmarks of the soft-error score.

    200 soft hosts       20 to 2,000 missing pages each, redirected to an error page of the host, to its home page, or to a page of a
                         hoster that many hosts share; some of their pages have moved honestly
    5 farms              of parked hosts
    50 directories       whose links go to many hosts, popular ones among them
    2,000 hosts          where each page has moved
    3,000 hosts          of one URL each, which redirects to a popular portal

Soft errors are the redirects of soft hosts to error pages, and those of the farms.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

_OWN = ("404.html", "error.html", "notfound.php", "errors/404", "sorry.html", "page-not-found", "whoops/", "index.php?error=404")


class Simulated(NamedTuple):
    """One redirect of a known kind."""

    original: str
    target: str
    is_soft: bool
    kind: str


def simulated(seed: int = 7, *, scale: float = 1.0) -> list[Simulated]:
    """Return a log of about 100,000 redirects; `scale` multiplies the pages of each host, not the number of hosts."""
    rng = random.Random(seed)  # noqa: S311 - a simulation
    log = [*_soft_hosts(rng, scale), *_farms(rng, scale), *_directories(rng, scale), *_movers(rng), *_aliases(rng)]
    rng.shuffle(log)
    return log


def _soft_hosts(rng: random.Random, scale: float) -> Iterator[Simulated]:
    for i in range(200):
        host = f"http://soft{i}.example"
        n = max(1, round(scale * max(20, 2000 / (1 + i) ** 0.6)))
        target = (f"{host}/{rng.choice(_OWN)}", f"{host}/", f"http://errdoc.hoster{i % 7}.example/404.html")[i % 3]
        for j in range(n):
            yield Simulated(f"{host}/{_path(rng, j)}", target, True, ("own page", "home page", "hoster's page")[i % 3])
        for j in range(n // 8):
            yield Simulated(f"{host}/old/{j}.html", f"{host}/new/{j}", False, "move within")


def _farms(rng: random.Random, scale: float) -> Iterator[Simulated]:
    for i in range(5):
        for j in range(max(2, round(scale * rng.randint(500, 2000)))):
            yield Simulated(f"http://lapsed{i}-{j}.example/{_path(rng, j)}", f"http://buy{i}.example/pills", True, "farm")


def _directories(rng: random.Random, scale: float) -> Iterator[Simulated]:
    for i in range(50):
        for j in range(max(2, round(scale * rng.randint(200, 1000)))):
            target = _portal(rng) if rng.random() < 0.2 else f"http://listed{rng.randint(0, 30_000)}.example/{_path(rng, j % 3)}"
            yield Simulated(f"http://dir{i}.example/go?id={j}", target, False, "directory")


def _movers(rng: random.Random) -> Iterator[Simulated]:
    for i in range(2000):
        for j in range(rng.randint(1, 30)):
            yield Simulated(f"http://old{i}.example/{j}.html", f"http://new{i}.example/{_path(rng, j)}", False, "move")


def _aliases(rng: random.Random) -> Iterator[Simulated]:
    for i in range(3000):
        yield Simulated(f"http://alias{i}.example/", _portal(rng), False, "alias")


def _portal(rng: random.Random) -> str:
    """Return a popular home page, by Zipf's law."""
    return f"http://portal{int(rng.paretovariate(0.8)) % 500}.example/"


def _path(rng: random.Random, number: int) -> str:
    return f"{rng.choice(('news', 'shop', 'blog', 'p'))}/{number}-{rng.randint(0, 99)}.html"
