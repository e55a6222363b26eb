"""The journey of one page, from its lease to a `Visit`: everything that one request produced. Read this file first.

    robots → open → redirect? → head gate → body → batch reader → page gate → links

Everything that is no page has another journey (journeys.py). `visit` awaits only the network and the batch reader, and writes nothing. What
it found is written by `crawler/settlement/pages.py`, in the same transaction that removes the URL from its queue. There is no await between
the page gate and the end of the settlement, so that of two copies that arrive together only one is kept.
"""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable

import msgspec

from thresher.config.settings import RobotsSettings, Settings
from thresher.crawler.children.crash_suspects import Suspects
from thresher.crawler.children.studies import Studies
from thresher.crawler.core.ai_preferences import MAX_FILE as TDMREP_BYTES
from thresher.crawler.core.change import Comparison
from thresher.crawler.core.cookies import ChainCookies
from thresher.crawler.core.errors import ThresherError
from thresher.crawler.core.frontier import Lease
from thresher.crawler.core.model import (
    Cause,
    CrawlURL,
    Directives,
    Failed,
    Fetched,
    Head,
    Judgement,
    Outcome,
    Page,
    Purpose,
    Reason,
    Redirect,
)
from thresher.crawler.core.overriding import Overriding
from thresher.crawler.core.ownership import Ownership
from thresher.crawler.core.ports import Lane
from thresher.crawler.core.robots import directives
from thresher.crawler.core.sitemap import SitemapReading
from thresher.crawler.core.url import BadURL, URLSpace, queue_name
from thresher.crawler.fault_log import FaultLog
from thresher.crawler.fetch.dns import Names
from thresher.crawler.fetch.fetcher import Fetcher
from thresher.crawler.gates.ai_preferences import AiPreferences
from thresher.crawler.gates.link_gate import LinkGate, Sifted, Skip, presentable
from thresher.crawler.gates.robots_cache import RobotsCache, RobotsStanding, RobotsWaiter
from thresher.crawler.page.batch_reader import BatchReader, PageReading
from thresher.crawler.page.parser import Parser
from thresher.crawler.page.requisite_reader import Named, RequisiteReader
from thresher.crawler.page.sitemap_reader import SitemapReader
from thresher.filters.deliberation import NO_OBJECTION, Asked, Deliberation, Turn
from thresher.filters.panel import Panel
from thresher.storage.tables.bare_seeds import BareSeeds
from thresher.storage.tables.bodies import Bodies
from thresher.storage.tables.pages import Pages
from thresher.storage.tables.rounds import Rounds

_OF_LINKS_AND_SITEMAPS = (Purpose.PAGE, Purpose.ANNOUNCED)


class VisitContext(msgspec.Struct, frozen=True):
    """The parts of the agent that a journey uses."""

    settings: Settings
    urls: URLSpace
    resolver: Names
    fetcher: Fetcher
    parser: Parser
    batch_reader: BatchReader
    robots: RobotsCache
    panel: Panel
    links: LinkGate
    suspects: Suspects
    studies: Studies
    clock: Callable[[], float]
    bare: BareSeeds
    sitemaps: SitemapReader
    rounds: Rounds
    pages: Pages
    bodies: Bodies
    ai: AiPreferences
    overriding: Overriding
    is_kept: Callable[[str], bool]  # whether a URL has a page that was kept
    faults: FaultLog
    first_seq: int  # number of the first URL of this life: links from there on have passed the static gate as it is now
    requisites: RequisiteReader | None = None  # None: they are not fetched
    cookies: ChainCookies | None = None  # None: fetch.cookies is off everywhere
    ownership: Ownership | None = None  # None: every site is this agent's

    def cookies_of(self, text: str) -> ChainCookies | None:
        """Return the cookies of chains, None where `fetch.cookies` is off for a URL."""
        return self.cookies if self.cookies is not None and self.overriding.of(text).fetch.cookies == "chain" else None

    def robots_settings(self, origin: str) -> RobotsSettings:
        """Return the settings by which an origin's robots.txt is read."""
        return self.overriding.of_host(queue_name(origin)).robots


