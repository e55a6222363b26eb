"""The tail of each host: the URLs that filters hold, and which of them are fetched when.

    hold ─► class of the host ─► draw (an audit at once, the rest when the host has nothing else) ─► settle ─► … ─► closed, or empty

filters/tail/serve.py decides which class is served next and when a tail is closed; here the records are read and written. A draw is written
in the commit that queues its URL, and ends in the commit that settles it, so that a crash counts none twice and forgets none. Every event
of a tail is written to the journal in the same commit (filters/tail/history.py).

Memory: the records of recently used hosts. Time: 5 µs for a held URL, 1 µs for a page of a host without a tail.
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
    Step,
    Unasked,
    Useful,
    Voided,
)
from thresher.filters.tail.membership import join, leave
from thresher.filters.tail.records import KINSHIP, Draw, HostTail, TailClass, TailPolicy, new_class
from thresher.filters.tail.serve import Promotion, TailEnd, audits, promote, settle, void
from thresher.storage.tables.counters import Counters
from thresher.storage.tables.tail import PENDING, TailPlace, TailTables, class_tag

CLOSED = "tail:closed"  # held URLs that are left alone
_MET = 2_000  # hosts whose records stay decoded

_encode = msgspec.msgpack.Encoder().encode
_HOST: msgspec.msgpack.Decoder[HostTail] = msgspec.msgpack.Decoder(HostTail)
_CLASS: msgspec.msgpack.Decoder[TailClass] = msgspec.msgpack.Decoder(TailClass)
_DRAW: msgspec.msgpack.Decoder[Draw] = msgspec.msgpack.Decoder(Draw)


class _Loaded:
    """The records of one host, decoded."""

    __slots__ = ("changed", "classes", "host", "is_asking", "policy")

    def __init__(self, host: HostTail, classes: dict[bytes, TailClass], policy: TailPolicy) -> None:
        self.host = host
        self.classes = classes  # tag → class
        self.policy = policy
        self.changed: set[bytes] = set()  # tags of changed classes
        self.is_asking = False  # something must be closed, once the host is known to be itself

    @property
    def tested(self) -> tuple[int, int, int]:
        """A value that changes when a class is closed, a test begins, or a cohort's sample begins again."""
        begun = sum(cohort.test for of in self.classes.values() for cohort in of.cohorts)
        return self.host.n_closed, self.host.test, begun


