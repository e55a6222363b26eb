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
