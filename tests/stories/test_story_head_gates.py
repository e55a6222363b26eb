"""A body that a filter at the head gate refuses is logged with the name of that filter, whichever it is."""

from __future__ import annotations

from pathlib import Path

from little_web import LittleWeb, crawl, settings

from thresher.crawler.core.model import Head, Mode, Reason
from thresher.filters.base import LinkColumns
from thresher.filters.registry import specs
from thresher.filters.spec import FilterSpec
from thresher.storage.view import View


class Picky:
    """A head gate of another distribution: it refuses every page with a certain header."""

    name = "picky"

    def refuses(self, head: Head, /) -> Reason | None:
        return Reason.REFUSED_BY_FILTER if head.get(b"x-made-by") == "toaster" else None


async def test_a_refused_body_is_logged_by_the_filter_that_refused_it(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/toast", "a.test/zip")
        web.file("a.test/toast", "text/html\r\nX-Made-By: toaster", b"<p>toast")
        web.file("a.test/zip", "application/zip", b"PK")
        chosen = settings(web, ["a.test/"])
        crawled = await crawl(tmp_path / "c", chosen, [*specs(chosen, chosen.seeds), FilterSpec("picky", Mode.ENFORCE, head=Picky())])
    with View(crawled.path) as view:
        skipped = {(web.place(line.url), line.reason, line.by) for line in view.all_skipped()}
    assert skipped == {("a.test/toast", "refused_by_filter", "picky"), ("a.test/zip", "bad_type", "media")}


class Shy:
    """A static gate of another distribution: it refuses every URL with a tilde."""

    name = "shy"

    def refuses(self, links: LinkColumns, /) -> dict[int, Reason]:
        return {i: Reason.REFUSED_BY_FILTER for i, text in enumerate(links.texts) if "~" in text}


async def test_gates_before_the_request_and_at_the_head_record_what_they_would_refuse(tmp_path: Path) -> None:
    """In `observe` a static gate and a head gate change nothing, and each URL that one would have refused is counted once."""
    async with LittleWeb() as web:
        web.page("a.test/", "a.test/~me", "a.test/toast", "a.test/~me", "a.test/plain")
        web.page("a.test/~me", "a.test/", "a.test/~me")
        web.page("a.test/plain", "a.test/~me")
        web.file("a.test/toast", "text/html\r\nX-Made-By: toaster", b"<p>toast")
        chosen = settings(web, ["a.test/"])
        gates = [FilterSpec("shy", Mode.OBSERVE, static=Shy()), FilterSpec("picky", Mode.OBSERVE, head=Picky())]
        crawled = await crawl(tmp_path / "c", chosen, [*specs(chosen, chosen.seeds), *gates])
    assert crawled.status.would_save == {"shy": 1, "picky": 1}
    with View(crawled.path) as view:
        assert list(view.all_skipped()) == []
        assert len(list(view.all_pages())) == 4
