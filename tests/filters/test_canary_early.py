"""A host's first answers are listed; what is learned from them is what would have been learned at once."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from dict_memory import DictMemory
from msgspec.structs import replace
from subjects import SPACE

from thresher.config.settings import CanarySettings
from thresher.crawler.core.effects import Request
from thresher.filters.canary import records
from thresher.filters.canary.filter import CanaryFilter
from thresher.filters.canary.first_answers import FirstAnswers, find_state
from thresher.filters.canary.news import CanaryRequest, Found, Seen
from thresher.filters.canary.vocabulary import Speech, vocabulary_of
from thresher.filters.soft_error.looks import Look

HOST = "http://a.example"
QUEUE = SPACE.key(f"{HOST}/")
LOOK = Look(b"", 50, b"title...", b"words...")


def story(seed: int) -> list[Seen | CanaryRequest]:
    """Return answers of a host that are alike more or less often, and wishes between them."""
    rng, n_texts = Random(seed), (2 + 3 * (seed % 12)) * (1 + 100 * (seed % 3 == 0))
    told: list[Seen | CanaryRequest] = []
    n_asks = 0.04 if seed % 2 else 0.0
    for _ in range(rng.randrange(3, 70)):
        if rng.random() < n_asks:
            told.append(CanaryRequest(QUEUE, is_drained=rng.random() < 0.5))
            continue
        i, text = rng.randrange(80), rng.randrange(n_texts)
        token = b"" if rng.random() < 0.1 else b"P%07d" % text
        is_kept = rng.random() < 0.8
        words = np.arange(5_000, 5_020, dtype=np.uint32) + (100 * text if rng.random() < 0.3 else 0)
        told.append(
            Seen(
                QUEUE,
                SPACE.key(f"{HOST}/{i}"),
                f"{HOST}/{i}",
                token,
                rng.choice((1, 2, 3, 3, 3, 3) if seed % 3 else (2, 3, 3)),
                SPACE.key(f"{HOST}/via") if rng.random() < 0.1 else b"",
                is_kept,
                LOOK,
                rng.choice((Speech.UNKNOWN, *[Speech.OWN] * 20, *[Speech.STRANGE] * (seed % 2))),
                words.astype(np.uint32).tobytes(),
            )
        )
    return told


def as_reported(seen: Seen, of: CanaryFilter, memory: DictMemory, number: int) -> Seen:
    """Return an answer with what the crawl tells of it: its look where one is wanted, its speech once its host's words are known."""
    knows = bool(vocabulary_of(memory, QUEUE).words)
    speaks, is_page = Speech(seen.speaks) if knows else Speech.UNKNOWN, is_kept_page(seen)
    wanted = of.wanted(QUEUE, memory, speaks, seen.token)
    return replace(
        seen,
        speaks=speaks,
        words=b"" if knows else seen.words,
        look=seen.look if wanted.look and seen.is_kept else None,
        sample=seen.look if wanted.sample and is_page else None,
        shown=seen.look if wanted.shown and is_page and number >= 8 else None,  # as the first few are listed, alike ones are not looked at
    )


def is_kept_page(seen: Seen) -> bool:
    return seen.is_kept and bool(seen.token)


def lived(told: list[Seen | CanaryRequest], share: float) -> tuple[list[Any], DictMemory]:
    """Return what a filter answers to a story, step by step, and its memory."""
    of, memory, outcomes = CanaryFilter(CanarySettings(share=share)), DictMemory(), list[Any]()
    for i, news in enumerate(told):
        wanted = of.wanted(QUEUE, memory, Speech.OWN)
        effects = of.on_news(as_reported(news, of, memory, i) if isinstance(news, Seen) else news, memory)
        outcomes += [wanted, effects, find_state(memory, QUEUE), of.may_decide(QUEUE, memory), of.is_suspected(QUEUE[:8], memory)]
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
    of listed answers were not learned, or twice; candidates were kept when the list was learned from; a wish did not open the list; samples
    were not kept or not counted, nor whether a candidate uses the host's words; the ninth answer was listed that was like another one.
    """
    n_listed = 0
    for seed in range(60):
        told = story(seed)
        monkeypatch.undo()
        some, lazy = lived(told, share)
        n_listed += len(FirstAnswers(lazy, QUEUE)) > 16
        monkeypatch.setattr(FirstAnswers, "most", 0)
        every, eager = lived(told, share)
        assert some == every
        last = Seen(QUEUE, SPACE.key(f"{HOST}/last"), f"{HOST}/last", b"P_______", 3)
        for memory in (lazy, eager):
            CanaryFilter(CanarySettings(share=share)).on_news(last, memory)
        assert lazy.rows == eager.rows
    assert n_listed >= 3 or share > 0.1, "no story was short enough"
