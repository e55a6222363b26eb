"""What the rounds of revisits have found about a URL, for its story."""

from __future__ import annotations

import msgspec

from thresher.crawler.core.revisit_plans import PagePlan
from thresher.storage.export.fields import iso
from thresher.storage.view import View

_SHOWN = {
    "failed": "its last visit got no answer that counts",
    "refused": "it may not be asked for now",
    "missing": "its last answer was a 404, and another one on another day makes it gone",
    "gone": "it is gone",
}


class VisitedAgain(msgspec.Struct, kw_only=True):
    """The results of the URL's revisits."""

    visits: int  # number of revisits
    last_at: str | None
    last_round: int
    last_status: int | None  # None: no answer came
    failed: str | None  # why the last revisit gave no answer that counts
    standing: str  # what the URL is: page, redirect, gone, none
    changes: int
    changed_at: str | None
    missing_since: str | None
    gone_at: str | None
    versions: int  # versions of the page that are kept
    etag: str | None
    last_modified: str | None
    waits_in_round: int | None  # the round in which a revisit waits
    is_conditional: bool  # requests are conditional: no answer "not modified" of its host was false
    due_at: str | None  # `schedule: continuous`: when it is visited next
    why_then: str | None


def visited_again(view: View, key: bytes, queue: bytes) -> VisitedAgain | None:
    """Return what is known about the revisits of a URL; None if no round has requested it.

    Args:
        view: The store.
        key: The key of the URL.
        queue: The name of its host's queue.
    """
    check, waiting = view.tables.rounds.check(key), view.tables.rounds.revisit(key)
    if check is None or not (check.n_visits or waiting):
        return None
    plan = view.tables.plans.page(key)
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
        due_at=iso(plan.due) if plan is not None else None,
        why_then=_why(plan) if plan is not None else None,
    )


def _why(plan: PagePlan) -> str:
    """Return why a page is visited at its planned time."""
    if (words := _SHOWN.get(plan.why)) is not None:
        return f"{words}, so after {_time(plan.interval_s)}"
    source = "by its siblings and what it says of its last change" if plan.why == "first" else "as its visits and its siblings' let expect"
    news = f", and it leads to new pages ({plan.news:.1f} a visit)" if plan.news >= 0.1 else ""
    said = "; a sitemap says that it has changed" if plan.why == "announced" else ""
    if plan.siblings is not None:
        pattern, n_changed, n = plan.siblings
        below = f"under {pattern}/" if "*" not in pattern and "#" not in pattern else f"like {pattern}"
        others = f"{n_changed} of {n} siblings {below} changed with it" if n else f"one {below} has changed, and they change together"
        said += f"; brought forward since {others}"
    return f"it changes about every {_time(1.0 / plan.rate)} {source}{news}, so after {_time(plan.interval_s)}{said}"


def _time(seconds: float) -> str:
    """Return a length of time in its largest unit, for people."""
    for unit, name in ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.0f} {name}"
    return f"{seconds:.0f} s"


def words_of(visited: VisitedAgain) -> str:
    """Return sentences about it, each after a space, to be appended to others."""
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
    if visited.due_at is not None:
        words += f" It is visited next at {visited.due_at}: {visited.why_then}."
    elif visited.waits_in_round is not None:
        words += f" A revisit of round {visited.waits_in_round} waits."
    return words
