"""A store with something for every part of a report. Each of its texts is as hostile as a text of the web may be."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Final

import msgspec
import pytest

sys.path.append(str(Path(__file__).parents[1] / "cli"))  # a module beside the stores for the tests of commands
from small_store import NOW, SmallStore

from thresher.config.settings import LimitSettings, ScopeSettings, Settings
from thresher.crawler.core.model import Cause, Reason, State, Verdict
from thresher.crawler.core.robots import RobotsRecord
from thresher.crawler.report.gather import CrawlFigures, gather
from thresher.crawler.report.page import render
from thresher.filters.depth_cutoff.evidence import PlaceCounts
from thresher.filters.depth_cutoff.records import Level, SiteHead
from thresher.filters.dust.memory import RuleBook, write_book
from thresher.filters.dust.rules import LearnedRule, Substitution
from thresher.filters.evidence.opinion import Opinion
from thresher.filters.near_replica.records import HostCounts, name_of
from thresher.filters.pattern_yield import filter as pattern_yield
from thresher.filters.pattern_yield.evidence import YieldEvidence
from thresher.filters.pattern_yield.records import Pattern, pattern_key
from thresher.storage.export.reading import reading
from thresher.storage.records import FailureRecord
from thresher.storage.tables.verdicts import verdict_records

DATA = Path(__file__).parents[3] / "shared/data/conformance/naughty-strings.json"
BOMBS: Final = (
    '"><img src=//evil.example/x onerror=alert(1)>',
    "'><script src=https://evil.example/x.js></script>",
    "</title><script>alert(1)</script>",
    "</style><link rel=stylesheet href=//evil.example/x.css>",
    "</svg><foreignObject><iframe src=javascript:alert(1)>",
    "]]><svg/onload=alert(1)>",
    "<!-- <base href=//evil.example/> -->",
    "&lt;b&gt; &amp; &#x3c;script&#x3e;",
    "url(http://evil.example/x) @import 'http://evil.example'",
    "\x1b]0;owned\x07 \u202egnp.exe \u2066\u0000\x85",
    "{{7*7}} ${7*7} <%= 7*7 %>",
)


def bombs() -> list[str]:
    """Return markup that tries to leave its place in the page, and the list of naughty strings if it is there."""
    naughty = json.loads(DATA.read_text()) if DATA.exists() else []
    return [*BOMBS, *(text for text in naughty if text.strip())]


class HostileStore(SmallStore):
    """Writes the store; its texts are those of `texts` one after another, again and again."""

    def __init__(self, path: Path, texts: list[str]) -> None:
        super().__init__(path, Settings(seeds=["https://a.example/"], scope=ScopeSettings(type="any"), limits=LimitSettings(max_depth=3)))
        self._texts: Iterator[str] = cycle(texts)

    def text(self) -> str:
        return next(self._texts)

    def build(self, n_pages: int) -> None:
        """Write everything."""
        for number in range(n_pages):
            self._page(number)
        self._failures()
        self._redirect()
        self._refused()
        self._learned()
        self.close()

    def _page(self, number: int) -> None:
        host = f"https://h{number % 7}.example"
        url = self.url(f"{host}/{number}/{self.text()}", depth=number % 5)
        self.known(url, State.DONE)
        evidence: dict[str, str | int | float] = {self.text(): self.text(), "copy_of": url.key.hex(), "score": 0.5}
        names = ("exact_duplicate", "near_replica", "soft_error", self.text()[:40] if number < 3 else "dust")
        verdicts = [Verdict(name, keep=number % 2 == 0, follow=False, reason=Reason.DUPLICATE_CONTENT, evidence=evidence) for name in names]
        self.page(
            url,
            status=(200, 404, 500, 200)[number % 4],
            title=self.text(),
            mime_type=self.text()[:60],
            headers=[(b"X-" + self.text().encode("utf-8", "replace"), self.text().encode("utf-8", "replace"))],
            flags=[self.text()[:30]] if number < 9 else [],
            fingerprint=(number % 11).to_bytes(16, "big"),
            verdicts=verdict_records(verdicts),
            fetched_at=NOW + 10 * number,
        )
        self.store.tables.verdicts.revise(url.key, Verdict("near_replica", evidence={"why": self.text()}), NOW)
        record = self.host(url)
        record.parked, record.n_failed = ("mirror", number) if number % 2 else ("", 0)

    def _failures(self) -> None:
        for cause in (Cause.CONN_REFUSED, Cause.HTTP_429):
            url = self.url(f"https://a.example/failed/{cause}/{self.text()}")
            self.known(url, State.DONE)
            self.store.tables.failures.put(url.key, FailureRecord(cause, self.text(), NOW, 4, True, 0))
            self.totals.count_failure(cause, terminal=True)
            self.settle(url)
        self.store.tables.robots.put(self.space.origin_key("https://a.example"), RobotsRecord(self.text(), "allow", NOW, NOW + 1, 404), b"")

    def _redirect(self) -> None:
        old, new = self.url(f"https://a.example/old/{self.text()}"), self.url(f"https://a.example/new/{self.text()}")
        self.known(old, State.DONE)
        self.known(new)
        self.store.tables.redirects.put(old.key, new.key, new.text, 302, NOW)
        self.totals.redirect(302)
        verdict = Verdict("soft_error", keep=False, follow=False, reason=Reason.SOFT_ERROR, evidence={"kind": self.text()})
        self.store.tables.verdicts.revise(old.key, verdict, NOW)
        self.settle(old)

    def _refused(self) -> None:
        for reason, by in ((Reason.PATH_TRAP, "path_trap"), (Reason.BAD_SCHEME, "url"), (Reason.EXCLUDED, self.text()[:50])):
            for _ in range(9):
                self.store.tables.skips.add(self.text(), reason, by=by, detail=self.text())
                self.totals.skip(reason)
        form = self.text()
        for holder in (pattern_yield.holder(form), f"depth_cutoff 4 {form}"):
            url = self.url(f"https://a.example/held/{self.text()}")
            self.known(url, State.HELD, Reason.HELD_BY_FILTER)
            self.store.tables.held.hold(url.key, holder)
            self.totals.count_saved(holder.partition(" ")[0])
        alias, rule = self.url(f"https://a.example/alias/{self.text()}"), f"dust:{self.text()}"
        self.known(alias, State.ALIAS, Reason.REWRITTEN)
        self.store.tables.aliases.put(alias.key, self.text(), rule)
        self.store.tables.rules.may_record(rule)
        self._place(form)

    def _place(self, form: str) -> None:
        """Write the records of a place of a site that shows nothing new and is cut."""
        site = self.space.site_key("h1.example")
        evidence = YieldEvidence(fetched=90, worth=1, opinion=Opinion(is_held=True, waits=True), n_barren=1)
        memory = self.store.tables.memory("pattern_yield")
        memory.put(pattern_key(site, form), msgspec.msgpack.encode(Pattern(form, evidence)), 1.0)
        depth = self.store.tables.memory("depth_cutoff")
        head = SiteHead(low=[0] * 16, levels=[Level(9, 9, 90, 60), Level(8, 5, 40, 9), Level(7, 1, 40, 0)])
        depth.put(site + b"h", msgspec.msgpack.encode(head), 1.0)
        depth.put(site + b"p12345678", msgspec.msgpack.encode(PlaceCounts(form, [0, 9], [0, 1], limit=1, n_ever=9)), 1.0)

    def _learned(self) -> None:
        site = self.space.site_key("h1.example")
        source, path = self.text(), f"/{self.text()}"
        rule = Substitution(source=source, target=self.text(), host="h1.example", path=path)
        write_book(
            self.store.tables.memory("dust"), site, RuleBook(self.text(), [LearnedRule(rule=rule, standing="valid", support=7, agree=9)])
        )
        mirror = HostCounts(n_pages=40, mirror_of=self.text())
        key = site + b"h" + name_of("https://h1.example/")[:4]
        self.store.tables.memory("near_replica").put(key, msgspec.msgpack.encode(mirror), 1.0)


def build_hostile(path: Path, texts: list[str], n_pages: int = 60) -> None:
    """Write a hostile store to a new directory."""
    HostileStore(path, texts).build(n_pages)


def read(path: Path) -> CrawlFigures:
    """Gather everything of a store."""
    with reading(path) as view:
        return gather(view, with_order=True)


def page_of(path: Path) -> str:
    """Return the page about a store."""
    return render(read(path), "stopped").decode()


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose every text is hostile, in a directory with a hostile name; tests only read it."""
    path = tmp_path_factory.mktemp("hostile") / '"><script>alert(1)<'
    build_hostile(path, bombs())
    return path


@pytest.fixture(scope="session")
def hostile_page(hostile: Path) -> str:
    return page_of(hostile)
