"""`thresher export --what texts`: main text and language of what was kept; no page hangs or kills the export."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import forking
import pytest
from command import Command
from small_store import NOW, SEED, SmallStore

from thresher.config.settings import ParseSettings, Settings
from thresher.crawler.children import text_extractor
from thresher.crawler.children.text_extractor import TextExtractor
from thresher.crawler.children.text_process import TextSetup
from thresher.storage.export.kinds import KINDS

parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("trafilatura")

GERMAN = "Die Mühle am Bach mahlt seit zweihundert Jahren Korn, und der Müller wohnt mit seiner Familie unter dem Dach."
MORE = "Im Winter friert das Rad ein, und dann wird das Korn auf dem Wagen in die Stadt gefahren, wo eine größere Mühle steht."
LAST = "Davon erzählt der alte Müller gern, wenn am Abend Besuch kommt und in der Stube das Feuer brennt."
FRENCH = "Le moulin au bord de la rivière moud le grain depuis deux cents ans, et le meunier habite sous le toit avec sa famille."


def article(*paragraphs: str) -> bytes:
    menu = "".join(f"<li><a href=/{n}>Menu entry {n}</a>" for n in range(20))
    text = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    main = f"<article><h1>On mills</h1>{text}</article>"
    return f"<!doctype html><title>t</title><nav><ul>{menu}</ul></nav>{main}<footer>Imprint, terms</footer>".encode()


CITIES = "Oslo, Paris, Roma, Madrid, Lima, Quito, Praha, Wien, Bern, Riga, Tallinn, Vilnius, Sofia, Beograd, Zagreb, Ankara, Kairo, " * 4
# path → the page's record
ARTICLES: dict[str, dict[str, Any]] = {
    "/de": {"body": article(GERMAN, MORE, LAST)},
    "/fr": {"body": article(FRENCH)},
    "/cities": {"body": article(CITIES, GERMAN, MORE, LAST)},
}
MIXED: dict[str, dict[str, Any]] = {
    "/good": {"body": article(GERMAN)},
    "/missing": {"body": article(GERMAN), "status": 404},
    "/image": {"body": article(GERMAN), "mime_type": "image/png"},
    "/dropped": {"body": article(GERMAN), "keep": False},
    "/bodiless": {"body": None},
    "/shell": {"flags": ["empty_shell"], "body": b"<div id=root></div><noscript>You need JavaScript to run this app.</noscript>"},
    "/wall": {"body": article(GERMAN), "flags": ["challenge"]},
}
_HONEST: dict[str, str | bytes] = {
    "/utf16": ("﻿<p>" + GERMAN).encode("utf-16"),
    "/latin": ("<meta charset=iso-8859-1><p>" + GERMAN).encode("latin-1"),
    "/xhtml": (
        '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>' + GERMAN + "</p></body></html>"
    ),
    "/table": "<table>" + f"<tr><td>{GERMAN}<td>{MORE}" * 3 + "</table>",
    "/fragment": GERMAN,
    "/nested": "<div>" * 30 + f"<p>{GERMAN}" + "</div>" * 30,
    "/hebrew": "<p dir=rtl>" + "הטחנה על הנחל טוחנת תבואה כבר מאתיים שנה והטוחן גר עם משפחתו תחת הגג " * 3,
    "/japanese": "<p>" + "水車小屋は二百年前から穀物を挽いており、粉屋は家族と屋根の下に住んでいる。" * 3,
}
HONEST: dict[str, dict[str, Any]] = {
    "/plain": {"body": b"Just words.\nAnd more words.", "mime_type": "text/plain", "charset": ""},
    **{name: {"body": text.encode() if isinstance(text, str) else text, "charset": ""} for name, text in _HONEST.items()},
}


def store(path: Path, bodies: dict[str, bytes], *, settings: Settings | None = None, **record: Any) -> Path:
    """Write a crawl whose pages have these bodies."""
    small = SmallStore(path, settings or Settings(seeds=[SEED]))
    for name, body in bodies.items():
        url = small.url(name)
        small.known(url)
        small.page(url, body=body, **record)
    small.store.close(NOW + 100)
    return path


def rows(thresher: Command, directory: Path, *options: object) -> dict[str, dict[str, Any]]:
    ran = thresher("export", directory, "--what", "texts", *options)
    assert ran.code == 0, ran.err
    return by_name(ran.out, ran.err)


def by_name(out: str, said: str) -> dict[str, dict[str, Any]]:
    found = [json.loads(line) for line in out.splitlines()]
    return {row["url"].rpartition("/")[2]: row | {"said": said} for row in found}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The crawl with the pages of several tests."""
    path = tmp_path_factory.mktemp("texts") / "c"
    small = SmallStore(path, Settings(seeds=[SEED]))
    for name, record in {**ARTICLES, **HONEST, **MIXED}.items():
        url = small.url(name)
        small.known(url)
        small.page(url, **record)
    small.store.close(NOW + 100)
    return path


