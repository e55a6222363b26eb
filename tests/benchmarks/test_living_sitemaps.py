"""What `python -m benchmarks.living sitemaps` counts as a fault, without servers."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.living.sitemaps import Found

GOOD = Found(by_links={"a", "b"}, by_both={"a", "b", "o"}, only_announced={"o"}, only_linked={"b"}, n_sitemaps=1)


def test_orphans_that_were_fetched_are_no_fault() -> None:
    assert GOOD.faults() == []


def test_what_must_not_be_is_told() -> None:
    """Mutation: each of the three was left out."""
    assert replace(GOOD, n_sitemaps=0).faults() == ["no sitemap was read"]
    assert replace(GOOD, by_both={"a", "o"}).faults() == ["not found with the sitemap: b"]
    assert replace(GOOD, only_announced={"o", "p"}).faults() == ["announced, and not fetched: p"]
