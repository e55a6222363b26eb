"""The history of tails in the journal: enough to rebuild them from nothing, and to explain what happened to a URL.

Each visit has one `Note` of what it did to tails, in order. A step is a call to the tails with its result. The result could be computed
from the earlier calls; it is written for `explain`.

Memory: 16 bytes a held URL, some 60 more for each page whose links were held.
"""

from __future__ import annotations

import msgspec

from thresher.filters.evidence.decay import Recent


class RuledStep(msgspec.Struct, frozen=True, array_like=True, tag="rules"):
    """The policy of the tails in the next steps: a host may have its own."""

    tail_yield: float
    share: float
    audit_share: float


class HeldStep(msgspec.Struct, frozen=True, array_like=True, tag="held"):
    """URLs were held in a class, one after the other; some of them were drawn at once, as audits."""

    queue: bytes
    holder: str
    is_inherited: bool
    n_useful: int  # the host's useful fetches so far, if it had no tail yet
    recent: Recent | None  # the class's counts before it was held, if it is new
    keys: list[bytes]
    audited: list[bytes]


class Served(msgspec.Struct, frozen=True, array_like=True, tag="served"):
    """A host with nothing else in its queue served its tail. If nothing was drawn, the tail was closed, or has used up its cost."""

    queue: bytes
    holder: str  # the class that was drawn from, "" if none
    keys: list[bytes]
    may_close: bool  # no wall was suspected


class Closed(msgspec.Struct, frozen=True, array_like=True, tag="closed"):
    """Classes of a host were closed: what is left of them is not fetched."""

    queue: bytes
    holders: list[str]
    n: int  # URLs left in them
    n_good: int  # upper bound of the good ones among them; -1: none was proved


class SettledStep(msgspec.Struct, frozen=True, array_like=True, tag="settled"):
    """The fetch of a drawn URL has ended."""

    key: bytes
    is_good: bool
    is_alike: bool = False  # its page is new, and resembles a kept one


class Unasked(msgspec.Struct, frozen=True, array_like=True, tag="unasked"):
    """A drawn URL will not be fetched, because it is not needed any more."""

    key: bytes


class Passed(msgspec.Struct, frozen=True, array_like=True, tag="passed"):
    """A drawn URL redirects to another one, whose outcome counts for it."""

    key: bytes
    to: bytes


class Left(msgspec.Struct, frozen=True, array_like=True, tag="left"):
    """A held URL was released or refused."""

    key: bytes


class Useful(msgspec.Struct, frozen=True, array_like=True, tag="useful"):
    """A page of a host with a tail gave something new; it was not drawn from the tail."""

    queue: bytes


class Voided(msgspec.Struct, frozen=True, array_like=True, tag="voided"):
    """A wall had answered for a host: the draws made meanwhile are no evidence."""

    queue: bytes


class Reopened(msgspec.Struct, frozen=True, array_like=True, tag="reopened"):
    """The threshold of the configuration has changed: closed classes are judged again."""


Step = RuledStep | HeldStep | Served | Closed | SettledStep | Unasked | Passed | Left | Useful | Voided | Reopened


class Note(msgspec.Struct, frozen=True, array_like=True):
    """What one visit did to tails."""

    at: float  # s, unix time
    steps: list[Step]


class History:
    """Collects the steps of the visit that is being settled."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._rules: RuledStep | None = None  # the policy that was written last

    def add(self, step: Step, rules: RuledStep) -> None:
        """Add a step; consecutive URLs that join one class become one step.

        Args:
            step: The step.
            rules: The policy of its host. It is written before the first step, and whenever it differs from that of the step before.
        """
        if rules != self._rules:
            self._steps.append(rules)
            self._rules = rules
        last = self._steps[-1] if self._steps else None
        if isinstance(step, HeldStep) and isinstance(last, HeldStep) and _is_same(last, step):
            last.keys.extend(step.keys)
            last.audited.extend(step.audited)
        else:
            self._steps.append(step)

    def take(self, at: float) -> bytes:
        """Return the visit's note for the journal, b"" if it did nothing to tails, and begin the next visit's."""
        if not self._steps:
            return b""
        note = _encode(Note(at, self._steps))
        self._steps = []
        return note


def read_note(note: bytes) -> Note:
    """Decode what `take` has returned."""
    return _NOTE.decode(note)


def _is_same(last: HeldStep, step: HeldStep) -> bool:
    """Return whether two steps hold URLs in the same class under the same conditions."""
    return step.recent is None and (last.queue, last.holder, last.is_inherited) == (step.queue, step.holder, step.is_inherited)


_encode = msgspec.msgpack.Encoder().encode
_NOTE: msgspec.msgpack.Decoder[Note] = msgspec.msgpack.Decoder(Note)
