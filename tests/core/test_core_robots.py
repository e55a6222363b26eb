"""Facts and laws of robots.txt: groups, matching, hostile files, answers that are no rules, and directives of pages."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.crawler.core.model import Directives
from thresher.crawler.core.robots import MAX_BYTES, MAX_RULES, MAX_SIGNALS, MAX_SITEMAPS, Rules, directives, file_hash, head_of

HOST = "https://a.example"


def rules(text: str | bytes, agent: str = "thresher") -> Rules:
    return Rules(text if isinstance(text, bytes) else text.encode(), agent)


def allowed(text: str | bytes, path: str, agent: str = "thresher") -> bool:
    return rules(text, agent).allows(HOST + path)


# -- groups -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("", True),
        ("Disallow: /", True),  # no group
        ("User-agent: other\nDisallow: /", True),
        ("User-agent: *\nDisallow: /", False),
        ("User-agent: * \t# all\nDisallow: /", False),
        ("User-agent: THRESHER\nDisallow: /", False),
        ("User-agent: Thresher/1.0 (+https://x)\nDisallow: /", False),
        ("User-agent: thresher bot\nDisallow: /", False),
        ("User-agent: thresherbot\nDisallow: /", True),
        ("User-agent: my-thresher\nDisallow: /", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: thresher\nDisallow:", True),  # our own group, though it says nothing
        ("User-agent: thresher\nDisallow: /\n\nUser-agent: *\nAllow: /", False),
        ("User-agent: other\nUser-agent: thresher\nDisallow: /", False),
        ("User-agent:\nUser-agent: thresher\nDisallow: /", False),
        ("User-agent: thresher\nDisallow: /\nUser-agent: other\nAllow: /", False),
    ],
)
def test_the_group_of_our_product_token_speaks_to_us_else_everyones(text: str, may: bool) -> None:
    """P2."""
    assert allowed(text, "/x") is may


def test_an_agent_with_digits_in_its_name_is_found() -> None:
    """P2: RFC 9309 has tokens of letters, "-" and "_" only; an agent called otherwise must not slip past its own group."""
    assert not allowed("User-agent: bot2\nDisallow: /", "/x", agent="bot2")
    assert allowed("User-agent: bot3\nDisallow: /", "/x", agent="bot2")
    assert not allowed("User-agent: bot3\nDisallow: /", "/x", agent="Bot")


def test_groups_of_one_name_are_one() -> None:
    """P3."""
    text = "User-agent: thresher\nDisallow: /a\n\nUser-agent: other\nDisallow: /b\n\nUser-agent: Thresher\nDisallow: /c\n"
    assert [allowed(text, path) for path in ("/a", "/b", "/c")] == [False, True, False]


OTHER_RECORDS = "Sitemap: https://a.example/s.xml|Crawl-delay: 5|Host: a|Request-rate: 1/5|Content-Signal: ai-train=no|nonsense||#"


@pytest.mark.parametrize("record", OTHER_RECORDS.split("|"))
def test_other_records_neither_end_nor_begin_a_group(record: str) -> None:
    """P8, P10. Seen to fail for Crawl-delay when such a line ends the run of User-agent lines, as protego has it."""
    text = f"User-agent: thresher\n{record}\nUser-agent: other\n{record}\nDisallow: /a\n{record}\nDisallow: /b\n"
    assert [allowed(text, path) for path in ("/a", "/b", "/c")] == [False, False, True]


def test_what_is_no_record_is_skipped_and_the_rest_obeyed() -> None:
    """P10."""
    lines = [b"<p>hello</p>", b"\xff\xfe\x00junk:::", b"User-agent: *", b":", b"Allow", b"Disallow\t/tab", b"disallow /space"]
    text = b"\n".join([*lines, b"DISALLOW : /colon", b"Dissalow: /typo", b"{}"])
    for path in ("/tab", "/space", "/colon", "/typo"):
        assert not allowed(text, path)
    assert allowed(text, "/other")


# -- matching ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "path", "may"),
    [
        ("Disallow: /a\nAllow: /a/b", "/a/b/c", True),  # P4: the longest match
        ("Allow: /a\nDisallow: /a/b", "/a/b/c", False),
        ("Disallow: /a\nAllow: /a", "/a", True),  # equally long: allowed
        ("Disallow: /a*\nAllow: /a", "/ab", False),
        ("Disallow: /a", "/A", True),  # P5: case, and from the first octet
        ("Disallow: /a", "/b/a", True),
        ("Disallow: a", "/a", True),
        ("Disallow: /a", "/ab?c", False),
        ("Disallow: /?", "/", True),
        ("Disallow: /?", "/?x", False),
        ("Disallow: /%7ejoe", "/~joe/x", False),  # P6: one spelling on both sides
        ("Disallow: /~joe", "/~joe", False),
        ("Disallow: /a%3cd", "/a%3Cd", False),
        ("Disallow: /%62%61%7a", "/baz", False),
        ("Disallow: /café", "/caf%C3%A9", False),
        ("Disallow: /caf%c3%a9", "/caf%C3%A9", False),
        ("Disallow: /a%2Fb", "/a/b", True),
        ("Disallow: /a b", "/a%20b", False),
        ("Disallow: /*.gif$", "/x/y.gif", False),  # P7
        ("Disallow: /*.gif$", "/y.gif?x", True),
        ("Disallow: /a*b*c", "/a1b2c3", False),
        ("Disallow: /a*b*c", "/a1c2b3", True),
        ("Disallow: *", "/x", False),
        ("Disallow: /$", "/", False),
        ("Disallow: /$", "/x", True),
        ("Disallow: /a#b", "/a", False),
        ("Disallow: /a$b", "/a$b", False),
        ("Disallow: /x\nAllow: /x/index.html", "/x/", True),  # as Google: index.html is its directory
        ("Disallow: /", "/robots.txt", True),  # P9
        ("Disallow: /", "/robots.txt?x", True),
        ("Disallow: /", "/x/robots.txt", False),
        ("Disallow: //x", "//x", False),
    ],
)
def test_paths_match_as_rfc_9309_says(lines: str, path: str, may: bool) -> None:
    """P4, P5, P6, P7, P9."""
    assert allowed("User-agent: *\n" + lines, path) is may


PATHS = st.text("ab/%*$é?=1", max_size=8).map(lambda text: "/" + text)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(["Allow", "Disallow"]), PATHS), max_size=6), st.text("ab/?=1", max_size=8))
def test_more_disallows_never_allow_more(lines: list[tuple[str, str]], path: str) -> None:
    """P4. Seen to fail with the first of two rules of one pattern winning."""
    text = "User-agent: *\n" + "".join(f"{name}: {pattern}\n" for name, pattern in lines)
    if not allowed(text, "/" + path):
        assert not allowed(text + "Disallow: /a\n", "/" + path)
    swapped = "User-agent: *\n" + "".join(f"{name}: {pattern}\n" for name, pattern in reversed(lines))
    assert allowed(text, "/" + path) == allowed(swapped, "/" + path)


# -- hostile and odd files --------------------------------------------------------------------------------------------

PLAIN = "User-agent: *\nDisallow: /no\n"


@pytest.mark.parametrize(
    "body",
    [
        PLAIN.encode(),
        PLAIN.rstrip().encode(),
        PLAIN.replace("\n", "\r").encode(),
        PLAIN.replace("\n", "\r\n").encode(),
        PLAIN.encode("utf-8-sig"),
        b"# joined\n" + PLAIN.encode("utf-8-sig"),
        PLAIN.encode("utf-16"),
        b"\xfe\xff" + PLAIN.encode("utf-16-be"),
        PLAIN.encode("utf-16-le"),
        b"\x00" + PLAIN.encode() + b"\x00",
        PLAIN.replace(" /no", "\u00a0/no\u00a0").encode(),
        PLAIN.replace("\n", "\x0b\n").encode(),
        b"\xff\xf0\x80 \xc3(\n" + PLAIN.encode() + b"\x89PNG\x0d\x0a\x1a\x0a",
    ],
)
def test_marks_line_ends_and_broken_bytes_hide_no_rule(body: bytes) -> None:
    """P17, F78. Seen to fail: in a file that was joined from two, the byte order mark was removed from the first line only."""
    assert not allowed(body, "/no/x")
    assert allowed(body, "/yes")


def test_no_character_within_a_line_begins_another() -> None:
    """F78: "\\x0b", "\\x85" or "\\u2028" end no line of a robots.txt."""
    for separator in ("\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"):
        assert not allowed(f"User-agent: *\nDisallow: /no\nDisallow: /x{separator}Allow: /no/", "/no/x")


def test_raw_latin_1_matches_the_same_bytes() -> None:
    """P6, P17."""
    assert not allowed(b"User-agent: *\nDisallow: /caf\xe9", "/caf%E9")


@pytest.mark.parametrize("body", [bytes(range(256)) * 40, b"\x00" * 10_000, b":" * 10_000, b"\n" * 10_000, b"User-agent: *\n" * 700])
def test_garbage_allows(body: bytes) -> None:
    """F78, P10."""
    assert allowed(body, "/x")


PARTS = st.sampled_from([b"User-agent: *\n", b"Disallow: /", b"Allow: ", b"*", b"$", b"%", b"\xff", b"\n"])


@given(st.binary(max_size=200) | st.lists(PARTS).map(b"".join))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_no_file_raises_and_robots_txt_is_always_allowed(body: bytes) -> None:
    """F78, P9."""
    found = rules(body)
    found.allows(HOST + "/a%20b?c")
    assert found.allows(HOST + "/robots.txt")


def test_rules_count_up_to_512_000_bytes_and_half_a_line_counts_for_nothing() -> None:
    """P16, F78."""
    rule = b"Disallow: /late\n"
    start = b"User-agent: *\n"
    filler = b"#" * (511_900 - len(start) - 1) + b"\n"
    assert not allowed(start + filler + rule + b"#" * 10_000_000, "/late")
    beyond = start + b"#" * (MAX_BYTES - len(start) - 1) + b"\n" + rule
    assert allowed(beyond, "/late")
    cut = b"User-agent: *\nDisallow: /a\n" + b"#" * (MAX_BYTES - 27 - 8) + b"\nAllow: /a/only-this\n"
    assert cut[:MAX_BYTES].endswith(b"\nAllow: ")
    assert not Rules(cut[:MAX_BYTES] + b"/a", "thresher", max_bytes=MAX_BYTES).allows(HOST + "/ab")
    assert head_of(b"ab\ncd", 4) == b"ab\n"
    assert head_of(b"ab\rcd", 4) == b"ab\r"
    assert head_of(b"abcdef", 4) == b""
    assert head_of(b"ab\ncd", 5) == b"ab\ncd"


def test_beyond_the_budget_a_file_can_only_forbid_more() -> None:
    """F78. Seen to fail with the rules beyond the budget dropped."""
    many = "".join(f"Disallow: /d{i}/\n" for i in range(MAX_RULES))
    text = f"User-agent: *\n{many}Disallow: /late*x\nAllow: /d7/late\nDisallow: /end$\nDisallow: /d1/\n"
    found = rules(text)
    assert [found.allows(HOST + path) for path in ("/d3/", "/d7/late", "/late", "/end", "/ok")] == [False, False, False, False, True]
    assert not rules(f"User-agent: *\n{many}Disallow: *x\n").allows(HOST + "/ok")
    assert rules(f"User-agent: *\n{many}" + many).allows(HOST + "/ok")


def test_a_bomb_of_wildcards_is_shortened_to_what_it_surely_forbids() -> None:
    """F78."""
    found = rules("User-agent: *\nDisallow: /bomb" + "*a" * 200_000 + "\nAllow: /" + "*b" * 50_000 + "\nDisallow: /no\n")
    assert [found.allows(HOST + path) for path in ("/bomb/1", "/no", "/ok" + "b" * 2000)] == [False, False, True]


# -- what else the file says ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("User-agent: *\nCrawl-delay: 10", 10.0),
        ("User-agent: *\nDisallow: /x\nCrawl-delay: 0.5", 0.5),
        ("User-agent: *\nCrawl-delay: 5s # seconds", 5.0),
        ("User-agent: *\nCrawl-delay: 2\nCrawl-delay: 7\nCrawl-delay: 3", 7.0),
        ("User-agent: thresher\nCrawl-delay: 3\nDisallow: /x\nUser-agent: *\nDisallow: /\nCrawl-delay: 60", 3.0),
        ("User-agent: *\nCrawl-delay: 3\nDisallow:\n\nUser-agent: other\nCrawl-delay: 60", 3.0),
        ("User-agent: thresher\nDisallow: /x\n\nUser-agent: *\nCrawl-delay: 60", None),
        ("User-agent: other\nCrawl-delay: 60\nUser-agent: *\nCrawl-delay: 3", 3.0),  # one group; a delay is for those named before it
        ("Crawl-delay: 10\nUser-agent: *", None),
        ("User-agent: *\nCrawl-delay: 1e9", 1e9),
        ("User-agent: *\nCrawl-delay: 1.5E+1", 15.0),
        ("User-agent: *\nCrawl-delay: 25e-1 s", 2.5),
        ("User-agent: *\nCrawl-delay: .5", 0.5),
        ("User-agent: *\nCrawl-delay: 2,5", 2.5),
        ("User-agent: *\nCrawl-delay: +5.", 5.0),
        ("User-agent: *\nCrawl-delay: 5 every day", 5.0),
        ("User-agent: *\nCrawl-delay: 5each", 5.0),
        ("User-agent: *\nCrawl-delay: 1e" + "9" * 5000, 1e9),
        ("User-agent: *\nCrawl-delay: 1e-" + "9" * 5000, 0.0),
        ("User-agent: *\nCrawl-delay: .", None),
        ("User-agent: *\nCrawl-delay: e5", None),
        ("User-agent: *\nCrawl-delay: -1", None),
        ("User-agent: *\nCrawl-delay: -.5", None),
        ("User-agent: *\nCrawl-delay: inf", None),
        ("User-agent: *\nCrawl-delay: nan", None),
        ("User-agent: *\nCrawl-delay:", None),
        ("User-agent: *\nCrawl-delay: " + "9" * 5000, 1e9),
    ],
)
def test_the_crawl_delay_is_that_of_the_group_that_speaks_to_us(text: str, delay: float | None) -> None:
    """P19."""
    assert rules(text).crawl_delay == delay


def test_sitemaps_belong_to_no_group_and_are_bounded() -> None:
    text = "Sitemap: https://a.example/1.xml\nUser-agent: other\nSitemap: /2.xml\nDisallow: /\nsite-map: /2.xml\n"
    assert rules(text).sitemaps == ("https://a.example/1.xml", "/2.xml")
    assert len(rules("".join(f"Sitemap: /{i}\n" for i in range(2 * MAX_SITEMAPS))).sitemaps) == MAX_SITEMAPS


def test_ai_preference_signals_are_recorded_and_change_nothing() -> None:
    """P47."""
    lines = ["Content-Usage: bots=n", "User-Agent: other", "Content-Signal: ai-train=yes", "Disallow: /x", "User-Agent: *"]
    text = "\n".join([*lines, "Content-Signal: search=yes,  ai-train=no", "Allow: /"])
    found = rules(text)
    assert found.allows(HOST + "/x")
    assert found.signals == ("bots=n", "search=yes, ai-train=no")
    assert len(rules("".join(f"Content-Signal: a={i}\n" for i in range(50))).signals) == MAX_SIGNALS


def test_a_files_hash_names_its_content() -> None:
    assert len(file_hash(b"")) == 16
    assert file_hash(b"a") != file_hash(b"b")


# -- directives of pages ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ([], (False, False)),
        ([("robots", "index, follow")], (False, False)),
        ([("ROBOTS", "NoIndex,NOFOLLOW")], (True, True)),
        ([("robots", "none")], (True, True)),
        ([("robots", "all")], (False, False)),
        ([("robots", "noindex nofollow")], (True, True)),
        ([("robots", "noarchive; nofollow")], (False, True)),
        ([(" Robots ", " nofollow ")], (False, True)),
        ([("thresher", "nofollow")], (False, True)),
        ([("googlebot", "none")], (False, False)),
        ([("robots", "noindex"), ("thresher", "nofollow")], (True, True)),  # restrictions add up
        ([("robots", "nofollow"), ("thresher", "follow")], (False, True)),
        ([("description", "nofollow")], (False, False)),
        ([("robots", "unavailable_after: 25 Jun 2010 15:00:00 PST")], (False, False)),
        ([("robots", "nofollowing")], (False, False)),
    ],
)
def test_meta_elements_named_robots_or_us_are_obeyed(meta: list[tuple[str, str]], expected: tuple[bool, bool]) -> None:
    """P45."""
    found = directives(meta, [], "Thresher")
    assert (found.noindex, found.nofollow) == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (["noindex"], (True, False)),
        (["NOINDEX, nofollow"], (True, True)),
        (["noindex", "nofollow"], (True, True)),
        (["none"], (True, True)),
        (["thresher: nofollow"], (False, True)),
        (["THRESHER: nofollow"], (False, True)),
        (["*: nofollow"], (False, True)),
        (["googlebot: none"], (False, False)),
        (["googlebot: noindex, nofollow"], (False, False)),
        (["googlebot: noindex, thresher: nofollow"], (False, True)),
        (["googlebot: noindex", "nofollow"], (False, True)),
        (["nofollow, googlebot: noindex"], (False, True)),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow"], (False, True)),
        (["unavailable_after: Fri, 25-Jun-10 15:00:00 UTC, noindex"], (True, False)),
        (["max-snippet:20, max-image-preview: large, nofollow"], (False, True)),
        (["noindex: , nofollow:"], (True, True)),
        ([":,::,=;", "\xff" * 10_000], (False, False)),
    ],
)
def test_x_robots_tags_for_all_or_for_us_are_obeyed(headers: list[str], expected: tuple[bool, bool]) -> None:
    """P45."""
    found = directives([], headers, "thresher")
    assert (found.noindex, found.nofollow) == expected


def test_ai_signals_of_pages_are_recorded_and_change_nothing() -> None:
    """P47."""
    meta = [
        ("robots", "noai, noimageai"),
        ("TDM-Reservation", " 1 "),
        ("tdm-policy", "https://a.example/" + "p" * 500),
        ("googlebot", "noai"),
    ]
    found = directives(meta, ["noai", "other: noimageai"], "thresher")
    assert found == Directives(False, False, ("tdm-reservation: 1", "tdm-policy: https://a.example/" + "p" * 170, "noai", "noimageai"))
