"""Pages that show nothing new wait for their links, and are decided by what these show."""

from __future__ import annotations

import pytest
from dict_memory import DictMemory

from thresher.filters.evidence.leading import on_settled, wait_for_links

PAGE, OTHER = b"sitesitePAGEPAGE", b"sitesiteOTHEROTH"


@pytest.mark.parametrize(
    ("settled", "decided"),
    [
        ([True], None),
        ([True, True], True),
        ([False], None),
        ([False, False], False),
        ([False, True, True, True], True),
        ([True, False, False, False, False, False], False),
    ],
)
def test_links_decide_once_their_share_is_sure(settled: list[bool], decided: bool | None) -> None:
    """Mutations: one link decides; what is not sure yet counts as decided."""
    memory = DictMemory()
    wait_for_links(memory, PAGE, b"note")
    found = [on_settled(memory, PAGE, is_new=is_new) for is_new in settled]
    assert [one is not None and one.is_decided for one in found[:-1]].count(True) == 0
    last = found[-1]
    assert last is not None
    assert (last.is_decided, last.leads if last.is_decided else None, last.note) == (decided is not None, decided, b"note")
    assert (on_settled(memory, PAGE, is_new=True) is None) == last.is_decided


def test_only_pages_that_wait_are_counted_and_nothing_is_begun_anew() -> None:
    memory = DictMemory()
    assert on_settled(memory, OTHER, is_new=True) is None
    wait_for_links(memory, PAGE, b"first")
    on_settled(memory, PAGE, is_new=True)
    wait_for_links(memory, PAGE, b"second")
    found = on_settled(memory, PAGE, is_new=True)
    assert found is not None
    assert (found.leads, found.note) == (True, b"first")
