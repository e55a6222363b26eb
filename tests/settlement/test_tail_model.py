"""A model of tails: held, drawn, settled, freed, closed, opened again, killed, moved to another shard, each URL is in one place."""

from __future__ import annotations

import shutil
import tempfile
from copy import deepcopy
from heapq import merge
from pathlib import Path

from hypothesis import settings as profile
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from thresher.config.settings import LimitSettings, Settings
from thresher.crawler.analysis.tail_replay import notes, replayed
from thresher.crawler.core.ownership import N_PARTITIONS
from thresher.crawler.settlement.tail import CLOSED, Tails, policy_of
from thresher.filters.base import Gate
from thresher.storage.moving import move
from thresher.storage.records import JournalEntry
from thresher.storage.schema import TAIL_CLASSES, TAIL_DRAWS, TAIL_HOSTS, TAIL_MEMBERS, TAIL_PLACES
from thresher.storage.store import Store
from thresher.storage.tables.journal import TAIL
from thresher.storage.tables.tail import PENDING

QUEUES = [b"s" * 8 + bytes([i]) * 8 for i in range(2)]
HOLDERS = ["pattern_yield /a", "depth_cutoff 3 /b", "links exact_duplicate > /c"]
HELD = ["held:pattern_yield", "held:depth_cutoff", "held:exact_duplicate"]  # counters, of the holders
SETTINGS = Settings(limits=LimitSettings(min_free_disk=0))
TABLES = (TAIL_HOSTS, TAIL_CLASSES, TAIL_MEMBERS, TAIL_PLACES, TAIL_DRAWS)
picks = st.integers(0, 10**6)


