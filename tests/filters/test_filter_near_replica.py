"""The inline filter, a page at a time: what is a replica, what is not, what waits, and which host is a mirror."""

from __future__ import annotations

import random

import numpy as np
import pytest
import xxhash
from dict_memory import DictMemory
from msgspec.structs import replace
from replicas_bench import A, B, Bench, shown, text
from subjects import batch

from thresher.config.settings import NearReplicaSettings
from thresher.crawler.core.effects import Revise
from thresher.crawler.core.model import Judgement, Page, Reason, Verdict
from thresher.filters.base import LinkJudgement
from thresher.filters.near_replica.filter import spec


def test_an_almost_equal_page_on_another_host_is_a_replica_of_the_kept_one() -> None:
    bench = Bench()
    original = shown(f"{A}/1", text(1))
    bench.meet(original)
    verdict = bench.judge(shown(f"{B}/other", [*text(1)[:-1], "changed"]))
    assert (verdict.keep, verdict.new, verdict.follow, verdict.reason) == (True, False, True, Reason.NEAR_REPLICA)
    assert verdict.evidence["replica_of"] == original.url.key.hex()
    assert 0 < float(verdict.evidence["random_projection"]) < 0.03


def test_replicas_are_dropped_where_that_is_asked_for() -> None:
    bench = Bench(store_replicas=False)
    bench.meet(shown(f"{A}/1", text(1)))
    verdict = bench.judge(shown(f"{B}/1", text(1)))
    assert (verdict.keep, verdict.new, verdict.reason) == (False, False, Reason.NEAR_REPLICA)


@pytest.mark.parametrize(
    "other",
    [
        shown(f"{B}/1", text(2)),
        shown(f"{B}/1", text(1)[:40]),
        shown(f"{B}/1", text(1), status=404),
        shown(f"{B}/1", text(1), seed_distance=0),
        shown(f"{B}/", text(1)),
    ],
    ids=["another text", "too short", "no success", "a seed", "a home page"],
)
def test_what_is_no_replica_passes(other: Page) -> None:
    bench = Bench()
    bench.meet(shown(f"{A}/1", text(1)))
    assert bench.judge(other) == Verdict("near_replica")


def test_copies_on_one_site_are_left_to_whoever_knows_which_is_canonical() -> None:
    """Mutation: both filters judge: the canonical copy comes second, and neither page is stored."""
    bench = Bench(tells_copies=False)
    bench.meet(shown(f"{A}/1", text(1)))
    assert bench.judge(shown(f"{A}/2", text(1))) == Verdict("near_replica")
    assert bench.judge(shown(f"{A}/2", [*text(1)[:-1], "changed"])).reason is Reason.NEAR_REPLICA
    assert bench.judge(shown(f"{B}/1", text(1))).reason is Reason.NEAR_REPLICA


def test_a_page_met_again_is_no_replica_of_itself() -> None:
    bench = Bench()
    bench.meet(shown(f"{A}/1", text(1)))
    assert bench.meet(shown(f"{A}/1", text(1)))[0].reason is None


def test_a_page_that_another_filter_drops_has_no_replicas() -> None:
    """Mutation: the filter learns from the page, whatever the panel's judgement is."""
    bench = Bench()
    bench.meet(shown(f"{A}/1", text(1)), keep=False)
    assert bench.memory.rows == {}
    assert bench.judge(shown(f"{B}/1", text(1))).reason is None


def test_replicas_name_the_kept_page_and_not_one_another() -> None:
    bench = Bench()
    kept = shown(f"{A}/1", text(1))
    bench.meet(kept)
    bench.meet(shown(f"{A}/2", text(1)))
    assert bench.judge(shown(f"{A}/3", text(1))).evidence["replica_of"] == kept.url.key.hex()


# -- neighbourhoods


def _links(first: int, host: str = A, n: int = 3) -> tuple[str, ...]:
    return tuple(f"{host}/item/{first + i}" for i in range(n))


def _meet_items(bench: Bench, *items: int) -> None:
    for item in items:
        bench.meet(shown(f"{A}/item/{item}", text(1000 + item)))


def test_twins_whose_children_are_known_and_differ_are_not_merged() -> None:
    """Issue 5: templates, "no results" pages. Mutation: HM not asked."""
    bench = Bench()
    _meet_items(bench, *range(6))
    bench.meet(shown(f"{A}/kind/1", text(1), _links(0)))
    verdict = bench.judge(shown(f"{A}/kind/2", text(1), _links(3)))
    assert (verdict.keep, verdict.reason) == (True, None)
    assert float(verdict.evidence["hyperlink_map"]) > 0.05