class Visit(msgspec.Struct):
    """Everything that one journey produced: the unit of commit."""

    lease: Lease
    outcome: Outcome | None = None  # None: no request was made for the URL itself
    refused: Skip | None = None  # known before any request: the URL is refused
    saved_by: str = ""  # the filter that refused it when its turn to be fetched came
    held: tuple[Asked, ...] = ()  # a filter holds or rewrites the URL since it was queued: it is not requested
    said: tuple[str, ...] = ()  # filters in mode `observe` that would have held or refused it
    deferred: tuple[float, str] | None = None  # until when its host waits, and why
    robots_of: set[RobotsWaiter] = msgspec.field(default_factory=set)  # if `outcome` is a robots.txt: the origins for which it holds
    policy_of: str = ""  # if `outcome` is a tdmrep.json: the origin for which it holds
    page: Page | None = None
    sitemap: SitemapReading | None = None  # what was read from a sitemap
    requisites: Named | None = None  # images, style sheets and scripts that the answer names
    charset: str = ""
    sha256: bytes = b""  # of the body, if it was computed together with those of other pages
    signals: tuple[str, ...] = ()
    deliberation: Deliberation[Judgement] | None = None
    was_conditional: bool = False  # revisit: with If-None-Match or If-Modified-Since
    comparison: Comparison | None = None  # revisit: with the last version; None: nothing was compared
    sifted: Sifted | None = None
    feed: str = ""  # the feed that the page names, if its links are followed
    target: str = ""  # canonical target of a redirect
    asks_again: bool = False  # a redirect back to a URL of its own chain, which may answer otherwise now since the chain has a new cookie
    gives_way: bool = False  # a seed without a scheme whose host does not speak https: its http form is tried

    @property
    def failure(self) -> str:
        """Why a request gave neither a page nor a redirect target; "" if it gave one."""
        if self.refused is not None:
            return str(self.refused.reason)
        match self.outcome:
            case Failed(cause=cause):
                return str(cause)
            case Fetched(refused=Reason() as reason):
                return str(reason)
            case _:
                return ""


async def visit(lease: Lease, context: VisitContext) -> Visit:
    """Make the journey of the page that `lease` reserves."""
    url = lease.entry.url
    is_judged = url.purpose is Purpose.PAGE and lease.entry.seq >= context.first_seq
    stop = await stopped(lease, url.key if is_judged else context.links.check(url.text), context) or await ask_policy(lease, context)
    if stop is not None:
        return stop
    if context.requisites is not None and url.purpose in _OF_LINKS_AND_SITEMAPS and context.requisites.has(url.key):
        return Visit(lease, refused=Skip(url.text, Reason.REQUISITE, "archive"))
    turn = _turn(lease, context)
    if turn.refused is not None:
        verdict = turn.refused
        return Visit(lease, refused=Skip(url.text, verdict.reason or Reason.REFUSED_BY_FILTER, verdict.filter), saved_by=verdict.filter)
    if turn.held:
        return Visit(lease, held=turn.held)
    said: list[str] = []
    outcome = await request(url, context, said)
    made = await guarded(lease, outcome, _after_response(lease, outcome, context), context.faults)
    made.said = (*turn.said, *said)
    return made


async def stopped(lease: Lease, refusal: bytes | tuple[Reason, str] | None, context: VisitContext) -> Visit | None:
    """Return the visit that replaces the request of the URL: a refusal, or the request of its robots.txt. None if the URL may be
    requested.
    """
    if isinstance(refusal, tuple):
        return Visit(lease, refused=Skip(lease.entry.url.text, *refusal))
    return await ask_robots(lease, context)


async def ask_policy(lease: Lease, context: VisitContext) -> Visit | None:
    """Return the visit that requests the origin's tdmrep.json first; None if that is known."""
    url = lease.entry.url
    asked = context.ai.request(url, context.clock())
    if asked is None:
        return None
    outcome = await context.fetcher.fetch(asked, max_body=TDMREP_BYTES, total_timeout=context.robots_settings(url.host).timeout)
    return Visit(lease, outcome, policy_of=url.host)


