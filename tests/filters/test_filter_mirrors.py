"""The inline filter near_replica on whole hosts: which one is a mirror, and what becomes of its URLs."""

from __future__ import annotations

from replicas_bench import A, B, Bench, shown, text
from subjects import batch

from thresher.config.settings import NearReplicaSettings
from thresher.crawler.core.effects import Effect, Hold, Park, Revise
from thresher.crawler.core.model import Reason
from thresher.filters.near_replica.filter import spec
from thresher.filters.near_replica.mirror_hosts import MirrorGate, recent

# -- mirrors


def _mirrored(bench: Bench, n: int) -> list[Effect]:
    for i in range(n):
        bench.meet(shown(f"{A}/{i}", text(i)))
    return [effect for i in range(n) for effect in bench.meet(shown(f"{B}/{i}", text(i)))[1]]


def _held(bench: Bench, *urls: str, distance: int = 2) -> dict[str, str]:
    gate = spec(NearReplicaSettings(), tells_copies=False).learned
    assert isinstance(gate, MirrorGate)
    effects = gate.decide(gate.measure(batch(*urls)), bench.memory)[1]
    return {effect.url: effect.holder for effect in effects if isinstance(effect, Hold)}


def test_a_mirror_is_said_once_and_its_urls_are_held_in_a_class_of_the_pair() -> None:
    """Mutation: the class is not noted, `recent` knows nothing of it."""
    bench = Bench()
    effects = _mirrored(bench, 30)
    revisions = [effect for effect in effects if isinstance(effect, Revise)]
    assert [(one.verdict.evidence["mirror"], one.verdict.evidence["mirror_of"]) for one in revisions] == [(B, A)]
    assert not [effect for effect in effects if isinstance(effect, Park)]
    holder = f"near_replica mirror {B} of {A}"
    assert _held(bench, f"{A}/new", f"{B}/new", f"{B}/") == {f"{B}/new": holder}, "its home page is asked for"
    of_class = recent(holder, bench.memory)
    assert of_class.n > 0
    assert of_class.s == 0
    assert recent("near_replica mirror of nobody", bench.memory).n == 0


def test_a_mirror_that_has_come_to_show_pages_of_its_own_is_held_no_longer() -> None:
    """The original stands still, or the mirror does: what is fetched of the class shows it. Mutation: nothing is forgotten."""
    bench = Bench()
    _mirrored(bench, 60)
    assert _held(bench, f"{B}/new")
    for i in range(60):
        bench.meet(shown(f"{B}/late/{i}", text(900 + i)))
    assert not _held(bench, f"{B}/new")


def test_the_urls_of_a_mirror_are_not_held_by_a_filter_that_observes() -> None:
    bench = Bench()
    _mirrored(bench, 30)
    of = spec(NearReplicaSettings(mode="observe"), tells_copies=False)
    assert of.learned is not None
    ruling, effects = of.learned.decide(of.learned.measure(batch(f"{B}/new")), bench.memory)
    assert not effects
    assert ruling.refused[0].reason is Reason.MIRROR


def test_a_mirror_that_is_to_be_kept_is_only_named() -> None:
    effects = _mirrored(Bench(mirrors="keep"), 30)
    assert [type(effect) for effect in effects] == [Revise]


def test_a_host_with_pages_of_its_own_is_no_mirror() -> None:
    bench = Bench()
    for i in range(30):
        bench.meet(shown(f"{A}/{i}", text(i)))
    effects = [effect for i in range(30) for effect in bench.meet(shown(f"{B}/{i}", text(i if i % 2 else 500 + i)))[1]]
    assert effects == []


def test_links_of_a_mirror_are_refused_where_it_is_to_be_dropped() -> None:
    assert spec(NearReplicaSettings(mirrors="keep"), tells_copies=False).again is None
    gate = spec(NearReplicaSettings(mirrors="drop"), tells_copies=False).learned
    assert isinstance(gate, MirrorGate)
    bench = Bench(mirrors="drop")
    links = batch(f"{A}/new", f"{B}/new", f"{B}/newer")
    _mirrored(bench, 19)
    assert gate.decide(gate.measure(links), bench.memory)[0].refused == {}
    _mirrored(bench, 30)
    refused = gate.decide(gate.measure(links), bench.memory)[0].refused
    assert {i: verdict.reason for i, verdict in refused.items()} == {1: Reason.MIRROR, 2: Reason.MIRROR}


def test_what_a_host_shows_in_one_stretch_makes_it_no_mirror() -> None:
    """Of 24 pages the last 16 replicate, one stretch of two blocks. Mutation: `are_enough` left out of `_mirror`."""
    bench = Bench(mirror_share=0.6)
    for i in range(40):
        bench.meet(shown(f"{A}/{i}", text(i)))
    own = [shown(f"{B}/own{i}", text(1_000 + i)) for i in range(8)]
    copies = [shown(f"{B}/{i}", text(i)) for i in range(40)]
    first = [effect for one in (*own, *copies[:16]) for effect in bench.meet(one)[1]]
    assert _mirrors_said(first) == []
    assert _mirrors_said([effect for one in copies[16:18] for effect in bench.meet(one)[1]]) == [(B, A)]


def _mirrors_said(effects: list[Effect]) -> list[tuple[object, object]]:
    found = [one.verdict.evidence for one in effects if isinstance(one, Revise)]
    return [(evidence["mirror"], evidence["mirror_of"]) for evidence in found if "mirror" in evidence]
