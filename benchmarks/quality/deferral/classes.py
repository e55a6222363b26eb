"""Hosts whose classes are no random samples, closed by the real policy: how many are closed although too much of the rest is good?

Each host has one to eight classes of 20 to 2,000 URLs. Their good URLs are .7 to 2 times as many as the threshold allows. They lie where
real sites have them: after two hundred barren ones, at the beginning, in one run, all in the smallest or the largest class, or at every
fiftieth place. After every batch the policy decides whether to close. `python -m benchmarks.quality.deferral --classes 10000`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from thresher.filters.evidence.audits import draw_order
from thresher.filters.tail.membership import join
from thresher.filters.tail.records import HostTail, TailClass, TailPolicy
from thresher.filters.tail.serve import TailEnd, promote, settle

WORST = TailPolicy(worthwhile=1.0, share=1e9, batch=10)  # the bound alone ends a tail


@dataclass
class Closings:
    """How many hosts were closed, and how many wrongly."""

    hosts: int = 0
    classes: int = 0
    closed: int = 0  # hosts of which something was left alone
    wrong: int = 0  # hosts of these with more good URLs left than the threshold allows
    fetched: int = 0
    known: int = 0


def closings(n_classes: int, seed: int, policy: TailPolicy = WORST) -> Closings:
    """Close hosts until they had this number of classes together."""
    rng, found = random.Random(seed), Closings()
    while found.classes < n_classes:
        host = _host(rng, policy)
        found.hosts += 1
        found.classes += len(host)
        _close(host, policy, found, rng.randbytes(16))
    return found


def _host(rng: random.Random, policy: TailPolicy) -> list[list[bool]]:
    """Return classes as lists of good (True) and barren URLs in the site's order; good ones are .7 to 2 times what the threshold allows."""
    sizes = [int(20 * 100 ** rng.random()) for _ in range(rng.randint(1, 8))]
    n_good = int(policy.tail_yield * sum(sizes) * rng.uniform(0.7, 2.0)) + 1
    classes = [[False] * size for size in sizes]
    match rng.choice(("late", "early", "run", "smallest", "largest", "spread")):
        case "smallest" | "largest" as which:
            chosen = (min if which == "smallest" else max)(classes, key=len)
            places = [(chosen, i) for i in range(min(n_good, len(chosen)))]
        case "early":
            places = [(of, i) for of in classes for i in range(max(1, n_good // len(classes)))]
        case "late":
            places = [(of, i) for of in classes for i in range(len(of) - 1, min(200, len(of) // 2), -1)][:n_good]
        case "run":
            chosen = rng.choice(classes)
            start = rng.randrange(len(chosen))
            places = [(chosen, i) for i in range(start, start + n_good)]
        case _:
            places = [(of, i) for of in classes for i in range(0, len(of), max(1, int(1 / policy.tail_yield)))]
    for of, i in places:
        if i < len(of):
            of[i] = True
    return classes


def _close(classes: list[list[bool]], policy: TailPolicy, found: Closings, secret: bytes) -> None:
    host = HostTail()
    records = [TailClass(f"class {i}") for i in range(len(classes))]
    waiting = {}
    for record, members in zip(records, classes, strict=True):
        for _ in members:
            join(record)
        holder = record.holder.encode()
        order = sorted(range(len(members)), key=lambda i: draw_order(secret, holder, b"%d" % i))
        waiting[record.holder] = [members[i] for i in order]
    found.known += sum(map(len, classes))
    by_holder = {record.holder: record for record in records}
    while not isinstance(answer := promote(host, records, policy), TailEnd):
        drawn, waiting[answer.draw.holder] = waiting[answer.draw.holder][: answer.n], waiting[answer.draw.holder][answer.n :]
        for is_good in drawn:
            settle(host, by_holder[answer.draw.holder], answer.draw, is_good, policy=policy)
        found.fetched += len(drawn)
    good_left = sum(map(sum, waiting.values()))
    n_left = sum(map(len, waiting.values()))
    found.closed += n_left > 0
    found.wrong += good_left > policy.tail_yield * n_left