async def request(url: CrawlURL, context: VisitContext, said: list[str]) -> Outcome:
    """Request a page. Its body is read only if no head gate refuses it.

    Args:
        url: The page.
        context: The parts of the agent.
        said: Gets the names of filters in `observe` that would have refused the body.
    """

    def gate(head: Head) -> tuple[Reason, str] | None:
        refusal = context.panel.head(head)
        if refusal is None:
            said.extend(context.panel.head_said(head))
        return refusal

    cookies = context.cookies_of(url.text)
    return await context.fetcher.fetch(url, head_gate=gate, cookie=cookies.header(url.text) if cookies is not None else "")


async def guarded(lease: Lease, outcome: Outcome, journey: Awaitable[Visit], faults: FaultLog) -> Visit:
    """Return the visit that `journey` makes from an answer. If our own code raises an error, the error is logged and recorded, and the
    crawl goes on.
    """
    try:
        return await journey
    except (ThresherError, MemoryError):  # not caused by this page alone: the store is damaged, the disk refuses, or memory is used up
        raise
    except Exception as error:  # noqa: BLE001 - one page's fault in our own code: it is recorded with its traceback
        faults.on_page(outcome.url.text, error)
        return failed_by_us(lease, outcome, error)


def failed_by_us(lease: Lease, outcome: Outcome, error: Exception) -> Visit:
    """Return the visit of a URL on whose answer our own code raised `error`; to be called in the `except` clause."""
    detail = "".join(traceback.format_exception(error))[-2000:]
    body = outcome.body if isinstance(outcome, Fetched) else b""
    failed = Failed(
        outcome.url, Cause.INTERNAL_ERROR, detail, outcome.elapsed_s, outcome.wire_bytes, head=outcome.head, body=body, wire=outcome.wire
    )
    return Visit(lease, failed)


async def ask_robots(lease: Lease, context: VisitContext) -> Visit | None:
    """Return the visit that replaces the request of the URL because of robots.txt; None if the URL may be requested."""
    url = lease.entry.url
    standing = context.robots.ask(url, context.clock())
    match standing.standing:
        case RobotsStanding.DENIED:
            return Visit(lease, refused=Skip(url.text, Reason.ROBOTS_DENIED, "robots"))
        case RobotsStanding.UNREACHABLE:
            return Visit(lease, deferred=(standing.until, "robots.txt unreachable"))
        case RobotsStanding.UNKNOWN:
            outcome = await robots_txt(context.robots.request(url.host), context)
            if isinstance(outcome, Failed) and (outcome.cause is Cause.BLOCKED_ADDRESS or context.bare.gives_way(url, outcome)):
                return failed(lease, msgspec.structs.replace(outcome, url=url), context)  # fails as a request of the URL itself would
            return Visit(lease, outcome, robots_of={url.host}, deferred=(0.0, ""))
        case RobotsStanding.ALLOWED:
            return None


async def imported(lease: Lease, outcome: Outcome, context: VisitContext) -> Visit:
    """Make the journey of an answer from an archive: it begins at the head gate, without a request."""
    return await _after_response(lease, outcome, context)


def _turn(lease: Lease, context: VisitContext) -> Turn:
    """Ask the filters, now that the URL's turn has come, whether they hold, rewrite or refuse it. Audits and second tries are not asked
    about.

    There is no await between this call and the end of the settlement.
    """
    entry = lease.entry
    return (
        context.panel.turn(entry.url)
        if entry.lane in (Lane.FRESH, Lane.ANNOUNCED) and entry.url.purpose in _OF_LINKS_AND_SITEMAPS
        else NO_OBJECTION
    )


async def robots_txt(url: CrawlURL, context: VisitContext) -> Outcome:
    """Request a robots.txt, and parse a large one off the loop."""
    settings = context.robots_settings(url.host)
    outcome = await context.fetcher.fetch(url, max_body=settings.max_bytes, total_timeout=settings.timeout)
    await context.robots.read_ahead(outcome)
    return outcome


async def _after_response(lease: Lease, outcome: Outcome, context: VisitContext) -> Visit:
    match outcome:
        case Failed():
            return failed(lease, outcome, context)
        case Redirect():
            return redirected(lease, outcome, context)
        case Fetched(refused=None):
            if (cookies := context.cookies_of(outcome.url.text)) is not None:
                cookies.on_end(outcome.url.text)
            reading = await context.batch_reader.read(outcome)
            requisites = await needed_by(outcome, reading, context)
            made = read_page(lease, outcome, reading, context)
            made.requisites = requisites
            return made
        case _:
            return Visit(lease, outcome)


