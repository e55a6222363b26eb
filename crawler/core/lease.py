"""What the frontier answers with: the values that cross from it to the rest of the crawl."""

from __future__ import annotations

from dataclasses import dataclass

from crawler.core.ports import Entry


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to make one request: host, site and address are reserved until it is finished, skipped or given back."""

    queue: bytes
    entry: Entry
    address: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing may be requested now."""

    until: float | None  # when to try again; None: nothing is waiting anywhere, but for what is in flight
    why: str


@dataclass(frozen=True, slots=True)
class Retry:
    """A failed URL stays queued."""

    at: float
    attempt: int  # requests that count, made so far
