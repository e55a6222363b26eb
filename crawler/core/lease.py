"""The answers of the frontier: a URL to be requested (`Lease`), until when there is none (`Wait`), when a failed one is due (`Retry`)."""

from __future__ import annotations

import msgspec

from thresher.crawler.core.ports import Entry


class Lease(msgspec.Struct, frozen=True):
    """The right to make one request: host, site and address are reserved until it is finished, skipped or given back."""

    queue: bytes
    entry: Entry
    address: str


class Wait(msgspec.Struct, frozen=True):
    """Nothing may be requested now."""

    until: float | None  # when to try again; None: nothing is waiting anywhere, but for what is in flight
    why: str = ""  # "": the frontier knows


class Retry(msgspec.Struct, frozen=True):
    """A failed URL stays queued."""

    at: float
    attempt: int  # requests that count, made so far
