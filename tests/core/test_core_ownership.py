"""Laws of the table that says which agent has which sites."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.core.ownership import N_PARTITIONS, Ownership, divided, first_key, partition


@given(st.lists(st.integers(1, 64), min_size=1, max_size=4))
def test_every_agent_has_its_equal_share_and_no_partition_moves_between_agents_that_stay_and_had_none_too_many(counts: list[int]) -> None:
    """Mutation: the table is divided anew: nearly all partitions move."""
    table = b""
    for n in counts:
        before, table = table, divided(n, table)
        shares = Counter(table)
        assert set(shares) == set(range(n))
        assert max(shares.values()) - min(shares.values()) <= 1
        if before:
            moved = sum(was != now for was, now in zip(before, table, strict=True))
            had = Counter(before)
            assert moved == sum(max(0, shares[agent] - had[agent]) for agent in range(n))


@given(st.binary(min_size=8, max_size=16))
def test_a_partition_is_one_range_of_keys(key: bytes) -> None:
    number = partition(key)
    assert first_key(number) <= key < first_key(number + 1)


@given(st.binary(min_size=16, max_size=16), st.integers(2, 9))
def test_one_agent_and_no_other_has_a_key(key: bytes, n: int) -> None:
    table = divided(n)
    owners = [agent for agent in range(n) if Ownership(table, agent).is_own(key)]
    assert owners == [Ownership(table, 0).owner(key)] == [table[partition(key)]]
    assert len(table) == N_PARTITIONS
