"""Scope: who belongs, who does not, and no way around it by spelling."""

from typing import Any

import pytest
from subjects import refusal

from thresher.config.settings import Override, ScopeSettings
from thresher.crawler.core.model import Reason
from thresher.filters.scope import ScopeFilter

SEED = "https://www.a.example/docs/index.html"


def scope(type_: Any = "host", **more: Any) -> ScopeFilter:
    return ScopeFilter(ScopeSettings(type=type_, **more), [], [SEED])


@pytest.mark.parametrize(
    ("type_", "inside", "outside"),
    [
        ("page", [SEED], ["https://www.a.example/docs/", "https://www.a.example/"]),
        ("prefix", [SEED, "https://www.a.example/docs/x/y"], ["https://www.a.example/", "https://www.a.example/docs2/x"]),
        ("host", [SEED, "http://a.example/", "https://a.example/other"], ["https://sub.a.example/", "https://b.example/"]),
        ("domain", [SEED, "https://sub.a.example/", "http://a.example/"], ["https://b.example/", "https://xa.example/"]),
        ("any", [SEED, "https://b.example/"], []),
    ],
)
def test_each_scope_type_holds_what_its_name_says(type_: str, inside: list[str], outside: list[str]) -> None:
    rule = scope(type_)
    assert [refusal(rule, url) for url in inside] == [None] * len(inside)
    assert [refusal(rule, url) for url in outside] == [Reason.OUT_OF_SCOPE] * len(outside)


def test_look_alike_hosts_are_outside() -> None:
    """S40: suffixes match at a label's border, names compare as A-labels."""
    rule = ScopeFilter(ScopeSettings(type="domain"), [], ["https://example.com/"])
    for url in ("https://evilexample.com/", "https://example.com.evil.net/", "https://xn--exmple-cua.com/"):
        assert refusal(rule, url) is Reason.OUT_OF_SCOPE


def test_include_adds_and_exclude_wins() -> None:
    rule = scope(include=[r"^https://b\.example/shared/"], exclude=[r"/private/"])
    assert refusal(rule, "https://b.example/shared/x") is None
    assert refusal(rule, "https://b.example/shared/private/x") is Reason.EXCLUDED
    assert refusal(rule, "https://a.example/private/") is Reason.EXCLUDED


def test_a_skip_override_excludes_a_domain_with_its_subdomains_or_a_prefix() -> None:
    overrides = [Override(match="b.example", skip=True), Override(match="https://a.example/old/", skip=True)]
    rule = ScopeFilter(ScopeSettings(type="any"), overrides, [SEED])
    for url in ("https://b.example/", "https://x.b.example/", "https://a.example/old/1"):
        assert refusal(rule, url) is Reason.EXCLUDED
    assert refusal(rule, "https://notb.example/") is None


def test_schemes_can_be_narrowed() -> None:
    assert refusal(scope("any", schemes=["https"]), "http://a.example/") is Reason.BAD_SCHEME


@pytest.mark.parametrize("path", ["/logout", "/user/log-out/", "/x?action=delete&id=1", "/cart?add-to-cart=5", "/?do=logout"])
def test_links_that_change_something_are_never_followed(path: str) -> None:
    """S49."""
    assert refusal(scope(), f"https://a.example{path}") is Reason.UNSAFE


@pytest.mark.parametrize("path", ["/sql-delete.html", "/docs/delete/", "/logout-design.html", "/?q=how+to+delete", "/removed?id=delete-me"])
def test_pages_about_such_links_are_followed(path: str) -> None:
    assert refusal(scope(), f"https://a.example{path}") is None
