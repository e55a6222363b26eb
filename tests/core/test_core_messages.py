"""Messages between agents: what was written is read back, and what no agent writes is refused."""

from __future__ import annotations

import msgspec
import pytest

from thresher.crawler.core import messages
from thresher.crawler.core.messages import ChainEnd, Edge, Message, RobotsAnswer, decode, encode
from thresher.crawler.core.model import Cause, Failed, Fetched, Flag, Head, Outcome, Reason, Redirect
from thresher.crawler.core.url import URLRules, URLSpace

URLS = URLSpace(bytes(32), URLRules())
URL = URLS.url("http://a.example/robots.txt")
HEAD = Head(URL, 200, ((b"Content-Type", b"text/plain"),), "", 0.0)
KEY = bytes(16)

EACH: list[Message] = [
    messages.FoundLinks("http://a.example/", 1, 2, 0, False, 0.5, ["http://b.example/"], [bytes(8)]),
    Edge(KEY, "http://b.example/", 301),
    ChainEnd(KEY, 2, "http://b.example/", 200, bytes(16)),
    messages.RobotsAsk(1, "http://a.example/robots.txt", "http://b.example/robots.txt", 1),
    messages.answer_of(URL.text, Fetched(URL, HEAD, b"User-agent: *", 10, 0.1)),
    messages.Ask(0, "soft_error", "http://b.example/x", 2),
    messages.Answered("soft_error", b"\x90"),
    messages.News("near_replica", b"\x90"),
    messages.Submitted("http://b.example/sitemap.xml", ["a.example"], "http://a.example/robots.txt", 0, 0),
    messages.Announced("http://a.example/sitemap.xml", []),
    messages.Needed("http://a.example/", 1, 1, 0, ["http://b.example/a.css"]),
]


@pytest.mark.parametrize("message", EACH, ids=lambda message: type(message).__name__)
def test_a_message_is_read_as_it_was_written(message: Message) -> None:
    assert decode(encode(message)) == message


@pytest.mark.parametrize(
    "message",
    [Edge(KEY[:8], "http://b.example/", 301), Edge(KEY, "http://b.example/", 1000), ChainEnd(KEY, -1, "http://b.example/", 200, b"")],
    ids=["short key", "no status", "negative count"],
)
def test_what_no_agent_writes_is_refused(message: Message) -> None:
    """Mutation: a field without its bounds."""
    with pytest.raises(msgspec.ValidationError):
        decode(encode(message))


@pytest.mark.parametrize(
    "outcome",
    [
        Fetched(URL, HEAD, b"User-agent: *", 0, 0.0, frozenset({Flag.TRUNCATED_SIZE})),
        Fetched(URL, HEAD, b"", 0, 0.0, refused=Reason.TOO_LARGE),
        Redirect(URL, HEAD, "/other", 0, 0.0),
        Failed(URL, Cause.HTTP_5XX, "503", retry_after_s=7.5, head=HEAD),
        Failed(URL, Cause.DNS_TIMEOUT, "no answer"),
    ],
    ids=["fetched", "refused", "redirect", "failed with a head", "failed without"],
)
def test_the_answer_of_a_robots_txt_is_judged_by_another_agent_as_here(outcome: Outcome) -> None:
    """Mutation: a failure with headers came back as a page."""
    sent = decode(encode(messages.answer_of(URL.text, outcome)))
    assert isinstance(sent, RobotsAnswer)
    assert messages.outcome_of(sent, URLS) == outcome
