"""From bytes to UTF-8: the order of evidence; and links survive a wrong charset."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.crawler.core import html
from thresher.crawler.core.charset import PRESCAN_BYTES

REFERENCE = '<title>Füße</title><p>Größe übermäßig schöner Bücher für fünf Brüder</p><a href="/a?b=c&amp;d">x</a><a href="/straße">y</a>'
CYRILLIC = "Привет, как дела сегодня? Хорошая погода стоит в городе, и все люди гуляют по улицам и паркам."


def links(body: bytes, content_type: str = "text/html") -> list[str]:
    parsed = html.read(body, content_type, "text/html", agent="thresher", max_links=9)
    assert parsed is not None
    return [link.href for link in parsed.links]


PAGES = {
    "UTF-8 mark": (codecs.BOM_UTF8 + REFERENCE.encode(), "text/html; charset=windows-1252", "utf-8"),
    "UTF-16 mark, little": (codecs.BOM_UTF16_LE + REFERENCE.encode("utf-16-le"), "text/html; charset=utf-8", "utf-16le"),
    "UTF-16 mark, big": (codecs.BOM_UTF16_BE + REFERENCE.encode("utf-16-be"), "text/html", "utf-16be"),
    "UTF-16 by header": (REFERENCE.encode("utf-16-le"), 'text/html; charset="UTF-16"', "utf-16le"),
    "UTF-16 by XML declaration": (f"<?xml version='1.0'?>{REFERENCE}".encode("utf-16-be"), "text/html", "utf-16be"),
    "UTF-32 mark": (codecs.BOM_UTF32_LE + REFERENCE.encode("utf-32-le"), "text/html", "utf-32le"),
    "UTF-32 by header": (REFERENCE.encode("utf-32-be"), "text/html; charset=utf-32be", "utf-32be"),
    "header": (REFERENCE.encode("latin-1"), "text/html;charset=ISO-8859-1", "windows-1252"),
    "header wins over meta": (b"<meta charset=koi8-r>" + REFERENCE.encode(), "text/html; charset=utf-8", "utf-8"),
    "unknown label in header": (b"<meta charset=latin1>" + REFERENCE.encode("latin-1"), "text/html; charset=klingon", "windows-1252"),
    "unknown labels everywhere": (b"<meta charset=klingon>" + REFERENCE.encode(), "text/html; charset=none", "utf-8"),
    "refused label": (REFERENCE.encode(), "text/html; charset=hz-gb-2312", "utf-8"),
    "header says UTF-16, bytes do not": (b"<meta charset=utf-8>" + REFERENCE.encode(), "text/html; charset=utf-16", "utf-8"),
    "nothing declared, UTF-8": (REFERENCE.encode(), "text/html", "utf-8"),
    "nothing declared, not UTF-8": (REFERENCE.encode("latin-1"), "", "windows-1252"),
}


@pytest.mark.parametrize("name", PAGES)
def test_links_equal_the_reference_in_every_charset(name: str) -> None:
    """F62: BOM, header, meta, UTF-8, detector, windows-1252, in this order."""
    body, content_type, charset = PAGES[name]
    assert html.decode(body, content_type)[1] == charset
    assert links(body, content_type) == ["/a?b=c&d", "/straße"]
    parsed = html.read(body, content_type, "text/html", agent="thresher", max_links=9)
    assert parsed is not None
    assert (parsed.title, parsed.charset) == ("Füße", charset)


@pytest.mark.parametrize("label", ["koi8-r", "shift_jis", "utf-8", "iso-8859-7", "iso-2022-jp", "x-user-defined"])
def test_a_wrong_charset_costs_no_ascii_link(label: str) -> None:
    """F62: what cannot be decoded is replaced."""
    assert links(REFERENCE.encode("latin-1"), f"text/html; charset={label}")[0] == "/a?b=c&d"


def test_the_detector_knows_what_nobody_declared() -> None:
    assert html.decode(CYRILLIC.encode("windows-1251"), "") == (CYRILLIC.encode(), "windows-1251")
    assert html.decode("日本語のテキストです。漢字とかな。".encode("euc-jp"), "")[1] == "euc-jp"


SHORT_WESTERN = [
    "café",
    "<p>café</p>",
    "<title>Menu</title><p>Un café, merci</p>",
    "naïve",
    "Señor niño mañana",
    "£5",
    "© 2020 Müller",
    "smørrebrød på æ ø å",
    "<p>prix: 5 € – élevé</p>",
    "“quoted” text’s",
    "<title>résumé</title>",
    "Málaga 2024",
    "Æon",
    "¿Qué? ¡Sí!",
    "São João",
    "Crème brûlée, café, thé",
]
SHORT_OTHERS = [  # the detector knows these at once, and the rule for few bytes must leave them to it
    ("Привет мир", "windows-1251", "windows-1251"),
    ("Привет мир", "koi8-r", "koi8-r"),
    ("Łódź", "iso-8859-2", "iso-8859-2"),
    ("źródło", "iso-8859-2", "iso-8859-2"),
    ("שלום", "windows-1255", "windows-1255"),
    ("中文網頁", "big5", "big5"),
    ("日本語のテキスト", "shift_jis", "shift_jis"),
]


@pytest.mark.parametrize("text", SHORT_WESTERN)
def test_a_short_page_in_latin_1_that_nobody_declared_is_read_as_it_was_written(text: str) -> None:
    """Seen to fail for 10 of these 16: they were taken for ISO-8859-2, -3, -10, -15, UTF-8 and Mac OS."""
    assert html.decode(text.encode("cp1252"), "text/html") == (text.encode(), "windows-1252")


@pytest.mark.parametrize(("text", "codec", "charset"), SHORT_OTHERS)
def test_a_short_page_in_another_script_is_still_left_to_the_detector(text: str, codec: str, charset: str) -> None:
    assert html.decode(text.encode(codec), "text/html") == (text.encode(), charset)


def test_a_short_page_of_damaged_utf_8_is_no_latin_1() -> None:
    assert html.decode("<p>café à la crème".encode() + b"\xff</p>", "text/html")[1] != "windows-1252"
    assert html.decode(b"<p>caf\xc3", "text/html; charset=utf-8") == (b"<p>caf", "utf-8")


def test_utf_8_is_not_copied() -> None:
    for body in (b"<p>plain", "<p>schön".encode(), b""):
        for content_type in ("text/html; charset=utf-8", "text/html"):
            assert html.decode(body, content_type)[0] is body


def test_ascii_is_not_copied_under_any_label_but_those_that_escape() -> None:
    body = b"<p>plain"
    assert html.decode(body, "text/html; charset=shift_jis") == (body, "shift_jis")
    assert html.decode(b"\x1b$B%F\x1b(B", "text/html; charset=iso-2022-jp")[0].decode() == "テ"


def test_a_character_torn_by_the_size_limit_is_cut_off() -> None:
    for n_bytes in (1, 2, 3):
        assert html.decode(b"<p>x" + "😀".encode()[:n_bytes], "") == (b"<p>x", "utf-8")
    assert html.decode(b"\xe2\x82<p>", "text/html; charset=utf-8") == ("\ufffd<p>".encode(), "utf-8")


def test_the_prescan_reads_the_start_only() -> None:
    meta = b"<meta charset=koi8-r>"
    body = b" " * (PRESCAN_BYTES - len(meta)) + meta
    assert html.decode(body, "")[1] == "koi8-r"
    assert html.decode(b" " + body, "")[1] == "utf-8"


@given(st.binary(max_size=80) | st.text(max_size=40).map(lambda text: text.encode("utf-16-le")), st.text(max_size=20))
@settings(max_examples=100, deadline=None)
def test_whatever_comes_in_utf_8_comes_out(body: bytes, label: str) -> None:
    """Law."""
    body_utf8, charset = html.decode(body, f"text/html; charset={label}")
    body_utf8.decode()
    assert charset


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\ufeff\0"), max_size=60), st.sampled_from(["utf-8", "utf-16le", "utf-16be"])
)
@settings(max_examples=100, deadline=None)
def test_marked_text_survives(text: str, charset: str) -> None:
    """Law: with a byte order mark nothing is lost."""
    marks = {"utf-8": codecs.BOM_UTF8, "utf-16le": codecs.BOM_UTF16_LE, "utf-16be": codecs.BOM_UTF16_BE}
    assert html.decode(marks[charset] + text.encode(charset), "") == (text.encode(), charset)
