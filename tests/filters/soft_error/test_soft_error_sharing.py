"""Redirects between the sites of several agents: counted where the target is, judged where the original is, as one agent would."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from msgspec.structs import replace
from subjects import SPACE, page, pair
from team import Team, sites
from webs import Bench

from thresher.config.settings import FilterSettings, Override, Settings, SoftErrorSettings
from thresher.crawler.core.effects import Revise
from thresher.crawler.core.model import Page, Reason, RedirectPair
from thresher.crawler.core.ownership import Ownership
from thresher.filters.soft_error import stream
from thresher.filters.soft_error.filter import spec
from thresher.filters.spec import FilterSpec
from thresher.filters.variants import with_variants

THRESHOLD = 1.3  # of 8 originals, 3 of each host; of 4 of one host alone it would be 1.2
SORRY = "Sorry, the page that you asked for could not be found here. It may have been removed, or its name may have changed."


def specs(owners: Ownership | None) -> Sequence[FilterSpec]:
    return [spec(SoftErrorSettings(threshold=THRESHOLD), owners)]


def team(n_agents: int, **options: bool) -> Team:
    return Team(n_agents, specs, **options)


def moved(site: str, name: str, target: str) -> RedirectPair:
    found = pair(f"http://{site}/old/{name}", target)
    return replace(found, original=SPACE.url(found.original.text, seed_distance=2))


moves = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 30), st.integers(0, 2)), max_size=40)


@examples(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(moves, st.booleans())
def test_the_owner_of_a_target_counts_as_one_agent_does_and_a_replay_of_each_journal_is_equal(
    story: list[tuple[int, int, int]], is_told_twice: bool
) -> None:
    """Mutation: `union` joined cells without looking; `Panel.replay` passed over what was told."""
    one, three = team(1), team(3, is_told_twice=is_told_twice)
    names = sites(three, each=2)
    pairs = [moved(names[site], str(name), f"http://{names[target]}/end") for site, name, target in story]
    for each in pairs:
        one.learn(each)
        three.learn(each)
    for target in {each.target for each in pairs}:
        n = stream.n_to_target(one.benches[0].memories["soft_error"], target.key)
        assert stream.n_to_target(three.at(target).memories["soft_error"], target.key) == n
        for bench in three.benches:
            known = stream.n_to_target(bench.memories["soft_error"], target.key)
            assert known <= n
            assert not known or n <= 8 or known > n / 2
    for owners, bench, journal in zip(three.owners, three.benches, three.journals, strict=True):
        again = Bench.of(specs(owners))
        again.panel.replay(journal)
        assert again.memories["soft_error"].rows == bench.memories["soft_error"].rows  # type: ignore[attr-defined]  # both are DictMemory


def soft(team: Team, story: Sequence[Page | RedirectPair]) -> set[str]:
    """Return the originals that are called soft errors in the end."""
    texts, found = {}, dict[bytes, bool]()
    for subject in story:
        url = subject.url if isinstance(subject, Page) else subject.original
        texts[url.key] = url.text
        (verdict,) = team.at(url).judge(subject).judgement.verdicts
        found[url.key] = verdict.reason is Reason.SOFT_ERROR
        for effect in team.learn(subject):
            if isinstance(effect, Revise):
                found[effect.page] = effect.verdict.reason is Reason.SOFT_ERROR
    return {texts[key] for key, is_soft in found.items() if is_soft}


@pytest.mark.parametrize("first", [0, 1])
def test_originals_of_several_agents_are_soft_errors_by_the_count_of_all_of_them(first: int) -> None:
    """Mutation: the owner told nobody; an agent that was told, or the owner, judged nothing again."""
    names = sites(team(3))
    story = [moved(site, str(i), f"http://{names[0]}/x/end") for site in (names[first], names[1 - first], names[2]) for i in range(4)]
    alone, together = soft(team(1), story), soft(team(3), story)
    assert alone == together
    assert together >= {pair.original.text for pair in story[:8]}  # the eighth settled them
    assert not soft(team(1), story[:4])


@pytest.mark.parametrize("n_agents", [1, 3])
@pytest.mark.parametrize("is_strict_elsewhere", [False, True])
def test_each_original_is_judged_by_the_threshold_that_holds_below_its_own_prefix(n_agents: int, *, is_strict_elsewhere: bool) -> None:
    """Also when another's redirect, or another agent's news, is what has it judged again."""
    names = sites(team(3))
    chosen, others, part = (THRESHOLD, 99.0, "") if is_strict_elsewhere else (99.0, THRESHOLD, "1")
    found = Settings(
        filters=FilterSettings(soft_error=SoftErrorSettings(threshold=others)),
        overrides=[Override(match=f"http://{names[1]}/old/{part}", options={"filters.soft_error.threshold": chosen})],
    )

    def overridden(owners: Ownership | None) -> Sequence[FilterSpec]:
        made = with_variants(found, ["filters.soft_error"], lambda of, shared: spec(of.filters.soft_error, owners, shared=shared))
        assert made is not None
        return [made]

    story = [moved(site, f"{i}/", f"http://{names[0]}/x/end") for i in range(4) for site in names]
    below = {pair.original.text for pair in story if pair.original.text.startswith(f"http://{names[1]}/old/{part}")}
    rest = soft(team(1), story) - below
    assert len(rest) >= 5
    assert soft(Team(n_agents, overridden), story) == (below if is_strict_elsewhere else rest)


def test_what_a_target_says_of_itself_is_known_to_the_agents_whose_sites_lead_there() -> None:
    """A page of one agent that names itself an error: the third original that ends there, at another agent, settles it."""
    three = team(3)
    target_site, other, another = sites(three)
    target = f"http://{target_site}/sorry"
    said = page(target, SORRY)
    said = replace(said, url=SPACE.url(said.url.text, seed_distance=2, hops=1), title="Page not found")
    three.learn(said)
    story = [moved(site, str(i), target) for i in range(2) for site in (other, another)]
    assert soft(three, story) == {pair.original.text for pair in story}


def test_a_news_that_leads_nowhere_else_is_told_to_its_owner_alone() -> None:
    three = team(3)
    target_site, other, _ = sites(three)
    three.learn(moved(other, "1", f"http://{target_site}/x/end"))
    assert three.n_news == 2  # and the answer
    three.learn(moved(target_site, "1", f"http://{target_site}/x/own"))
    assert three.n_news == 2
