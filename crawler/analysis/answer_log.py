"""The answers of a crawl in their order, from a file or a store: for algorithms that learn from answers.

A file has JSON lines {"url", "status", "sketch"}, and "via", the URL that linked to it first, if known. "sketch" is any value that is equal
for pages with equal visible text; it is null or missing if there is no text. A store gives its pages by visit, and redirects in between by
time.

Memory: about 1 KB per answer of a file, 300 bytes of a store.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import merge
from typing import Any

import msgspec
import xxhash

from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.model import CrawlURL, Judgement, Reason, Verdict
from thresher.crawler.core.url import BadURL, URLSpace, directory_depth
from thresher.storage.export.judged import follows, is_new, keeps, standing
from thresher.storage.records import REVISIONS, PageRecord
from thresher.storage.schema import VERDICTS
from thresher.storage.view import View

_TEXT_BYTES = 8
KEPT = Judgement(keep=True, follow=True, verdicts=())
_DROPPED = Judgement(keep=False, follow=False, verdicts=())


@dataclass(frozen=True, slots=True)
class LoggedAnswer:
    """One answered request."""

    url: CrawlURL
    status: int
    text: int | None  # the visible text, as a number
    judgement: Judgement  # what the crawl's filters decided; `KEPT` for answers of a file
    line: dict[str, Any]  # the fields as they are printed
    n_bytes: int = 0  # of the body, 0: not known


@dataclass
class AnswerLog:
    """A whole log."""

    answers: list[LoggedAnswer]
    n_torn: int = 0
    first_torn: int = 0  # number of its line
    n_led: Counter[bytes] = field(default_factory=Counter)  # key → how many of the answers it linked to first

    def __post_init__(self) -> None:
        self.n_led = Counter(answer.url.via for answer in self.answers if answer.url.via)


def read_file(name: str, space: URLSpace) -> AnswerLog:
    """Read JSON lines, "-" for standard input; raises `UsageError`."""
    found: list[LoggedAnswer] = []
    torn: list[int] = []
    depths: dict[bytes, int] = {}
    for number, line in enumerate(_lines(name), 1):
        if not line.strip():
            continue
        answer = _answer(line, space, depths)
        if answer is None:
            torn.append(number)
        else:
            found.append(answer)
    if not found:
        lines = f"none of its {len(torn):,} lines is one" if torn else "it is empty"
        raise UsageError(
            f'{name}: expected JSON lines such as {{"url": "http://a.example/", "status": 200, "sketch": "5e1f"}}; {lines}. '
            "Write one line per answer, in the order of the crawl"
        )
    return AnswerLog(found, len(torn), torn[0] if torn else 0)


def _lines(name: str) -> Iterator[bytes]:
    if name == "-":
        yield from sys.stdin.buffer
        return
    try:
        with open(name, "rb") as file:
            yield from file
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {error.strerror}. Name a file of JSON lines, a crawl's directory, or -") from None


def _answer(line: bytes, space: URLSpace, depths: dict[bytes, int]) -> LoggedAnswer | None:
    """Return the answer of a line; None if it cannot be read.

    Args:
        depths: Clicks from the first page, by key; written.
    """
    try:
        row = msgspec.json.decode(line, type=dict[str, Any])
        text, status = space.canonical(row["url"]), row["status"]
        via = space.key(space.canonical(row["via"])) if row.get("via") else b""
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError, BadURL):
        return None
    if type(status) is not int or not 0 <= status <= 999:
        return None
    depth = depths[via] + 1 if via in depths else directory_depth(text)
    url = space.url(text, via=via, seed_distance=depth, site_depth=depth)
    depths[url.key] = depth
    return LoggedAnswer(url, status, _number(row.get("sketch")), KEPT, row)


def _number(sketch: Any) -> int | None:
    return None if sketch in (None, "", []) else xxhash.xxh3_64_intdigest(msgspec.json.encode(sketch))


def read_store(view: View, space: URLSpace) -> AnswerLog:
    """Read a crawl's answers.

    Raises:
        UsageError: If there are none.
    """
    found = [answer for _, _, answer in merge(_pages(view, space), _redirects(view, space), key=lambda row: row[:2])]
    if not found:
        raise UsageError(f"{view.path}: no page has been fetched yet. Crawl first")
    return AnswerLog(found)


def _pages(view: View, space: URLSpace) -> Iterator[tuple[float, int, LoggedAnswer]]:
    for visit, page in view.all_pages():
        url = space.url(page.url, via=page.via, seed_distance=page.seed_distance, site_depth=page.site_depth)
        text = int.from_bytes(page.fingerprint[:_TEXT_BYTES], "big") if page.fingerprint else None
        line = {"url": page.url, "status": page.status, "sketch": page.fingerprint.hex() or None}
        yield page.fetched_at, visit, LoggedAnswer(url, page.status, text, _judgement(view, page), line, page.n_bytes)


def _judgement(view: View, page: PageRecord) -> Judgement:
    """Return what the crawl's filters have decided about a page."""
    value = view.get(VERDICTS, page.key)
    found = standing(page, () if value is None else REVISIONS.decode(value))
    verdicts = tuple(
        Verdict(said.filter, said.keep, said.follow, reason=Reason(said.reason) if said.reason else None, new=said.new) for said, _ in found
    )
    return Judgement(keeps(page, found), follows(page, found), verdicts, is_new([said for said, _ in found]))


def _redirects(view: View, space: URLSpace) -> Iterable[tuple[float, int, LoggedAnswer]]:
    found = []
    for key, edge in view.all_edges():
        row = view.tables.seen.row(key)
        if row is not None:
            known = view.tables.seen.record(row.seq)
            url = space.url(known.text, via=known.via, seed_distance=row.seed_distance, site_depth=row.site_depth)
            line = {"url": known.text, "status": edge.status, "sketch": None}
            found.append((edge.found_at, row.visit, LoggedAnswer(url, edge.status, None, _DROPPED, line)))
    return sorted(found, key=lambda row: row[:2])
