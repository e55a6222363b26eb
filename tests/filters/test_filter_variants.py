"""A filter's mode and options by URL: which override decides, what a filter of several modes may do, from whose verdicts others learn."""

from __future__ import annotations

import msgspec
import pytest
from subjects import batch, page
from webs import SEEDS, Bench

from thresher.config.settings import ExactDuplicateSettings, FilterSettings, Override, PathTrapSettings, Settings
from thresher.crawler.core.effects import Hold, Park, Release, Request, Study
from thresher.crawler.core.model import Judgement, Mode, Purpose, Reason, Verdict
from thresher.filters.base import LinkColumns
from thresher.filters.depth_cutoff.filter import drop_of
from thresher.filters.pattern_yield.news import Novelty, novelty_of
from thresher.filters.registry import specs
from thresher.filters.variants import may_have, strongest

TEXT = " ".join(f"pear{i}" for i in range(8))


def with_overrides(general: str, **modes: str) -> Settings:
    """Return a configuration with path_trap in a mode, and another below http://a.example/NAME/ for each name."""
    overrides = [Override(match=f"http://a.example/{name}/", options={"filters.path_trap.mode": mode}) for name, mode in modes.items()]
    of = msgspec.structs.replace(PathTrapSettings(), mode=general)
    return Settings(filters=FilterSettings(audit_share=0.0, path_trap=of), overrides=overrides)


def test_the_longest_override_that_names_the_filter_decides() -> None:
    settings = msgspec.structs.replace(
        with_overrides("off"),
        overrides=[
            Override(match="a.example", options={"filters.dust.mode": "off"}),
            Override(match="http://a.example/x/", options={"filters.dust.mode": "observe", "filters.media.mode": "off"}),
            Override(match="http://a.example/x/y/", options={"politeness.min_delay": 3.0}),
        ],
    )
    (dust,) = (spec for spec in specs(settings, SEEDS) if spec.name == "dust")
    modes = [dust.mode_of(f"http://{place}") for place in ("b.example/", "www.a.example/x/", "a.example/x/y/z")]
    assert modes == [Mode.ENFORCE, Mode.OFF, Mode.OBSERVE]


@pytest.mark.parametrize(
    ("general", "below", "built"),
    [("off", "observe", "observe"), ("observe", "enforce", "enforce"), ("enforce", "off", "enforce"), ("off", "off", "off")],
)
def test_a_filter_is_built_in_the_strongest_mode_that_it_has_anywhere(general: str, below: str, built: str) -> None:
    settings = with_overrides(general, x=below)
    assert strongest(settings).path_trap.mode == built
    assert [spec.mode.value for spec in specs(settings, SEEDS) if spec.name == "path_trap"] == ([] if built == "off" else [built])


def test_what_a_filter_asks_for_is_carried_out_where_it_enforces_alone() -> None:
    (spec,) = (spec for spec in specs(with_overrides("observe", x="enforce"), SEEDS) if spec.name == "path_trap")
    inside, outside = "http://a.example/x/1", "http://a.example/1"
    for url, may in ((inside, True), (outside, False)):
        assert may_have(spec, Hold(url, "path_trap x")) is may
        assert may_have(spec, Request(url, Purpose.PROBE)) is may
        assert may_have(spec, Request(inside, Purpose.PROBE), subject=url) is may
        assert may_have(spec, Study(bytes(8)), subject=url)
        assert may_have(spec, Release("path_trap x"), subject=url), "what is held is let go whoever proves it"
    assert not may_have(spec, Park("http://a.example", Reason.WALLED))


def test_links_are_judged_by_the_mode_of_what_they_lead_to() -> None:
    """A filter by shape, learned: refused below one prefix, said below another, silent below a third."""
    settings = with_overrides("enforce", x="observe", y="off")
    bench = Bench.of(specs(settings, SEEDS))
    deep = "1/1/1/1/1/1"
    texts = [f"http://a.example/{part}/{deep}" for part in ("w", "x", "y")]
    judged = batch(*texts)
    columns = (judged.texts, judged.hosts, judged.sites)
    assert set(bench.panel.static(LinkColumns(*columns))) == {0}
    assert bench.panel.static_said(LinkColumns(*columns)) == ["path_trap"]


def test_nobody_learns_from_a_filter_that_only_observes_a_prefix() -> None:
    """Two filters drop a page: it is old. Where one of them only observes, the other's word alone is in doubt."""
    of = FilterSettings(audit_share=0.0, exact_duplicate=ExactDuplicateSettings(min_tokens=4))
    overrides = [Override(match="http://a.example/spared/", options={"filters.exact_duplicate.mode": "observe"})]
    bench = Bench.of(specs(Settings(filters=of, overrides=overrides), SEEDS))
    heard, words = {}, {}
    for part in ("spared", "judged"):
        for i in (1, 2):
            made = bench.judge(page(f"http://a.example/{part}/{i}", f"{part} {TEXT}"))
            bench.panel.learn(made)
        judgement = made.judgement
        assert [v.reason for v in judgement.verdicts if v.filter == "exact_duplicate"] == [Reason.DUPLICATE_CONTENT]
        assert judgement.keep is (part == "spared")
        heard[part] = [v.reason for v in judgement.standing if v.is_against]
        doubted = msgspec.structs.replace(judgement, keep=False, verdicts=(*judgement.verdicts, Verdict("soft_error", keep=False)))
        words[part] = novelty_of(doubted, ("exact_duplicate", "soft_error"))
    assert heard["judged"] == [Reason.DUPLICATE_CONTENT]
    assert heard["spared"] == []
    assert (words["judged"], words["spared"]) == (Novelty.OLD, Novelty.DOUBT)


def test_a_filter_that_only_holds_a_pages_links_teaches_no_other_that_the_page_is_worthless() -> None:
    """Mutation: `is_new and follow` in `novelty_of` or `drop_of`."""
    held = Judgement(keep=True, follow=False, verdicts=(Verdict("draft", follow=False),))
    assert novelty_of(held, ("draft",)) is Novelty.NEW
    assert drop_of(held, is_ok=True) == ""
