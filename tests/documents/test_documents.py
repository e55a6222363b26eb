"""PDF and office documents: their text and links; none that is hostile costs more than its share."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from sample_documents import ODT, PDF, SHEET, SLIDES, WORD, docx, odt, pdf, pptx, xlsx, zipped

from thresher.config.settings import ParseSettings
from thresher.crawler.documents.found import Document
from thresher.crawler.documents.reading import read_document
from thresher.crawler.page.parser import Parser

pytest.importorskip("pypdf")
THERE = "https://b.example/x"


def read(body: bytes, mime_type: str, seconds: float = 60.0) -> Document:
    return read_document(body, mime_type, max_links=100, seconds=seconds)


HONEST: dict[str, tuple[bytes, str, list[str], str, list[str]]] = {
    "pdf": (
        pdf("First page\nsecond line", "Second", links=(THERE,)),
        PDF,
        ["First page second line", "Second"],
        "A paper",
        [THERE],
    ),
    "packed pdf": (pdf("Words", packed=True), PDF, ["Words"], "A paper", []),
    "pdf behind rubbish": (b"\r\n\r\n" + pdf("Words"), PDF, ["Words"], "A paper", []),
    "pdf before rubbish": (pdf("Words", "More") + b"\r\n<!-- served in 3 ms -->\r\n", PDF, ["Words", "More"], "A paper", []),
    "scan": (pdf(""), PDF, [], "A paper", []),
    "word": (
        docx("One", "Two &amp; three", links=(THERE, "#top", "mailto:a@b")),
        WORD,
        ["One", "Two & three"],
        "A letter",
        [THERE, "mailto:a@b"],
    ),
    "slides": (pptx(*map(str, range(1, 12))), SLIDES, [str(n) for n in range(1, 12)], "", []),
    "sheet": (xlsx("Cell", "Other cell"), SHEET, ["Cell", "Other cell"], "", []),
    "open document": (odt("Ein <text:span>Satz</text:span>.", links=(THERE,)), ODT, ["Head", "Ein Satz.", "there"], "A note", [THERE]),
    "japanese": (docx("水車小屋は穀物を挽く"), WORD, ["水車小屋は穀物を挽く"], "A letter", []),
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_documents_say_what_they_say(name: str) -> None:
    body, mime_type, paragraphs, title, links = HONEST[name]
    found = read(body, mime_type)
    assert found.text.splitlines() == paragraphs
    assert (found.title, found.links, found.is_cut) == (title, links, False)


def looping() -> bytes:
    """Return a PDF whose page tree names itself."""
    objects = b"1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 3/Kids[2 0 R 2 0 R]>>endobj\n"
    return b"%PDF-1.4\n" + objects + b"trailer<</Root 1 0 R>>"


def laughs() -> bytes:
    """Return a docx whose entities unfold to gigabytes."""
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 20}">' for n in range(1, 9))
    text = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "ha">{entities}]><x><p><t>&e8;</t></p></x>'
    return zipped({"word/document.xml": text})


HOSTILE: dict[str, tuple[Callable[[], bytes] | bytes, str]] = {  # made when they are read: two are large
    "no pdf": (b"<html>not found</html>", PDF),
    "empty": (b"", PDF),
    "half a pdf": (pdf("Words" * 500)[:300], PDF),
    "looping pdf": (looping(), PDF),
    "pdf that unpacks to a gigabyte": (pdf("x").replace(b"/Length", b"/Filter/FlateDecode/Length") + zlib.compress(bytes(1 << 20)), PDF),
    "deep pdf": (b"%PDF-1.4\n1 0 obj" + b"[" * 50_000 + b"endobj\ntrailer<</Root 1 0 R>>", PDF),
    "no zip": (b"PK\3\4" + b"x" * 500, WORD),
    "another zip": (zipped({"a.txt": "x"}), WORD),
    "broken xml": (zipped({"word/document.xml": "<w:p><w:t>half"}), WORD),
    "entities": (laughs(), WORD),
    "zip that unpacks to 40 MB": (lambda: zipped({"word/document.xml": b"<p><t>" + b"a" * (40 << 20)}), WORD),
    "many members": (lambda: zipped({f"ppt/slides/slide{n}.xml": "<p><t>x</t></p>" for n in range(3_000)}), SLIDES),
}


@pytest.fixture(scope="module")
def answers() -> Any:
    """Parse each hostile document in the child, one after the other."""

    async def run() -> dict[str, Any]:
        parser = Parser(ParseSettings(timeout=2.0, memory=512 << 20), "thresher")
        found = {}
        for name, (body, mime_type) in HOSTILE.items():
            found[name] = await parser.apart(body if isinstance(body, bytes) else body(), mime_type, mime_type, [], max_links=100)
        found["after"] = await parser.apart(pdf("Words"), PDF, PDF, [], max_links=100)
        await parser.close()
        return found

    return asyncio.run(run())


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_documents_are_answered_and_bounded(name: str, answers: dict[str, Any]) -> None:
    """Several bounds hold each of them: ours, those of the XML parser, and those of the child."""
    assert len(answers[name].raw_text) <= 17 << 20
    assert answers[name].links == ()
    if name in ("no pdf", "empty", "deep pdf", "no zip", "another zip"):
        assert answers[name].flags & {"not_html", "parse_timeout", "parse_crash"}


def test_the_child_goes_on_after_them(answers: dict[str, Any]) -> None:
    assert answers["after"].text == "Words"


def test_a_long_document_is_read_as_far_as_its_time_lasts() -> None:
    read(pdf("Words"), PDF)  # imports the reader, whose own time is none of the document's
    long = pdf(*(["Words of a page\n" * 60] * 300))
    some = (read(long, PDF, seconds=0.2 * 2**n) for n in range(6))  # a machine that stands still reads no page in the first time
    found = next(one for one in some if one.text)
    assert found.is_cut
    assert 0 < len(found.text.splitlines()) < 300
