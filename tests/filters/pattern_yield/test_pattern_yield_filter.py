"""The filter behind a panel: what the journal replays, what a store's cap leaves, what is asked for and by whom."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from dict_memory import DictMemory
from msgspec.structs import replace
from subjects import LONG_TEXT, SPACE, batch, page, pair

from thresher.config.settings import FilterSettings, PatternYieldSettings, Settings, StoreSettings
from thresher.crawler.core.effects import Hold, Release, Worthless
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Judgement, Mode, Page, Reason, Verdict
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.sketch import token_hashes
from thresher.filters.base import NO_EFFECTS, Effects, Gate
from thresher.filters.evidence.decay import Recent
from thresher.filters.evidence.early import EarlyList
from thresher.filters.evidence.opinion import Opinion
from thresher.filters.journal import JournalRecord
from thresher.filters.panel import Panel
from thresher.filters.pattern_yield.evidence import YieldEvidence
from thresher.filters.pattern_yield.filter import holder, rule_of, spec
from thresher.filters.pattern_yield.news import Novelty, news
from thresher.filters.pattern_yield.news import novelty_of as word_on
from thresher.filters.pattern_yield.patterns import parse
from thresher.filters.pattern_yield.records import GOOD_RUN, HEAD, Pattern, SiteHead, encode, head_key, pattern_key
from thresher.filters.pattern_yield.sites import patterns_of
from thresher.filters.pattern_yield.tree import Tree
from thresher.filters.pattern_yield.vocabulary import Vocabulary
from thresher.filters.spec import FilterSpec
from thresher.storage.store import Store

SITE = SPACE.site_key("a.example")
SITE_URL = "http://a.example"
SURE = PatternYieldSettings(mode="enforce")
TIGHT = PatternYieldSettings(mode="enforce", barren=2)


def panel(memory: Memory, settings: PatternYieldSettings = TIGHT) -> Panel:
    return Panel([spec(settings)], lambda _: memory, audit_share=0.0)


def told(url: str, text: str, *, via: str = "", status: int = 200, depth: int = 1) -> Page:
    """Return a page as the panel sees it."""
    found = page(url, f"{text} {LONG_TEXT}", status=status)
    place = SPACE.url(found.url.text, via=SPACE.key(via) if via else b"", site_depth=depth, seed_distance=depth)
    return replace(found, url=place, links=("http://a.example/x",))


def redirect(url: str, target: str) -> LinkBatch:
    return replace(batch(target, source=url), is_redirect=True)


class Crawl:
    """A panel that judges and learns; its journal."""

    def __init__(self, memory: Memory, settings: PatternYieldSettings = TIGHT) -> None:
        self.panel = panel(memory, settings)
        self.journal: list[JournalRecord] = []
        self.asked: list[Any] = []

    def sit(self, subject: Any) -> Any:
        match subject:
            case Page():
                deliberation: Any = self.panel.page(subject)
            case LinkBatch():
                deliberation = self.panel.links(subject)
            case ("unread", Page() as refused):
                deliberation = self.panel.unread(refused)
            case _:
                deliberation = self.panel.redirect(subject)
        asked, record = self.panel.learn(deliberation)
        self.asked += [effect for _, effect in (*deliberation.effects, *asked)]
        if record is not None:
            self.journal.append(record)
        return deliberation


def story(seed: int, n: int = 150) -> list[Any]:
    """Return a random crawl: pages new and not, some named by others, redirects before and after their targets, feeds."""
    rng = random.Random(seed)
    urls = [f"http://a.example/{kind}/{i}" for kind in ("wiki", "edit", "go") for i in range(30)] + [
        "http://b.example/",
        "http://b.example/1",
    ]
    make: list[Callable[[], Any]] = [
        lambda: told(rng.choice(urls), rng.choice(["one", "two", str(rng.random())]), via=rng.choice(["", *urls]), depth=rng.randrange(4)),
        lambda: told(rng.choice(urls), "gone", status=404),
        lambda: batch(*rng.sample(urls, 3), source=rng.choice(urls)),
        lambda: redirect(rng.choice(urls), rng.choice(urls)),
        lambda: pair(rng.choice(urls), rng.choice(urls)),
        lambda: ("unread", replace(page(rng.choice(urls), ""), tokens=np.zeros(0, dtype=np.uint64), fingerprint=b"")),
    ]
    return [rng.choice(make)() for _ in range(n)]


def test_the_journal_teaches_an_empty_memory_the_same_again() -> None:
    """At each gate, also for redirects and for refused bodies."""
    for seed in range(12):
        lived, again = DictMemory(), DictMemory()
        crawl = Crawl(lived)
        for subject in story(seed):
            crawl.sit(subject)
        panel(again).replay(crawl.journal)
        assert again.rows == lived.rows
        assert any(pattern.evidence.n_barren for pattern in patterns_of(lived, SITE)), "the story is not empty"


def test_the_journal_holds_no_text_of_links() -> None:
    crawl = Crawl(DictMemory())
    for i in (1, 2):
        crawl.sit(told(f"http://a.example/same/{i}", "one"))
    crawl.sit(batch(*[f"http://a.example/a-rather-long-name-of-a-page/{i}" for i in range(60)], source="http://a.example/same/2"))
    assert crawl.journal[-1].gate == Gate.LEARNED
    assert len(crawl.journal[-1].measures[0][1]) < 100


def test_the_journal_skips_links_from_which_nothing_is_learned() -> None:
    crawl = Crawl(DictMemory())
    crawl.sit(batch("http://a.example/1", "http://a.example/2"))
    assert not crawl.journal


def test_deciding_writes_nothing() -> None:
    memory = DictMemory()
    crawl = Crawl(memory)
    for subject in story(3):
        before = dict(memory.rows)
        match subject:
            case Page():
                crawl.panel.page(subject)
            case LinkBatch():
                assert crawl.panel.links(subject).effects == crawl.panel.links(subject).effects
        assert memory.rows == before
        crawl.sit(subject)


def barren(crawl: Crawl, n: int = 20) -> None:
    """Make /edit/<n> barren beside pages that are worth it."""
    for i in range(n):
        crawl.sit(told(f"http://a.example/edit/{i}", "form"))
        crawl.sit(told(f"http://a.example/wiki/{i}", own(i)))


def own(i: int) -> str:
    """Return a text that the URL does not say."""
    return "".join(chr(97 + int(digit)) for digit in f"{i:04}")


def test_holds_are_asked_for_by_pattern_and_their_tail_is_told_what_it_came_to() -> None:
    """Cause 6: after twenty fetches, eight of which teach a word; to prove it would take sixty. Mutation: the spec has no `recent`."""
    crawl = Crawl(DictMemory(), SURE)
    barren(crawl)
    url = "http://a.example/edit/70"
    deliberation = crawl.sit(batch(url, "http://a.example/wiki/70"))
    assert [effect for _, effect in deliberation.effects] == [Hold(url, holder("a.example/edit/<n>"))]
    assert deliberation.judgement.admitted.tolist() == [False, True]
    assert crawl.panel.turn(SPACE.url(url, site_depth=1)).held
    recent = crawl.panel.specs[0].recent
    assert recent is not None
    found = recent(holder("a.example/edit/<n>"), DictMemory())
    assert found is not None
    assert (round(found.n), found.s, found.streak) == (12, 0, 13)
    assert recent("pattern_yield of/another", DictMemory()) == Recent()


def test_one_page_that_is_new_releases_nothing_and_several_do() -> None:
    """Cause 6: otherwise 4,295 URLs were fetched for 15 documents. Mutations: one good draw is enough; no number of them is."""
    crawl = Crawl(DictMemory(), SURE)
    barren(crawl)
    url = "http://a.example/edit/70"
    for i in range(100, 130):
        crawl.sit(told(f"http://a.example/edit/{i}", "form" if i % 15 else f"new {own(i)}"))
        crawl.sit(told(f"http://a.example/wiki/{i}", own(i)))
    assert not any(isinstance(effect, Release) for effect in crawl.asked)
    assert crawl.panel.turn(SPACE.url(url, site_depth=1)).held
    crawl = Crawl(DictMemory(), SURE)
    barren(crawl)
    for i in range(200, 420):
        crawl.sit(told(f"http://a.example/edit/{i}", f"new {own(i)}"))
        crawl.sit(told(f"http://a.example/wiki/{i}", own(i)))
    assert [effect for effect in crawl.asked if isinstance(effect, Release)] == [Release(holder("a.example/edit/<n>"))]
    assert not crawl.panel.turn(SPACE.url(url, site_depth=1)).held


def test_what_speaks_for_itself_is_spared_by_a_barren_pattern_above_it() -> None:
    """Mutation: `Tree.barren` always asks the next coarser pattern, whatever this one's own fetches show."""
    coarse, good, poor = (f"a.example/x?{query}" for query in ("a=*", "a=good", "a=poor"))
    spared, spent = Opinion(Recent(20, 20)), Opinion(Recent(20, 0, 7))
    for form, evidence, is_held in ((good, YieldEvidence(20, 20, spared), False), (poor, YieldEvidence(20, 0, spent), True)):
        memory, words = DictMemory(), Vocabulary()
        for name in ("good", "poor"):
            words.add(parse(f"http://a.example/x?a={name}", "http://a.example").words() * 70)
        memory.put(head_key(SITE), encode(SiteHead(n_barren=1, n_counted=words.n_counted, counters=words.counters)))
        memory.put(pattern_key(SITE, coarse), encode(Pattern(coarse, YieldEvidence(90, 0, Opinion(is_held=True, waits=True), 1))))
        memory.put(pattern_key(SITE, form), encode(Pattern(form, evidence)))
        deliberation = panel(memory, SURE).links(batch(f"http://{form}"))
        assert [effect for _, effect in deliberation.effects] == ([Hold(f"http://{form}", holder(coarse))] if is_held else [])


