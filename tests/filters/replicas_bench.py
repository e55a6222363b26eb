"""The filter near_replica with a memory, and pages for it."""

from __future__ import annotations

import random
from typing import Any

import msgspec
from dict_memory import DictMemory
from msgspec.structs import replace
from subjects import page

from thresher.config.settings import NearReplicaSettings
from thresher.crawler.core.effects import Conclude, Effect
from thresher.crawler.core.model import Judgement, Page, Verdict
from thresher.filters.base import Effects
from thresher.filters.near_replica.filter import ReplicaGate
from thresher.filters.near_replica.mirror_hosts import MirrorFinding, Mirrors
from thresher.filters.near_replica.records import ReplicaMeasure

A, B = "http://a.example", "http://b.example"


def text(seed: int, n: int = 300) -> list[str]:
    rng = random.Random(seed)
    return [f"w{int(3000 * rng.random() ** 2)}" for _ in range(n)]


def shown(url: str, words: list[str], links: tuple[str, ...] = (), **of: Any) -> Page:
    return replace(page(url, " ".join(words), **of), links=links)


class Bench:
    """The filter with a memory; pages are judged by it alone."""

    def __init__(self, *, tells_copies: bool = True, **settings: Any) -> None:
        self.gate = ReplicaGate(msgspec.structs.replace(NearReplicaSettings(), **settings), tells_copies=tells_copies)
        self.memory = DictMemory()

    def judge(self, subject: Page) -> Verdict:
        return self.gate.decide(self.gate.measure(subject), self.memory)[0]

    def meet(self, subject: Page, *, keep: bool = True) -> tuple[Verdict, tuple[Effect, ...]]:
        """Judge a page and learn from it; `keep` is the word of all other filters."""
        measure = msgspec.msgpack.decode(msgspec.msgpack.encode(self.gate.measure(subject)), type=ReplicaMeasure)  # as the journal keeps it
        verdict, effects = self.gate.decide(measure, self.memory)
        judgement = Judgement(keep and verdict.keep, verdict.follow, (verdict,))
        learned = self.gate.observe(measure, judgement, self.memory)
        return verdict, (*effects, *(made for effect in learned for made in self._concluded(effect)))

    def _concluded(self, effect: Effect) -> Effects:
        """Return an effect, or what comes of a finding that is taken up at once."""
        if not isinstance(effect, Conclude):
            return (effect,)
        return Mirrors().on_finding(effect.site, msgspec.msgpack.decode(effect.finding, type=MirrorFinding), self.memory)
