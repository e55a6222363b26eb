"""Replicas on the sites of several agents: found by bands that an owner keeps, compared where the pages are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

import pytest
from msgspec.structs import replace
from subjects import SPACE, page
from team import Team, sites
from webs import Bench

from thresher.config.settings import NearReplicaSettings
from thresher.crawler.core.effects import Effect, Revise
from thresher.crawler.core.model import Page, Reason
from thresher.crawler.core.ownership import Ownership
from thresher.filters.near_replica.filter import spec
from thresher.filters.spec import FilterSpec


def specs(owners: Ownership | None) -> Sequence[FilterSpec]:
    return [spec(NearReplicaSettings(mode="enforce"), owners, tells_copies=True)]


def words(seed: int, n: int = 300) -> list[str]:
    rng = random.Random(seed)
    return [f"w{int(3000 * rng.random() ** 2)}" for _ in range(n)]


def shown(site: str, name: str, text: list[str], at: float, canonical: str = "", distance: int = 1, links: tuple[str, ...] = ()) -> Page:
    made = page(f"http://{site}/{name}", " ".join(text), canonical=canonical, seed_distance=distance)
    return replace(made, at=float(at), links=links)


def replicas(team: Team, story: Sequence[Page]) -> dict[str, str]:
    """Return which pages are called replicas in the end, and of what."""
    urls = {each.url.key: each.url.text for each in story}
    found: dict[bytes, bytes] = {}
    for each in story:
        (verdict,) = team.at(each.url).judge(each).judgement.verdicts
        effects: list[Effect] = [Revise(each.url.key, verdict), *team.learn(each)]
        for effect in effects:
            if isinstance(effect, Revise) and effect.verdict.reason is Reason.NEAR_REPLICA:
                assert not effect.verdict.new
                found[effect.page] = bytes.fromhex(str(effect.verdict.evidence["replica_of"]))
    return {urls[key]: urls[original] for key, original in found.items()}


def test_three_agents_find_the_replicas_that_one_finds_and_each_journal_replays() -> None:
    """Mutation: `Panel.replay` skips the messages of other agents."""
    names = sites(Team(3, specs), each=2)
    rng = random.Random(1)
    story = [
        shown(site, f"page/{i}", [*words(i)[:-1], site], 100 * i + at) for i in range(8) for at, site in enumerate(rng.sample(names, 3))
    ]
    three, said = Team(3, specs), replicas(Team(1, specs), story)
    assert replicas(three, story) == said
    assert len(said) == 16
    for owners, bench, journal in zip(three.owners, three.benches, three.journals, strict=True):
        again = Bench.of(specs(owners))
        again.panel.replay(journal)
        assert again.memories["near_replica"].rows == bench.memories["near_replica"].rows  # type: ignore[attr-defined]  # both are DictMemory


@pytest.mark.parametrize("turn", [1, -1])
def test_it_does_not_matter_which_of_two_replicas_is_heard_of_first(turn: int) -> None:
    """Two agents may fetch at once, and two bands hear of the pages in two orders: never is each a replica of the other.

    Mutation: who is offered a page takes it for the original.
    """
    one, other, _ = sites(Team(3, specs))
    story = [shown(one, "1", words(1), 10.0), shown(other, "1", words(1), 11.0)]
    assert replicas(Team(3, specs), story[::turn]) == {f"http://{other}/1": f"http://{one}/1"}


def test_the_canonical_one_is_kept_and_a_seed_is_whichever_came_first() -> None:
    one, other, _ = sites(Team(3, specs))
    canonical = f"http://{other}/1"
    assert replicas(Team(3, specs), [shown(one, "1", words(1), 10.0), shown(other, "1", words(1), 11.0, canonical)]) == {
        f"http://{one}/1": canonical
    }
    seeds = [shown(site, "1", words(1), at, distance=0) for at, site in enumerate((one, other))]
    assert replicas(Team(3, specs), seeds) == {}
    assert replicas(Team(3, specs), [shown(one, "1", words(1), 10.0), seeds[1]]) == {f"http://{one}/1": canonical}


def test_the_next_replica_of_another_agent_s_page_is_known_for_one_at_once() -> None:
    one, other, _ = sites(Team(3, specs))
    team = Team(3, specs)
    replicas(team, [shown(one, "1", words(1), 10.0), shown(other, "1", words(1), 11.0)])
    (verdict,) = team.at(SPACE.url(f"http://{other}/")).judge(shown(other, "2", words(1), 12.0)).judgement.verdicts
    assert verdict.evidence["replica_of"] == SPACE.url(f"http://{one}/1").key.hex()


def test_neighbourhoods_are_compared_with_what_both_agents_have_fetched() -> None:
    """The same text, and links to other paths: a replica if what they lead to is alike. Mutation: nothing was lent."""
    one, other, _ = sites(Team(3, specs))
    for seed, is_replica in ((20, True), (40, False)):
        links = [tuple(f"http://{site}/{name}{i}" for i in range(4)) for site, name in ((one, "a"), (other, "b"))]
        texts = [(one, f"a{i}", words(20 + i)) for i in range(4)] + [(other, f"b{i}", words(seed + i)) for i in range(4)]
        children = [shown(*text, 0.0, distance=0) for text in texts]  # seeds are no replicas: nobody knows those of the other
        parents = [shown(site, name, words(1), 10.0 + i, links=links[i]) for i, (site, name) in enumerate(((one, "x"), (other, "y")))]
        found = replicas(Team(3, specs), [*children, *parents])
        assert (f"http://{other}/y" in found) == is_replica


def test_a_host_whose_pages_replicate_another_agent_s_host_is_a_mirror() -> None:
    one, other, _ = sites(Team(3, specs))
    team = Team(3, specs)
    asked = [effect for i in range(24) for site in (one, other) for effect in team.learn(shown(site, f"{i}", words(i), i))]
    said = [effect.verdict.evidence for effect in asked if isinstance(effect, Revise)]
    named = {evidence["mirror"] for evidence in said if "mirror" in evidence}
    assert named & {f"http://{one}", f"http://{other}"}


@pytest.mark.parametrize("mode", ["enforce", "observe"])
def test_a_replica_at_another_path_of_a_host_of_many_pages_makes_no_mirror_of_it(mode: Literal["enforce", "observe"]) -> None:
    """The offered page is the first of its host's that replicates any, and at a path of its own: no page of the host stands for a mirror.

    Mutation: `_mirror` counted the origins of a host that replicates none.
    """

    def of_mode(owners: Ownership | None) -> Sequence[FilterSpec]:
        return [spec(NearReplicaSettings(mode=mode), owners, tells_copies=True)]

    one, other, _ = sites(Team(3, of_mode))
    alone = [shown(other, f"{i}", words(100 + i), i) for i in range(24)]
    pair = [shown(one, "here", words(1), 90.0), shown(other, "there", words(1), 91.0)]
    team = Team(3, of_mode)
    asked = [effect for each in (*alone, *pair) for effect in team.learn(each)]
    revised = [effect.page for effect in asked if isinstance(effect, Revise)]
    assert revised == ([pair[1].url.key] if mode == "enforce" else [])
    assert not any("mirror" in effect.verdict.evidence for effect in asked if isinstance(effect, Revise))
