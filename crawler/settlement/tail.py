"""The tail of each host: what opinions of filters postponed, and what of it is fetched when.

    postpone ─► class of the host ─► draw (an audit at once, the rest when the host has nothing else) ─► settle ─► … ─► closed, or empty

Which class is served next and when a tail is closed, filters/tail/serve.py says; here its records are read and written. A draw is written
in the commit that queues its URL and ends in the commit that settles it, so that a crash counts none twice and forgets none.
What befalls a tail is told to the journal in the same commit (filters/tail/history.py).

Memory: the records of the hosts met last. Time: 5 µs a postponed URL, 1 µs a page of a host that has no tail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from thresher.filters.evidence.audits import draw_order
from thresher.filters.evidence.bounds import error_of, upper_bound
from thresher.filters.evidence.decay import Recent
from thresher.filters.tail.history import (
    Closed,
    HeldStep,
    History,
    Left,
    Passed,
    Reopened,
    RuledStep,
    Served,
    SettledStep,
    Unasked,
    Useful,
    Voided,
)
from thresher.filters.tail.membership import join, leave
from thresher.filters.tail.records import Draw, HostTail, TailClass, TailPolicy
from thresher.filters.tail.serve import Promotion, TailEnd, audits, promote, settle, void
from thresher.storage.tables.counters import Counters
from thresher.storage.tables.tail import PENDING, TailPlace, TailTables, class_tag

CLOSED = "tail:closed"  # postponed URLs that are left alone
_MET = 2_000  # hosts whose records stay decoded

_encode = msgspec.msgpack.Encoder().encode
_HOST: msgspec.msgpack.Decoder[HostTail] = msgspec.msgpack.Decoder(HostTail)
_CLASS: msgspec.msgpack.Decoder[TailClass] = msgspec.msgpack.Decoder(TailClass)
_DRAW: msgspec.msgpack.Decoder[Draw] = msgspec.msgpack.Decoder(Draw)


class _Loaded:
    """The records of one host, decoded."""

    __slots__ = ("changed", "classes", "host", "is_asking")

    def __init__(self, host: HostTail, classes: dict[bytes, TailClass]) -> None:
        self.host = host
        self.classes = classes  # by tag
        self.changed: set[bytes] = set()  # tags
        self.is_asking = False  # something is to be closed, if the host is itself

    @property
    def tested(self) -> tuple[int, int, int]:
        """What changes where a class is closed, a test begun, or a cohort's sample begun anew."""
        begun = sum(cohort.test for of in self.classes.values() for cohort in of.cohorts)
        return self.host.n_closed, self.host.test, begun