def test_equal_children_under_other_names_are_the_same_neighbourhood() -> None:
    bench = Bench(max_neighbour_distance=0.05)
    for item in range(3):
        bench.meet(shown(f"{A}/item/{item}", text(1000 + item)))
        bench.meet(shown(f"{A}/print/{item}", text(1000 + item)))
    bench.meet(shown(f"{A}/kind/1", text(1), _links(0)))
    verdict = bench.judge(shown(f"{A}/kind/2", text(1), tuple(f"{A}/print/{i}" for i in range(3))))
    assert verdict.reason is Reason.NEAR_REPLICA


def test_links_that_both_pages_have_do_not_count() -> None:
    menu = tuple(f"{A}/menu/{i}" for i in range(9))
    bench = Bench()
    _meet_items(bench, *range(6))
    bench.meet(shown(f"{A}/kind/1", text(1), (*menu, *_links(0))))
    assert bench.judge(shown(f"{A}/kind/2", text(1), (*menu, *_links(3)))).reason is None
    assert bench.judge(shown(f"{A}/kind/3", text(1), (*menu, *_links(0)))).reason is Reason.NEAR_REPLICA


def test_on_another_host_the_same_paths_are_the_same_neighbourhood_before_any_is_fetched() -> None:
    bench = Bench()
    bench.meet(shown(f"{A}/kind/1", text(1), _links(0, n=50)))
    assert bench.judge(shown(f"{B}/kind/1", text(1), _links(0, B, n=50))).reason is Reason.NEAR_REPLICA
    assert bench.judge(shown(f"{B}/kind/1", text(1), _links(100, B, n=50))).reason is None


def test_a_pair_waits_until_its_neighbourhood_is_known_and_is_then_revised() -> None:
    """Two pages have equal texts, and their children are not fetched yet: they are no replicas for now.

    The background pass revises the verdict when the children turn out to be replicas, too.
    """
    bench = Bench()
    bench.meet(shown(f"{A}/kind/1", text(1), _links(0)))
    copy = shown(f"{A}/kind/2", text(1), tuple(f"{A}/print/{i}" for i in range(3)))
    verdict, _ = bench.meet(copy)
    assert verdict.reason is None
    assert verdict.evidence["hyperlink_map"] == -1.0
    for item in range(3):
        bench.meet(shown(f"{A}/item/{item}", text(1000 + item)))
        bench.meet(shown(f"{A}/print/{item}", text(1000 + item)))
    said = [effect for i in range(64) for effect in bench.meet(shown(f"{A}/fill/{i}", text(5000 + i)))[1]]
    [revised] = said
    assert isinstance(revised, Revise)
    assert revised.page == copy.url.key
    assert (revised.verdict.keep, revised.verdict.reason) == (True, Reason.NEAR_REPLICA)


def test_a_verdict_is_taken_back_when_the_rest_of_the_neighbourhood_differs() -> None:
    """The pages were merged when half of their children were known, and those are alike; the other half differ."""
    bench = Bench(max_neighbour_distance=0.02)
    for item in range(2):
        bench.meet(shown(f"{A}/item/{item}", text(1000 + item)))
        bench.meet(shown(f"{A}/print/{item}", text(1000 + item)))
    bench.meet(shown(f"{A}/kind/1", text(1), _links(0, n=4)))
    copy = shown(f"{A}/kind/2", text(1), tuple(f"{A}/print/{i}" for i in range(4)))
    assert bench.meet(copy)[0].reason is Reason.NEAR_REPLICA
    for item in (2, 3):
        bench.meet(shown(f"{A}/item/{item}", text(2000 + item)))
        bench.meet(shown(f"{A}/print/{item}", text(3000 + item)))
    said = [effect for i in range(64) for effect in bench.meet(shown(f"{A}/fill/{i}", text(5000 + i)))[1]]
    [revised] = said
    assert isinstance(revised, Revise)
    assert (revised.page, revised.verdict.keep, revised.verdict.reason) == (copy.url.key, True, None)


# -- templates, links


