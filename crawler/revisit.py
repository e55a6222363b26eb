"""The journey of a URL that was visited before: asked for conditionally, and compared with its last version.

    scope → robots → rewritten now? → conditional request → redirect? → not modified? → body → same digest? → read → compare
        → page gate → links

Like `visit` (visit.py) it writes nothing. A page is read and judged only if its bytes differ. Its links are followed like those of any
page. Filters learn nothing from it: they learned from the first visit.
"""

from __future__ import annotations

from thresher.crawler.core.change import Comparison, PageContent, compare, compare_with_sketch, text_of
from thresher.crawler.core.effects import Rewrite
from thresher.crawler.core.frontier import Lease
from thresher.crawler.core.model import Fetched, Head, Outcome, Page, Reason, Redirect
from thresher.crawler.core.ports import Lane
from thresher.crawler.visit import Visit, VisitContext, guarded, needed_by, read_page, redirected, stopped
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
    outcome = await context.fetcher.fetch(url, head_gate=lambda head: _gate(head, context), conditions=conditions)
    made = await guarded(lease, outcome, _after_response(lease, outcome, context), context.faults)
    made.was_conditional = bool(conditions)
    return made


def _rewritten(lease: Lease, context: VisitContext) -> Asked | None:
    """Return the rewrite to another kept page that a rule has learned since the last visit. None for a second look, which must make the
    request.

    There is no await between this call and the end of the settlement.
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
    requisites = await needed_by(outcome, reading, context)
    made = read_page(lease, outcome, reading, context)  # no await between here and the end of the settlement
    made.comparison, made.requisites = comparison, requisites
    return made


async def _compared(check: CheckRecord, page: Page, context: VisitContext) -> Comparison:
    """Compare a page with the last version of it."""
    after = content_of(page)
    least = context.overriding.of(page.url.text).recrawl.min_change
    before = await _last_text(check, context) if check.versions else None
    if before is not None:
        return compare(before, after, min_change=least)
    if check.fingerprint and check.fingerprint == page.fingerprint:
        return SAME
    return compare_with_sketch(check.sketch, after, min_change=least)


def content_of(page: Page) -> PageContent:
    """Return the parts of a page that are compared to see whether it changed."""
    return text_of(page.text, page.title, (page.directives.noindex, page.directives.nofollow), page.at)


async def _last_text(check: CheckRecord, context: VisitContext) -> PageContent | None:
    """Return the content of the last version; None if its body is not stored."""
    visit = check.versions[-1]
    record = context.pages.read(visit)
    body = context.bodies.get(visit) if record is not None and record.has_body else None
    if record is None or body is None:
        return None
    content_type = f"{record.mime_type or _HTML}; charset={record.charset}" if record.charset else record.mime_type
    if not _is_text(record):
        return None
    at_most = context.overriding.of(record.url).limits.max_links_per_page
    parsed = context.parser.here(body, content_type, record.mime_type or _HTML, [], max_links=at_most)
    parsed = parsed or await context.parser.apart(body, content_type, record.mime_type or _HTML, [], max_links=at_most)
    return text_of(parsed.raw_text, record.title, (record.noindex, record.nofollow), record.fetched_at)


def _is_text(record: PageRecord) -> bool:
    return record.mime_type in (_HTML, "application/xhtml+xml", "text/plain", "")
