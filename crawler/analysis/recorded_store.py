"""A store's answers as a graph (recorded_graph.py): pages with their texts and links, redirects, failures, in the order of the crawl.

A copy whose body was not stored has the text of the page that it copies. For a page without a body and without an original only its title
and its number of words are known. URLs that were linked and never fetched are in the graph without an answer. Answers to filters' own
requests, and findings of studies, are kept with the page after which they came.

Memory: about 20 KB an answer of 60 links, hence `limit`. Time: 1 ms an answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from typing import NamedTuple

import numpy as np

from thresher.crawler.analysis.recorded_graph import RecordedGraph
from thresher.crawler.core import html
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.model import NO_KEY, U64, Directives, Flag, Page
from thresher.crawler.core.sketch import body_digest, token_hashes
from thresher.crawler.core.url import URLSpace
from thresher.filters.base import Gate
from thresher.filters.journal import JournalRecord
from thresher.storage.export.content import MARKUP, content_type_of
from thresher.storage.export.pages import current_pages
from thresher.storage.export.texts import TextLookup
from thresher.storage.records import EdgeRecord, PageRecord
from thresher.storage.view import View

_TOLD = frozenset((Gate.ANSWER, Gate.STUDY, Gate.NEWS))
_NO_WORDS: U64 = np.empty(0, dtype=np.uint64)


class _StoredAnswer(NamedTuple):
    at: float
    visit: int
    page: PageRecord | None
    edge: EdgeRecord | None
    key: bytes

    @property
    def status(self) -> int:
        return self.edge.status if self.edge is not None else self.page.status if self.page is not None else 0


@dataclass
class Recorded:
    """A store's graph, and what is not in it."""

    graph: RecordedGraph
    n_left_out: int = 0  # answers beyond the limit
    n_unread: int = 0  # pages whose texts are not known
    n_unnamed: int = 0  # answered URLs to which no recorded link leads: they are roots
    n_asked: int = 0  # requests of filters that have their answers in the journal
    keys: list[bytes] = field(default_factory=list)  # keys of answered URLs, by number


def read_graph(view: View, space: URLSpace, *, limit: int, progress: Callable[[int], None] = lambda _n: None) -> Recorded:
    """Read the first answers of a crawl.

    Args:
        view: The store.
        space: The canonical form of URLs.
        limit: Most answers that are read.
        progress: Called with 1 after each answer.

    Raises:
        UsageError: If the crawl has no answers.
    """
    answers = merge(_pages(view), iter(_edges(view)), key=lambda answer: answer[:2])
    first = list(islice(answers, limit))
    if not first:
        raise UsageError(f"{view.path}: no page has been fetched yet. Crawl first")
    recorded = Recorded(RecordedGraph(str(view.path)), n_left_out=sum(1 for _ in answers))
    _Reader(view, space, recorded).read(first, progress)
    return recorded


def _pages(view: View) -> Iterator[_StoredAnswer]:
    for visit, page in current_pages(view):
        yield _StoredAnswer(page.fetched_at, visit, page, None, page.key)


def _edges(view: View) -> list[_StoredAnswer]:
    found = []
    for key, edge in view.all_edges():
        row = view.tables.seen.row(key)
        if row is not None:
            found.append(_StoredAnswer(edge.found_at, row.visit, None, edge, key))
    return sorted(found, key=lambda answer: answer[:2])


