"""Documents from outside: they are fetched, read and followed only where the setting asks for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import forking
import pytest
from little_web import LittleWeb, crawl, settings
from sample_documents import PDF, WORD, docx, pdf

from thresher.config.settings import ParseSettings

pytest.importorskip("pypdf")
pytest.importorskip("trafilatura")


SAID = "The mill grinds the grain of the valley since two hundred years and more."


def exported(path: Path) -> list[dict[str, Any]]:
    words = ["export", str(path), "--what", "texts", "--fields", "url,text,language,type"]
    ran = forking.run(words, cwd=path)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


async def test_links_of_documents_are_followed_where_the_setting_asks_for_them(tmp_path: Path) -> None:
    """Mutation: `parse.documents` unread in one of the gates of types."""
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/paper.pdf", "a.test/letter.docx", "a.test/image.png")
        web.file("a.test/paper.pdf", PDF, pdf(SAID, links=(web.url("a.test/1"),)))
        web.file("a.test/letter.docx", WORD, docx("Dear reader, this letter has a link.", links=("/2",)))
        web.page("a.test/1")
        web.page("a.test/2")
        plain = await crawl(tmp_path / "plain", settings(web, ["a.test/"]))
        assert {web.place(url) for url in plain.pages} == {"a.test/"}
        crawled = await crawl(tmp_path / "c", settings(web, ["a.test/"], parse=ParseSettings(documents=True)))
        assert {web.place(url) for url in crawled.pages} == {f"a.test/{name}" for name in ("", "paper.pdf", "letter.docx", "1", "2")}
        page = crawled.pages[web.url("a.test/paper.pdf")]
        assert (page.title, page.mime_type, page.n_links) == ("A paper", PDF, 1)
    texts = {web.place(row["url"]): row for row in exported(tmp_path / "c")}
    assert texts["a.test/paper.pdf"]["text"] == SAID
    assert texts["a.test/paper.pdf"]["language"] == "en"
    assert texts["a.test/letter.docx"]["text"] == "Dear reader, this letter has a link."