def test_a_template_does_not_make_replicas_of_its_pages() -> None:
    """Matrix row 14, inline: 400 words of template, 60 of their own. Mutation: all slots counted."""
    template = text(7, 400)
    pages = [shown(f"{A}/{i}", [*template[:200], *text(100 + i, 60), *template[200:]]) for i in range(40)]
    bench = Bench(resemblance=0.6, drop_resemblance=0.6, max_distance=0.2, max_neighbour_distance=0.5)
    verdicts = [bench.meet(one)[0] for one in pages]
    assert {verdict.reason for verdict in verdicts[20:]} == {None}
    whole = Bench(resemblance=0.6, drop_resemblance=0.6, max_distance=0.2, max_neighbour_distance=0.5)
    whole.meet(pages[0])
    assert Reason.NEAR_REPLICA in {whole.judge(one).reason for one in pages[1:4]}, "of so few pages nobody can tell what is template"


def test_pages_of_one_template_do_not_crowd_one_another_out() -> None:
    """Of 150 pages two thirds of which are template each is found again, by a host that nothing is known of, too.

    Mutation: the template's slots tagged all pages alike, and a box forgets all but the last 64.
    """
    template = text(16, 400)  # whose minima stand in the first two slots that may tag a page
    bench, texts = Bench(), [[*template[:200], *text(100 + i, 200), *template[200:]] for i in range(150)]
    for i, words in enumerate(texts):
        bench.meet(shown(f"{A}/{i}", words))
    found = [bench.judge(shown(f"{B}/{i}", words)).reason for i, words in enumerate(texts)]
    assert found == [Reason.NEAR_REPLICA] * 150


def test_links_of_replicas_are_followed_until_the_budget_of_new_ones_is_used_up() -> None:
    """As of copies (filters/copy_links.py). Mutation: replicas not marked."""
    ledger = spec(NearReplicaSettings(), tells_copies=False).learned
    assert ledger is not None
    bench, followed = Bench(max_links=10), []
    bench.meet(shown(f"{A}/1", text(1)))
    for i in range(5):
        copy = shown(f"{A}/copy{i}", [*text(1)[:-1], f"changed{i}"])
        followed.append(bench.meet(copy)[0].follow)
        links = replace(batch(*(f"{A}/{i}/{n}" for n in range(4))), source=copy.url)
        ledger.observe(ledger.measure(links), LinkJudgement(np.ones(4, dtype=np.bool_), {}), bench.memory)
    assert followed == [True, True, True, False, False]
    bench.meet(shown(f"{A}/new", text(99), via=shown(f"{A}/copy0", text(1)).url))
    assert bench.judge(shown(f"{A}/copy9", text(1))).follow, "a page that is new pays"


# -- which one is kept


def test_a_page_that_names_itself_canonical_replaces_an_older_replica_that_does_not() -> None:
    """Mutation: the older page stays the original."""
    bench = Bench()
    older = shown(f"{A}/print/1", text(1))
    bench.meet(older)
    canonical = shown(f"{A}/1", [*text(1)[:-1], "changed"], canonical=f"{A}/1")
    verdict, effects = bench.meet(canonical)
    assert (verdict.keep, verdict.reason, verdict.evidence["replaces"]) == (True, None, older.url.key.hex())
    [revised] = effects
    assert isinstance(revised, Revise)
    assert (revised.page, revised.verdict.new, revised.verdict.reason) == (older.url.key, False, Reason.NEAR_REPLICA)
    assert bench.judge(shown(f"{A}/other/1", text(1))).evidence["replica_of"] == canonical.url.key.hex()


def test_a_page_that_the_older_one_names_as_canonical_replaces_it() -> None:
    bench = Bench()
    bench.meet(shown(f"{A}/print/1", text(1), canonical=f"{A}/1"))
    assert "replaces" in bench.judge(shown(f"{A}/1", text(1))).evidence
    assert bench.judge(shown(f"{A}/2", text(1))).reason is Reason.NEAR_REPLICA


def test_pages_of_one_host_that_name_different_pages_as_canonical_are_no_replicas() -> None:
    """A manual whose untranslated pages are shown in English: each language names its own. Mutation: not asked."""
    bench = Bench()
    bench.meet(shown(f"{A}/da/1", text(1), canonical="http://book.example/da/1"))
    told = bench.judge(shown(f"{A}/en/1", [*text(1)[:-1], "changed"], canonical="http://book.example/en/1"))
    assert (told.is_against, told.reason, told.evidence["told_apart"]) == (False, None, 1), "it is reported, and new"
    assert bench.judge(shown(f"{A}/old/1", text(1), canonical="http://book.example/da/1")).reason is Reason.NEAR_REPLICA
    bench.meet(shown(f"{A}/own/1", text(2), canonical=f"{A}/own/1"))
    assert bench.judge(shown(f"{B}/own/1", text(2), canonical=f"{B}/own/1")).reason is Reason.NEAR_REPLICA, "a mirror names itself"


