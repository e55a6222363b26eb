"""Answers of a made-up site told to the filter one by one, as its replay does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import xxhash

from thresher.config.settings import PatternYieldSettings
from thresher.crawler.core.url import URLRules, URLSpace
from thresher.filters.pattern_yield.evidence import YieldEvidence
from thresher.filters.pattern_yield.replay import PatternReplay

SPACE = URLSpace(bytes(32), URLRules(ports=None))
HOST = "http://a.example"


@dataclass
class Site:
    """One site's crawl: what was fetched, what was held and by which pattern."""

    replay: PatternReplay = field(default_factory=lambda: PatternReplay(PatternYieldSettings()))
    fetched: list[str] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)

    def tell(
        self,
        path: str,
        text: str | None,
        *,
        status: int = 200,
        depth: int = 1,
        via: str = "",
        n_led: int = 0,
        n_bytes: int = 0,
        is_drawn: bool = False,
    ) -> bool:
        """Let one URL's turn come; return whether it was fetched.    is_drawn: it is, though its pattern is held"""
        url = SPACE.url(HOST + path, site_depth=depth, seed_distance=depth, via=SPACE.key(HOST + via) if via else b"")
        pattern, is_fetched = self.replay.decide(url)
        if is_fetched or is_drawn:
            self.fetched.append(path)
            shown = None if text is None else xxhash.xxh3_64_intdigest(text.encode())
            self.replay.learn(url, status, shown, n_led=n_led, n_bytes=n_bytes)
        else:
            assert pattern is not None
            self.held[path] = pattern.form
        return is_fetched

    def tell_all(self, answers: Iterable[tuple[str, str]]) -> int:
        """Let the turns of (path, text) come; return how many were fetched."""
        return sum([self.tell(path, text) for path, text in answers])

    def evidence(self, form: str) -> YieldEvidence:
        found = {pattern.form: pattern.evidence for pattern in self.replay.patterns(SPACE.site_key("a.example"))}
        return found.get("a.example" + form, YieldEvidence())

    def barren(self) -> set[str]:
        found = self.replay.patterns(SPACE.site_key("a.example"))
        return {pattern.form.removeprefix("a.example") for pattern in found if pattern.evidence.barren}


def pages(n: int, start: int = 0) -> list[tuple[str, str]]:
    """Return answers that are worth it: each page's own text."""
    return [(f"/wiki/Page_{word(i)}", f"text {i}") for i in range(start, start + n)]


def mixed(first: Iterable[tuple[str, str]], second: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return both by turns."""
    return [answer for pair in zip(first, second, strict=False) for answer in pair]


def word(i: int) -> str:
    """Return a word of letters for a number."""
    return "".join(chr(97 + int(digit)) for digit in f"{i:05}")
