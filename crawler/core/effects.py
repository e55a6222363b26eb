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
    """Hold `url` until every holder has released it."""

    url: str
    holder: str  # name of a class of URLs of one host; its first word is the filter's name


class Release(msgspec.Struct, frozen=True):
    """Release every URL that `holder` holds."""

    holder: str


class ReleaseURL(msgspec.Struct, frozen=True):
    """Release the URL of this key, as far as the asking filter holds it."""

    key: bytes


class Request(msgspec.Struct, frozen=True):
    """Fetch `url` for the filter's own purpose, with all rules of politeness; redirects are not followed.

    The `Answer` goes to `Prober.on_answer`, except for an audit, which is a page of the crawl. A URL that no page has named gets the depths
    of the URL `beside`; without `beside` it is not requested.
    """

    url: str
    purpose: Purpose
    beside: bytes = NO_KEY  # key of a known URL
    can_wait: bool = False  # may wait until it is within the share of its host's requests that filters have, or no page is left


class Answer(msgspec.Struct, frozen=True):
    """How a filter's own request ended: with a page, with a redirect, or without either."""

    url: CrawlURL  # in canonical form; if it is not a URL, only the text, with a key of zeros
    at: float
    page: Page | None = None
    status: int = 0  # HTTP status of the response; 0 if there was none
    target: CrawlURL | None = None  # target of a redirect, if it is a URL
    failure: str = ""  # a Cause, or the Reason why no body was read or no request made; "" for a page or a redirect


class Revise(msgspec.Struct, frozen=True):
    """Replace the filter's verdict on a page stored earlier, or on a URL that redirected."""

    page: bytes  # key
    verdict: Verdict


class Park(msgspec.Struct, frozen=True):
    """Fetch nothing more of the host of `origin` for a day."""

    origin: str
    reason: Reason


class ParkWalled(msgspec.Struct, frozen=True):
    """Park a host behind a wall for `politeness.backoff_initial`, doubled with each time in a row."""

    queue: bytes  # name of the host's queue, 16 bytes
    number: int  # number of times in a row, from 1


class Hurry(msgspec.Struct, frozen=True):
    """Make the requests of this purpose to the host of `origin` next that wait (`Request.can_wait`): so much waits for their answers that
    they are worth their price.
    """

    origin: str
    purpose: Purpose


class Worthless(msgspec.Struct, frozen=True):
    """The page of this key gave nothing useful, although no filter knows its text."""

    key: bytes


class Recall(msgspec.Struct, frozen=True):
    """Queue again the aliases that a rule made."""

    key: bytes  # 8 of a site
    of: str  # name of the rule


class Study(msgspec.Struct, frozen=True):
    """Study in a child process what the filter gathered about a site. The finding is given to `BackgroundLearner.on_finding`."""

    site: bytes  # 8


class Conclude(msgspec.Struct, frozen=True):
    """Let a finding with permanent effects take effect once the site's hosts are known to be themselves: `Concluder.on_finding`."""

    site: bytes  # 8
    finding: bytes  # msgpack of the filter's `finding_type`


class Tell(msgspec.Struct, frozen=True):
    """Send a finding about a site to the same filter at the site's agent, which may be this one: `PeerFilter.on_news`."""

    key: bytes  # key of a URL; its first 8 bytes are the site's key
    news: bytes  # msgpack of the filter's `news_type`


class FetchAgain(msgspec.Struct, frozen=True):
    """Queue again URLs of a host that were settled by a wall's answers; their records and verdicts are deleted."""

    queue: bytes
    keys: tuple[bytes, ...]


class Void(msgspec.Struct, frozen=True):
    """Forget what was learned about a host's site since its last good canary: a wall has answered."""

    queue: bytes


class NotWalled(msgspec.Struct, frozen=True):
    """A host is known to be itself, not behind a wall: decisions that waited for this may be made."""

    queue: bytes
    was_walled: bool = False  # whether it was walled, and is served again


Effect = (
    Rewrite
    | Hold
    | Release
    | ReleaseURL
    | Request
    | Revise
    | Park
    | ParkWalled
    | Hurry
    | Worthless
    | Recall
    | Study
    | Conclude
    | Tell
    | FetchAgain
    | Void
    | NotWalled
)