@pytest.fixture(scope="module")
def exported(pages: Path) -> dict[str, dict[str, Any]]:
    """Export the texts of one crawl for several tests: each export starts a child, most of a second of CPU."""
    ran = forking.run(["export", pages, "--what", "texts"], cwd=pages)
    assert ran.returncode == 0, ran.stderr
    return by_name(ran.stdout, ran.stderr)


def test_a_text_is_without_menu_and_footer_a_paragraph_a_line(exported: dict[str, dict[str, Any]]) -> None:
    """Mutation: the visible text in its place; `extract` of the characters of the body in a wrong charset."""
    found = exported
    assert found["de"]["text"].splitlines() == ["On mills", GERMAN, MORE, LAST]
    assert (found["de"]["language"], found["fr"]["language"]) == ("de", "fr")
    assert found["de"]["language_confidence"] > 0.9
    assert found["de"]["text_by"].startswith("trafilatura ")
    assert found["de"]["language_by"].startswith("py3langid ")
    assert found["de"]["fault"] is None


def test_a_beginning_in_no_language_does_not_decide_it(exported: dict[str, dict[str, Any]]) -> None:
    """Mutation: the language is that of the first 400 characters."""
    assert exported["cities"]["text"].index(GERMAN) > 400
    assert exported["cities"]["language"] == "de"


def test_visible_text_has_the_menu_too(thresher: Command, tmp_path: Path) -> None:
    found = rows(thresher, store(tmp_path / "c", {"/de": article(GERMAN)}), "--text", "visible", "--fields", "url,text,text_by")
    assert found["de"]["text"].startswith("Menu entry 0 Menu entry 1 ")
    assert found["de"]["text"].endswith("Imprint, terms")
    assert found["de"]["text_by"] == "visible"


def test_only_what_was_kept_and_is_a_document_has_a_row(exported: dict[str, dict[str, Any]]) -> None:
    assert [name for name in exported if f"/{name}" in MIXED] == ["good"]


def test_honest_pages_of_many_kinds_have_a_text(exported: dict[str, dict[str, Any]]) -> None:
    found = {name: row for name, row in exported.items() if f"/{name}" in HONEST}
    assert set(found) == {name[1:] for name in HONEST}
    for name in ("utf16", "latin", "xhtml", "table", "fragment", "nested"):
        assert GERMAN in found[name]["text"], name
        assert found[name]["language"] == "de", name
    assert (found["hebrew"]["language"], found["japanese"]["language"]) == ("he", "ja")
    assert found["plain"]["text"] == "Just words. And more words."


HOSTILE = {
    "/wide": b"<p>word <a href=/x>word</a> <b>x</b>" * 60_000,
    "/deep": b"<div><p>x" * 100_000,
    "/binary": b"\0\1\2\3" * 1_000,
    "/empty": b" ",
    "/entities": b"<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><p>&b;",
    "/zeros": b"<p>a\0b\0c " + b"\0" * 5_000,
    "/surrogate": b"<p>&#xD800; \xed\xa0\x80 \xff\xfe words of the page",
    "/lists": b"<ul><li>x" * 100,
    "/tables": b"<table><tr><td>" * 5_000,
    "/comment": b"<!--" * 10_000,
}


