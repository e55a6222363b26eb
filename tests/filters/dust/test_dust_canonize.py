"""Canonization as a law: it ends, it is idempotent, and rules that shrink go down in shortlex order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from thresher.filters.dust.canonize import Canonizer, applier
from thresher.filters.dust.rules import Parameter, Rule, RuleError, Substitution, check, shortlex, written

words = st.sampled_from(["a", "b", "1", "22", "/", "_", "?", "=", "&", "a/b", "x=1", "index.html"])
parts = st.lists(words, min_size=0, max_size=4).map("".join)
urls = parts.map(lambda rest: f"http://s/{rest}")


def _substitution(one: str, other: str, *, shrink: bool) -> Substitution:
    if shrink:
        other, one = sorted((one, other), key=shortlex)
    return Substitution(source=written(one), target=written(other))


def _some_rules(*, shrink: bool) -> st.SearchStrategy[list[Rule]]:
    pairs = st.tuples(parts.filter(bool), parts).filter(
        lambda pair: pair[0] != pair[1] and (not shrink or bool(min(pair, key=shortlex)) or True)
    )
    substitutions = pairs.map(lambda pair: _substitution(*pair, shrink=shrink))
    parameters = st.builds(
        Parameter, name_=st.sampled_from(["a", "x", "u*"]), to=st.none() if shrink else st.sampled_from([None, "1", "2"])
    )
    return st.lists(substitutions | parameters, max_size=5)


@examples(max_examples=200, deadline=None, derandomize=True)
@given(rules=_some_rules(shrink=False), url=urls)
def test_canonizing_ends_and_twice_is_once(rules: list[Rule], url: str) -> None:
    """Mutation: a URL that still changes after ten passes is returned as it is then."""
    canonical = Canonizer(rules)
    once = canonical(url)
    assert canonical(once) == once


@examples(max_examples=200, deadline=None, derandomize=True)
@given(rules=_some_rules(shrink=True), url=urls)
def test_each_change_by_a_shrinking_rule_goes_down_in_shortlex_order(rules: list[Rule], url: str) -> None:
    """Mutation: `Parameter` sets a value where it should remove the parameter."""
    for rule in rules:
        changed = applier(rule)(url)
        assert changed == url or shortlex(changed) < shortlex(url)


@pytest.mark.parametrize(
    ("rule", "url", "expected"),
    [
        (Substitution(source="1", target="2"), "http://s/10/1", "http://s/10/2"),
        (Substitution(source="b/b", target="c"), "http://s/ab/b/b", "http://s/ab/c"),
        (Substitution(source="%3A", target=":"), "http://s/User%3ABob", "http://s/User:Bob"),
        (Substitution(source="a", target="b"), "http://s/%3a", "http://s/%3a"),
        (Substitution(source="^https://", target="^http://"), "https://s/?u=https://t/", "http://s/?u=https://t/"),
        (Substitution(source="/$", target="$"), "http://s/a/", "http://s/a"),
        (Substitution(source="cost\\$", target="price"), "http://s/?cost$=1", "http://s/?price=1"),
        (Substitution(source="//x.com/{w1}/", target="//{w1}.x.com/"), "http://x.com/money/a", "http://money.x.com/a"),
        (Substitution(source="?item={n1}&cat={n2}$", target="?cat={n2}&item={n1}$"), "http://s/?item=4&cat=2", "http://s/?cat=2&item=4"),
        (Substitution(source="/{n1}.", target="/p{n1}."), "http://s/a7.x", "http://s/a7.x"),
        (Substitution(source="/a", target="/b", path="/docs/"), "http://s/x/a", "http://s/x/a"),
        (Substitution(source="/a", target="/b", path="/docs/"), "http://s/docs/a", "http://s/docs/b"),
        (Substitution(source="/a", target="/b", host="t"), "http://s/a", "http://s/a"),
        (Parameter(name_="sid"), "http://s/?sid=1&a=2&sid=3", "http://s/?a=2"),
        (Parameter(name_="sid"), "http://s/x?sid=1", "http://s/x"),
        (Parameter(name_="sid"), "http://s/x?xsid=1", "http://s/x?xsid=1"),
        (Parameter(name_="utm_*"), "http://s/x?utm_a=1&b=2&utm_c=3", "http://s/x?b=2"),
        (Parameter(name_="h", when="master"), "http://s/x?h=master&id=1", "http://s/x?id=1"),
        (Parameter(name_="h", when="master"), "http://s/x?h=wip&id=1", "http://s/x?h=wip&id=1"),
        (Parameter(name_="v", to="1"), "http://s/x?v=9", "http://s/x?v=1"),
        (Parameter(name_="back", having=("do=login",)), "http://s/x?do=login&back=q", "http://s/x?do=login"),
        (Parameter(name_="back", having=("do=login",)), "http://s/x?do=show&back=q", "http://s/x?do=show&back=q"),
        (Parameter(name_="h", having=("id=*",)), "http://s/x?h=main&id=7", "http://s/x?id=7"),
        (Parameter(name_="h", having=("id=*",)), "http://s/x?h=main&id2=7", "http://s/x?h=main&id2=7"),
    ],
)
def test_a_rule_changes_whole_tokens_where_it_holds(rule: Rule, url: str, expected: str) -> None:
    check(rule)
    assert Canonizer([rule])(url) == expected


@pytest.mark.parametrize(
    "rule",
    [
        Substitution(source="a", target="a"),
        Substitution(source="", target="a"),
        Substitution(source="^a", target="b"),
        Substitution(source="a$", target="b"),
        Substitution(source="a^b", target="c"),
        Substitution(source="a{x1}", target="b"),
        Substitution(source="a", target="{w1}"),
        Substitution(source="a\\x", target="b"),
        Parameter(name_=""),
        Parameter(name_="*"),
        Parameter(name_="a&b"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused(rule: Rule) -> None:
    with pytest.raises(RuleError, match="expected"):
        check(rule)


def test_a_url_that_grows_without_end_is_left_alone() -> None:
    canonical = Canonizer([Substitution(source="a", target="/".join(["a"] * 300))])
    assert canonical("http://s/a") == "http://s/a"
