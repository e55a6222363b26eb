"""Links pushed as columns have the same result as links pushed one by one: rows, records, places in memory, order of the crawl."""

from __future__ import annotations

import random

from frontier_world import World, flaky, random_world
from hypothesis import given, settings
from hypothesis import strategies as st

# not larger_sites_first: it looks at the size of a host's site when a row goes first there, and among links that come one by one that is
# the size before the others
ORDERS = ("breadth_first", "opic", "host_rank", "fifo")


def crawled(seed: int, *, one_by_one: bool) -> World:
    """Return a crawl in which pages link to URLs of its hosts; the links of a page are pushed together."""
    rng = random.Random(seed)
    heads, bench = rng.choice([1, 3, 8]), rng.choice([0, 3, 10])
    order = rng.choice(ORDERS)
    world = random_world(seed, answer=flaky, frontier={"heads": heads, "workbench": bench, "order": order})
    for _ in range(rng.randrange(1, 15)):
        for _ in range(rng.randrange(6)):
            world.step()
        roots = [entry.url.host for entry in rng.sample(world.pushed, min(4, len(world.pushed)))]
        new = [f"{origin.replace('://', f'://new{rng.randrange(9)}.')}" for origin in roots[: rng.randrange(3)]]
        roots += [*new, *(f"{origin.replace('http://', 'https://')}" for origin in new)]  # two origins of one queue
        n_links = rng.randrange(1, 30)
        texts = [f"{rng.choice(roots)}/{len(world.pushed)}/{i}" for i in range(n_links)]
        world.push_links(texts, [rng.randrange(4) for _ in texts], worth=rng.randrange(3), one_by_one=one_by_one)
    return world


@settings(max_examples=7, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_links_pushed_as_columns_are_as_links_pushed_one_by_one(seed: int) -> None:
    """Mutations: a host whose first URL is now a new one keeps its old place; rows are counted twice; links are held in memory beyond
    `heads`; a host that two origins share is counted twice.
    """
    columns, singles = crawled(seed, one_by_one=False), crawled(seed, one_by_one=True)
    assert columns.store.rows == singles.store.rows
    assert columns.store.records == singles.store.records
    assert columns.store.sites == singles.store.sites
    assert columns.store.due_rows == singles.store.due_rows
    assert len({world.frontier.snapshot(world.now).n_known_hosts for world in (columns, singles)}) == 1
    held = [{key: (host.rows, host.whole) for key, host in world.frontier._bench.hosts.items()} for world in (columns, singles)]
    assert held[0] == held[1]
    for world in (columns, singles):
        world.run(max_steps=50_000)
        world.check()
    assert columns.log == singles.log