async def needed_by(outcome: Fetched, reading: PageReading, context: VisitContext) -> Named | None:
    """Return the requisites of a page; None if they are not fetched."""
    if context.requisites is None or not context.overriding.of(outcome.url.text).archive.requisites:
        return None
    return await context.requisites.read(outcome, reading.page.flags)


def failed(lease: Lease, outcome: Failed, context: VisitContext) -> Visit:
    """Return the visit of a failed request. A seed without a scheme whose host does not speak https gives way to its http form."""
    return Visit(lease, outcome, gives_way=context.bare.gives_way(outcome.url, outcome))


def redirected(lease: Lease, outcome: Redirect, context: VisitContext) -> Visit:
    """Judge the target of a redirect like a link; if it passes, it waits in the queue of its own host."""
    made = to_target(lease, outcome, context, takes_cookie=_takes_cookie)
    if made.refused is None and not made.asks_again:
        made.sifted = context.links.sift(outcome.url, context.links.gate([made.target]), is_redirect=True)
    return made


def to_target(
    lease: Lease, outcome: Redirect, context: VisitContext, *, takes_cookie: Callable[[Redirect, str, VisitContext], bool] | None = None
) -> Visit:
    """Return the visit of a redirect; its target is judged later.

    Args:
        lease: The URL that redirects.
        outcome: The redirect.
        context: The parts of the agent.
        takes_cookie: Keeps the cookies of a chain; returns whether the chain comes back to one of its own URLs, which may answer otherwise
            now.
    """
    url = outcome.url
    try:
        target = context.urls.canonical(outcome.target, url.text)
    except BadURL as error:
        return Visit(lease, outcome, refused=Skip(presentable(outcome.target)[:2048], Reason.REDIRECT_INVALID, str(error.reason)))
    if takes_cookie is not None and takes_cookie(outcome, target, context):
        return Visit(lease, outcome, target=target, asks_again=True)
    if target == url.text:
        return Visit(lease, outcome, target=target, refused=Skip(target, Reason.REDIRECT_LIMIT, "redirect to itself"))
    if url.hops >= context.overriding.of(url.text).limits.max_redirects:
        return Visit(lease, outcome, target=target, refused=Skip(target, Reason.REDIRECT_LIMIT, "limits"))
    return Visit(lease, outcome, target=target)


def _takes_cookie(outcome: Redirect, target: str, context: VisitContext) -> bool:
    """Keep the cookies of a redirect chain; return whether it comes back to one of its own URLs, which may answer otherwise now."""
    cookies = context.cookies_of(outcome.url.text)
    if cookies is None or context.cookies_of(target) is None or not isinstance(context.links.check(target), bytes):
        return False
    set_cookies, at_most = outcome.head.all(b"set-cookie"), context.overriding.of(outcome.url.text).limits.max_redirects
    return cookies.on_redirect(outcome.url.text, target, set_cookies, context.clock(), at_most=at_most)


def read_page(lease: Lease, outcome: Fetched, reading: PageReading, context: VisitContext) -> Visit:
    """Let the panel judge the page and, if its links may be followed, the link gate judge them. A filter's opinion only moves links to the
    end.
    """
    page = reading.page
    visit = Visit(lease, outcome, page=page, charset=reading.charset, sha256=reading.sha256)
    visit.deliberation = context.panel.page(page, reading.measures)
    follow = 200 <= page.status < 300 and not is_nofollow(page.directives, outcome.head, context.overriding.of(page.url.text))
    visit.sifted = context.links.sift(page.url, reading.links) if follow else Sifted()
    visit.feed = page.feed if follow else ""
    visit.sifted.skips.extend(reading.skips)
    return visit


def is_nofollow(found: Directives, head: Head, settings: Settings) -> bool:
    """Return whether a directive that the configuration obeys forbids to follow the page's links."""
    meta, header = settings.robots.meta, settings.robots.x_robots_tag
    if not found.nofollow or not (meta or header):
        return False
    if meta and header:
        return True
    by_header = directives((), head.all(b"x-robots-tag"), settings.identity.agent).nofollow
    return by_header if header else not by_header