def test_home_pages_are_never_held() -> None:
    crawl = Crawl(DictMemory(), SURE)
    for i in range(150):
        crawl.sit(told(f"http://u{i}.a.example/", "parked"))
        crawl.sit(told(f"http://a.example/wiki/{i}", f"page {i}"))
    assert not crawl.sit(batch("http://a.example/", "http://u1.a.example/")).effects


def test_an_observer_says_what_it_would_hold_and_asks_for_nothing() -> None:
    crawl = Crawl(DictMemory(), msgspec.structs.replace(SURE, mode="observe"))
    barren(crawl)
    deliberation = crawl.sit(batch("http://a.example/edit/70"))
    assert not deliberation.effects
    assert deliberation.judgement.admitted.all()
    (verdict,) = deliberation.said.values()
    assert (verdict.reason, verdict.evidence["pattern"]) == (Reason.HELD_BY_FILTER, "a.example/edit/<n>")
    assert crawl.panel.turn(SPACE.url("http://a.example/edit/70", site_depth=1)).said == ("pattern_yield",)


def yields(
    *dropping: str,
    text: Callable[[int], str],
    judges: tuple[str, ...] = ("near_replica", "soft_error"),
    settings: PatternYieldSettings = TIGHT,
    n: int = 80,
    keep: bool = False,
) -> YieldEvidence:
    """Return what a pattern has shown after n pages that these filters dropped, beside as many that were kept."""
    memory = DictMemory()
    part: Any = spec(settings, judges=("exact_duplicate", *judges)).page
    verdicts = tuple([Verdict(name, keep=keep, new=not keep) for name in dropping])
    for i in range(n):
        for url, said, judgement in (
            (f"http://a.example/near/{i}", text(i), Judgement(keep or not dropping, True, verdicts, new=not (keep and dropping))),
            (f"http://a.example/wiki/{i}", f"kept {own(i)}", Judgement(True, True, ())),
        ):
            part.observe(part.measure(told(url, said)), judgement, memory)
    return {pattern.form: pattern.evidence for pattern in patterns_of(memory, SITE)}.get("a.example/near/<n>", YieldEvidence())


