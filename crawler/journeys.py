"""The journeys of URLs, by what they are requested for: pages, and what is none.

    page, announced, audit   visit.py       robots.txt   robots_txt, and in the place of the first page of an origin, visit.py
    revisit                  revisit.py     a filter's request, sitemap, requisite: here

Each finds out what there is to know and writes nothing. What becomes of it then: crawler/settlement/journey.py.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from tempfile import SpooledTemporaryFile
from typing import Final

from thresher.crawler.core.frontier import Lease
from thresher.crawler.core.model import Failed, Fetched, Flag, Outcome, Purpose, Reason, Redirect
from thresher.crawler.core.url import origin_of, queue_name
from thresher.crawler.revisit import revisit
from thresher.crawler.visit import Visit, VisitContext, ask_policy, failed, guarded, request, robots_txt, stopped, to_target, visit

_IN_MEMORY: Final = 64 << 10  # bytes of a sitemap; a longer one becomes a file: 50 MiB in memory would be there twice
_OF_PAGES_ALONE: Final = frozenset((Reason.OUT_OF_SCOPE, Reason.BAD_TYPE, Reason.PATH_TRAP, Reason.PREFIX_BUDGET))


async def make_journey(lease: Lease, context: VisitContext) -> Visit:
    """Make the journey of the URL that `lease` reserves."""
    return await _JOURNEYS[lease.entry.url.purpose](lease, context)


async def _robots_hop(lease: Lease, context: VisitContext) -> Visit:
    """Request what a robots.txt was redirected to; no rule holds for it."""
    url = lease.entry.url
    return Visit(lease, await robots_txt(url, context), robots_of=context.robots.waiting_for(url))


async def _for_filter(lease: Lease, context: VisitContext) -> Visit:
    """Make a filter's own request: its answer is read and shown to that filter, judged by none."""
    url = lease.entry.url
    stop = await stopped(lease, context.links.check(url.text), context)
    if stop is not None:
        return stop
    outcome = await request(url, context, [])
    return await guarded(lease, outcome, _answer_for_filter(lease, outcome, context))


async def _answer_for_filter(lease: Lease, outcome: Outcome, context: VisitContext) -> Visit:
    match outcome:
        case Failed():
            return failed(lease, outcome, context)
        case Redirect():
            return to_target(lease, outcome, context)
        case Fetched(refused=None):
            if (cookies := context.cookies_of(outcome.url.text)) is not None:
                cookies.on_end(outcome.url.text)
            reading = await context.batch_reader.read(outcome)
            return Visit(lease, outcome, page=reading.page, charset=reading.charset)
        case _:
            return Visit(lease, outcome)


async def _sitemap(lease: Lease, context: VisitContext) -> Visit:
    """Request a sitemap and read it; where it leads on, `settlement/sitemaps.py` says."""
    stop = await stopped(lease, sitemap_fault(lease.entry.url.text, context), context)
    if stop is not None:
        return stop
    with SpooledTemporaryFile(_IN_MEMORY) as file:
        at_most = context.overriding.of(lease.entry.url.text).limits.max_sitemap_size
        outcome = await context.fetcher.fetch(lease.entry.url, max_body=at_most, sink=file.write)
        made = Visit(lease, outcome)
        if isinstance(outcome, Fetched) and outcome.head.status == 200:
            file.write(outcome.body)
            made.sitemap = await context.sitemaps.read(file, lease.entry.url.text)
            if Flag.TRUNCATED_SIZE in outcome.flags:
                made.sitemap.notes.append("cut where limits.max_sitemap_size ends")
    return made


async def _requisite(lease: Lease, context: VisitContext) -> Visit:
    """Request what a page needs to be shown; a style sheet needs more: `settlement/requisites.py` asks for it."""
    stop = await stopped(lease, requisite_fault(lease.entry.url.text, context), context) or await ask_policy(lease, context)
    if stop is not None:
        return stop
    made = Visit(lease, await context.fetcher.fetch(lease.entry.url))
    if isinstance(made.outcome, Fetched) and context.requisites is not None:
        made.requisites = await context.requisites.read(made.outcome)
    return made


def sitemap_fault(text: str, context: VisitContext) -> tuple[Reason, str] | None:
    """Return why a sitemap may not be requested, and who says so: it may lie out of scope and look like no page, like a robots.txt."""
    if context.overriding.of_host(queue_name(origin_of(text))).sitemaps == "off":
        return Reason.EXCLUDED, "sitemaps"
    return requisite_fault(text, context)


def requisite_fault(text: str, context: VisitContext) -> tuple[Reason, str] | None:
    """Return why what is no page may not be requested, and who says so."""
    answer = context.links.check(text)
    return None if isinstance(answer, bytes) or answer[0] in _OF_PAGES_ALONE else answer


_JOURNEYS: Final[dict[Purpose, Callable[[Lease, VisitContext], Awaitable[Visit]]]] = {
    Purpose.PAGE: visit,
    Purpose.ANNOUNCED: visit,
    Purpose.AUDIT: visit,
    Purpose.REVISIT: revisit,
    Purpose.ROBOTS: _robots_hop,
    Purpose.PROBE: _for_filter,
    Purpose.VALIDATION: _for_filter,
    Purpose.CANARY: _for_filter,
    Purpose.SITEMAP: _sitemap,
    Purpose.REQUISITE: _requisite,
}
