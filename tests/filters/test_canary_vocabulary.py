"""Whether a page uses the words of its host."""

from __future__ import annotations

import numpy as np
import pytest
from dict_memory import DictMemory

from thresher.crawler.core.model import U64
from thresher.crawler.core.sketch import token_hashes
from thresher.crawler.native import NATIVE
from thresher.filters.canary import vocabulary
from thresher.filters.canary.vocabulary import Speech, ends, learn, speech, vocabulary_of

QUEUE = b"q" * 16
DICE = np.random.default_rng(4)


def words(n: int) -> U64:
    return DICE.integers(0, 1 << 63, n, dtype=np.uint64)


def page(n: int, template: tuple[U64, U64]) -> U64:
    return np.concatenate((template[0], words(n), template[1]))


def learned(pages: list[U64]) -> DictMemory:
    memory = DictMemory()
    assert [learn(memory, QUEUE, ends(one, 32)) for one in pages] == [False] * 11 + [True]
    return memory


@pytest.mark.parametrize("is_native", [True, False])
def test_a_page_that_is_longer_than_its_host_s_others_speaks_as_they_do(is_native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A blog: twelve short archives first, then its posts. 82 of 361 pages were strange and asked for twenty canaries.

    Mutations: only as many words were looked at as were learned; a long page's last words, its footer, were not looked at.
    """
    monkeypatch.setattr(vocabulary, "NATIVE", is_native and NATIVE)
    own, foreign = (words(20), words(30)), (words(20), words(30))
    spoken = vocabulary_of(learned([page(20, own) for _ in range(12)]), QUEUE)
    for n in (20, 150, 300, 5_000):
        assert [speech(spoken, page(n, own)) for _ in range(20)] == [Speech.OWN] * 20
        assert [speech(spoken, page(n, foreign)) for _ in range(20)] == [Speech.STRANGE] * 20
    assert speech(spoken, page(150, (own[1], own[0]))) is Speech.OWN, "its words, wherever they stand"


def test_numbers_are_of_no_language() -> None:
    """A calendar: its months are those numbers in any language, and a wall in another one was not seen."""
    days = " ".join(map(str, range(1, 32)))
    spoken = vocabulary_of(learned([token_hashes(f"All calendars of this office {days} Sun Mon Tue {n}") for n in range(12)]), QUEUE)
    assert speech(spoken, token_hashes(f"Alle Kalender dieser Stelle {days} So Mo Di 7")) is Speech.STRANGE
    assert speech(spoken, token_hashes("All calendars of this office, and a letter: Sun Mon Tue")) is Speech.OWN
