"""A site's first pages are listed; what is learned from them is what would have been learned at once."""

from __future__ import annotations

import random
from collections.abc import Callable

import depth_told
import pytest
from depth_told import DROPPED, HOST, KEPT, SITE, Crawled, day, day_text, prose

from thresher.filters.base import Effects
from thresher.filters.depth_cutoff.evidence import PlaceCounts
from thresher.filters.depth_cutoff.ledger import Ledger
from thresher.filters.depth_cutoff.records import HEAD, SiteHead, head_key
from thresher.filters.evidence.early import EarlyList

Step = Callable[[Crawled], Effects | None]


@pytest.mark.parametrize("most", [4, EarlyList.most])
def test_the_first_pages_are_learned_from_as_if_there_had_been_a_ledger(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever comes after them. Mutation: a page that shows nothing new was listed; links of listed pages were not counted.

    Mutation: a listed page that stands for sixteen is learned from, or its links are counted, as one.
    """
    monkeypatch.setattr(EarlyList, "most", most)
    for seed in range(24):
        steps = story(seed, n_new=seed % 12 * 4)
        lazy, eager = Crawled(), Crawled()
        for i, step in enumerate(steps):
            assert step(lazy) == step(eager)
            if i < 2 * min(seed % 12 * 4, most):
                assert head_of(lazy).early
            eager.ledger().save()
            assert not head_of(eager).early
        assert learned(lazy) == learned(eager)


def story(seed: int, *, n_new: int) -> list[Step]:
    """Return pages that are all new, each with its links, then whatever a site may show."""
    depth_told.DICE.seed(seed)
    rng = random.Random(seed)
    steps: list[Step] = []
    for i in range(n_new):
        url = f"{HOST}/docs/{'deep/' * (i % 3)}page{i}?x={i}" if i % 4 == 3 else f"{HOST}/docs/{'deep/' * (i % 3)}page{i}/"
        steps += [fetched(url, prose(), 1 + i % 3), named(1 + i % 3, url, f"{url}a", f"{url}b")]
    for i in range(30):
        url = rng.choice([day(i), f"{HOST}/docs/late{i}/", f"{HOST}/docs/late{i}?x=1"])
        text = rng.choice([day_text(i), prose(), "again and again the same words as before"])
        depth = rng.randrange(1, 6)
        steps += [fetched(url, text, depth, is_kept=rng.random() < 0.8), named(depth, url, f"{url}a")]
    return steps


def fetched(url: str, text: str, depth: int, *, is_kept: bool = True) -> Step:
    return lambda crawled: crawled.fetch(url, text, depth, KEPT if is_kept else DROPPED)


def named(depth: int, on: str, *urls: str) -> Step:
    return lambda crawled: crawled.name(on, *urls, depth=depth)


def head_of(crawled: Crawled) -> SiteHead:
    return HEAD.decode(crawled.memory.rows[head_key(SITE)])


def learned(crawled: Crawled) -> tuple[SiteHead, dict[str, PlaceCounts], dict[bytes, bytes]]:
    """Return head, places and all other records."""
    ledger: Ledger = crawled.ledger()
    others = {key: value for key, value in crawled.memory.rows.items() if key[8:9] not in (b"h", b"p")}
    return ledger.save(), {place.form: place for place in ledger.all_places()}, others
