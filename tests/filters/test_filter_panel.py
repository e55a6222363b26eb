"""The panel: one judgement of many filters, nothing skipped, audits chosen by key."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest
import subjects
from msgspec.structs import replace
from planted import LinkScript, PageScript, PairWitness, SeenAnswer
from subjects import LONG_TEXT, SPACE, answer, batch, head, page, pair
from webs import Bench, registered

from thresher.config.settings import PathTrapSettings
from thresher.crawler.core.effects import Effect, Hold, Release, Request, Rewrite
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Judgement, Mode, Purpose, Reason, Verdict
from thresher.filters.base import Gate, LinkJudgement
from thresher.filters.deliberation import Deliberation
from thresher.filters.journal import decode_judgement, encode_judgement
from thresher.filters.path_trap import spec as path_trap
from thresher.filters.spec import FilterSpec

URL = "http://a.example/x"


def pages(name: str, mode: Mode = Mode.ENFORCE, **script: Any) -> FilterSpec:
    return FilterSpec(name, mode, page=PageScript(name, **script))


def links(name: str, mode: Mode = Mode.ENFORCE, **script: Any) -> FilterSpec:
    return FilterSpec(name, mode, learned=LinkScript(name, **script))


def everything(_: str) -> bool:
    return True


def farm(n: int) -> LinkBatch:
    return batch(*[f"http://a.example/farm/{i}" for i in range(n)])


# -- one judgement of many


def test_no_filter_is_skipped_because_an_earlier_one_has_spoken() -> None:
    bench = Bench.of([pages("first", drops=everything), pages("second"), pages("third", drops=everything)])
    judgement = bench.panel.page(page(URL)).judgement
    assert [verdict.filter for verdict in judgement.verdicts] == ["first", "second", "third"]
    assert (judgement.keep, judgement.follow) == (False, False)


def test_storing_and_following_are_judged_apart() -> None:
    class Half(PageScript):
        def decide(self, measure: object, memory: object, /) -> tuple[Verdict, tuple[()]]:
            return Verdict(self.name, keep=self.name == "keeps", follow=self.name == "follows"), ()

    def word(*names: str) -> tuple[bool, bool]:
        judgement = Bench.of([FilterSpec(name, Mode.ENFORCE, page=Half(name)) for name in names]).panel.page(page(URL)).judgement
        return judgement.keep, judgement.follow

    assert word("keeps") == (True, False)
    assert word("follows") == (False, True)
    assert word("keeps", "follows") == (False, False)


def test_the_first_filter_to_refuse_a_link_names_the_reason() -> None:
    bench = Bench.of([links("first", refuses=lambda url: url.endswith("1")), links("second", refuses=everything)])
    judgement = bench.panel.links(farm(3)).judgement
    assert [judgement.refused[i].filter for i in range(3)] == ["second", "first", "second"]
    assert not judgement.admitted.any()


def test_static_and_head_gates_answer_with_the_first_refusal_and_its_filter() -> None:
    bench = Bench.of(registered())
    assert bench.panel.static(subjects.links("http://c.example/a.png")) == {0: (Reason.OUT_OF_SCOPE, "scope")}
    several = subjects.links("http://a.example/ok", "http://a.example/a.png", "http://c.example/")
    assert bench.panel.static(several) == {1: (Reason.BAD_TYPE, "media"), 2: (Reason.OUT_OF_SCOPE, "scope")}
    assert bench.panel.static(subjects.links("http://a.example/ok")) == {}
    assert bench.panel.head(head(URL, content_type="image/png")) == (Reason.BAD_TYPE, "media")
    assert bench.panel.head(head(URL, content_type="text/html")) is None


def test_what_a_filter_learns_from_is_the_word_of_the_whole_panel() -> None:
    bench = Bench.of([pages("scribe"), pages("dropper", drops=everything)])
    bench.tell([page(URL)])
    assert not bench.rows("scribe")
    bench = Bench.of([pages("scribe"), pages("dropper", Mode.OBSERVE, drops=everything)])
    bench.tell([page(URL)])
    assert bench.rows("scribe") == {SPACE.url(URL).key: URL.encode()}


def test_redirect_pairs_are_judged_as_pages_are() -> None:
    witness = PairWitness()
    bench = Bench.of([FilterSpec("witness", Mode.ENFORCE, redirect=witness)])
    records = bench.tell([pair(URL, "http://a.example/end", status=404)])
    assert [(seen.original, seen.target, seen.status) for seen in witness.pairs] == [(URL, "http://a.example/end", 404)]
    assert records[0].gate == Gate.REDIRECT


def test_a_gate_without_filters_leaves_nothing_in_the_journal() -> None:
    bench = Bench.of([pages("alone")])
    assert bench.panel.learn(bench.panel.links(farm(2))) == ((), None)


def test_the_journal_of_a_filter_that_is_gone_is_passed_over() -> None:
    records = Bench.of([pages("gone"), pages("here")]).tell([page(URL)])
    later = Bench.of([pages("here")])
    later.panel.replay(records)
    assert later.rows("here") == {SPACE.url(URL).key: URL.encode()}


@pytest.mark.parametrize(
    ("gate", "judgement"),
    [
        (
            Gate.PAGE,
            Judgement(True, False, (Verdict("a", False, True, 0.5, Reason.DUPLICATE_CONTENT, {"copy_of": "ff", "n": 2, "p": 0.5}),)),
        ),
        (Gate.REDIRECT, Judgement(False, False, ())),
        (Gate.LEARNED, LinkJudgement(np.array([True, False, True]), {1: Verdict("b", False, False, reason=Reason.PATH_TRAP)})),
    ],
)
def test_a_judgement_survives_the_journal(gate: Gate, judgement: Judgement | LinkJudgement) -> None:
    read = decode_judgement(gate, encode_judgement(judgement))
    if isinstance(judgement, LinkJudgement):
        assert isinstance(read, LinkJudgement)
        assert read.admitted.tolist() == judgement.admitted.tolist()
        assert read.refused == judgement.refused
    else:
        assert read == judgement


def test_verdicts_that_say_nothing_are_not_in_the_journal() -> None:
    """Mutations: all are written; those that only tell a likeness are left out."""
    told = Verdict("b", score=0.75), Verdict("c", evidence={"looks_like": "ff"}), Verdict("d", new=False), Verdict("e", follow=False)
    judgement = Judgement(True, False, (Verdict("a"), *told, Verdict("f")), new=False, observers=("e",))
    read = decode_judgement(Gate.PAGE, encode_judgement(judgement))
    assert read == msgspec.structs.replace(judgement, verdicts=told)


# -- effects


def asks(*effects: Effect) -> dict[str, tuple[Effect, ...]]:
    return {URL: effects}


def test_effects_of_deciding_and_of_observing_name_who_asks() -> None:
    request, release = Request("http://a.example/probe", Purpose.PROBE), Release("rule")
    bench = Bench.of([pages("prober", asks=asks(request), asks_later=asks(release))])
    deliberation = bench.panel.page(page(URL))
    assert deliberation.effects == (("prober", request),)
    assert bench.panel.learn(deliberation)[0] == (("prober", release),)


def test_an_observing_filter_s_effects_are_dropped_at_every_gate() -> None:
    request = Request("http://a.example/probe", Purpose.PROBE)
    script = PageScript("prober", asks=asks(request), asks_later=asks(request))
    script.asks_on_answer = asks(request)
    spec = FilterSpec(
        "prober", Mode.OBSERVE, page=script, learned=LinkScript("prober", asks=lambda url: [Hold(url, "rule")]), prober=script
    )
    bench = Bench.of([spec])
    deliberation = bench.panel.page(page(URL))
    assert (deliberation.effects, bench.panel.learn(deliberation)[0]) == ((), ())
    of_links = bench.panel.links(farm(2))
    assert of_links.effects == ()
    assert of_links.judgement.admitted.all()
    assert bench.panel.reports.on_answer("prober", answer(URL)) == ((), None)
    assert not script.answers


def test_only_the_filter_that_asked_is_told_the_answer() -> None:
    one, two = PageScript("one"), PageScript("two")
    one.asks_on_answer = asks(Release("rule"))
    bench = Bench.of([FilterSpec(script.name, Mode.ENFORCE, page=script, prober=script) for script in (one, two)])
    assert bench.panel.reports.on_answer("one", answer(URL, failure="timeout_total"))[0] == (("one", Release("rule")),)
    assert (one.answers, two.answers) == ([SeenAnswer(URL, failure="timeout_total")], [])


def test_what_an_answer_taught_is_taught_again_by_a_replay() -> None:
    """Mutation: `Reports.on_answer` returns no record for the journal."""
    lived, replayed = (
        Bench.of([FilterSpec(script.name, Mode.ENFORCE, page=script, prober=script)])
        for script in (PageScript("prober"), PageScript("prober"))
    )
    asked, record = lived.panel.reports.on_answer("prober", answer(URL, status=302, target=SPACE.url("http://a.example/end")))
    assert asked == ()
    assert record is not None
    replayed.panel.replay([record])
    assert replayed.memories["prober"].get(bytes(8) + URL.encode()) == b"http://a.example/end"


def test_links_that_are_rewritten_or_held_are_not_admitted_and_not_refused() -> None:
    def script(url: str) -> list[Effect]:
        return [Rewrite(url, "http://a.example/", "rule")] if url.endswith("/0") else [Hold(url, "rule")] if url.endswith("/1") else []

    deliberation = Bench.of([links("dust", asks=script)]).panel.links(farm(3))
    assert deliberation.judgement.admitted.tolist() == [False, False, True]
    assert not deliberation.judgement.refused


def test_effects_on_urls_that_are_not_in_the_batch_take_nothing_out_of_it() -> None:
    deliberation = Bench.of([links("dust", asks=lambda _: [Hold("http://a.example/elsewhere", "rule")])], audit_share=1.0).panel.links(
        farm(3)
    )
    assert deliberation.judgement.admitted.all()
    assert len(deliberation.effects) == 3


# -- audits

N_AUDITED = 4_000


def _audited(spec: FilterSpec, share: float, subject: LinkBatch) -> Deliberation[LinkJudgement]:
    return Bench.of([spec], audit_share=share).panel.links(subject)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("how", ["refuse", "rewrite"])
def test_the_share_of_what_is_held_or_rewritten_that_passes_is_the_audit_share(how: str, share: float) -> None:
    """Mutation: `_audit` compared the key's first bytes, which are the site's: all of a site passed, or none."""
    spec = {
        "refuse": links("judge", refuses=everything),
        "rewrite": links("judge", asks=lambda url: [Rewrite(url, "http://a.example/", "rule")]),
    }[how]
    deliberation = _audited(spec, share, farm(N_AUDITED))
    n = int(deliberation.judgement.admitted.sum())
    assert abs(n - share * N_AUDITED) <= 4 * math.sqrt(share * (1 - share) * N_AUDITED)
    assert deliberation.audited == set(np.flatnonzero(deliberation.judgement.admitted).tolist())
    assert len(deliberation.effects) == (0 if how == "refuse" else N_AUDITED - n)


def test_an_audit_is_chosen_by_the_url_s_key_alone() -> None:
    """Whatever else the batch holds, whoever refuses, however often it is asked: the same URLs pass."""
    whole = farm(400)
    chosen = {whole.texts[i] for i in _audited(links("judge", refuses=everything), 0.2, whole).audited}
    assert chosen == {
        whole.texts[i] for i in _audited(links("another", asks=lambda url: [Rewrite(url, "http://a.example/", "rule")]), 0.2, whole).audited
    }
    alone = {text for text in whole.texts if _audited(links("judge", refuses=everything), 0.2, batch(text)).audited}
    assert chosen == alone
    assert chosen


def test_what_passes_by_itself_is_no_audit() -> None:
    deliberation = _audited(links("judge", refuses=lambda url: url.endswith("7")), 1.0, farm(50))
    assert deliberation.judgement.admitted.all()
    assert deliberation.audited == {i for i, text in enumerate(farm(50).texts) if text.endswith("7")}
    assert deliberation.judgement.refused.keys() == deliberation.audited


def test_audits_of_a_real_filter_pass_its_refusals_and_are_learned_the_same_by_a_replay() -> None:
    """A calendar without end. Mutation: `PathTrapMeasure` left its cells out of the journal: the replay closed nothing."""
    days = batch(*[f"http://a.example/cal?day={1 + i % 28}&month={1 + i // 28 % 12}&year={2000 + i // 336}" for i in range(1_000)])
    lived, replayed = (Bench.of([path_trap(PathTrapSettings(max_calendar=5))], audit_share=0.25) for _ in range(2))
    records = [lived.panel.learn(lived.panel.page(page(url, status=404)))[1] for url in days.texts[:50]]
    deliberation = lived.panel.links(days)
    again = lived.panel.links(days)
    assert again.audited == deliberation.audited
    n_refused = len(deliberation.judgement.refused)
    assert n_refused == 1_000
    assert abs(len(deliberation.audited) - 0.25 * n_refused) <= 4 * math.sqrt(0.25 * 0.75 * n_refused)
    replayed.panel.replay([record for record in records if record is not None])
    assert replayed.all_rows() == lived.all_rows()
    assert replayed.panel.links(days).audited == deliberation.audited


def test_an_observer_s_refusals_are_noted_and_not_audited() -> None:
    deliberation = _audited(replace(links("judge", refuses=everything), mode=Mode.OBSERVE), 1.0, farm(3))
    assert deliberation.said is not None
    assert len(deliberation.said) == 3
    assert (deliberation.audited, deliberation.judgement.refused) == (frozenset(), {})


def test_a_copy_with_the_text_of_a_kept_page_is_told_in_one_panel_of_all_filters() -> None:
    bench = Bench.of(registered())
    bench.tell([page("http://a.example/1", LONG_TEXT)])
    assert not bench.panel.page(page("http://a.example/2", LONG_TEXT)).judgement.keep
