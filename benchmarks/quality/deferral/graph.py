"""The graph of a site: what each URL answers and which URLs it names. Recorded (record.py) or generated (generated.py)."""

from __future__ import annotations

import gzip
import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit


@dataclass
class Graph:
    """URLs by number, 0 is the seed; what is asked of one that answers nothing is a fetch for nothing."""

    name: str
    urls: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)  # hash of the visible text; "": not a page, or no status 200
    links: list[Sequence[int]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)  # of HTTP
    parked: frozenset[str] = frozenset()  # hosts that answer nothing while the crawl lasts
    outage: tuple[int, int] = (0, 0)  # requests, from and to, that are all answered by one text and no link

    def __post_init__(self) -> None:
        self.statuses += [200 if text else 404 for text in self.texts[len(self.statuses) :]]

    def add(self, url: str, text: str, links: Sequence[int] = (), *, status: int = 0) -> int:
        """Add a URL; return its number. status: 0 if its text says it, 200 or 404"""
        self.urls.append(url)
        self.texts.append(text)
        self.links.append(links)
        self.statuses.append(status or (200 if text else 404))
        return len(self.urls) - 1

    def host(self, number: int) -> str:
        """Return the host of a URL."""
        return urlsplit(self.urls[number]).netloc

    def is_redirect(self, number: int) -> bool:
        """Return whether a URL answers with a redirect, whose target is its one link."""
        return 300 <= self.statuses[number] < 400 and len(self.links[number]) == 1

    @property
    def has_one_host(self) -> bool:
        """Return whether all URLs lie on one host."""
        return len({urlsplit(url).netloc for url in self.urls}) == 1

    @property
    def documents(self) -> set[str]:
        """Return the texts that a crawl may find."""
        return {text for number in self.reachable() if is_document(text := self.texts[number])}

    def reachable(self) -> list[int]:
        """Return all URLs that links lead to from the seed, breadth-first."""
        seen, queue, order = {0}, deque([0]), []
        while queue:
            number = queue.popleft()
            order.append(number)
            for target in self.links[number]:
                if target not in seen:
                    seen.add(target)
                    queue.append(target)
        return order


def is_document(text: str) -> bool:
    """Return whether a text is worth to be found: not "", not a page that only differs (generated.py)."""
    return bool(text) and not text.startswith("~")


def read(file: Path) -> Graph:
    """Read a recording. URLs that were never asked are left out."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    graph = Graph(file.name.removesuffix(".jsonl.gz"))
    names = [rows[0]["u"], *(url for row in rows for url in row["n"])]
    number = {row["u"]: i for i, row in enumerate(rows)}
    for row in rows:
        named = dict.fromkeys(number[names[i]] for i in row["l"] if names[i] in number)
        graph.add(row["u"], row["t"] if row["s"] == 200 else "", tuple(named), status=row["s"])
    return graph
