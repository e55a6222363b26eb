"""For how many barren fetches a page counts, by its size."""

from __future__ import annotations

from thresher.filters.evidence.cost import UsualSize, counts_for


def measured(*sizes: int) -> UsualSize:
    usual = UsualSize()
    for n_bytes in sizes:
        usual.learn(n_bytes)
    return usual


def test_a_large_barren_page_counts_for_two() -> None:
    """Mutations: no upper bound; a small page counts for none."""
    usual = measured(*[4_000, 6_000] * 10)
    assert [counts_for(usual.cost(n_bytes)) for n_bytes in (0, 10, 5_000, 7_000, 10_000, 15_000, 10**9)] == [1, 1, 1, 1, 2, 2, 2]


def test_a_large_list_counts_once_while_enough_is_to_be_fetched_that_it_named() -> None:
    """Half of a register's documents waited behind lists of 60 KB. Mutations: any list of which one URL is open; none."""
    assert [counts_for(8, n_named) for n_named in (0, 1, 15, 16, 400)] == [2, 2, 2, 1, 1]
    assert counts_for(1) == 1


def test_nothing_is_told_apart_by_size_before_sixteen_pages_are_known() -> None:
    """Mutation: the first page is taken for the usual one. Pages of unknown size are none of the sixteen."""
    assert measured(*[1_000] * 15, 0, 0).cost(10**6) == 1
    assert measured(*[1_000] * 16).cost(10**6) == 1_000


def test_what_is_usual_follows_the_site() -> None:
    """Mutation: the mean of all pages from the first on."""
    assert measured(*[1_000] * 5_000, *[100_000] * 300).cost(100_000) == 1