def test_what_two_filters_dropped_was_not_worth_it_and_what_one_dropped_teaches_nothing() -> None:
    """Verdicts of filters that only observe do not count. Mutation: one filter's verdict is enough."""
    assert yields("near_replica", "soft_error", text=own).barren
    assert yields("near_replica", text=own) == YieldEvidence()
    assert yields("near_replica", "soft_error", text=own, judges=("near_replica",)) == YieldEvidence()
    assert yields("near_replica", text=lambda i: "the same").barren, "the pattern's own pages agree"


def test_near_copies_that_are_kept_are_nothing_new_all_the_same() -> None:
    """Mutation: they count as doubtful, like a page that one filter drops."""
    assert yields("near_replica", text=own, keep=True).barren


def test_what_a_url_says_already_is_no_news() -> None:
    """Mutation: `news` does not leave out the words of the URL."""
    assert yields(text=lambda i: f"Editing {i}").barren
    assert not yields(text=lambda i: f"Editing {own(i)}").barren


def test_a_form_that_is_shown_for_the_twentieth_time_was_never_new() -> None:
    """Mutation: the first page of it counted, so that a hundred fetches more were needed. A text that comes three times is one's own."""
    assert yields(text=lambda i: f"Editing {i}", settings=SURE, n=130).barren
    of = yields(text=lambda i: own(i // 3), settings=SURE, n=200)
    assert of.is_surpassed or not of.barren, "a third of it is worth it: that comes later at most"


def test_dates_of_the_form_that_a_url_spells_are_no_news_and_other_numbers_are() -> None:
    def day(date: str, *, degrees: int) -> int:
        following = date[:-1] + str(int(date[-1]) + 1)
        return news(
            f"{SITE_URL}/day/{date}", SITE_URL, token_hashes(f"On {date} it was {degrees} degrees. Next: {following}, until 2025-01-01.")
        )

    assert day("2024-03-05", degrees=12) == day("2024-04-17", degrees=12)
    assert day("2024-03-05", degrees=12) != day("2024-03-05", degrees=13)


def test_a_site_s_memory_is_bounded_and_barren_patterns_stay_longest(tmp_path: Path) -> None:
    """The site has three thousand shapes of URLs."""
    cap = 64 << 10
    settings = Settings(filters=FilterSettings(site_bytes=cap), store=StoreSettings(map_size=1 << 24))
    with Store.create(tmp_path / "c", settings, 0.0) as store:
        crawl = Crawl(store.tables.memory("pattern_yield"), SURE)
        barren(crawl)
        for i in range(3_000):
            word = "".join(chr(97 + int(digit)) for digit in f"{i:04}")
            crawl.sit(told(f"http://a.example/{word}?{word}={word}", "error" if i % 3 else f"page {i}", status=404 if i % 3 else 200))
            store.end_visit()
        memory = store.tables.memory("pattern_yield")
        assert memory.used(SITE) <= cap
        assert sum(len(key) + len(value) for key, value in memory.scan(SITE)) <= cap
        assert "a.example/edit/<n>" in {pattern.form for pattern in patterns_of(memory, SITE) if pattern.evidence.barren}


def test_a_copy_is_old_whether_it_is_stored_or_not() -> None:
    """Mutation: a copy that is stored counts as new."""
    for keep in (False, True):
        copy = Verdict("exact_duplicate", keep, reason=Reason.DUPLICATE_CONTENT, new=False)
        assert word_on(Judgement(keep, True, (copy,), new=False), ["exact_duplicate"]) is Novelty.OLD


def test_pages_of_a_series_are_new_unless_they_resemble_one_another_by_nine_tenths() -> None:
    """Mutation: the days of a calendar, which differ by what stands on them, are held as copies of one another."""
    for score, said_of_series in ((0.86, Novelty.NEW), (0.93, Novelty.LIKE)):
        alike = Verdict("near_replica", score=score, evidence={"looks_like": "00"})
        of_series = Verdict("near_replica", score=score, evidence={"looks_like": "00", "of_series": 1})
        assert word_on(Judgement(True, True, (alike,)), ["near_replica"]) is Novelty.LIKE
        assert word_on(Judgement(True, True, (of_series,)), ["near_replica"]) is said_of_series


def test_what_its_host_tells_apart_is_new_however_alike_it_looks() -> None:
    """Mutation: `told_apart` is not heeded, so that each page of software that names all pages canonical is held as its template."""
    apart = Verdict("near_replica", score=0.97, evidence={"looks_like": "00", "told_apart": 1})
    assert word_on(Judgement(True, True, (apart,)), ["near_replica"]) is Novelty.NEW


class Alike:
    """A page gate that says of each page below /old/ that it looks like a kept one."""

    name = "near_replica"
    measure_type = bool

    def measure(self, page: Page, /) -> bool:
        return "/old/" in page.url.text

    def decide(self, is_alike: bool, memory: Memory, /) -> tuple[Verdict, Effects]:
        return Verdict(self.name, score=0.86, evidence={"looks_like": "00"} if is_alike else {}), NO_EFFECTS

    def observe(self, is_alike: bool, judgement: Judgement, memory: Memory, /) -> Effects:
        return NO_EFFECTS


def test_pages_that_look_like_kept_ones_hold_their_pattern_and_are_documents_all_the_same() -> None:
    """Mutations: only copies that are certain hold the pattern; such pages count as worthless in the tail."""
    memory, crawl = DictMemory(), Crawl(DictMemory())
    judging = spec(TIGHT, judges=["exact_duplicate", "near_replica"])
    crawl.panel = Panel([FilterSpec("near_replica", Mode.ENFORCE, page=Alike()), judging], lambda _: memory, audit_share=0.0)
    for i in range(6):
        crawl.sit(told(f"{SITE_URL}/old/{i}", own(i)))
    worthless = {effect.key for effect in crawl.asked if isinstance(effect, Worthless)}
    assert not worthless & {SPACE.key(f"{SITE_URL}/old/{i}") for i in range(6)}, "the tail would be closed over documents"
    assert [(pattern.evidence.barren, pattern.evidence.worth) for pattern in patterns_of(memory, SITE)] == [(True, 0)]


@pytest.mark.parametrize("most", [7, EarlyList.most])
def test_the_first_pages_are_learned_from_as_if_there_had_been_a_tree(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds whatever comes after them. Mutation: a page that shows what an earlier one showed is listed."""
    monkeypatch.setattr(EarlyList, "most", most)
    for seed in range(24):
        n_new = seed % 12 if seed % 3 else 60  # of those after `GOOD_RUN`, one in sixteen is learned from
        first = [told(f"http://a.example/wiki/{i}", f"new{i}") for i in range(n_new)]
        lazy, eager = DictMemory(), DictMemory()
        one, other = Crawl(lazy), Crawl(eager)
        echoes = [told(f"http://a.example/wiki/{n}", str(n)) for n in (98, 99)]  # they show the same but for their URLs' own words
        for i, subject in enumerate([*first, *echoes, *story(seed, 60)]):
            one.sit(subject)
            other.sit(subject)
            assert one.asked == other.asked
            if i < min(n_new, most):
                assert len(HEAD.decode(lazy.rows[head_key(SITE)]).early) >= min(i + 1, GOOD_RUN)
            Tree(eager, SITE, rule_of(TIGHT)).save()
        assert by_form(lazy) == by_form(eager)


def by_form(memory: Memory) -> dict[str, Pattern]:
    return {pattern.form: pattern for pattern in patterns_of(memory, SITE)}


def test_a_copy_whose_links_wait_in_a_class_is_worth_its_fetch_once_one_of_them_is_new() -> None:
    """Lists of a register say the same and lead to parcels, though nobody follows a copy. Mutation: what is not followed cannot lead."""

    def fetched(url: str, text: str, *, via: str = "", is_copy: bool = False) -> None:
        judged = crawl.panel.page(told(url, text, via=via))
        against = (Verdict("exact_duplicate", keep=False, follow=False, reason=Reason.DUPLICATE_CONTENT),) if is_copy else ()
        judgement = Judgement(not is_copy, not is_copy, against, not is_copy)
        crawl.panel.learn(replace(judged, judgement=judgement))

    memory = DictMemory()
    crawl = Crawl(memory, SURE)
    for i in range(20):
        fetched(f"{SITE_URL}/{i}/", "the list", is_copy=i > 0)
        crawl.sit(batch(f"{SITE_URL}/{i}/parcel", source=f"{SITE_URL}/{i}/"))
        fetched(f"{SITE_URL}/news/{i}", f"report by {chr(97 + i) * 5}")
        fetched(f"{SITE_URL}/{i}/parcel", f"meadow of {chr(97 + i) * 5}", via=f"{SITE_URL}/{i}/")
    lists = next(of for of in patterns_of(memory, SITE) if of.form == "a.example/<n>/")
    assert lists.evidence.worth > 15
    assert not lists.evidence.barren
