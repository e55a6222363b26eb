"""What filters compute beforehand saves time and nothing else."""

from __future__ import annotations

from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from msgspec.structs import replace
from subjects import LONG_TEXT, SPACE, page
from webs import Bench, Subject, pages, registered

from thresher.crawler.core.model import Mode, Page
from thresher.crawler.core.ports import Memory
from thresher.filters.isolation import isolated
from thresher.filters.journal import JournalRecord
from thresher.filters.spec import FilterSpec


def _foreseen(bench: Bench, subject: Page) -> None:
    for foresee in bench.panel.foreseers():
        foresee(subject, SPACE.queue_key(subject.url.host))


@examples(max_examples=20, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(story=st.lists(pages, min_size=1, max_size=24))
def test_what_is_computed_beforehand_changes_no_outcome(story: list[Page]) -> None:
    """Mutation: `foresee` of canary wrote a host's state."""
    plain, ahead = Bench.of(registered()), Bench.of(registered())
    journals = list[list[JournalRecord]]()
    for bench in (plain, ahead):
        told: list[Subject] = [replace(subject) for subject in story]
        before = dict(bench.all_rows())
        for subject in told if bench is ahead else ():
            assert isinstance(subject, Page)
            _foreseen(bench, subject)
        assert dict(bench.all_rows()) == before, "it writes nothing"
        journals.append(bench.tell(told))
    assert journals[0] == journals[1]
    assert plain.all_rows() == ahead.all_rows()


def test_of_a_site_s_first_page_is_computed_what_will_be_learned() -> None:
    """Mutation: no filter's `foresee` reached the panel: everything was computed only when it was learned."""
    bench, first = Bench.of(registered()), page("http://a.example/wiki/page", LONG_TEXT)
    _foreseen(bench, first)
    assert {"news", "sample of threes", "look", "shown", "ends"} <= vars(first).keys()
    gone = page("http://a.example/gone", LONG_TEXT, status=404)
    _foreseen(bench, gone)
    assert not vars(gone).keys() & {"news", "sample of threes", "look"}, "of an error page none of it is learned"


def test_a_plug_in_that_raises_ahead_is_told_and_delays_no_page() -> None:
    """Mutation: `isolated` left `foresee` as it was; its exception became that of the page's journey."""

    def fails(_page: Page, _queue: bytes, _memory: Memory) -> None:
        raise KeyError("not there")

    faults: list[Exception] = []
    spec = isolated(FilterSpec("odd", Mode.ENFORCE, foresee=fails), faults.append)
    _foreseen(Bench.of([spec]), page("http://a.example/"))
    assert [type(fault) for fault in faults] == [KeyError]
