"""Statements about use by AI: each form as its specification defines it."""

from __future__ import annotations

import pytest

from thresher.crawler.core.ai_preferences import RobotsWords, of_headers, of_tdmrep, read_tdmrep, reserves
from thresher.crawler.core.robots import Rules

AT = 0.0


def words(text: str, url: str = "https://a.example/x/y") -> list[str]:
    return RobotsWords(text.encode(), Rules(text.encode(), "thresher")).of(url)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("User-agent: GPTBot\nDisallow: /", ["disallow: GPTBot"]),
        ("User-agent: gptbot/1.0\nDisallow: /", ["disallow: GPTBot"]),
        ("User-agent: GPTBot\nDisallow: /z", []),
        ("User-agent: GPTBot\nDisallow: /\nAllow: /x/", []),
        ("User-agent: GPTBot\nDisallow:", []),
        ("User-agent: GPTBotty\nDisallow: /", []),
        ("User-agent: *\nDisallow: /", []),
        ("# GPTBot CCBot\nUser-agent: *\nDisallow: /z", []),
        ("User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /x", ["disallow: CCBot, GPTBot"]),
        ("User-agent: GPTBot\nDisallow: /x\nUser-agent: CCBot\nDisallow: /q", ["disallow: GPTBot"]),
        ("User-agent: GPTBot\nCrawl-delay: 3\nUser-agent: CCBot\nDisallow: /x", ["disallow: CCBot, GPTBot"]),
        ("User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /", ["signal: search=yes, ai-train=no"]),
        ("User-agent: other\nContent-Signal: ai-train=no\nAllow: /", []),
        ("User-agent: *\nContent-Usage: /x/ train-ai=n\nAllow: /", ["signal: /x/ train-ai=n"]),
        ("User-agent: *\nContent-Usage: /q/ train-ai=n\nAllow: /", []),
    ],
)
def test_robots_txt(text: str, said: list[str]) -> None:
    found = words(text)
    assert [set(one.replace("disallow: ", "").split(", ")) for one in found] == [
        set(one.replace("disallow: ", "").split(", ")) for one in said
    ]


RESERVED = [
    [("robots.txt", "disallow: CCBot")],
    [("robots.txt", "signal: search=yes, ai-train=no")],
    [("robots.txt", "signal: ai-train=no")],
    [("robots.txt", "signal: /x/ train-ai=n")],
    [("header", "content-usage: train-ai=n")],
    [("header", "content-usage: train-ai=?0, search=y")],
    [("header", "tdm-reservation: 1")],
    [("page", "tdm-reservation: 1")],
    [("page", "noai")],
    [("tdmrep.json", "tdm-reservation: 1"), ("tdmrep.json", "tdm-policy: https://a.example/p")],
    [("tdmrep.json", "tdm-reservation: 0"), ("header", "tdm-reservation: 1")],
]
FREE = [
    [],
    [("page", "noimageai")],
    [("robots.txt", "signal: search=yes, ai-input=no")],
    [("robots.txt", "signal: ai-train=yes, search=no")],
    [("header", "content-usage: train-ai=y")],
    [("header", "content-usage: search=n")],
    [("tdmrep.json", "tdm-reservation: 1"), ("page", "tdm-reservation: 0")],
    [("tdmrep.json", "tdm-reservation: 1"), ("header", "tdm-reservation: 0")],
    [("header", "tdm-policy: https://a.example/ai-train=no")],
    [("header", "content-usage: notrain-ai=n")],
]


@pytest.mark.parametrize(("stated", "is_reserved"), [(one, True) for one in RESERVED] + [(one, False) for one in FREE])
def test_what_reserves(stated: list[tuple[str, str]], is_reserved: bool) -> None:
    """Mutations: noimageai counts as noai; the file's statement comes before the page's."""
    assert reserves([(source, says, AT) for source, says in stated]) is is_reserved


def test_the_first_location_of_tdmrep_that_matches_counts() -> None:
    rules = read_tdmrep(
        b'[{"location": "/open/*", "tdm-reservation": 0}, {"location": "/*.pdf$", "tdm-reservation": 1, "tdm-policy": "p"}]'
    )
    assert of_tdmrep(rules, "https://a.example/open/x.pdf") == ["tdm-reservation: 0"]
    assert of_tdmrep(rules, "https://a.example/x.pdf") == ["tdm-reservation: 1", "tdm-policy: p"]
    assert of_tdmrep(rules, "https://a.example/x.pdf?y") == []
    assert of_tdmrep(rules, "https://a.example/") == []


def test_headers_are_read_in_any_case_and_bounded() -> None:
    found = of_headers(
        [(b"TDM-Reservation", b" 1 "), (b"X", b"y"), (b"content-USAGE", b"train-ai=n\xff")] + [(b"tdm-policy", b"p" * 999)] * 99
    )
    assert found[:2] == ["tdm-reservation: 1", "content-usage: train-ai=nÿ"]
    assert len(found) == 16
    assert max(map(len, found)) == 200
