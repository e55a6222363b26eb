"""A filter is one file and one line of the registry, also if it has a study that another process carries out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from little_web import LittleWeb, crawl, settings

from thresher.crawler.core.effects import Effect, Study
from thresher.crawler.core.model import Judgement, Mode, Page, Verdict
from thresher.crawler.core.ports import Memory
from thresher.filters.base import NO_EFFECTS, NOTHING_LEARNED, Effects
from thresher.filters.registry import specs
from thresher.filters.spec import FilterSpec
from thresher.storage.view import View

_N_PAGES = 3
_STUDY = """
import msgspec

def longest(material):
    return msgspec.msgpack.encode(max(material.decode().split(), key=len))
"""


class LongestTitle:
    """Remembers titles, and has the longest of a site found in another process."""

    name = "longest"
    measure_type = tuple
    study = "study_of_titles:longest"
    finding_type = str

    def measure(self, page: Page, /) -> tuple[bytes, str]:
        return page.url.key[:8], page.title

    def decide(self, _measure: tuple[bytes, str], _memory: Memory, /) -> tuple[Verdict, Effects]:
        return Verdict("longest"), NO_EFFECTS

    def observe(self, measure: tuple[bytes, str], _judgement: Judgement, memory: Memory, /) -> tuple[Effect, ...]:
        site, title = measure
        memory.put(site + b"title" + title.encode(), b"1")
        return (Study(site),) if len(list(memory.scan(site + b"title"))) == _N_PAGES else NO_EFFECTS

    def gather(self, site: bytes, memory: Memory, /) -> Iterator[bytes]:
        for key, _ in memory.scan(site + b"title"):
            yield key[13:] + b" "

    def on_finding(self, site: bytes, finding: str, memory: Memory, /) -> Effects:
        memory.put(site + b"longest", finding.encode())
        return NOTHING_LEARNED


async def test_a_filter_with_a_study_of_its_own_is_a_file_and_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutation: the child process has a fixed table of studies, which does not know a new filter."""
    (tmp_path / "study_of_titles.py").write_text(_STUDY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    own = LongestTitle()
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/1", "a.test/2", title="one")
        web.page("a.test/1", title="sixteen")
        web.page("a.test/2", title="four")
        chosen = settings(web, ["a.test/"])
        crawled = await crawl(
            tmp_path / "c", chosen, [*specs(chosen, chosen.seeds), FilterSpec("longest", Mode.ENFORCE, page=own, learner=own)]
        )
    with View(crawled.path) as view:
        memory = dict(view.tables.memory("longest").scan(b""))
    assert [value for key, value in memory.items() if key.endswith(b"longest")] == [b"sixteen"]
