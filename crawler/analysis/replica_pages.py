"""Reads pages with their texts and links from JSON lines or a store, and sketches them as they are read. For commands.

A line is `{"url": …, "text": …, "links": […]}`; links may be relative, and are put in canonical form as a crawl does. A line that is no
page is counted by its fault, and the first line with each fault is remembered for the message.

A store keeps bodies, so each page is parsed once more for its text. A copy whose body was not stored has the text of the page that it
copies. A link to a redirect leads to where that ends.

Time: 0.2 ms a line of 10 KB and 60 links; 0.6 ms a stored page of 25 KB. Memory: the sketches, and 100 bytes a redirect.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import BinaryIO

import msgspec

from thresher.crawler.analysis.replica_links import LinkedUrls
from thresher.crawler.analysis.replica_sketches import sketches
from thresher.crawler.core.sketch import token_hashes
from thresher.crawler.core.url import BadURL, URLRules, URLSpace, origin_of
from thresher.filters.near_replica.sketching import Recipe, Sketcher, Sketches
from thresher.storage.export.pages import current_pages
from thresher.storage.view import View

_MAX_URL = 8192
_CHUNK = 1000


class PageLine(msgspec.Struct):
    """A page as a line of a file."""

    url: str
    text: str
    links: list[str] = []


@dataclass(slots=True)
class PagesRead:
    """Pages as they were read."""

    sketches: Sketches
    n_read: int = 0
    faults: Counter[str] = field(default_factory=Counter)  # what is wrong → lines or pages
    first: dict[str, str] = field(default_factory=dict)  # what is wrong → where it was met first

    def fault(self, what: str, where: str) -> None:
        self.faults[what] += 1
        self.first.setdefault(what, where)


def space() -> URLSpace:
    """Return the canonical form in which pages of files are named."""
    return URLSpace(bytes(16), URLRules(max_length=_MAX_URL, max_path_segments=_MAX_URL, ports=None))


def read_lines(file: BinaryIO, recipe: Recipe) -> PagesRead:
    """Read pages from JSON lines; of several lines with the same URL the first counts."""
    reading, sketcher, urls = PagesRead(NOTHING), Sketcher(recipe), space()
    decoder = msgspec.json.Decoder(PageLine)
    known: set[str] = set()
    for raw in file:
        if raw.isspace():
            continue
        reading.n_read += 1
        where = f"line {reading.n_read:,}"
        try:
            line = decoder.decode(raw)
            url = urls.canonical(line.url)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            reading.fault('no JSON object with "url" and "text"', f"{where}: {error}")
        except BadURL as error:
            reading.fault("no URL of the web", f"{where}: {error.detail}")
        else:
            if url in known:
                reading.fault("a URL that was there before", f"{where}: {url}")
                continue
            known.add(url)
            sketcher.add(url, origin_of(url), token_hashes(line.text), urls.resolve(url, line.links)[0])
    reading.sketches = sketcher.close()
    return reading


def read_store(view: View, recipe: Recipe) -> PagesRead:
    """Read the pages of a crawl that answered with success."""
    reading, sketcher = PagesRead(NOTHING), Sketcher(recipe)
    links = LinkedUrls(view)
    numbers: dict[int, int] = {}  # visit → number of its page
    hosts: dict[str, list[int]] = {}  # visits of their pages
    texts: list[tuple[bytes, int]] = []  # of each page: fingerprint, bytes
    pages = ((visit, page) for visit, page in current_pages(view) if 200 <= page.status < 300)
    while chunk := list(islice(pages, _CHUNK)):
        for (visit, page), targets in zip(chunk, links.of([visit for visit, _ in chunk]), strict=True):
            host = origin_of(page.url)
            numbers[visit] = sketcher.expect(page.url, host, targets)
            hosts.setdefault(host, []).append(visit)
            texts.append((page.fingerprint, page.n_bytes))
    reading.n_read = len(texts)
    have_words = [False] * len(texts)
    for visit, has_words, found in sketches(view, hosts, recipe):
        sketcher.put(numbers[visit], found)
        have_words[numbers[visit]] = has_words
    with_text: dict[bytes, int] = {}  # fingerprint → number of a page with this text
    for number, (text, _) in enumerate(texts):
        if have_words[number] and text:
            with_text.setdefault(text, number)
    for number, (text, n_bytes) in enumerate(texts):
        if have_words[number]:
            continue
        if text in with_text:
            sketcher.same_text(number, with_text[text])
        elif text or n_bytes:
            reading.fault("whose text was not stored" if text else "without text that can be read", sketcher.url(number))
    reading.sketches = sketcher.close()
    return reading


NOTHING = Sketcher(Recipe()).close()