# -- how much is enough


@pytest.mark.parametrize(("n_changed", "is_replica"), [(1, True), (5, False)])
def test_texts_must_resemble_by_nine_tenths_for_sure(n_changed: int, is_replica: bool) -> None:
    """1 changed word of 300 leaves .97 of the shingles, 5 leave .84, which an estimate may take for .9. Mutation: no margin."""
    called = []
    for seed in range(40):
        bench = Bench()
        words = text(seed)
        bench.meet(shown(f"{A}/1", words))
        for i in range(n_changed):
            words[30 * i + 7] = f"changed{i}"
        called.append(bench.judge(shown(f"{B}/2", words)).reason is Reason.NEAR_REPLICA)
    assert sum(called) >= 36 if is_replica else sum(called) == 0


def test_of_short_texts_nobody_can_tell_but_that_they_are_equal() -> None:
    """A word in the middle of 60 leaves .90 of the shingles. Mutation: as many slots as of a long text."""
    for seed in range(20):
        bench, words = Bench(), text(seed, 60)
        bench.meet(shown(f"{A}/1", words))
        assert bench.judge(shown(f"{B}/2", [*words[:30], "changed", *words[31:]])).reason is None
        assert bench.judge(shown(f"{B}/2", words)).reason is Reason.NEAR_REPLICA


def test_what_is_learned_depends_on_measures_and_judgements_alone() -> None:
    """The journal's replay, boxes and pages of all sites included. Mutation: a counter in the filter itself."""
    rng = random.Random(3)
    told = []
    bench = Bench(max_links=10)
    for i in range(80):
        host = rng.choice((A, B))
        subject = shown(f"{host}/{i}", text(rng.randrange(20)), _links(rng.randrange(3), host))
        measure = bench.gate.measure(subject)
        verdict, _ = bench.gate.decide(measure, bench.memory)
        assert bench.gate.decide(measure, bench.memory)[0] == verdict
        told.append((measure, Judgement(verdict.keep, verdict.follow, (verdict,))))
        bench.gate.observe(*told[-1], bench.memory)
    replayed = DictMemory()
    for measure, judgement in told:
        bench.gate.observe(measure, judgement, replayed)
    assert replayed.rows == bench.memory.rows
    assert any(judgement.verdicts[0].reason is Reason.NEAR_REPLICA for _, judgement in told)


# -- what neighbourhoods may not do


@pytest.mark.parametrize("n", [3, 16, 40])
def test_a_neighbourhood_that_grew_by_one_link_is_the_same(n: int) -> None:
    """Of more than 16 links those of least path are known: a new one pushes another out. Mutation: no heed of that: 40 fails."""
    for first in range(20):
        bench = Bench()
        bench.meet(shown(f"{A}/kind/1", text(1), _links(first, n=n)))
        assert bench.judge(shown(f"{A}/kind/2", text(1), _links(first, n=n + 1))).reason is Reason.NEAR_REPLICA


def test_few_links_among_many_are_not_the_same_neighbourhood() -> None:
    """Mutation: a short list of links is taken for a sample of a long one."""
    bench = Bench()
    _meet_items(bench, *range(40))
    bench.meet(shown(f"{A}/kind/1", text(1), _links(0, n=40)))
    known = sorted(range(40), key=lambda item: xxhash.xxh32_intdigest(f"item/{item}".encode()))  # those of least hash are
    assert bench.judge(shown(f"{B}/kind/1", text(1), tuple(f"{B}/item/{item}" for item in known[:2]))).reason is None


def test_equal_texts_that_nothing_tells_apart_for_long_are_replicas() -> None:
    """Mutation: the pair forgotten: nothing is said. Its children are never fetched; eight passes of 64 pages."""
    bench = Bench()
    bench.meet(shown(f"{A}/kind/1", text(1), _links(0)))
    copy = shown(f"{A}/kind/2", text(1), _links(3))
    assert bench.meet(copy)[0].reason is None
    said = [effect for i in range(9 * 64) for effect in bench.meet(shown(f"{A}/fill/{i}", text(5000 + i, 60)))[1]]
    [revised] = said
    assert isinstance(revised, Revise)
    assert (revised.page, revised.verdict.keep, revised.verdict.reason) == (copy.url.key, True, Reason.NEAR_REPLICA)