class _Reader:
    """Numbers URLs, and reads the texts and links of pages."""

    def __init__(self, view: View, space: URLSpace, recorded: Recorded) -> None:
        self._view = view
        self._space = space
        self._recorded = recorded
        self._graph = recorded.graph
        self._texts = TextLookup(view)
        self._numbers: dict[str, int] = {}
        self._pages: dict[int, Page] = {}
        self._by_key: dict[bytes, int] = {}

    def read(self, answers: list[_StoredAnswer], progress: Callable[[int], None]) -> None:
        """Fill the graph."""
        names = self._texts.of_keys(answer.key for answer in answers)
        known = [answer for answer in answers if answer.key in names]
        for number, answer in enumerate(known):
            self._numbers[names[answer.key]] = self._by_key[answer.key] = number
            self._graph.add(names[answer.key], "", status=answer.status or 599)
        self._graph.n_answered = len(known)
        self._recorded.keys = [answer.key for answer in known]
        for number, answer in enumerate(known):
            self._answer(number, answer)
            progress(1)
        self._graph.pages = self._pages
        self._graph.told = self._told(known)
        self._graph.roots = self._roots(known)

    def _answer(self, number: int, answer: _StoredAnswer) -> None:
        """Add the answer of a URL and its links."""
        if answer.edge is not None:
            self._graph.links[number] = (self._number(answer.edge.to_text),) if answer.edge.to_key else ()
            return
        page = answer.page
        assert page is not None
        texts = self._texts.of_seqs(self._view.tables.links.read(answer.visit))
        self._graph.links[number] = tuple([self._number(text) for text in texts.values()])
        is_text = page.status == 200 and page.fingerprint not in (b"", NO_KEY)
        self._graph.texts[number] = page.fingerprint.hex() if is_text else ""
        self._pages[number] = self._read(number, answer.visit, page, tuple(texts.values()))

    def _number(self, text: str) -> int:
        """Return a URL's number; a new URL without an answer gets the next one."""
        if text not in self._numbers:
            self._numbers[text] = self._graph.add(text, "")
        return self._numbers[text]

    def _read(self, number: int, visit: int, page: PageRecord, links: tuple[str, ...]) -> Page:
        body = self._view.tables.bodies.get(visit) if page.has_body and page.mime_type in MARKUP else None
        parsed = None
        if body is not None:
            parsed = html.read(body, content_type_of(page), page.mime_type, agent=self._view.settings.identity.agent, max_links=1)
        tokens = token_hashes(parsed.raw_text) if parsed is not None else self._words_of_original(page)
        self._recorded.n_unread += parsed is None and not tokens.size and bool(self._graph.texts[number])
        return Page(
            self._space.url(page.url),
            page.status,
            page.mime_type,
            page.title,
            parsed.raw_text if parsed is not None else "",
            tokens,
            page.fingerprint if page.fingerprint != NO_KEY else b"",
            links,
            page.canonical,
            Directives(noindex=page.noindex, nofollow=page.nofollow),
            page.n_bytes,
            frozenset(Flag(flag) for flag in page.flags),
            page.fetched_at,
            parsed.form if parsed is not None else "",
            digest=body_digest(tokens, body or b""),
        )

    def _words_of_original(self, page: PageRecord) -> U64:
        """Return the words of the original if the page was dropped as its copy; else none."""
        for verdict in page.verdicts:
            named = verdict.evidence.get("copy_of") or verdict.evidence.get("replica_of")
            original = self._by_key.get(bytes.fromhex(str(named))) if named else None
            if original is not None and original in self._pages:
                return self._pages[original].tokens
        return _NO_WORDS

    def _told(self, known: list[_StoredAnswer]) -> dict[int, list[JournalRecord]]:
        """Return the journal's records that belong to no visit of a page, by the answer after which they came."""
        told: defaultdict[int, list[JournalRecord]] = defaultdict(list)
        by_visit = sorted((answer.visit, number) for number, answer in enumerate(known))
        before, at = 0, 0
        while rows := self._view.tables.journal.since(at):
            for visit, entries in rows:
                while before + 1 < len(by_visit) and by_visit[before + 1][0] <= visit:
                    before += 1
                records = [JournalRecord(entry.gate, entry.judgement, entry.measures) for entry in entries if entry.gate in _TOLD]
                if records:
                    told[by_visit[before][1]] += records
                    self._recorded.n_asked += sum(record.gate == Gate.ANSWER for record in records)
            at = rows[-1][0] + 1
        return dict(told)

    def _roots(self, known: list[_StoredAnswer]) -> list[int]:
        """Return the URLs that nothing links to; then, in order, those that no recorded link reaches."""
        roots = [number for number, answer in enumerate(known) if answer.page is not None and answer.page.via == NO_KEY] or [0]
        reached = self._reach(roots, set())
        for number in range(len(known)):
            if number not in reached:
                roots.append(number)
                self._recorded.n_unnamed += 1
                self._reach([number], reached)
        return roots

    def _reach(self, roots: list[int], reached: set[int]) -> set[int]:
        """Add to `reached` all URLs that links lead to from `roots`, and return it."""
        rest = list(roots)
        reached.update(roots)
        while rest:
            new = [target for target in self._graph.links[rest.pop()] if target not in reached]
            reached.update(new)
            rest += new
        return reached