class TailModel(RuleBasedStateMachine):
    """The real store and the real policy against dicts."""

    def __init__(self) -> None:
        super().__init__()
        self.path = Path(tempfile.mkdtemp(prefix="tail-model-"))
        self.stores = [Store.create(self.path / str(shard), SETTINGS, 0.0, secret=bytes(32)) for shard in range(2)]
        self.at = 0  # the shard that has the site
        self.threshold = 0.02
        self.tails = self._tails()
        self.waiting: dict[bytes, tuple[bytes, str]] = {}
        self.drawn: dict[bytes, tuple[bytes, str]] = {}
        self.n_known: dict[tuple[bytes, str], int] = {}
        self.n_made = self.n_commits = 0
        self.committed = deepcopy((self.waiting, self.drawn, self.n_known))

    @initialize(threshold=st.sampled_from([0.02, 0.3, 1.0]))
    def begin(self, threshold: float) -> None:
        self.threshold = threshold
        self.tails = self._tails()

    @property
    def store(self) -> Store:
        return self.stores[self.at]

    def _tails(self) -> Tails:
        return Tails(
            self.store.tables.tail, self.store.counters, lambda _queue: policy_of(self.threshold, 0.1, 0.05), known=lambda holder: None
        )

    def _draw(self, keys: list[bytes]) -> None:
        for key in keys:
            self.drawn[key] = self.waiting.pop(key)

    @rule(queue=st.sampled_from(QUEUES), holder=st.sampled_from(HOLDERS), n=st.integers(1, 40), is_inherited=st.booleans())
    def hold(self, queue: bytes, holder: str, n: int, is_inherited: bool) -> None:
        """A page names URLs that an opinion holds."""
        for _ in range(n):
            self.n_made += 1
            key = queue[:8] + self.n_made.to_bytes(8, "big")
            self.waiting[key] = queue, holder
            self.n_known[queue, holder] = self.n_known.get((queue, holder), 0) + 1
            self._draw(self.tails.hold(queue, key, holder, is_inherited=is_inherited, n_useful=10))

    @rule(queue=st.sampled_from(QUEUES), n=st.integers(1, 60))
    def serve(self, queue: bytes, n: int) -> None:
        """The host has nothing else, again and again; what is drawn is barren."""
        for _ in range(n):
            keys = self.tails.next(queue)
            if not keys:
                return
            self._draw(keys)
            for key in keys:
                self.drawn.pop(key)
                assert self.tails.settle(key, is_good=False) is not None

    @rule(queue=st.sampled_from(QUEUES))
    def draw(self, queue: bytes) -> None:
        self._draw(self.tails.next(queue))

    @rule(pick=picks, is_good=st.booleans(), is_alike=st.booleans(), was_asked=st.booleans())
    def settle(self, pick: int, is_good: bool, is_alike: bool, was_asked: bool) -> None:
        """The fetch of a drawn URL ends, or is never made."""
        if self.drawn:
            key = sorted(self.drawn)[pick % len(self.drawn)]
            del self.drawn[key]
            settled = self.tails.settle(key, is_good=is_good, is_alike=is_alike) if was_asked else None
            is_drawn = settled is not None if was_asked else self.tails.on_no_request(key)
            assert is_drawn

    @rule(pick=picks)
    def redirect(self, pick: int) -> None:
        """A drawn URL redirects to a new one of its site, which stands for it."""
        if self.drawn:
            key = sorted(self.drawn)[pick % len(self.drawn)]
            self.n_made += 1
            to = key[:8] + self.n_made.to_bytes(8, "big")
            self.drawn[to] = self.drawn.pop(key)
            self.tails.passes_on(key, to)

    @rule(pick=picks)
    def free(self, pick: int) -> None:
        """A waiting URL is freed, or refused."""
        if self.waiting:
            key = sorted(self.waiting)[pick % len(self.waiting)]
            del self.waiting[key]
            self.tails.leave(key)

    @rule(queue=st.sampled_from(QUEUES))
    def wall(self, queue: bytes) -> None:
        """A wall has answered for the host: what was drawn is no evidence."""
        self.tails.void(queue)

    @rule()
    def commit(self) -> None:
        self.n_commits += 1
        self.tails.save()
        if note := self.tails.take_note(self.n_commits):
            self.store.tables.journal.put([JournalEntry(Gate.TAIL, b"", [(TAIL, note)])])
        self.store.end_visit()
        self.store.flush().result()
        self.the_journal_tells_the_same()
        self.committed = deepcopy((self.waiting, self.drawn, self.n_known))

    @rule(threshold=st.sampled_from([0.0, 0.02, 0.3, 1.0]))
    def kill_and_go_on(self, threshold: float) -> None:
        """What was not committed is gone; a resume may have another threshold."""
        self.store.close(commit=False)
        self.stores[self.at] = Store.open(self.path / str(self.at), SETTINGS, 0.0)
        self.waiting, self.drawn, self.n_known = deepcopy(self.committed)
        is_other, self.threshold = threshold != self.threshold, threshold
        self.tails = self._tails()
        if is_other:
            self.tails.reopen()

    @rule()
    def move(self) -> None:
        """The site's partition moves to the other shard, whose agent goes on with it."""
        self.commit()
        move(self.store, self.stores[1 - self.at], shard=self.at, first=0, last=N_PARTITIONS - 1)
        self.at = 1 - self.at
        self.tails = self._tails()
        assert not any(self.stores[1 - self.at].scan(table) for table in TABLES), "nothing is left behind"
        self.the_journal_tells_the_same()

    def _count(self, counter: str) -> int:
        return sum(store.counters.get(counter) for store in self.stores)

    def the_journal_tells_the_same(self) -> None:
        """Its replay into empty tables gives equal ones. Mutation: `Served` was written only where something was drawn."""
        again = replayed(merge(*map(notes, self.stores), key=lambda note: note.at))
        for table in TABLES:
            assert dict(self.store.scan(table)) == again.rows(table), table
        for counter in (PENDING, CLOSED, *HELD):
            assert again.counters[counter] == self._count(counter)

    @invariant()
    def each_url_is_in_one_place(self) -> None:
        self.tails.save()
        for key, (queue, _) in self.waiting.items():
            place = self.tails._tables.place(key)
            assert place is not None
            assert place.queue == queue
            assert self.tails.class_of(key) == ""
        for key, (_, holder) in self.drawn.items():
            assert self.tails._tables.place(key) is None
            assert self.tails.class_of(key) == holder
        assert self._count(PENDING) == len(self.drawn)
        assert 0 <= self._count(CLOSED) <= len(self.waiting)
        for counter, holder in zip(HELD, HOLDERS, strict=True):
            assert self._count(counter) == sum(of == holder for _, of in self.waiting.values())

    @invariant()
    def classes_count_their_urls(self) -> None:
        for queue in QUEUES:
            loaded = self.tails._load(queue)
            for of in loaded.classes.values() if loaded is not None else ():
                mine = queue, of.holder
                assert of.known == self.n_known[mine]
                assert of.left == sum(at == mine for at in (*self.waiting.values(), *self.drawn.values()))

    def teardown(self) -> None:
        """What is left is left alone, or drawn; then, with a threshold of nought, all that is finite is drawn."""
        for queue in QUEUES:
            self.serve(queue, 400)
        self.commit()
        self.threshold = 0.0
        self.tails.save()
        self.tails = self._tails()
        self.tails.reopen()
        for queue in QUEUES:
            while keys := self.tails.next(queue):
                self._draw(keys)
                for key in keys:
                    del self.drawn[key]
                    self.tails.settle(key, is_good=False)
        assert not self.waiting
        for store in self.stores:
            store.close(commit=False)
        shutil.rmtree(self.path)


TailModel.TestCase.settings = profile(max_examples=25, stateful_step_count=30, deadline=None, derandomize=True)
TestTailModel = TailModel.TestCase
