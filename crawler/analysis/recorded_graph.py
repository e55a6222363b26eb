"""The answers of a crawl as a graph: each URL's answer and the URLs that it names. Crawls are simulated over it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from thresher.crawler.core.model import Page
from thresher.filters.journal import JournalRecord


@dataclass
class RecordedGraph:
    """URLs by number; 0 is the seed. A request of a URL without an answer is wasted."""

    name: str
    urls: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)  # hash of the visible text; "": not a page, or no status 200
    links: list[Sequence[int]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)  # of HTTP
    parked: frozenset[str] = frozenset()  # hosts that never answer in this crawl
    outage: tuple[int, int] = (0, 0)  # (first, last) request of an outage: all are answered by one text without links
    roots: Sequence[int] = (0,)  # URLs to which no other links
    n_answered: int | None = None  # from this number on, URLs are linked to but their answers are not known; None: all are known
    pages: Mapping[int, Page] = field(default_factory=dict)  # number → page; if empty, pages are made from texts
    told: Mapping[int, Sequence[JournalRecord]] = field(default_factory=dict)  # answer → the journal's records after it

    _numbers: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.statuses += [200 if text else 404 for text in self.texts[len(self.statuses) :]]

    def add(self, url: str, text: str, links: Sequence[int] = (), *, status: int = 0) -> int:
        """Add a URL; return its number.

        Args:
            url: The URL.
            text: Hash of its visible text; "" if it is not a page.
            links: Numbers of the URLs that it links to.
            status: HTTP status; 0 means 200 if there is a text, else 404.
        """
        self.urls.append(url)
        self.texts.append(text)
        self.links.append(links)
        self.statuses.append(status or (200 if text else 404))
        return len(self.urls) - 1

    def number_of(self, url: str) -> int:
        """Return the number of a URL that was named by something other than a link. If it has none, it gets a new number without an
        answer.
        """
        if not self._numbers:
            self._numbers.update((text, number) for number, text in enumerate(self.urls))
        if url not in self._numbers:
            self._numbers[url] = self.add(url, "")
            self.n_answered = self._numbers[url] if self.n_answered is None else self.n_answered
        return self._numbers[url]

    def host(self, number: int) -> str:
        """Return the host of a URL."""
        return urlsplit(self.urls[number]).netloc

    def is_known(self, number: int) -> bool:
        """Return whether the answer of a URL is known."""
        return self.n_answered is None or number < self.n_answered

    def is_redirect(self, number: int) -> bool:
        """Return whether the answer is a redirect; its only link is then the target."""
        return 300 <= self.statuses[number] < 400 and len(self.links[number]) == 1

    @property
    def has_one_host(self) -> bool:
        """Return whether all URLs lie on one host."""
        return len({urlsplit(url).netloc for url in self.urls}) == 1

    @property
    def documents(self) -> set[str]:
        """Return the texts that a crawl can find."""
        return {text for number in self.reachable() if is_document(text := self.texts[number])}

    def reachable(self) -> list[int]:
        """Return all URLs that links lead to from the roots, breadth-first."""
        seen, queue, order = set(self.roots), deque(self.roots), []
        while queue:
            number = queue.popleft()
            order.append(number)
            for target in self.links[number]:
                if target not in seen:
                    seen.add(target)
                    queue.append(target)
        return order


def is_document(text: str) -> bool:
    """Return whether a text counts as a document: not "", and not a page that only differs by chance (generated.py)."""
    return bool(text) and not text.startswith("~")
