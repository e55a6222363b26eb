"""What a filter may ask for beside a verdict (`Effect`), and how a request of its own ended (`Answer`).

Each is a frozen value; `crawler/settlement/effects.py` carries it out in the commit of the visit that made the filter ask.
"""

from __future__ import annotations

import msgspec

from thresher.crawler.core.model import NO_KEY, CrawlURL, Page, Purpose, Reason, Verdict


class Rewrite(msgspec.Struct, frozen=True):
    """Treat `url` as an alias of `to`."""

    url: str
    to: str
    rule: str


class Hold(msgspec.Struct, frozen=True):
    """Set `url` back until every holder has released it."""

    url: str
    holder: str


class Release(msgspec.Struct, frozen=True):
    """Release every URL that `holder` holds."""

    holder: str


class ReleaseURL(msgspec.Struct, frozen=True):
    """Let the filter that asks hold the URL of this key no longer."""

    key: bytes


class Request(msgspec.Struct, frozen=True):
    """Fetch `url` for the filter's own purpose, under all of politeness; redirects are not followed.

    The `Answer` goes to `Prober.on_answer`; that of an audit does not, since an audit is a page of the crawl. The request for a URL that no
    page has named takes its depths from the URL `beside`, and its links theirs from it; without `beside` no such request is made.
    """

    url: str
    purpose: Purpose
    beside: bytes = NO_KEY  # key of a known URL
    can_wait: bool = False  # until its host has made its first requests, or has no page left


class Answer(msgspec.Struct, frozen=True):
    """How a filter's own request ended: with a page, with a redirect, or without either."""

    url: CrawlURL  # in canonical form; of what is no URL the text alone, with a key of zeros
    at: float
    page: Page | None = None
    status: int = 0  # of the response; 0 if there was none
    target: CrawlURL | None = None  # of a redirect, if it leads to a URL
    failure: str = ""  # a Cause, or the Reason for which no body was read or no request made; "" of a page and of a redirect


class Revise(msgspec.Struct, frozen=True):
    """Replace the filter's verdict on a page stored earlier, or on a URL that redirected."""

    page: bytes  # key
    verdict: Verdict


class Park(msgspec.Struct, frozen=True):
    """Fetch nothing more of the host of `origin` for a day."""

    origin: str
    reason: Reason


class Worthless(msgspec.Struct, frozen=True):
    """What the page of this key shows was worth nothing, though no filter knows its text."""

    key: bytes


class Recall(msgspec.Struct, frozen=True):
    """Queue the aliases again that a rule made."""

    key: bytes  # 8 of a site
    of: str  # name of the rule


class Study(msgspec.Struct, frozen=True):
    """Have what the filter gathered of a site studied off the event loop. The finding reaches `BackgroundLearner.on_finding`."""

    site: bytes  # 8


class Conclude(msgspec.Struct, frozen=True):
    """Have a finding that decides something for good taken up, once the site's hosts are known to be themselves: `Concluder.on_finding`."""

    site: bytes  # 8
    finding: bytes  # msgpack of the filter's `finding_type`


class Tell(msgspec.Struct, frozen=True):
    """Send a finding about a site to the same filter at the site's agent, which may be this one: `PeerFilter.on_news`."""

    key: bytes  # begins with the site's 8
    news: bytes  # msgpack of the filter's `news_type`


class Rest(msgspec.Struct, frozen=True):
    """Fetch nothing of a host for a while: `politeness.backoff_initial`, doubled with each rest in a row."""

    queue: bytes  # 16
    number: int  # of rests in a row, from 1


class Again(msgspec.Struct, frozen=True):
    """Queue URLs of a host again that were settled by what a wall answered; their records and what was said of them go."""

    queue: bytes
    keys: tuple[bytes, ...]


class Void(msgspec.Struct, frozen=True):
    """What was learned of a host's site since its last good canary is no evidence: a wall has answered."""

    queue: bytes


class Well(msgspec.Struct, frozen=True):
    """A host is taken to be itself: what waited for that may be decided."""

    queue: bytes
    was_walled: bool = False  # it is served again


Effect = (
    Rewrite
    | Hold
    | Release
    | ReleaseURL
    | Request
    | Revise
    | Park
    | Worthless
    | Recall
    | Study
    | Conclude
    | Tell
    | Rest
    | Again
    | Void
    | Well
)
