"""What befell tails, for the journal: enough to bring an empty tail to the same state again, and to tell a URL's story.

Each visit has one `Note` of what it did to tails, in order. A step is what was asked of the tails and what they answered: what they answer
follows from what they were asked before, and it is written all the same, for `explain`.

Memory: 16 bytes a held URL, some 60 more for each page whose links were held.
"""

from __future__ import annotations

import msgspec

from thresher.filters.evidence.decay import Recent


class Ruled(msgspec.Struct, frozen=True, array_like=True, tag="rules"):
    """What a life of the crawl goes by."""

    tail_yield: float
    share: float
    audit_share: float


class Held(msgspec.Struct, frozen=True, array_like=True, tag="held"):
    """URLs were held in a class, one after the other; some were drawn at once, as audits."""

    queue: bytes
    holder: str
    is_inherited: bool
    n_useful: int  # of the host, if it had no tail
    recent: Recent | None  # what the class had come to, if it is new
    keys: list[bytes]
    audited: list[bytes]


class Served(msgspec.Struct, frozen=True, array_like=True, tag="served"):
    """A host that had nothing else was to go on with its tail. Nothing drawn: it was left alone, or has cost its share."""

    queue: bytes
    holder: str  # drawn from, ""  if nothing was
    keys: list[bytes]
    may_close: bool  # the host was known to be itself


class Closed(msgspec.Struct, frozen=True, array_like=True, tag="closed"):
    """Classes of a host were left alone."""

    queue: bytes
    holders: list[str]
    n: int  # URLs that were left alone
    n_good: int  # of these at most, as was proved; -1: nothing was


class Settled(msgspec.Struct, frozen=True, array_like=True, tag="settled"):
    """The fetch of a drawn URL ended."""

    key: bytes
    is_good: bool


class Unasked(msgspec.Struct, frozen=True, array_like=True, tag="unasked"):
    """A drawn URL needs no fetch any more."""

    key: bytes


class Passed(msgspec.Struct, frozen=True, array_like=True, tag="passed"):
    """A drawn URL redirects to another, which stands for it."""

    key: bytes
    to: bytes


class Left(msgspec.Struct, frozen=True, array_like=True, tag="left"):
    """A waiting URL was released or refused."""

    key: bytes


class Useful(msgspec.Struct, frozen=True, array_like=True, tag="useful"):
    """A page of a host with a tail that was not drawn gave something new."""

    queue: bytes


class Voided(msgspec.Struct, frozen=True, array_like=True, tag="voided"):
    """A wall had answered for a host: what was drawn of it is no evidence."""

    queue: bytes


class Reopened(msgspec.Struct, frozen=True, array_like=True, tag="reopened"):
    """The threshold has changed: what was left alone is judged anew."""


Step = Ruled | Held | Served | Closed | Settled | Unasked | Passed | Left | Useful | Voided | Reopened


class Note(msgspec.Struct, frozen=True, array_like=True):
    """What one visit did to tails."""

    at: float  # s, unix time
    steps: list[Step]


class History:
    """Gathers the steps of the visit that is being settled."""

    def __init__(self, rules: Ruled) -> None:
        """rules: are written before the first step"""
        self._steps: list[Step] = []
        self._rules: Ruled | None = rules

    def add(self, step: Step) -> None:
        """Write a step; URLs that join one class one after the other are one."""
        if self._rules is not None:
            self._steps.append(self._rules)
            self._rules = None
        last = self._steps[-1] if self._steps else None
        if isinstance(step, Held) and isinstance(last, Held) and _is_same(last, step):
            last.keys.extend(step.keys)
            last.audited.extend(step.audited)
        else:
            self._steps.append(step)

    def take(self, at: float) -> bytes:
        """Return the visit's note for the journal, b"" if it did nothing to tails; the next visit begins with none."""
        if not self._steps:
            return b""
        note = _encode(Note(at, self._steps))
        self._steps = []
        return note


def read_note(note: bytes) -> Note:
    """Read what `take` has written."""
    return _NOTE.decode(note)


def _is_same(last: Held, step: Held) -> bool:
    """Return whether two steps let URLs wait in one class, alike."""
    return step.recent is None and (last.queue, last.holder, last.is_inherited) == (step.queue, step.holder, step.is_inherited)


_encode = msgspec.msgpack.Encoder().encode
_NOTE: msgspec.msgpack.Decoder[Note] = msgspec.msgpack.Decoder(Note)
