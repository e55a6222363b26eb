"""The gain by the removal of boilerplate: `python -m benchmarks.quality.replicas_template [WORDS OF AN ARTICLE]` (default: 60).

Ten hosts of forty articles under a template each, and a copy of every host whose articles have one word changed. An article and its copy
are replicas, two articles of one host are not. The longer the template, the more alike are articles without it [HEN06]. For each length of
template: precision and recall by shingles alone (resemblance of .7 and more), and by shingles and projections (D = .1), of whole pages and
with boilerplate removed.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from thresher.crawler.core.model import U64
from thresher.filters.near_replica.batch import Space, Tolerance
from thresher.filters.near_replica.evaluate import judge
from thresher.filters.near_replica.sketching import Recipe, Sketcher, Sketches

_N_HOSTS, _N_ARTICLES = 10, 40
_TEMPLATES = (0, 60, 120, 240, 480, 960)  # words
_RULES = {
    "shingles": Tolerance(d=2.0, c=1.0, resemblance=0.7),
    "shingles and RP": Tolerance(d=0.1, c=1.0),
}


def sketched(n_words: int, n_template: int, recipe: Recipe) -> tuple[Sketches, set[tuple[int, int]]]:
    """Return the pages of such a web, and the pairs of replicas."""
    rng, sketcher = np.random.default_rng(6), Sketcher(recipe)
    vocabulary = rng.integers(0, 1 << 64, 50_000, dtype=np.uint64)
    replicas = set()
    for host in range(_N_HOSTS):
        template = _words(rng, vocabulary, n_template)
        articles = [_words(rng, vocabulary, n_words) for _ in range(_N_ARTICLES)]
        first = 2 * host * _N_ARTICLES
        for copy, name in enumerate((f"http://a{host}.test", f"http://b{host}.test")):
            for number, article in enumerate(articles):
                shown = article.copy()
                shown[number % n_words] += np.uint64(copy)  # the copy has another word here
                text = np.concatenate((template[: n_template // 2], shown, template[n_template // 2 :]))
                sketcher.add(f"{name}/{number}", name, text, [])
        replicas |= {(first + number, first + _N_ARTICLES + number) for number in range(_N_ARTICLES)}
    return sketcher.close(), replicas


def _words(rng: np.random.Generator, vocabulary: U64, n: int) -> U64:
    words: U64 = vocabulary[np.minimum(rng.zipf(1.2, n), vocabulary.size) - 1]
    return words


def main() -> None:
    n_words = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    for n_template in _TEMPLATES:
        for strip in (False, True):
            sketches, replicas = sketched(n_words, n_template, Recipe(strip=strip))
            line: dict[str, object] = {"template_words": n_template, "removed": strip}
            for name, rule in _RULES.items():
                space = Space(sketches, rule)
                point = judge(space.pairs(space.text_pairs()), replicas, set()).at(rule.d, 1.0)
                line[name] = {"precision": round(point.precision, 3), "recall": round(point.recall, 3)}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
