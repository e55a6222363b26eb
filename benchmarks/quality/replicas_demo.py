"""Random projections, alone and with hyperlink maps, on planted replicas: `python -m benchmarks.quality.replicas_demo [PAGES A BOOK]`
(200).

The part "replicas" of the demo: pages with a known share of their words changed in two languages, two mirrors, twins of equal text with
children of their own, pages of equal text without children, indexes of one archive. Two pages replicate each other if they show the same
document, and no other pair does. For each way to find candidates, it prints the point at which precision equals recall, and the tolerances
there.
"""

from __future__ import annotations

import json
import sys
from itertools import combinations

import numpy as np

from thresher.crawler.analysis.replica_pages import space as url_space
from thresher.crawler.core import html
from thresher.crawler.core.sketch import token_hashes
from thresher.crawler.core.url import origin_of
from thresher.crawler.demo.demo_settings import profile
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.crawler.demo.truth import split
from thresher.filters.near_replica.batch import Candidates, Space, Tolerance
from thresher.filters.near_replica.evaluate import LabelledPairs, PrecisionPoint, judge
from thresher.filters.near_replica.indexes import same_children
from thresher.filters.near_replica.mirrors import mirrors
from thresher.filters.near_replica.sketching import Recipe, Sketcher, Sketches

DS = (0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15, 0.2)
CS = (0.01, 0.014, 0.018, 0.022, 0.026, 0.03, 0.034, 0.04, 0.05, 0.06, 0.08, 0.12)
RESEMBLANCES = (0.0, 0.5, 0.6, 0.7, 0.8)


def sketched(web: LabelledWeb, recipe: Recipe) -> Sketches:
    """Generate every page that answers with success, parse it, and sketch it as a crawl would."""
    sketcher, urls = Sketcher(recipe), url_space()
    for url in web.truth().urls:
        reply = web.respond(*split(url))
        parsed = html.read(reply.body, "text/html; charset=utf-8", "text/html", agent="thresher", max_links=5000)
        if reply.status == 200 and parsed is not None:
            links = urls.resolve(url, [link.href for link in parsed.links])[0]
            sketcher.add(url, origin_of(url), token_hashes(parsed.text), links)
    return sketcher.close()


def replicas_of(web: LabelledWeb, sketches: Sketches) -> set[tuple[int, int]]:
    """Return the pairs of pages that show one document."""
    number = {url: page for page, url in enumerate(sketches.urls)}
    documents = web.truth().documents()
    groups = (sorted(number[url] for url in urls if url in number) for document, urls in documents.items() if document)
    return {pair for group in groups for pair in combinations(group, 2)}


def best(judged: LabelledPairs, cs: tuple[float, ...]) -> PrecisionPoint:
    """Return the point at which the smaller of precision and recall is largest."""
    points = [judged.at(d, c) for d in DS for c in cs]
    return max(points, key=lambda point: (min(point.precision, point.recall), point.f1))


def _shown(point: PrecisionPoint) -> dict[str, float]:
    return {"D": point.d, "C": point.c, "precision": round(point.precision, 4), "recall": round(point.recall, 4)}


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    web = LabelledWeb(profile("replicas", **({"part_pages": size} if size else {})))
    for k, strip in ((5, True), (10, True), (5, False)):
        sketches = sketched(web, Recipe(k=k, strip=strip))
        replicas = replicas_of(web, sketches)
        if (k, strip) == (5, True):
            _tell_hosts(web, sketches)
        for candidates, resemblance in ((Candidates.GRID, 0.0), *((Candidates.BANDS, share) for share in RESEMBLANCES)):
            rule = Tolerance(d=max(DS), c=1.0, candidates=candidates, resemblance=resemblance, rows=3)
            space = Space(sketches, rule)
            judged = judge(space.pairs(space.text_pairs()), replicas, set())
            alone, both = best(judged, (1.0,)), best(judged, CS)
            line = {"K": k, "strip": strip, "by": candidates.value, "resemblance": resemblance, "pages": len(sketches.urls)}
            print(json.dumps({**line, "replicas": len(replicas), "RP": _shown(alone), "RP+HM": _shown(both)}), flush=True)


def _tell_hosts(web: LabelledWeb, sketches: Sketches) -> None:
    space = Space(sketches, Tolerance())
    groups = [cluster.copies() for cluster in space.clusters(space.text_pairs())]
    for mirror in mirrors(sketches.urls, sketches.hosts, sketches.texts, groups):
        print(json.dumps({"mirror": mirror.host, "of": mirror.of, "pages": mirror.pages, "share": mirror.share}))
    indexes = same_children(sketches, space.r, of_texts=space.tolerance.resemblance)
    kinds = [{web.label(sketches.urls[page]).kind for page in group} for group in indexes]
    planted = np.count_nonzero([web.label(url).kind == "index" for url in sketches.urls])
    print(
        json.dumps(
            {
                "indexes": sum(map(len, indexes)),
                "groups": len(indexes),
                "wrong": sum(k != {"index"} for k in kinds),
                "planted": int(planted),
            }
        )
    )


if __name__ == "__main__":
    main()
