"""Near-replicas among the pages of real manuals: `python -m benchmarks.quality.replicas_real DIR [CURVES.png]`.

Four Debian manuals in two versions each, and one of them once more as an exact mirror, are served by nginx on nine loopback addresses,
crawled together by the command line, and read back from the store. A pair of the same path on the two hosts is a replica if its
resemblance of five-word shingles is at least .9; every pair returned is judged by that same resemblance. C and D are chosen on Boost and
tested on the other manuals, and the other way round. The exact mirror must only be found as a mirror.

Needs nginx-light, and in DIR what `apt-get download PACKAGE=VERSION` fetched, unpacked by `dpkg -x FILE.deb DIR/NAME`, for each NAME below.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import numpy as np
from msgspec.structs import fields

from benchmarks.support.nginx import serving
from thresher.config.settings import FilterSettings
from thresher.crawler.analysis.replica_figure import draw
from thresher.crawler.analysis.replica_pages import read_store
from thresher.crawler.children import python
from thresher.crawler.core.minhash import shingles
from thresher.crawler.core.model import U64
from thresher.crawler.core.sketch import token_hashes
from thresher.filters.near_replica.batch import Candidates, Space, Tolerance
from thresher.filters.near_replica.evaluate import PrecisionPoint, break_even
from thresher.filters.near_replica.hyperlink_map import I64
from thresher.filters.near_replica.mirrors import mirrors, path_of
from thresher.filters.near_replica.sketching import Recipe, Sketches
from thresher.storage.export.content import text_of
from thresher.storage.export.pages import current_pages
from thresher.storage.export.reading import reading
from thresher.storage.view import View

PORT = 8805
MANUALS = (  # name of the unpacked package, root within it, page to start from; in pairs of versions
    ("boost-1.74", "usr/share/doc/libboost1.74-doc", "doc/html/index.html"),
    ("boost-1.81", "usr/share/doc/libboost1.81-doc", "doc/html/index.html"),
    ("postgresql-15.18", "usr/share/doc/postgresql-doc-15/html", "index.html"),
    ("postgresql-15.20", "usr/share/doc/postgresql-doc-15/html", "index.html"),
    ("python-3.11.2-6+deb12u8", "usr/share/doc/python3.11/html", "index.html"),
    ("python-3.11.2-6+deb12u9", "usr/share/doc/python3.11/html", "index.html"),
    ("linux-6.1.176", "usr/share/doc/linux-doc-6.1/html", "index.html"),
    ("linux-6.1.192", "usr/share/doc/linux-doc-6.1/html", "index.html"),
    ("postgresql-15.20", "usr/share/doc/postgresql-doc-15/html", "index.html"),  # the exact mirror
)
PARTS = {"boost": range(2), "postgresql, python, linux": range(2, 8)}  # tolerances are chosen on one and tested on the other
REPLICA = 0.9
DS = (0.003, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06)
CS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 1.0)
RESEMBLANCES = (0.0, 0.75, 0.8, 0.85, 0.9)


class Truth:
    """Exact resemblance of five-word shingles, computed once for each pair."""

    def __init__(self, tokens: dict[str, U64], urls: list[str]) -> None:
        self._sets = [np.unique(shingles(tokens[url], 5)) for url in urls]
        self._known: dict[tuple[int, int], bool] = {}

    def is_replica(self, one: int, other: int) -> bool:
        pair = (min(one, other), max(one, other))
        if pair not in self._known:
            a, b = self._sets[one], self._sets[other]
            common = np.intersect1d(a, b, assume_unique=True).size
            self._known[pair] = common >= REPLICA * (a.size + b.size - common) > 0
        return self._known[pair]

    def positives(self, sketches: Sketches) -> set[tuple[int, int]]:
        """Return the pairs of the same path on the two hosts of a manual that are replicas."""
        number = {url: page for page, url in enumerate(sketches.urls)}
        found = set()
        for page, url in enumerate(sketches.urls):
            place = _place(url)
            twin = number.get(_host(place + 1) + path_of(url)) if place % 2 == 0 and place < 8 else None
            if twin is not None and self.is_replica(page, twin):
                found.add((min(page, twin), max(page, twin)))
        return found


def _host(place: int) -> str:
    return f"http://127.0.0.{place + 21}:{PORT}"


def _place(url: str) -> int:
    return int(url.split("/")[2].split(":")[0].rsplit(".", 1)[1]) - 21


def _only(sketches: Sketches, places: Iterable[int]) -> Sketches:
    """Return the sketches of some of the hosts."""
    wanted = set(places)
    keep = np.array([_place(url) in wanted for url in sketches.urls])
    degrees = np.diff(sketches.link_starts)
    pages: I64 = np.flatnonzero(keep)
    return Sketches(
        [sketches.urls[page] for page in pages],
        [sketches.hosts[page] for page in pages],
        [sketches.texts[page] for page in pages],
        sketches.projections[keep],
        sketches.minima[keep],
        sketches.least[keep],
        sketches.links[np.repeat(keep, degrees)],
        np.concatenate(([0], np.cumsum(degrees[keep]))),
    )


class Trial:
    """One part of the web under one recipe."""

    def __init__(self, sketches: Sketches, tokens: dict[str, U64]) -> None:
        self.sketches = sketches
        self.truth = Truth(tokens, sketches.urls)
        self.positives = self.truth.positives(sketches)

    def points(self, rule: Tolerance, ds: Iterable[float] = DS, cs: Iterable[float] = CS) -> list[PrecisionPoint]:
        """Return precision (of all pairs found, judged by their texts) and recall (of pairs of the same path on two hosts)."""
        space = Space(self.sketches, rule)
        blocks = list(space.pairs(space.text_pairs()))
        if not blocks:
            return []
        pairs, random_projection, hyperlink_map, _ = (np.concatenate(column) for column in zip(*blocks, strict=True))
        right = np.array([self.truth.is_replica(one, other) for one, other in pairs.tolist()])
        wanted = np.array([(one, other) in self.positives for one, other in pairs.tolist()])
        found = []
        for d, c in product(ds, cs):
            taken = (random_projection < d) & ((hyperlink_map < c) | (c >= 1.0))
            n = int(taken.sum())
            recall = float(wanted[taken].sum()) / len(self.positives)
            found.append(PrecisionPoint(d, c, float(right[taken].mean()) if n else 1.0, recall, n))
        return found


def _best(points: Iterable[PrecisionPoint]) -> PrecisionPoint:
    return max(points, key=lambda point: (min(point.precision, point.recall), point.f1))


def _say(**line: object) -> None:
    print(json.dumps(line), flush=True)


def tokens_of(view: View) -> dict[str, U64]:
    """Return the words of every page that answered with success, by URL, in the order in which they were fetched."""
    found = {}
    for visit, page in ((visit, page) for visit, page in current_pages(view) if 200 <= page.status < 300):
        body = view.tables.bodies.get(visit) if page.has_body else None
        text = None if body is None else text_of(body, page, view.settings.identity.agent)
        found[page.url] = token_hashes(text or "")
    return found


def _compare(all_sketches: Sketches, tokens: dict[str, U64], k: int, *, strip: bool, figure: Path | None) -> None:
    """Choose tolerances on one part and test them on the other, for each way to find candidates."""
    trials = {name: Trial(_only(all_sketches, part), tokens) for name, part in PARTS.items()}
    ways = [(Candidates.GRID, 0.0), *((Candidates.BANDS, resemblance) for resemblance in RESEMBLANCES)]
    for candidates, resemblance in ways:
        rule = Tolerance(d=max(DS), c=1.0, candidates=candidates, resemblance=resemblance)
        points = {name: trial.points(rule) for name, trial in trials.items()}
        for one, other in (tuple(PARTS), tuple(PARTS)[::-1]):
            line = {"K": k, "strip": strip, "by": candidates.value, "resemblance": resemblance, "tried_on": other}
            _say(**line, positives=len(trials[other].positives), **_carried(points[one], points[other]))
    if figure is not None:
        _figure(figure, trials[tuple(PARTS)[1]])


def _carried(chosen: list[PrecisionPoint], tried: list[PrecisionPoint]) -> dict[str, object]:
    """Return the figures that the best tolerances of one part have on the other, for RP alone and with HM."""
    found: dict[str, object] = {}
    for name, is_meant in (("RP", lambda point: point.c >= 1.0), ("RP+HM", lambda point: point.c < 1.0)):
        best = _best(filter(is_meant, chosen))
        [there] = [point for point in tried if (point.d, point.c) == (best.d, best.c)]
        found[name] = {"D": best.d, "C": best.c, "precision": round(there.precision, 4), "recall": round(there.recall, 4)}
        found[f"{name} break-even"] = round(break_even(filter(is_meant, tried)), 4)
    return found


def _figure(path: Path, trial: Trial) -> None:
    """Draw figure 1 of the paper for the pages on which nothing was chosen, as the paper does: by the grid, without shingles."""
    rule = Tolerance(d=max(DS), c=1.0, candidates=Candidates.GRID, resemblance=0.0)
    points = trial.points(rule)
    curves = {f"D = {d:g}": [point for point in points if point.d == d] for d in (0.01, 0.02, 0.04)}
    curves["RP alone"] = [point for point in points if point.c >= 1.0]
    with path.open("wb") as out:
        draw(out, curves)


def crawl(directory: Path, seeds: Iterable[str], *options: str) -> None:
    """Crawl loopback hosts as fast as they answer, without filters but those that `options` turn on."""
    quick = ("politeness.min_delay=0", "politeness.delay_factor=0", "politeness.address_delay=0", "limits.min_free_disk=0")
    allowed = ("fetch.allow_addresses=[127.0.0.0/8]", "fetch.allow_ports=any", "identity.contact=https://example.org/bot")
    off = [f"filters.{one.name}.mode=off" for one in fields(FilterSettings) if "mode" in getattr(one.type, "__struct_fields__", ())]
    whole = ("limits.max_links_per_page=20000", "agents=1", *off)
    sets = [part for value in (*quick, *allowed, *whole, *options) for part in ("--set", value)]
    subprocess.run(python.command("thresher", "crawl", *seeds, *sets, "-o", str(directory)), env=python.environment(), check=True)


def main() -> int:
    """Serve, crawl, print; return 2 if the manuals are missing."""
    base = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    figure = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    roots = [(base / name / root).resolve() for name, root, _ in MANUALS]
    if missing := [str(root) for root in roots if not root.is_dir()]:
        print(f"not there: {', '.join(missing)}\n{__doc__}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="thresher-replicas-") as temporary:
        hosts = [_host(place) for place in range(len(roots))]
        servers = [f"listen {host.removeprefix('http://')}; root {root};" for host, root in zip(hosts, roots, strict=True)]
        with serving(Path(temporary), servers, hosts):
            crawl(Path(temporary) / "crawl", [f"{_host(place)}/{start}" for place, (_, _, start) in enumerate(MANUALS)])
        with reading(Path(temporary) / "crawl") as view:
            _tell(view, figure)
    return 0


def _tell(view: View, figure: Path | None) -> None:
    tokens = tokens_of(view)
    for k, strip in ((5, True), (10, True), (5, False), (10, False)):
        before = time.process_time()
        sketches = read_store(view, Recipe(k=k, strip=strip)).sketches
        if (k, strip) == (5, True):
            _say(pages=len(sketches.urls), links=int(sketches.links.size), reading_cpu_s=round(time.process_time() - before, 1))
            space = Space(sketches, Tolerance())
            groups = [cluster.copies() for cluster in space.clusters(space.text_pairs())]
            for mirror in mirrors(sketches.urls, sketches.hosts, sketches.texts, groups):
                _say(mirror=MANUALS[_place(mirror.host)][0], host=mirror.host, of=mirror.of, pages=mirror.pages, share=mirror.share)
        _compare(sketches, tokens, k, strip=strip, figure=figure if (k, strip) == (5, False) else None)


if __name__ == "__main__":
    sys.exit(main())
