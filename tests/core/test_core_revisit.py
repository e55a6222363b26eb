"""Rules of a round: validators by RFC 9110, lots, lies, gone pages, parked hosts, --where."""

from __future__ import annotations

from email.utils import formatdate

import pytest

from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.revisit import MOST_LOST, WINDOW, Validators, has_lied, is_drawn, is_gone, is_sudden, validators
from thresher.crawler.core.selection import Selection

NOW = 1_772_541_067.0
DAY = 86_400.0


def http(at: float) -> str:
    return formatdate(at, usegmt=True)


@pytest.mark.parametrize(
    ("etag", "is_sent"),
    [
        ('"a"', True),
        ('W/"a"', True),
        ('""', True),
        ('"\xe4"', True),
        ('w/"a"', False),
        ("a", False),
        ('"a', False),
        ('"a b"', False),
        ('"a"\r\nX: y', False),
        (f'"{"x" * 1022}"', True),
        (f'"{"x" * 1023}"', False),
    ],
)
def test_8_8_3_only_an_entity_tag_is_sent_back(etag: str, is_sent: bool) -> None:
    found = validators(etag, "", "", NOW)
    assert found.conditions() == (((b"If-None-Match", etag.encode("latin-1")),) if is_sent else ())


@pytest.mark.parametrize(
    ("modified", "date", "is_sent"),
    [
        (http(NOW - DAY), http(NOW), True),
        (http(NOW - DAY), "", True),
        (http(NOW + DAY), http(NOW), False),  # 8.8.2.1: later than the answer's own date
        (http(NOW + DAY), "", False),
        (http(NOW), http(NOW), False),  # 8.8.2.2: in its last second
        (http(NOW - 1), http(NOW), True),
        ("Sunday, 06-Nov-94 08:49:37 GMT", http(NOW), True),  # 5.6.7: obsolete forms
        ("yesterday", http(NOW), False),
        ("Thu, 99 Foo 2026 99:99:99 GMT", http(NOW), False),
        ("Mon, 01 Jan 2024 00:00:00 GMT" + " " * 100, http(NOW), False),
    ],
)
def test_8_8_2_only_a_date_that_can_be_a_validator_is_sent_back(modified: str, date: str, is_sent: bool) -> None:
    assert (validators("", modified, date, NOW).conditions() == ((b"If-Modified-Since", modified.encode()),)) is is_sent


def test_lots_are_the_same_in_every_life_and_others_in_each_round() -> None:
    keys = [i.to_bytes(16, "big") for i in range(20_000)]
    drawn = [{key for key in keys if is_drawn(key, number, 0.02)} for number in (2, 3, 2)]
    assert drawn[0] == drawn[2] != drawn[1]
    assert len(drawn[0]) == pytest.approx(400, abs=100)
    assert not any(is_drawn(key, 2, 0.0) for key in keys)
    assert all(is_drawn(key, 2, 1.0) for key in keys)


def test_a_304_lied_if_the_same_validator_comes_with_another_page() -> None:
    tag, date = Validators('"1"', ""), Validators("", http(NOW - DAY))
    assert has_lied(tag, tag, is_change=True, said_at=NOW)
    assert has_lied(date, date, is_change=True, said_at=NOW)
    assert not has_lied(tag, tag, is_change=False, said_at=NOW)
    assert not has_lied(tag, Validators('"2"'), is_change=True, said_at=NOW)  # the page may have changed between the two answers
    assert has_lied(tag, Validators('"2"', http(NOW - 60)), is_change=True, said_at=NOW)  # it says that it had changed before the first
    assert not has_lied(tag, Validators('"2"', http(NOW)), is_change=True, said_at=NOW)


def test_gone_takes_410_or_404_on_two_days() -> None:
    assert is_gone(410, 0.0, NOW, is_doubted=True)
    assert not is_gone(404, 0.0, NOW, is_doubted=False)
    assert not is_gone(404, NOW - 60, NOW, is_doubted=False)
    assert is_gone(404, NOW - DAY, NOW, is_doubted=False)
    assert not is_gone(404, NOW - DAY, NOW, is_doubted=True)
    assert not is_gone(403, NOW - DAY, NOW, is_doubted=False)


def test_a_host_is_parked_by_half_of_its_last_answers() -> None:
    assert is_sudden((1 << MOST_LOST) - 1)
    assert not is_sudden((1 << (MOST_LOST - 1)) - 1)
    assert not is_sudden((1 << MOST_LOST) - 1 << WINDOW)  # long ago
    assert is_sudden(int("10" * MOST_LOST, 2))


def test_where_takes_globs_lists_and_classes_of_status() -> None:
    page = {
        "url": "http://a.example/x/1",
        "host": "a.example",
        "site": "a.example",
        "type": "text/html",
        "status": "204",
        "depth": "3",
        "gone": "no",
    }
    for text in ("host=*.example", "url=*/x/*", "status=2xx", "status=404,2XX", "depth=3", "TYPE=Text/*", "gone=no"):
        assert Selection([text]).has(page), text
    for text in ("host=b.example", "status=3xx", "depth=1,2"):
        assert not Selection(["host=a.example", text]).has(page), text
    assert Selection([]).has(page)


@pytest.mark.parametrize("text", ["host", "colour=red", "host=", "=x", ""])
def test_where_says_what_it_expects(text: str) -> None:
    with pytest.raises(UsageError, match="expected FIELD=VALUE with one of the fields url, host"):
        Selection([text])
