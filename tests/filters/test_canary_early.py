"""A host's first answers are listed; what is learned from them is what would have been learned at once."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from dict_memory import DictMemory
from subjects import SPACE

from thresher.config.settings import CanarySettings
from thresher.crawler.core.effects import Request
from thresher.filters.canary import records
from thresher.filters.canary.filter import CanaryFilter
from thresher.filters.canary.news import CanaryRequest, Found, Seen
from thresher.filters.canary.records import FirstAnswers
from thresher.filters.canary.vocabulary import Speech
from thresher.filters.soft_error.looks import Look

HOST = "http://a.example"
QUEUE = SPACE.key(f"{HOST}/")
LOOK = Look(b"", 50, b"title...", b"words...")


def story(seed: int) -> list[Seen | CanaryRequest]:
    """Return answers of a host that are alike more or less often, and wishes between them."""
    rng, n_texts = Random(seed), 2 + 3 * (seed % 12)
    told: list[Seen | CanaryRequest] = []
    for _ in range(rng.randrange(3, 30)):
        if rng.random() < 0.04:
            told.append(CanaryRequest(QUEUE, is_drained=rng.random() < 0.5))
            continue
        i, text = rng.randrange(40), rng.randrange(n_texts)
        token = b"" if rng.random() < 0.1 else b"P%07d" % text
        is_kept = rng.random() < 0.8
        words = np.arange(5_000, 5_020, dtype=np.uint32) + (100 * text if rng.random() < 0.3 else 0)
        look = LOOK if is_kept and rng.random() < 0.5 else None
        told.append(
            Seen(
                QUEUE,
                SPACE.key(f"{HOST}/{i}"),
                f"{HOST}/{i}",
                token,
                rng.choice((1, 2, 3, 3, 3, 3)),
                b"",
                is_kept,
                look,
                words=words.astype(np.uint32).tobytes(),
            )
        )
    return told


def lived(told: list[Seen | CanaryRequest], share: float) -> tuple[list[Any], DictMemory]:
    """Return what a filter answers to a story, step by step, and its memory."""
    of, memory, outcomes = CanaryFilter(CanarySettings(share=share)), DictMemory(), list[Any]()
    for i, news in enumerate(told):
        effects = of.on_news(news, memory)
        outcomes += [effects, records.find_state(memory, QUEUE), of.wants_look(QUEUE, memory, Speech.UNKNOWN), of.may_decide(QUEUE, memory)]
        outcomes += [of.is_in_doubt(QUEUE, memory), of.hosts_of(QUEUE[:8], memory), records.candidates(memory, QUEUE)]
        for effect in effects:
            if isinstance(effect, Request):
                shown = Found(SPACE.key(effect.url), 9.0, b"P%07d" % (i % 4), 200, LOOK if i % 2 else None, "status 200", True)
                outcomes.append(of.on_answer(shown, memory))
    return outcomes, memory


@pytest.mark.parametrize("share", [0.01, 0.5])
def test_first_answers_teach_the_same_in_the_end(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever comes after them.

    Mutations: answers were alike from the largest number that any of them asks for; a share that is due at once was not minded; the words
    of listed answers were not learned; candidates were kept when the list was learned from; a wish did not open the list.
    """
    n_listed = 0
    for seed in range(60):
        told = story(seed)
        monkeypatch.setattr(FirstAnswers, "most", 8)
        some, lazy = lived(told, share)
        n_listed += bool(FirstAnswers(lazy, QUEUE).items)
        monkeypatch.setattr(FirstAnswers, "most", 0)
        every, eager = lived(told, share)
        assert some == every
        last = Seen(QUEUE, SPACE.key(f"{HOST}/last"), f"{HOST}/last", b"P_______", 3)
        for memory in (lazy, eager):
            CanaryFilter(CanarySettings(share=share)).on_news(last, memory)
        assert lazy.rows == eager.rows
    assert n_listed, "no story was short enough"
