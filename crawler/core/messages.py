"""The messages between agents: msgpack, tagged by kind.

| message       | to the agent that has      | and there it means                                                        |
|---------------|----------------------------|---------------------------------------------------------------------------|
| `FoundLinks`       | the sites linked to        | a page, or a redirect, of another agent's names these URLs                |
| `Edge`        | the target's site          | a URL of another agent redirects to one of yours: tell when it has settled |
| `End`         | the original's site        | the chain of redirects that your URL is in has come to its end            |
| `RobotsAsk`   | the site of a hop          | a robots.txt of another agent's was redirected to this URL: ask there     |
| `RobotsAnswer`| the site that was asked first | how that was answered                                                  |
| `Ask`         | the site of a URL          | a filter wants to have it requested: do, and answer                       |
| `Answered`    | what the filter asked for  | what it learns from the answer                                            |
| `News`        | a site                     | a filter has found something about it, or for it                          |
| `Submitted`   | the site of a sitemap      | it may speak for these hosts: read it                                     |
| `Announced`   | the sites announced        | a sitemap of another agent's names these URLs                             |
| `Needed`      | the sites of requisites    | a page or style sheet of another agent's needs these to be shown          |

What no agent would write is refused when it is decoded: a key of another length, a negative count.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from thresher.crawler.core.model import Cause, CrawlURL, Failed, Fetched, Flag, Head, Outcome, Reason, Redirect
from thresher.crawler.core.ownership import MOST_AGENTS
from thresher.crawler.core.requisites import MAX_HOPS
from thresher.crawler.core.sitemap import Entry
from thresher.crawler.core.url import URLSpace

Key = Annotated[bytes, Meta(min_length=16, max_length=16)]  # of a URL
Site = Annotated[bytes, Meta(min_length=8, max_length=8)]
Count = Annotated[int, Meta(ge=0, le=(1 << 31) - 2)]  # of clicks, of redirects: one more fits in 32 bits
Code = Annotated[int, Meta(ge=0, le=999)]  # status of an answer, 0 for none
Agent = Annotated[int, Meta(ge=0, lt=MOST_AGENTS)]


class _Message(msgspec.Struct, array_like=True):
    pass


class FoundLinks(_Message, tag=1):
    """URLs that a page names; `source` is the page, with its place in the crawl."""

    source: str
    seed_distance: Count
    site_depth: Count
    hops: Count
    is_redirect: bool
    gift: Annotated[float, Meta(ge=0)]  # of cash, to each
    texts: list[str]
    sites: list[Site]  # that the page's site links to for the first time


class Edge(_Message, tag=2):
    """One redirect."""

    original: Key
    target: str
    status: Code


class End(_Message, tag=3):
    """Where a chain of redirects ended: what its target was answered."""

    original: Key  # of the URL that `Edge` told of
    hops: Count  # from there to the target
    target: str
    status: Code
    fingerprint: bytes


class RobotsAsk(_Message, tag=4):
    """A hop of a robots.txt; `prober` gets the answer, under `asked`."""

    prober: Agent
    asked: str  # the hop as the agent that asks remembers it
    hop: str
    hops: Count


class RobotsAnswer(_Message, tag=5):
    """An outcome, as far as robots.txt is judged by it."""

    asked: str
    status: Code  # 0: failed
    headers: list[tuple[bytes, bytes]]
    body: bytes
    flags: list[str]
    refused: str
    cause: str
    detail: str
    retry_after_s: float | None
    target: str


class Ask(_Message, tag=6):
    """A filter's own request."""

    prober: Agent
    who: str  # the filter
    url: str
    purpose: int


class Answered(_Message, tag=7):
    """What came of it."""

    who: str
    reduced: bytes  # msgpack of the filter's `answer_type`


class News(_Message, tag=8):
    """What a filter has found, sent to the same filter at another agent."""

    who: str
    news: bytes  # msgpack of the filter's `news_type`


class Submitted(_Message, tag=9):
    """A sitemap that another agent has found, for `Sitemaps.submit`."""

    sitemap: str
    hosts: list[str]  # names of host queues
    by: str
    level: Count
    hops: Count


class Announced(_Message, tag=10):
    """URLs of another agent's sites that a sitemap names, in canonical form."""

    sitemap: str
    entries: list[Entry]


class Needed(_Message, tag=12):
    """What a page, a style sheet or a redirect of another agent's leads to, in canonical form, as `Requisites.want` is told of it."""

    source: str
    seed_distance: Count
    step: Annotated[int, Meta(ge=1, le=MAX_HOPS)]  # of the way from the page
    hops: Count
    texts: list[str]


Message = Needed | Submitted | Announced | FoundLinks | Edge | End | RobotsAsk | RobotsAnswer | Ask | Answered | News
encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Message).decode


def answer_of(asked: str, outcome: Outcome) -> RobotsAnswer:
    """Return an outcome as a message."""
    head = outcome.head
    failed = outcome if isinstance(outcome, Failed) else None
    fetched = outcome if isinstance(outcome, Fetched) else None
    return RobotsAnswer(
        asked,
        head.status if head is not None else 0,
        list(head.headers) if head is not None else [],
        fetched.body if fetched else b"",
        sorted(fetched.flags) if fetched else [],
        str(fetched.refused or "") if fetched else "",
        str(failed.cause) if failed else "",
        failed.detail if failed else "",
        failed.retry_after_s if failed else None,
        outcome.target if isinstance(outcome, Redirect) else "",
    )


def outcome_of(answer: RobotsAnswer, urls: URLSpace) -> Outcome:
    """Return the outcome that a message describes."""
    url: CrawlURL = urls.url(answer.asked)
    head = Head(url, answer.status, tuple(answer.headers), "", 0.0) if answer.status else None
    if answer.cause or head is None:
        return Failed(url, Cause(answer.cause), answer.detail, retry_after_s=answer.retry_after_s, head=head)
    if answer.target:
        return Redirect(url, head, answer.target, 0, 0.0)
    flags = frozenset(Flag(flag) for flag in answer.flags)
    return Fetched(url, head, answer.body, 0, 0.0, flags, Reason(answer.refused) if answer.refused else None)
