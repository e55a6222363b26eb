"""The log's reader and what it tells a judge of politeness."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.crawler.demo.log import ServedRequest, ServerLog, parse_line

_TEXT = st.text(st.characters(max_codepoint=0xFF), max_size=20)


def _request(start: float, end: float, host: str = "a.example:80", path: str = "/", status: int = 200) -> ServedRequest:
    return ServedRequest(start, end, "127.0.0.1", host, 1, "GET", path, status, 0, "t/1")


@settings(max_examples=50)
@given(host=_TEXT, path=_TEXT, agent=_TEXT)
def test_a_line_keeps_one_request_whatever_stands_in_it(host: str, path: str, agent: str) -> None:
    """S38: no header or path forges a line or a field."""
    line = ServedRequest(1.5, 2.25, "127.0.0.1", host, 7, "GET", path, 200, 12, agent).line()
    assert line.count("\n") == 1
    assert line.isprintable() or not any(ord(char) < 0x20 for char in line.strip("\n").replace("\t", ""))
    read = parse_line(line)
    assert (read.start, read.end, read.connection, read.status, read.n_bytes) == (1.5, 2.25, 7, 200, 12)
    if path.isalnum():
        assert read.path == path


def test_gaps_run_from_the_latest_end_to_the_next_start_and_are_negative_where_two_overlap() -> None:
    log = ServerLog([_request(0, 1), _request(3, 9), _request(4, 5), _request(9.5, 10)])
    assert log.gaps() == {"a.example": [2.0, -5.0, 0.5]}
    assert log.max_concurrency() == {"a.example": 2}


def test_one_after_the_other_without_a_gap_is_no_concurrency() -> None:
    assert ServerLog([_request(0, 1), _request(1, 2)]).max_concurrency() == {"a.example": 1}


def test_www_and_bare_and_the_default_port_are_one_queue() -> None:
    log = ServerLog([_request(0, 1, "www.a.example:80"), _request(2, 3, "a.example"), _request(2, 3, "a.example:8080")])
    assert log.gaps() == {"a.example": [1.0], "a.example:8080": []}
    assert list(log.by(lambda request: request.address)) == ["127.0.0.1"]


def test_the_first_request_of_each_origin_and_forbidden_ones_are_named() -> None:
    robots = _request(0, 1, "a.example", "/robots.txt")
    rude, private = _request(0, 1, "b.example", "/"), _request(2, 3, "a.example", "/private/x")
    log = ServerLog([private, rude, robots])
    assert log.origins_without_robots_first() == ["b.example"]
    assert log.forbidden(lambda host, path: not path.startswith("/private/")) == [private]
    assert log.counts()["http://b.example/"] == 1
    assert log.agents() == {"t/1"}


def test_an_unfinished_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(_request(0, 1).line() + _request(1, 2).line()[:-5])
    assert len(ServerLog.read(path)) == 1
    path.write_text("")
    assert len(ServerLog.read(path)) == 0
