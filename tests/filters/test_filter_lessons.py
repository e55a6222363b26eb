"""Filters learn from several pages together what they learn page by page (filters/lessons.py)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from dict_memory import DictMemory
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from msgspec.structs import replace
from planted import PageScript
from subjects import batch, page
from webs import Bench, Subject, batches, pages, registered

from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Mode, Page
from thresher.filters.base import Gate
from thresher.filters.deliberation import Deliberation, Learned
from thresher.filters.lessons import Lesson
from thresher.filters.spec import FilterSpec

ALONE = [spec.name for spec in registered() if spec.of_site]
few = examples(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


_OF_NO_SITE = (b"host\0\0\0", b"fams\0\0\0")  # dust: pages at one path on several hosts, by which a URL is judged again at its turn


class _Noting(DictMemory):
    """A memory that notes of which sites records are read or written."""

    def __init__(self) -> None:
        super().__init__()
        self.sites: set[bytes] = set()

    def _note(self, key: bytes) -> None:
        if key[1:8] not in _OF_NO_SITE:
            self.sites.add(key[:8])

    def get(self, key: bytes, /) -> bytes | None:
        self._note(key)
        return super().get(key)

    def put(self, key: bytes, value: bytes, /, weight: float = 0.0) -> None:
        self._note(key)
        super().put(key, value, weight)

    def delete(self, key: bytes, /) -> None:
        self._note(key)
        super().delete(key)

    def scan(self, prefix: bytes, /) -> Iterator[tuple[bytes, bytes]]:
        self._note(prefix)
        return super().scan(prefix)

    def get_many(self, keys: Iterable[bytes], /) -> list[bytes | None]:
        return [self.get(key) for key in keys]


def test_most_filters_learn_together_and_those_that_compare_sites_do_not() -> None:
    """Mutation: no filter said that it is of a site."""
    assert set(ALONE) == {"path_trap", "exact_duplicate", "soft_error", "depth_cutoff", "pattern_yield", "dust"}


@pytest.mark.parametrize("name", ALONE)
@few
@given(story=st.lists(st.one_of(pages, batches), max_size=16))
def test_a_filter_of_a_site_touches_no_other_site(name: str, story: list[Subject]) -> None:
    """Mutation: near_replica said that it is of a site; its grid belongs to none."""
    bench = Bench.of(registered(), lambda _name: _Noting())
    memory = bench.memories[name]
    assert isinstance(memory, _Noting)
    for subject in story:
        source = subject.url if isinstance(subject, Page) else subject.source if isinstance(subject, LinkBatch) else None
        assert source is not None
        own = {source.key[:8], source.via[:8] or source.key[:8]}
        memory.sites.clear()
        deliberation = bench.judge(subject)
        assert memory.sites <= own | ({key[:8] for key in subject.keys} if isinstance(subject, LinkBatch) else set())
        memory.sites.clear()
        bench.panel.learn(deliberation)
        assert memory.sites <= own


def _alone(bench: Bench, story: Iterable[Page]) -> list[tuple[Deliberation[object], Learned]]:
    judged = []
    for subject in story:
        deliberation = bench.judge(subject)
        judged.append((deliberation, bench.panel.learn(deliberation)))
    return judged


def _together(bench: Bench, story: Iterable[Page]) -> list[tuple[Deliberation[object], Learned]]:
    """Learn as late as crawler/settlement/page_group.py does."""
    lessons: list[Lesson] = []
    learned: list[Learned] = []
    sites: set[bytes] = set()
    deliberations = []
    for subject in story:
        if {subject.url.key[:8], subject.url.via[:8]} & sites:
            learned += bench.panel.lessons.end(lessons)
            lessons, sites = [], set()
        deliberations.append(bench.judge(subject))
        lessons.append(bench.panel.lessons.begin(deliberations[-1], subject.url.key))
        sites |= {subject.url.key[:8], subject.url.via[:8] or subject.url.key[:8]}
    learned += bench.panel.lessons.end(lessons)
    return list(zip(deliberations, learned, strict=True))


@few
@given(story=st.lists(pages, max_size=24))
def test_together_they_judge_learn_and_note_the_same(story: list[Page]) -> None:
    """Verdicts, effects, the journal and memories are the same, byte for byte.

    Mutation: all filters learned together; near_replica missed the copy on the next site.
    """
    benches = Bench.of(registered()), Bench.of(registered())
    outcomes = [tell(bench, [replace(subject) for subject in story]) for tell, bench in zip((_alone, _together), benches, strict=True)]
    for (one, of_one), (other, of_other) in zip(*outcomes, strict=True):
        assert one.judgement == other.judgement
        assert one.effects == other.effects
        assert of_one == of_other
    assert benches[0].all_rows() == benches[1].all_rows()


def _script(name: str, told: list[tuple[str, str]]) -> PageScript:
    """Return a filter that notes when it learns from which URL."""
    made = PageScript(name)
    made.on_learn = lambda url: told.append((name, url))
    return made


def test_filter_after_filter_learns_but_a_plug_in_that_says_nothing_at_once() -> None:
    """Mutation: `begin` put off all filters. Mutation: `end` went page by page."""
    told: list[tuple[str, str]] = []
    specs = [
        FilterSpec("first", Mode.ENFORCE, page=_script("first", told), of_site=True),
        FilterSpec("plug-in", Mode.ENFORCE, page=_script("plug-in", told)),
        FilterSpec("last", Mode.ENFORCE, page=_script("last", told), of_site=True),
    ]
    panel = Bench.of(specs).panel
    one, other = page("http://a.example/"), page("http://b.example/")
    lessons = [panel.lessons.begin(panel.page(subject), subject.url.key) for subject in (one, other)]
    at_once = [("plug-in", "http://a.example/"), ("plug-in", "http://b.example/")]
    assert told == at_once
    named: list[bytes] = []
    panel.lessons.end(lessons, named.append)
    assert told == [*at_once, *((name, subject.url.text) for name in ("first", "last") for subject in (one, other))]
    assert named == [one.url.key, other.url.key] * 2, "the page is named over which a filter may kill the process"


def test_the_learned_gate_may_be_put_off_and_redirects_not() -> None:
    """Mutation: every gate was put off; a pair of redirects was learned from too late for the next one."""
    panel = Bench.of(registered()).panel
    links = panel.lessons.begin(panel.links(batch("http://a.example/x")))
    assert len(links.learned) == 1, "near_replica"
    assert len(panel.lessons.begin(panel.unread(page("http://a.example/feed"))).learned) == len(
        [spec for spec in panel.specs if spec.part(Gate.UNREAD) and spec.unread]
    )
