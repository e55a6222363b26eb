"""Facts of what the answer to a robots.txt request means, and when it is asked for again."""

from __future__ import annotations

import msgspec
import pytest

from thresher.config.settings import RobotsSettings
from thresher.crawler.core.model import Cause, CrawlURL, Failed, Fetched, Flag, Head, Purpose, Reason, Redirect
from thresher.crawler.core.robots import RobotsRecord, Rules, file_hash, judge

ORIGIN = "https://a.example"
URL = CrawlURL(f"{ORIGIN}/robots.txt", "a.example", ORIGIN, b"k" * 16, purpose=Purpose.ROBOTS)
NOW = 1_000_000.0
DAY = 86_400.0
TEXT = b"User-agent: *\nDisallow: /no\n"


def head(status: int, **headers: str) -> Head:
    return Head(URL, status, tuple((name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()), "127.0.0.1", 0.1)


def answer(status: int = 200, body: bytes = TEXT, *flags: Flag, refused: Reason | None = None, **headers: str) -> Fetched:
    return Fetched(URL, head(status, **headers), body, len(body), 0.1, frozenset(flags), refused)


def ask(outcome: Fetched | Failed | Redirect, previous: RobotsRecord | None = None, now: float = NOW, **options: object) -> RobotsRecord:
    return judge(ORIGIN, outcome, previous, msgspec.convert(options, RobotsSettings), now)[0]


def test_rules_are_kept_for_a_day_with_the_hash_of_their_file() -> None:
    """P15."""
    record, body = judge(ORIGIN, answer(), None, RobotsSettings(), NOW)
    assert record == RobotsRecord(ORIGIN, "rules", NOW, NOW + DAY, 200, file_hash(TEXT))
    assert body == TEXT
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=RobotsRecord) == record


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 410, 418, 451])
def test_a_client_error_means_that_there_are_no_rules(status: int) -> None:
    """F75, P12."""
    record, body = judge(ORIGIN, answer(status, b"<html>gone"), None, RobotsSettings(), NOW)
    assert (record.kind, record.status, record.file, body) == ("allow", status, b"", b"")
    assert record.expires_at == NOW + DAY


def test_a_403_may_be_taken_as_a_refusal() -> None:
    """P12."""
    for status in (401, 403):
        record, body = judge(ORIGIN, answer(status), None, RobotsSettings(on_403="disallow"), NOW)
        assert record.kind == "rules"
        assert record.file == file_hash(body)
        assert not Rules(body, "thresher").allows(f"{ORIGIN}/x")
    assert ask(answer(404), on_403="disallow").kind == "allow"


UNREACHABLE = [
    answer(429),
    answer(500),
    answer(503),
    answer(599),
    answer(202),
    answer(204, b""),
    answer(206),
    answer(304, b""),
    answer(300, b""),
    answer(200, b"<!DOCTYPE html><title>Home</title>"),
    answer(200, b"\xef\xbb\xbf \r\n<html><body>User-agent: *"),
    answer(200, "<html>".encode("utf-16")),
    answer(200, b"<?xml version='1.0'?>"),
    answer(200, b"# hello\n<html>\n"),
    answer(200, b"Please wait</p>", content_type="text/html; charset=utf-8"),
    answer(200, TEXT, Flag.INCOMPLETE),
    answer(200, TEXT, Flag.TRUNCATED_ENCODING),
    answer(200, TEXT, Flag.UNSUPPORTED_ENCODING),
    answer(200, b"", refused=Reason.TOO_LARGE),
    Redirect(URL, head(301, location="/x"), "/x", 100, 0.1),
    *(Failed(URL, cause, "in words") for cause in Cause),
    Failed(URL, Cause.INCOMPLETE, "body cut short", head=head(404)),
]


@pytest.mark.parametrize("outcome", UNREACHABLE)
def test_what_is_no_robots_txt_disallows_everything_for_five_minutes(outcome: Fetched | Failed | Redirect) -> None:
    """F74, F76, F77, F78, P13, P18. Seen to fail with HTML, a 202 and a 429 let through to the rules."""
    record, body = judge(ORIGIN, outcome, None, RobotsSettings(), NOW)
    assert (record.kind, record.errors, record.file, body) == ("unreachable", 1, b"", b"")
    assert record.expires_at == NOW + 300.0
    assert record.detail


@pytest.mark.parametrize(
    "body",
    [b"", b"\n", b"# <html> is not what this is\nUser-agent: *\n", b"User-agent: *\nDisallow: /<script>\n", b"Not found"],
)
def test_text_of_any_declared_type_is_read(body: bytes) -> None:
    """P10."""
    assert ask(answer(200, body, content_type="text/html")).kind == "rules"


def test_a_file_that_is_too_large_is_cut_at_a_line() -> None:
    """F78, P16."""
    record, body = judge(ORIGIN, answer(200, TEXT * 3, Flag.TRUNCATED_SIZE), None, RobotsSettings(max_bytes=len(TEXT) * 2 + 5), NOW)
    assert body == TEXT * 2
    assert record.file == file_hash(body)


def test_rechecks_of_an_unreachable_file_double_to_a_day_and_never_end_in_permission() -> None:
    """F74, P13, P14. Seen to fail with the count of errors not carried over."""
    record, now, waits = None, NOW, []
    while now < NOW + 40 * DAY:
        record = ask(Failed(URL, Cause.CONN_TIMEOUT, "no answer"), record, now)
        assert record.kind == "unreachable"
        waits.append(record.expires_at - now)
        now = record.expires_at
    assert waits[:4] == [300.0, 600.0, 1200.0, 2400.0]
    assert max(waits) == waits[-1] == DAY


def test_an_unreachable_check_does_not_fall_back_to_older_rules_and_an_answer_forgets_it() -> None:
    """P13, P15."""
    known = ask(answer())
    down = ask(answer(503), known)
    assert (down.kind, down.file, down.errors) == ("unreachable", b"", 1)
    again = ask(answer(503), ask(answer(), down))
    assert again.errors == 1


@pytest.mark.parametrize(
    ("outcome", "wait"),
    [
        (Failed(URL, Cause.HTTP_429, "", retry_after_s=3600.0), 3600.0),
        (Failed(URL, Cause.HTTP_429, "", retry_after_s=1.0), 300.0),
        (Failed(URL, Cause.HTTP_429, "", retry_after_s=1e12), DAY),
        (Failed(URL, Cause.HTTP_5XX, "", head=head(503, retry_after="1200")), 1200.0),
        (answer(429, retry_after="1800"), 1800.0),
        (answer(503, retry_after="Mon, 12 Jan 1970 15:46:40 GMT"), 7200.0),
        (answer(503, retry_after="soon"), 300.0),
        (answer(503, retry_after="9" * 400), 300.0),
    ],
)
def test_a_longer_retry_after_is_respected_up_to_a_day(outcome: Fetched | Failed, wait: float) -> None:
    """F76, P28."""
    assert ask(outcome).expires_at == NOW + wait


def test_details_are_short_however_long_the_servers_words_are() -> None:
    assert len(ask(Failed(URL, Cause.PROTOCOL, "x" * 10_000)).detail) == 200
