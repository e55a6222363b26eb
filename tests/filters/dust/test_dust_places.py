"""The places of a URL."""

from __future__ import annotations

from thresher.filters.dust.places import HOST, SPELLING, places

ORIGIN = "http://a.example"


def group(url: str, name: str) -> str:
    (place,) = places(url, ORIGIN, [name])
    return place.group


def test_another_order_of_parameters_is_another_spelling_and_no_other_host() -> None:
    """Mutation: the query in order in the place `host`."""
    one, other = f"{ORIGIN}/list?color=red&size=l", f"{ORIGIN}/list?size=l&color=red"
    assert group(one, SPELLING) == group(other, SPELLING)
    assert group(one, HOST) != group(other, HOST)


def test_a_parameter_that_is_repeated_is_another_spelling() -> None:
    """A list that is narrowed by one choice twice. Mutation: each repetition of a parameter kept in the group."""
    one, other = f"{ORIGIN}/list?color=red&color=red&size=l", f"{ORIGIN}/list?color=red&size=l"
    assert group(one, SPELLING) == group(other, SPELLING) != group(f"{ORIGIN}/list?color=red&color=blue&size=l", SPELLING)
    (place,) = places(one, ORIGIN, [SPELLING])
    assert place.value == "&"
