"""What the rounds of revisits have found of a URL, for its story."""

from __future__ import annotations

import msgspec

from thresher.storage.export.fields import iso
from thresher.storage.view import View


class VisitedAgain(msgspec.Struct, kw_only=True):
    """What revisits of the URL came to."""

    visits: int  # revisits
    last_at: str | None
    last_round: int
    last_status: int | None  # None: no answer came
    failed: str | None  # why the last one gave no answer that counts
    standing: str  # what the URL is known as: page, redirect, gone, none
    changes: int
    changed_at: str | None
    missing_since: str | None
    gone_at: str | None
    versions: int  # of the page that are kept
    etag: str | None
    last_modified: str | None
    waits_in_round: int | None  # the round in which a revisit waits
    is_conditional: bool  # asked so: its host's answers "not modified" have not been false


def visited_again(view: View, key: bytes, queue: bytes) -> VisitedAgain | None:
    """Return what is known of the URL of this key, whose host's queue is `queue`; None if no round has asked for it."""
    check, waiting = view.tables.rounds.check(key), view.tables.rounds.revisit(key)
    if check is None or not (check.n_visits or waiting):
        return None
    return VisitedAgain(
        visits=check.n_visits,
        last_at=iso(check.at),
        last_round=check.round,
        last_status=check.status or None,
        failed=check.failed or None,
        standing=check.standing,
        changes=check.n_changes,
        changed_at=iso(check.changed_at),
        missing_since=iso(check.missing_since),
        gone_at=iso(check.gone_at),
        versions=len(check.versions),
        etag=check.etag or None,
        last_modified=check.last_modified or None,
        waits_in_round=waiting.round if waiting is not None else None,
        is_conditional=not view.tables.rounds.watch(queue).lied_at,
    )


def words_of(visited: VisitedAgain) -> str:
    """Return it as sentences that go on with what was said before, each after a space."""
    words = ""
    if visited.visits:
        times = "once" if visited.visits == 1 else f"{visited.visits:,} times"
        answer = visited.failed or (f"status {visited.last_status}" if visited.last_status else "no answer")
        words += f" It was visited again {times}, last in round {visited.last_round} at {visited.last_at} ({answer})"
        words += f"; it changed {visited.changes:,} time(s), last at {visited.changed_at}." if visited.changes else "; it has not changed."
    if visited.gone_at:
        words += f" It is gone since {visited.gone_at}."
    elif visited.missing_since:
        words += f" It has been missing since {visited.missing_since}; another 404 on another day makes it gone."
    if visited.waits_in_round is not None:
        words += f" A revisit of round {visited.waits_in_round} waits."
    return words