class Tails:
    """The tails of all hosts of a store."""

    def __init__(
        self,
        tables: TailTables,
        counters: Counters,
        policies: Callable[[bytes], TailPolicy],
        *,
        known: Callable[[str], Recent | None],
    ) -> None:
        """Create the tails of one agent.

        Args:
            policies: Returns the policy of a host by its queue; for b"" the general one.
            known: Returns what the URLs of a class gave before the class was held, as its filter knows it.
        """
        self._tables = tables
        self._counters = counters
        self._policies = policies
        self._known = known
        self._met: dict[bytes, _Loaded | None] = {}  # None: the host has no tail
        self._dirty: dict[bytes, _Loaded] = {}
        self._history = History()

    # -- into a tail

    def hold(self, queue: bytes, key: bytes, holder: str, *, is_inherited: bool, n_useful: int) -> list[bytes]:
        """Add a URL to a class; return the keys of URLs that are drawn at once, as audits.

        Args:
            queue: The queue of the host.
            key: The key of the URL.
            holder: The class.
            is_inherited: Whether only pages of the class have named the URL.
            n_useful: Useful pages of the host so far, used if this is its first held URL.
        """
        loaded = self._load(queue) or self._begin(queue, n_useful)
        tag = class_tag(holder)
        of, known = loaded.classes.get(tag), None
        if of is None:
            known = self._known(holder) or Recent()
            of = loaded.classes[tag] = new_class(holder, known)
        order = draw_order(b"", holder.encode(), key)  # a key is already a hash with the crawl's secret
        place = TailPlace(queue, tag, join(of), order, is_inherited)
        self._tables.add(key, place, holder)
        self._change(queue, loaded, tag)
        audit = audits(of, loaded.policy)
        keys = self._draw(queue, loaded, audit) if audit is not None else []
        self._note(HeldStep(queue, holder, is_inherited, n_useful, known, [key], list(keys)), loaded)
        return keys

    def leave(self, key: bytes) -> None:
        """Remove a URL that was released or refused; nothing happens if it is in no class."""
        place = self._tables.place(key)
        if place is None:
            return
        loaded = self._loaded(place.queue)
        of = loaded.classes[place.tag]
        if of.cohorts[place.cohort].is_closed:
            loaded.host.n_closed -= 1
            self._counters.add(CLOSED, -1)
        leave(of, place.cohort)
        self._tables.remove(key, place, of.holder)
        self._change(place.queue, loaded, place.tag)
        self._note(Left(key), loaded)

    def is_inherited(self, key: bytes) -> bool:
        """Return whether a URL is held only because just pages of its class have named it."""
        place = self._tables.place(key)
        return place is not None and place.is_inherited

    def is_freed(self, queue: bytes, holder: str) -> bool:
        """Return whether the draws of a class have freed it, so that nothing is held in it any more."""
        loaded = self._load(queue)
        of = loaded.classes.get(class_tag(holder)) if loaded is not None else None
        return of is not None and of.is_freed

    # -- out of a tail

    def next(self, queue: bytes, *, may_close: bool = True) -> list[bytes]:
        """Draw the next URLs of a host that has nothing else to fetch; return their keys.

        They are none if its tail is empty, closed, or has used its share of requests.

        Args:
            queue: The queue of the host.
            may_close: Whether the host is known to be itself. If it is not, and something should be closed, `is_asking` becomes true.
        """
        loaded = self._load(queue)
        if loaded is None:
            return []
        before, n_closed = loaded.tested, loaded.host.n_closed
        keys: list[bytes] = []
        holder = ""
        classes = [loaded.classes[tag] for tag in sorted(loaded.classes)]
        n_open = {of.holder: _n_open(of) for of in classes}
        while not keys and isinstance(answer := promote(loaded.host, classes, loaded.policy, may_close=may_close), Promotion):
            keys, holder = self._draw(queue, loaded, answer), answer.draw.holder
        loaded.is_asking = not keys and answer is TailEnd.ASKS
        if loaded.tested != before:
            self._counters.add(CLOSED, loaded.host.n_closed - n_closed)
            loaded.changed.update(loaded.classes)
            self._dirty[queue] = loaded
        if keys or loaded.tested != before:
            self._note(Served(queue, holder, keys, may_close), loaded)
        if loaded.host.n_closed > n_closed:
            closed = [of for of in classes if _n_open(of) < n_open[of.holder]]
            self._note(Closed(queue, [of.holder for of in closed], *_bound(closed, loaded.policy)), loaded)
        return keys

    def is_waiting(self, queue: bytes) -> bool:
        """Return whether a host holds URLs that may be drawn later, all at once or within its share."""
        loaded = self._load(queue)
        return loaded is not None and any(of.waiting for of in loaded.classes.values())

    def is_asking(self, queue: bytes) -> bool:
        """Return whether something of a host waits to be closed until the host is known to be itself."""
        loaded = self._load(queue)
        return loaded is not None and loaded.is_asking

    def void(self, queue: bytes) -> None:
        """Discard the evidence of draws from a host's tail: a wall has answered."""
        loaded = self._load(queue)
        if loaded is not None:
            n_closed = loaded.host.n_closed
            void(loaded.host, loaded.classes.values(), loaded.policy)
            self._counters.add(CLOSED, loaded.host.n_closed - n_closed)
            loaded.changed.update(loaded.classes)
            self._dirty[queue] = loaded
            self._note(Voided(queue), loaded)

    def class_of(self, key: bytes) -> str:
        """Return the class from which a URL was drawn, and to which its fetch counts; "" if it was not drawn."""
        found = self._tables.draw(key)
        return _DRAW.decode(found[1]).holder if found is not None else ""

    def settle(self, key: bytes, *, is_good: bool, is_alike: bool = False) -> str | None:
        """Record whether the fetch of a drawn URL gave something new.

        Args:
            is_good: Whether it did.
            is_alike: Whether the new page resembles a kept one.

        Returns:
            None if the URL was not drawn; else the class whose URLs are to be released, since this draw has freed it, or "".
        """
        found = self._tables.draw(key)
        if found is None:
            return None
        queue, record = found
        draw = _DRAW.decode(record)
        loaded, tag = self._loaded(queue), class_tag(draw.holder)
        was_freed = loaded.classes[tag].is_freed
        settle(loaded.host, loaded.classes[tag], draw, is_good, policy=loaded.policy, is_alike=is_alike)
        self._end(key, queue, loaded, tag)
        self._note(SettledStep(key, is_good, is_alike), loaded)
        return draw.holder if loaded.classes[tag].is_freed and not was_freed else ""

    def on_no_request(self, key: bytes) -> bool:
        """Record that a drawn URL will not be requested: this is no evidence. Return whether it was drawn."""
        found = self._tables.draw(key)
        if found is None:
            return False
        queue, record = found
        draw = _DRAW.decode(record)
        loaded, tag = self._loaded(queue), class_tag(draw.holder)
        loaded.classes[tag].cohorts[draw.cohort].pending -= 1
        leave(loaded.classes[tag], draw.cohort)
        self._end(key, queue, loaded, tag)
        self._note(Unasked(key), loaded)
        return True

    def passes_on(self, key: bytes, to: bytes) -> None:
        """Move the draw of a URL to the target of its redirect: the target's fetch decides what the draw was worth."""
        found = self._tables.draw(key)
        if found is not None and to[:8] == key[:8]:
            self._tables.put_draw(to, *found)
            self._tables.end_draw(key)
            self._note(Passed(key, to), self._loaded(found[0]))

    def useful(self, queue: bytes) -> None:
        """Count a page of a host that gave something new without being drawn."""
        loaded = self._load(queue)
        if loaded is not None:
            loaded.host.useful += 1
            self._dirty[queue] = loaded
            self._note(Useful(queue), loaded)

    # -- records

    def has_tail(self, queue: bytes) -> bool:
        """Return whether a URL of a host was ever held."""
        return self._load(queue) is not None

    def queues(self, after: bytes, limit: int) -> list[bytes]:
        """Return up to `limit` hosts with a tail, in order, after the host `after`."""
        return self._tables.queues(after, limit)

    def reopen(self) -> None:
        """Open every closed class again, to be judged anew: the threshold has changed."""
        self._history.add(Reopened(), _ruled(self._policies(b"")))
        after = b""
        while queues := self.queues(after, 1000):
            for queue in queues:
                self._reopen(queue, self._loaded(queue))
            after = queues[-1]
            self.save()

    def take_note(self, now: float) -> bytes:
        """Return the events of tails since the last call, for the journal of the same group; b"" for none."""
        return self._history.take(now)

    def save(self) -> None:
        """Write changed records to the open group."""
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
        """Take the drawn URLs out of their class."""
        keys = self._tables.first(queue, of.draw.holder, of.draw.cohort, of.n)
        record = _encode(of.draw)
        for key in keys:
            place = self._tables.place(key)
            assert place is not None, f"{key.hex()} is a member of a class and has no place"
            self._tables.remove(key, place, of.draw.holder)
            self._tables.put_draw(key, queue, record)
        cohort = loaded.classes[class_tag(of.draw.holder)].cohorts[of.draw.cohort]
        n_forgotten = of.n - len(keys)  # URLs that were taken down since they were counted
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
        loaded = self._met[queue] = _Loaded(HostTail(useful=n_useful), {}, self._policies(queue))
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
            loaded = _Loaded(_HOST.decode(record), {class_tag(of.holder): of for of in classes}, self._policies(queue))
        self._met[queue] = loaded
        return loaded

    def _note(self, step: Step, loaded: _Loaded) -> None:
        self._history.add(step, _ruled(loaded.policy))

    def _change(self, queue: bytes, loaded: _Loaded, tag: bytes) -> None:
        loaded.changed.add(tag)
        self._dirty[queue] = loaded


