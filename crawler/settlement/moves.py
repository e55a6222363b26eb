"""Pages that have moved without a redirect: a rule made one the alias of another page, or it now shows another page's text.

A reader of `thresher changes` replaces the page by the other one. So a move is only reported to a page that is kept, and if the two differ
again, the page is reported as new.
"""

from __future__ import annotations

from thresher.crawler.core.model import CrawlURL, Reason, State
from thresher.crawler.visit import Visit
from thresher.storage.packing import is_elsewhere
from thresher.storage.records import PageRecord
from thresher.storage.tables import Tables
from thresher.storage.tables.rounds import ChangeRecord, CheckRecord, Rounds


def put_alias(rounds: Rounds, url: CrawlURL, check: CheckRecord, to: str, number: int, now: float) -> None:
    """Write that a URL has become an alias, without any request.

    Args:
        rounds: The rows of rounds.
        url: The alias.
        check: What its visits have shown, brought up to date.
        to: Canonical URL of the page that it stands for.
        number: Number of the round.
        now: Seconds since the epoch.
    """
    before = check.versions[-1] if check.versions and not is_elsewhere(check.versions[-1]) else 0
    check.standing, check.at, check.round, check.failed = "alias", now, number, ""
    check.etag, check.last_modified, check.sha256, check.fingerprint = "", "", b"", b""
    check.missing_since, check.copy_of = 0.0, b""
    check.n_changes, check.changed_at = check.n_changes + 1, now
    rounds.save_check(url.key, check)
    rounds.put_change(ChangeRecord(url.text, url.key, "moved", now, number, 0, to=to, before=before, by="alias"))


def original_of(tables: Tables, visit: Visit) -> PageRecord | None:
    """Return the kept page whose text a changed page now shows; None if there is none.

    The filter remembers what pages showed at their first visit; a page that has changed since is an original only if it shows that text
    now.
    """
    page, judgement = visit.page, visit.deliberation.judgement if visit.deliberation is not None else None
    if page is None or judgement is None or judgement.new:
        return None
    verdicts = [verdict for verdict in judgement.standing if verdict.reason is Reason.DUPLICATE_CONTENT and "copy_of" in verdict.evidence]
    if not verdicts:
        return None
    key = bytes.fromhex(str(verdicts[0].evidence["copy_of"]))
    row, check = tables.seen.row(key), tables.rounds.check(key)
    record = tables.pages.read(row.visit) if row is not None and row.state is State.DONE and row.reason is None else None
    if record is None or not record.keep or not 200 <= record.status < 300 or record.failed_cause:
        return None
    has_changed = check is not None and bool(check.changed_at)
    return record if not has_changed or (bool(page.fingerprint) and record.fingerprint == page.fingerprint) else None


def has_gone_on(tables: Tables, check: CheckRecord) -> bool:
    """Return whether the original was found changed, moved or gone after another page began to show its text."""
    original = tables.rounds.check(check.copy_of)
    return original is not None and original.changed_at > check.changed_at
