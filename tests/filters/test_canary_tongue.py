"""Whether a page uses the words of its host."""

from __future__ import annotations

import numpy as np
from dict_memory import DictMemory

from thresher.crawler.core.model import U64
from thresher.filters.canary.tongue import Speech, learn, sampled, speech, tongue_of

QUEUE = b"q" * 16
DICE = np.random.default_rng(4)


def words(n: int) -> U64:
    return DICE.integers(0, 1 << 63, n, dtype=np.uint64)


def page(n: int, template: tuple[U64, U64]) -> list[int]:
    return sampled(np.concatenate((template[0], words(n), template[1])))


def test_a_page_that_is_longer_than_its_host_s_others_speaks_as_they_do() -> None:
    """A blog: twelve short archives first, then its posts. 82 of 361 pages were strange and asked for twenty canaries.

    Mutations: words beyond a full sample counted as missing; a long page's last words, its footer, were not looked at.
    """
    memory, own, foreign = DictMemory(), (words(20), words(90)), (words(20), words(90))
    for _ in range(12):
        learn(memory, QUEUE, tongue_of(memory, QUEUE), page(20, own))
    spoken = tongue_of(memory, QUEUE)
    for n in (20, 150, 300, 5_000):
        assert [speech(spoken, page(n, own)) for _ in range(20)] == [Speech.OWN] * 20
    assert speech(spoken, page(100, foreign)) is not Speech.OWN
    assert speech(spoken, page(20, foreign)) is Speech.STRANGE
