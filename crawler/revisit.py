"""The journey of a URL that was visited before: asked for conditionally, and compared with its last version.

    scope → robots → rewritten by now? → open, conditionally → redirect? → not modified? → body → same digest? → read → compared
        → page gate → links

Like `visit` (visit.py) it writes nothing. Only a page whose bytes differ is read and judged. Its links are followed as those of any page;
what filters learn from pages they learned at its first visit.
"""

from __future__ import annotations

from thresher.crawler.core.change import Comparison, PageContent, compare, compare_with_sketch, text_of
from thresher.crawler.core.effects import Rewrite
from thresher.crawler.core.frontier import Lease
from thresher.crawler.core.model import Fetched, Head, Outcome, Page, Reason, Redirect
from thresher.crawler.core.ports import Lane
from thresher.crawler.visit import Visit, VisitContext, guarded, read_page, redirected, stopped
from thresher.filters.deliberation import Asked
from thresher.storage.records import PageRecord
from thresher.storage.tables.bodies import digest
from thresher.storage.tables.rounds import CheckRecord

SAME = Comparison(is_change=False, amount=0.0)
_HTML = "text/html"


async def revisit(lease: Lease, context: VisitContext) -> Visit:
    """Make the journey of a revisit that `lease` reserves."""
    url = lease.entry.url
    stop = await stopped(lease, context.links.check(url.text), context)
    if stop is not None:
        return stop
    if (rewritten := _rewritten(lease, context)) is not None:
        return Visit(lease, held=(rewritten,))
    conditions = context.rounds.conditions(url.key, context.urls.queue_key(url.host))
    bounds = context.overriding.of(url.text).fetch
    outcome = await context.fetcher.fetch(
        url,
        head_gate=lambda head: _gate(head, context),
        conditions=conditions,
        max_body=bounds.max_body,
        total_timeout=bounds.total_timeout,
    )
    made = await guarded(lease, outcome, _after_response(lease, outcome, context))
    made.was_conditional = bool(conditions)
    return made


def _rewritten(lease: Lease, context: VisitContext) -> Asked | None:
    """Return how a rule by now rewrites the URL to another page, which is kept; None for a second look, which must be an answer.

    From here to the end of the settlement nothing awaits.
    """
    if lease.entry.lane not in (Lane.FRESH, Lane.DUE):
        return None
    held = context.panel.turn(lease.entry.url).held
    return next((asked for asked in held if isinstance(asked[1], Rewrite) and context.is_kept(asked[1].to)), None)


def _gate(head: Head, context: VisitContext) -> tuple[Reason, str] | None:
    return context.panel.head(head) if 200 <= head.status < 300 else None


async def _after_response(lease: Lease, outcome: Outcome, context: VisitContext) -> Visit:
    if isinstance(outcome, Redirect):
        return redirected(lease, outcome, context)
    if not isinstance(outcome, Fetched) or outcome.refused is not None or not 200 <= outcome.head.status < 300:
        return Visit(lease, outcome)
    check = context.rounds.check(outcome.url.key)
    if check is not None and check.standing == "page" and check.sha256 and check.sha256 == digest(outcome.body):
        return Visit(lease, outcome, comparison=SAME)
    reading = await context.batch_reader.read(outcome)
    comparison = await _compared(check, reading.page, context) if check is not None and check.standing == "page" else None
    made = read_page(lease, outcome, reading, context)  # from here to its settlement nothing awaits
    made.comparison = comparison
    return made


async def _compared(check: CheckRecord, page: Page, context: VisitContext) -> Comparison:
    """Compare a page with the last version of it."""
    after = content_of(page)
    least = context.settings.recrawl.min_change
    before = await _last_text(check, context) if check.versions else None
    if before is not None:
        return compare(before, after, min_change=least)
    if check.fingerprint and check.fingerprint == page.fingerprint:
        return SAME
    return compare_with_sketch(check.sketch, after, min_change=least)


def content_of(page: Page) -> PageContent:
    """Return what of a page counts as its content."""
    return text_of(page.text, page.title, (page.directives.noindex, page.directives.nofollow), page.at)


async def _last_text(check: CheckRecord, context: VisitContext) -> PageContent | None:
    """Return what the last version showed, None where its body is not stored."""
    visit = check.versions[-1]
    record = context.pages.read(visit)
    body = context.bodies.get(visit) if record is not None and record.has_body else None
    if record is None or body is None:
        return None
    content_type = f"{record.mime_type or _HTML}; charset={record.charset}" if record.charset else record.mime_type
    if not _is_text(record):
        return None
    parsed = context.parser.here(body, content_type, record.mime_type or _HTML, [])
    parsed = parsed or await context.parser.apart(body, content_type, record.mime_type or _HTML, [])
    return text_of(parsed.raw_text, record.title, (record.noindex, record.nofollow), record.fetched_at)


def _is_text(record: PageRecord) -> bool:
    return record.mime_type in (_HTML, "application/xhtml+xml", "text/plain", "")
