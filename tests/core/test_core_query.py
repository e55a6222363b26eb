"""Which fields a query has."""

from __future__ import annotations

import pytest

from thresher.crawler.core.query import fields_of


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("a=1&b=2", ["a=1", "b=2"]),
        ("p=x.git;a=blob;h=1f", ["p=x.git", "a=blob", "h=1f"]),
        ("topic=12.0;all;start=20&wap", ["topic=12.0", "all", "start=20", "wap"]),
        ("q=a;b", ["q=a;b"]),
        ("a=1;b", ["a=1;b"]),
        ("a=b%3Bc=d", ["a=b%3Bc=d"]),
        ("", [""]),
    ],
)
def test_a_semicolon_separates_fields_where_a_name_and_a_value_follow_one(query: str, fields: list[str]) -> None:
    """Mutation: only `&` separates them: a repository browser has one field and one class of 2,391 URLs."""
    assert fields_of(query) == fields