class Tails:
    """The tails of all hosts of a store."""

    def __init__(self, tables: TailTables, counters: Counters, policy: TailPolicy, *, known: Callable[[str], Recent | None]) -> None:
        """Create the tails of one agent.

        Args:
            known: What the URLs of a class came to before it was postponed, as its filter has seen it.
        """
        self._tables = tables
        self._counters = counters
        self._policy = policy
        self._known = known
        self._met: dict[bytes, _Loaded | None] = {}  # None: the host has no tail
        self._dirty: dict[bytes, _Loaded] = {}
        self._history = History(RuledStep(policy.tail_yield, policy.share, policy.audit_share))

    # -- into a tail

    def hold(self, queue: bytes, key: bytes, holder: str, *, is_inherited: bool, n_useful: int) -> list[bytes]:
        """Let a URL wait in a class; return the keys of the URLs that are drawn at once, as audits.

        n_useful: pages of the host so far, if this is the first that it postpones
        """
        loaded = self._load(queue) or self._begin(queue, n_useful)
        tag = class_tag(holder)
        of, known = loaded.classes.get(tag), None
        if of is None:
            known = self._known(holder) or Recent()
            of = loaded.classes[tag] = TailClass(holder, recent=msgspec.structs.replace(known))
        order = draw_order(b"", holder.encode(), key)  # a key is a hash with the crawl's secret already
        place = TailPlace(queue, tag, join(of), order, is_inherited)
        self._tables.add(key, place)
        self._change(queue, loaded, tag)
        audit = audits(of, self._policy)
        keys = self._draw(queue, loaded, audit) if audit is not None else []
        self._history.add(HeldStep(queue, holder, is_inherited, n_useful, known, [key], list(keys)))
        return keys

    def leave(self, key: bytes) -> None:
        """Let a URL wait no longer that was freed or refused; nothing if it does not wait."""
        place = self._tables.place(key)
        if place is None:
            return
        loaded = self._loaded(place.queue)
        of = loaded.classes[place.tag]
        if of.cohorts[place.cohort].is_closed:
            loaded.host.n_closed -= 1
            self._counters.add(CLOSED, -1)
        leave(of, place.cohort)
        self._tables.remove(key, place)
        self._change(place.queue, loaded, place.tag)
        self._history.add(Left(key))

    def is_inherited(self, key: bytes) -> bool:
        """Return whether a URL waits only because pages of its class alone have named it."""
        place = self._tables.place(key)
        return place is not None and place.is_inherited

    # -- out of it

    def next(self, queue: bytes, *, may_close: bool = True) -> list[bytes]:
        """Draw what a host serves that has nothing else; return the keys. Empty: its tail is empty, closed, or has cost its share.

        may_close: the host is known to be itself; if it is not, and something is to be closed, the tail `is_asking`
        """
        loaded = self._load(queue)
        if loaded is None:
            return []
        before, n_closed = loaded.tested, loaded.host.n_closed
        keys: list[bytes] = []
        holder = ""
        classes = [loaded.classes[tag] for tag in sorted(loaded.classes)]
        n_open = {of.holder: _n_open(of) for of in classes}
        while not keys and isinstance(answer := promote(loaded.host, classes, self._policy, may_close=may_close), Promotion):
            keys, holder = self._draw(queue, loaded, answer), answer.draw.holder
        loaded.is_asking = not keys and answer is TailEnd.ASKS
        if loaded.tested != before:
            self._counters.add(CLOSED, loaded.host.n_closed - n_closed)
            loaded.changed.update(loaded.classes)
            self._dirty[queue] = loaded
        if keys or loaded.tested != before:
            self._history.add(Served(queue, holder, keys, may_close))
        if loaded.host.n_closed > n_closed:
            closed = [of for of in classes if _n_open(of) < n_open[of.holder]]
            self._history.add(Closed(queue, [of.holder for of in closed], *self._bound(closed)))
        return keys

    def is_asking(self, queue: bytes) -> bool:
        """Return whether something of a host would have been closed if the host had been known to be itself."""
        loaded = self._load(queue)
        return loaded is not None and loaded.is_asking

    def void(self, queue: bytes) -> None:
        """Take what was drawn of a host's tail for no evidence: a wall has answered."""
        loaded = self._load(queue)
        if loaded is not None:
            void(loaded.host, loaded.classes.values())
            loaded.changed.update(loaded.classes)
            self._dirty[queue] = loaded
            self._history.add(Voided(queue))

    def _bound(self, closed: Sequence[TailClass]) -> tuple[int, int]:
        """Return how many URLs of classes that were closed just now are left alone, and how many of these may be good: -1 if unproved."""
        newest = max((cohort.test for of in closed for cohort in of.cohorts if cohort.is_closed), default=0)
        cohorts = [cohort for of in closed for cohort in of.cohorts if cohort.is_closed]
        n = sum(cohort.left - cohort.pending for cohort in cohorts)
        strata = [cohort.stratum for cohort in cohorts if cohort.stratum is not None and cohort.test == newest]
        if not newest or len(strata) < len(cohorts) or not 0 < self._policy.tail_yield < 1:
            return n, -1
        return n, upper_bound(strata, self._policy.tail_yield, error_of(self._policy.error, newest))

    def class_of(self, key: bytes) -> str:
        """Return the class that a URL was drawn from and that its fetch is charged to, "" if none was."""
        found = self._tables.draw(key)
        return _DRAW.decode(found[1]).holder if found is not None else ""

    def settle(self, key: bytes, *, is_good: bool) -> bool:
        """Learn what a drawn URL's fetch came to; return whether it was drawn."""
        found = self._tables.draw(key)
        if found is None:
            return False
        queue, record = found
        draw = _DRAW.decode(record)
        loaded, tag = self._loaded(queue), class_tag(draw.holder)
        settle(loaded.host, loaded.classes[tag], draw, is_good, policy=self._policy)
        self._end(key, queue, loaded, tag)
        self._history.add(SettledStep(key, is_good))
        return True

    def unasked(self, key: bytes) -> bool:
        """Take note that no request was made for a drawn URL, nor will be: that is no evidence. Return whether it was drawn."""
        found = self._tables.draw(key)
        if found is None:
            return False
        queue, record = found
        draw = _DRAW.decode(record)
        loaded, tag = self._loaded(queue), class_tag(draw.holder)
        loaded.classes[tag].cohorts[draw.cohort].pending -= 1
        leave(loaded.classes[tag], draw.cohort)
        self._end(key, queue, loaded, tag)
        self._history.add(Unasked(key))
        return True

    def passes_on(self, key: bytes, to: bytes) -> None:
        """Let what a drawn URL redirects to be drawn in its place: its fetch decides what the draw was worth."""
        found = self._tables.draw(key)
        if found is not None and to[:8] == key[:8]:
            self._tables.put_draw(to, *found)
            self._tables.end_draw(key)
            self._history.add(Passed(key, to))

    def useful(self, queue: bytes) -> None:
        """Count a page of a host that gave something new and was not drawn."""
        loaded = self._load(queue)
        if loaded is not None:
            loaded.host.useful += 1
            self._dirty[queue] = loaded
            self._history.add(Useful(queue))

    # -- records

    def has_tail(self, queue: bytes) -> bool:
        """Return whether anything of a host was ever postponed."""
        return self._load(queue) is not None

    def queues(self, after: bytes, limit: int) -> list[bytes]:
        """Return up to `limit` hosts that have a tail, in order, those past `after`."""
        return self._tables.queues(after, limit)

    def reopen(self) -> None:
        """Let every closed class be judged anew: the threshold has changed."""
        self._history.add(Reopened())
        after = b""
        while queues := self.queues(after, 1000):
            for queue in queues:
                self._reopen(queue, self._loaded(queue))
            after = queues[-1]
            self.save()

    def take_note(self, now: float) -> bytes:
        """Return what befell tails since the last note, for the journal of the same group; b"" for nothing."""
        return self._history.take(now)

    def save(self) -> None:
        """Write what has changed to the open group."""
        for queue, loaded in self._dirty.items():
            self._tables.put_host(queue, _encode(loaded.host))
            for tag in loaded.changed:
                of = loaded.classes[tag]
                self._tables.put_class(queue, of.holder, _encode(of))
            loaded.changed.clear()
        self._dirty.clear()
        if len(self._met) > _MET:
            self._met.clear()

    def _reopen(self, queue: bytes, loaded: _Loaded) -> None:
        if not loaded.host.n_closed:
            return
        self._counters.add(CLOSED, -loaded.host.n_closed)
        loaded.host.n_closed = 0
        for tag, of in loaded.classes.items():
            for cohort in of.cohorts:
                if cohort.is_closed:
                    cohort.is_closed = False
                    loaded.changed.add(tag)
        self._dirty[queue] = loaded

    def _draw(self, queue: bytes, loaded: _Loaded, of: Promotion) -> list[bytes]:
        """Take what is drawn out of its class."""
        keys = self._tables.first(queue, of.draw.holder, of.draw.cohort, of.n)
        record = _encode(of.draw)
        for key in keys:
            place = self._tables.place(key)
            assert place is not None, f"{key.hex()} is a member of a class and has no place"
            self._tables.remove(key, place)
            self._tables.put_draw(key, queue, record)
        cohort = loaded.classes[class_tag(of.draw.holder)].cohorts[of.draw.cohort]
        n_forgotten = of.n - len(keys)  # taken down since they were counted
        cohort.pending -= n_forgotten
        cohort.gone += n_forgotten
        self._counters.add(PENDING, len(keys))
        self._change(queue, loaded, class_tag(of.draw.holder))
        return keys

    def _end(self, key: bytes, queue: bytes, loaded: _Loaded, tag: bytes) -> None:
        self._tables.end_draw(key)
        self._counters.add(PENDING, -1)
        self._change(queue, loaded, tag)

    def _begin(self, queue: bytes, n_useful: int) -> _Loaded:
        loaded = self._met[queue] = _Loaded(HostTail(useful=n_useful), {})
        return loaded

    def _loaded(self, queue: bytes) -> _Loaded:
        loaded = self._load(queue)
        assert loaded is not None, f"queue {queue.hex()} has members and no tail"
        return loaded

    def _load(self, queue: bytes) -> _Loaded | None:
        if queue in self._met:
            return self._met[queue]
        record = self._tables.host(queue)
        loaded = None
        if record is not None:
            classes = map(_CLASS.decode, self._tables.classes(queue))
            loaded = _Loaded(_HOST.decode(record), {class_tag(of.holder): of for of in classes})
        self._met[queue] = loaded
        return loaded

    def _change(self, queue: bytes, loaded: _Loaded, tag: bytes) -> None:
        loaded.changed.add(tag)
        self._dirty[queue] = loaded


def _n_open(of: TailClass) -> int:
    return sum(not cohort.is_closed for cohort in of.cohorts)


def lineage(holder: str, shape: str) -> str:
    """Return the class of a URL that only pages of a class have named: classes of classes would have no end, so the first counts."""
    return f"{holder.partition(' > ')[0]} > {shape}"


def policy_of(tail_yield: float, tail_share: float, audit_share: float) -> TailPolicy:
    """Return the policy that a configuration asks for."""
    return TailPolicy(tail_yield=tail_yield, share=tail_share, audit_share=audit_share, cap=1 << 62)