def test_hostile_pages_neither_hang_nor_kill_the_export(thresher: Command, tmp_path: Path) -> None:
    """Every page has its row, each without a text says why, and all are counted. Mutation: the text taken in the process of the export."""
    settings = Settings(seeds=[SEED], parse=ParseSettings(timeout=0.3, memory=512 << 20))
    bodies = {"/before": article(GERMAN), **HOSTILE, "/after": article(FRENCH)}
    found = rows(thresher, store(tmp_path / "c", bodies, settings=settings), "--fields", "url,text,fault")
    assert set(found) == {name[1:] for name in bodies}
    assert GERMAN in found["before"]["text"]
    assert FRENCH in found["after"]["text"]
    faulty = {name: row["fault"] for name, row in found.items() if row["fault"]}
    assert faulty["wide"] == "out of time"
    assert all(row["text"] is not None for name, row in found.items() if name not in faulty)
    said = found["after"]["said"]
    assert f"{len(faulty)} pages without a text" in said
    assert "https://a.example/wide: out of time" in said


def test_a_child_that_does_not_answer_is_given_up() -> None:
    """Mutation: the export waits for it without limit."""
    with TextExtractor(ParseSettings(), is_main=False, tells_language=False, processes=1, patience_s=0.2) as extractor:
        child = extractor._idle.get_nowait()
        assert child is not None
        os.kill(child._process.pid, signal.SIGSTOP)
        extractor._idle.put(child)
        page = (0, (b"<p>words", "text/html", "text/html"))
        answers = [*extractor.each([page])]
        extractor._patience_s = 300.0  # with the child that takes its place: a busy machine may be slow to run it
        answers += extractor.each([page])
    assert [(text.text, text.fault) for _, text in answers] == [(None, "no answer"), ("words", "")]


@pytest.mark.parametrize("n_pages", [20, 100])
def test_a_few_pages_start_one_child_and_many_may_start_more(monkeypatch: pytest.MonkeyPatch, n_pages: int) -> None:
    """Mutation: a page that finds no idle child starts one; a place is not given back. Whether all places are used depends on how threads
    run.
    """
    started: list[TextSetup] = []

    class Counted(text_extractor._Child):
        def __init__(self, setup: TextSetup) -> None:
            started.append(setup)
            super().__init__(setup)

    monkeypatch.setattr(text_extractor, "_Child", Counted)
    with TextExtractor(ParseSettings(), is_main=False, tells_language=False, processes=4) as extractor:
        found = [(n, text.text) for n, text in extractor.each((n, (b"<p>w%d" % n, "text/html", "text/html")) for n in range(n_pages))]
        n_places = extractor._places
    assert found == [(n, f"w{n}") for n in range(n_pages)]
    assert 1 <= len(started) <= n_places == 1 + n_pages // 32


def test_texts_as_parquet_have_types_and_the_rows_of_json_lines(
    thresher: Command, tmp_path: Path, pages: Path, exported: dict[str, dict[str, Any]]
) -> None:
    assert thresher("export", pages, "--what", "texts", "--format", "parquet", "-o", tmp_path / "texts").code == 0
    table = parquet.read_table(tmp_path / "texts")
    types = {field.name: str(field.type) for field in table.schema}
    assert (types["text"], types["language_confidence"], types["characters"]) == ("string", "double", "int64")
    assert types["language"].startswith("dictionary")
    names = [field.name for field in KINDS["texts"].fields if not field.on_request]
    assert table.column_names == names
    for name in ("url", "text", "text_by", "language", "language_confidence", "characters", "fault"):
        assert table.column(name).to_pylist() == [row[name] for row in exported.values()]
    assert all(list(row) == [*names, "said"] for row in exported.values())