def _bound(closed: Sequence[TailClass], policy: TailPolicy) -> tuple[int, int]:
    """Return (URLs that are left alone in the classes just closed, proved upper bound of good ones among them or -1)."""
    newest = max((cohort.test for of in closed for cohort in of.cohorts if cohort.is_closed), default=0)
    cohorts = [cohort for of in closed for cohort in of.cohorts if cohort.is_closed]
    n = sum(cohort.left - cohort.pending for cohort in cohorts)
    strata = [cohort.stratum for cohort in cohorts if cohort.stratum is not None and cohort.test == newest]
    if not newest or len(strata) < len(cohorts) or not 0 < policy.tail_yield < 1:
        return n, -1
    return n, upper_bound(strata, policy.tail_yield, error_of(policy.error, newest))


def _ruled(policy: TailPolicy) -> RuledStep:
    return RuledStep(policy.tail_yield, policy.share, policy.audit_share)


def _n_open(of: TailClass) -> int:
    return sum(not cohort.is_closed for cohort in of.cohorts)


def lineage(holder: str, shape: str) -> str:
    """Return the class of a URL that only pages of a class have named: the first class of its lineage, since classes of classes would have
    no end.
    """
    return f"{holder.partition(KINSHIP)[0]}{KINSHIP}{shape}"


def policy_of(tail_yield: float, tail_share: float, audit_share: float) -> TailPolicy:
    """Return the policy of tails for configured values, shares from 0 to 1."""
    return TailPolicy(tail_yield=tail_yield, share=tail_share, audit_share=audit_share, cap=1 << 62)
