"""Lines of access logs, as Apache and nginx write them."""

from __future__ import annotations

import pytest

from thresher.crawler.core.access_log import LoggedRequest, parse

AT = 1431857103  # 17 May 2015, 10:05:03 UTC


@pytest.mark.parametrize(
    ("line", "read"),
    [
        (
            '10.0.0.1 - - [17/May/2015:10:05:03 +0000] "GET /a?b=1 HTTP/1.1" 200 2326',
            LoggedRequest("10.0.0.1", AT, "GET", "/a?b=1", 200, 2326, None, None),
        ),
        (
            'h.example - me [17/May/2015:12:05:03 +0200] "POST /a b HTTP/1.0" 302 - "-" "M \\"x\\" 5" extra',
            LoggedRequest("h.example", AT, "POST", "/a b", 302, -1, "-", 'M \\"x\\" 5'),
        ),
        ('::1 - - [17/May/2015:10:05:03 +0000] "-" 408 0 "-" "-"', LoggedRequest("::1", AT, "", "-", 408, 0, "-", "-")),
        ('::1 - - [17/May/2015:10:05:03 +0000] "" 400 0', LoggedRequest("::1", AT, "", "", 400, 0, None, None)),
        ('::1 - - [17/May/2015:10:05:03 +0000] "\\x16\\x03" 400 0', LoggedRequest("::1", AT, "", "\\x16\\x03", 400, 0, None, None)),
        ('::1 - - [17/May/2015:10:05:03 +0000] "GET /cut', None),
        ('::1 - - [31/Feb/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1', None),
        ("# a comment", None),
        ("", None),
    ],
)
def test_a_line_is_read_whole_or_not_at_all(line: str, read: LoggedRequest | None) -> None:
    """Mutations: the time zone was not read; a line without a request line was skipped."""
    assert parse(line) == read
