"""Which journey a URL makes: pages make one, everything that is no page makes another.

    page, announced, audit   visit.py       robots.txt   before the first page of an origin, visit.py; a redirect of it, here
    revisit                  revisit.py     a filter's request, sitemap, requisite: here

A journey makes the request and writes nothing. What it found is written by crawler/settlement/journey.py.
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

_IN_MEMORY: Final = 64 << 10  # bytes of a sitemap that are kept in memory; a longer sitemap goes to a file
_OF_PAGES_ALONE: Final = frozenset((Reason.OUT_OF_SCOPE, Reason.BAD_TYPE, Reason.PATH_TRAP, Reason.PREFIX_BUDGET))


async def make_journey(lease: Lease, context: VisitContext) -> Visit:
    """Make the journey of the URL that `lease` reserves."""
    return await _JOURNEYS[lease.entry.url.purpose](lease, context)


async def _robots_hop(lease: Lease, context: VisitContext) -> Visit:
    """Request the URL that a robots.txt redirects to; no robots.txt applies to it."""
    url = lease.entry.url
    return Visit(lease, await robots_txt(url, context), robots_of=context.robots.waiting_for(url))


async def _for_filter(lease: Lease, context: VisitContext) -> Visit:
    """Make a request that a filter asked for. The answer is shown to that filter; no filter judges it."""
    url = lease.entry.url
    stop = await stopped(lease, context.links.check(url.text), context)
    if stop is not None:
        return stop
    outcome = await request(url, context, [])
    return await guarded(lease, outcome, _answer_for_filter(lease, outcome, context), context.faults)


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
    """Request a sitemap and read it; `settlement/sitemaps.py` decides what becomes of the URLs in it."""
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
    """Request an image, style sheet or script of a page; `settlement/requisites.py` then requests what a style sheet names."""
    stop = await stopped(lease, requisite_fault(lease.entry.url.text, context), context) or await ask_policy(lease, context)
    if stop is not None:
        return stop
    made = Visit(lease, await context.fetcher.fetch(lease.entry.url))
    if isinstance(made.outcome, Fetched) and context.requisites is not None:
        made.requisites = await context.requisites.read(made.outcome)
    return made


def sitemap_fault(text: str, context: VisitContext) -> tuple[Reason, str] | None:
    """Return why a sitemap may not be requested, and the gate that refuses it; scope and page-like names do not matter, as for a
    robots.txt.
    """
    if context.overriding.of_host(queue_name(origin_of(text))).sitemaps == "off":
        return Reason.EXCLUDED, "sitemaps"
    return requisite_fault(text, context)


def requisite_fault(text: str, context: VisitContext) -> tuple[Reason, str] | None:
    """Return why an image, style sheet or script may not be requested, and the gate that refuses it."""
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
