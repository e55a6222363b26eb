"""Pages that are nothing new themselves, and whose links may be: how many are fetched before pages that are new?"""

from __future__ import annotations

from pathlib import Path

from little_web import LittleWeb, crawl, settings

N_PARTS, N_CHAPTERS, NEWS_EVERY = 12, 120, 5
KNOWN = [f"entry{i}" for i in range(120)]
OWN = "day", "hour", "name", "place", "kind"


async def test_pages_like_others_do_not_go_on_because_their_links_wait(tmp_path: Path) -> None:
    """Parts name chapters and pages of a log by turns. Four of five such pages look like others, and name a note that is fetched later.

    Mutation: pages whose links are still to decide about them are left out where patterns are compared, so that of the log only what was
    new is counted: 99 pages of the log before the hundredth chapter in place of 22.
    """
    async with LittleWeb() as web:
        web.page("a.test/", *(f"a.test/part/{part}" for part in range(N_PARTS)))
        for part in range(N_PARTS):
            numbers = range(part, N_CHAPTERS, N_PARTS)
            web.page(f"a.test/part/{part}", *(f"a.test/{what}{i}" for i in numbers for what in ("chapter/", "log?from=")))
        for i in range(N_CHAPTERS):
            web.page(f"a.test/chapter/{i}")
            text = " ".join([*KNOWN, *(f"{word}{i}" for word in OWN)]) if i % NEWS_EVERY else ""
            web.page(f"a.test/log?from={i}", f"a.test/note/{i}", text=text, title="Log")
            web.page(f"a.test/note/{i}")
        await crawl(tmp_path / "c", settings(web, ["a.test/"]))
    chapters = [at for at, place in enumerate(web.requests) if "/chapter/" in place]
    assert len(chapters) == N_CHAPTERS
    assert sum("/log?" in place for place in web.requests[: chapters[99]]) <= 40
