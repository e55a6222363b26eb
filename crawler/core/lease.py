"""The answers of the frontier: a URL to request (`Lease`), until when there is none (`Wait`), when a failed URL is due (`Retry`)."""

from __future__ import annotations

import msgspec

from thresher.crawler.core.ports import Entry


class Lease(msgspec.Struct, frozen=True):
    """The right to make one request: host, site and address are reserved until it is finished, skipped or deferred."""

    queue: bytes
    entry: Entry
    address: str


class Wait(msgspec.Struct, frozen=True):
    """Nothing may be requested now."""

    until: float | None  # when to try again; None: nothing waits, only requests in flight may bring more
    why: str = ""  # the reason; "": ask the frontier's `why`


class Retry(msgspec.Struct, frozen=True):
    """A failed URL that stays queued."""

    at: float
    attempt: int  # counted requests so far
