"""Pages made for the tests of near-replicas: texts of random words, edited by a share, under templates."""

from __future__ import annotations

import random

from thresher.crawler.core.sketch import token_hashes
from thresher.filters.near_replica.sketching import Recipe, Sketcher, Sketches

Web = list[tuple[str, str, list[str]]]  # URL, text, links


def words(rng: random.Random, n: int) -> list[str]:
    """Return n words out of 3,000, the common ones more often."""
    return [f"w{int(3000 * rng.random() ** 2)}" for _ in range(n)]


def edited(text: list[str], share: float, rng: random.Random) -> list[str]:
    """Return the text with a share of its words replaced, in one place."""
    n = round(share * len(text))
    at = rng.randrange(len(text) - n + 1)
    return [*text[:at], *words(rng, n), *text[at + n :]]


def host_of(url: str) -> str:
    return url.split("/")[2]


def sketched(web: Web, recipe: Recipe | None = None) -> Sketches:
    sketcher = Sketcher(recipe or Recipe())
    for url, text, links in web:
        sketcher.add(url, host_of(url), token_hashes(text), links)
    return sketcher.close()


def site(host: str, texts: list[list[str]], template: list[str] | None = None) -> Web:
    """Return a tree of pages, two children each, every one with its text between two halves of a template."""
    head, foot = (template[: len(template) // 2], template[len(template) // 2 :]) if template else ([], [])
    urls = [f"http://{host}/{number}" for number in range(len(texts))]
    return [
        (url, " ".join([*head, *text, *foot]), urls[2 * number + 1 : 2 * number + 3])
        for number, (url, text) in enumerate(zip(urls, texts, strict=True))
    ]
