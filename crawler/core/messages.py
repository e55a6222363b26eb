"""The messages between agents: msgpack, tagged by kind.

| message       | sent to the agent that has | meaning                                                                   |
|---------------|----------------------------|---------------------------------------------------------------------------|
| `FoundLinks`  | the sites linked to        | a page, or a redirect, of the sender links to these URLs                  |
| `Edge`        | the target's site          | a URL of the sender redirects to this one: answer once it has settled     |
| `ChainEnd`    | the original's site        | the chain of redirects that begins at this URL has ended                  |
| `RobotsAsk`   | the site of a hop          | a robots.txt of the sender was redirected to this URL: request it         |
| `RobotsAnswer`| the site that was asked first | the answer to that request                                             |
| `Ask`         | the site of a URL          | a filter of the sender asks for this URL: request it, and answer          |
| `Answered`    | what the filter asked for  | the answer, reduced to what the filter learns from                        |
| `News`        | a site                     | the same filter at the sender has found a fact about the site             |
| `Submitted`   | the site of a sitemap      | it may announce URLs of these hosts: read it                              |
| `Announced`   | the sites announced        | a sitemap of the sender names these URLs                                  |
| `Needed`      | the sites of requisites    | a page or style sheet of the sender needs these to be shown               |

Decoding refuses values that no agent writes: a key of another length, a negative count.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from thresher.config.settings import MOST_IMPORTS
from thresher.crawler.core.model import Cause, CrawlURL, Failed, Fetched, Flag, Head, Outcome, Reason, Redirect
from thresher.crawler.core.ownership import MOST_AGENTS
from thresher.crawler.core.requisites import FEWEST_STEPS
from thresher.crawler.core.sitemap import SitemapEntry
from thresher.crawler.core.url import URLSpace

Key = Annotated[bytes, Meta(min_length=16, max_length=16)]  # key of a URL
Site = Annotated[bytes, Meta(min_length=8, max_length=8)]
Count = Annotated[int, Meta(ge=0, le=(1 << 31) - 2)]  # number of clicks or redirects: plus one it fits in 32 bits
Code = Annotated[int, Meta(ge=0, le=999)]  # HTTP status of an answer, 0 for none
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
    gift: Annotated[float, Meta(ge=0)]  # cash that the source gives to each
    texts: list[str]
    sites: list[Site]  # sites to which the page's site links for the first time
    label: str = ""  # of the seed from which the page was found


class Edge(_Message, tag=2):
    """One redirect."""

    original: Key
    target: str
    status: Code


class ChainEnd(_Message, tag=3):
    """The end of a chain of redirects: the answer of its target."""

    original: Key  # the URL of an `Edge` that was received
    hops: Count  # redirects from there to the target
    target: str
    status: Code
    fingerprint: bytes


class RobotsAsk(_Message, tag=4):
    """The URL to which a robots.txt was redirected; the agent `prober` gets the answer, under `asked`."""

    prober: Agent
    asked: str  # the URL in the form in which the asking agent remembers it
    hop: str
    hops: Count


class RobotsAnswer(_Message, tag=5):
    """The part of an outcome by which a robots.txt is judged."""

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
    """The result of a filter's request."""

    who: str
    reduced: bytes  # msgpack of the filter's `answer_type`


class News(_Message, tag=8):
    """A finding of a filter, for the same filter at another agent."""

    who: str
    news: bytes  # msgpack of the filter's `news_type`


class Submitted(_Message, tag=9):
    """A sitemap that another agent has found, for `Sitemaps.submit`."""

    sitemap: str
    hosts: list[str]  # names of host queues
    by: str
    level: Count
    hops: Count
    label: str = ""  # of the seed from which it was found


class Announced(_Message, tag=10):
    """URLs of another agent's sites that a sitemap names, in canonical form."""

    sitemap: str
    entries: list[SitemapEntry]
    label: str = ""  # of the seed from which the sitemap was found


class Needed(_Message, tag=12):
    """Requisites of another agent's page, style sheet or redirect, in canonical form, for `Requisites.want`."""

    source: str
    seed_distance: Count
    step: Annotated[int, Meta(ge=1, le=FEWEST_STEPS + MOST_IMPORTS + 1)]  # from the page; what is one too deep is refused by its agent
    hops: Count
    texts: list[str]
    label: str = ""  # of the seed from which the page was found


Message = Needed | Submitted | Announced | FoundLinks | Edge | ChainEnd | RobotsAsk | RobotsAnswer | Ask | Answered | News
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
