"""A host of the part "soft": its tree of real pages, its odd URLs, and the software that answers all other URLs.

    page i      0 is the home page; page i links to its children i·f+1 … i·f+f, and to the odd URLs j with j mod pages = i
    odd URL j   answered with a soft error, or redirected honestly; in the pages' directories, or in a directory of its own

Odd URLs look like pages: in the same five directories, two words and a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from thresher.crawler.demo.page_truth import HostTemplate, PageTruth, PlannedLink
from thresher.crawler.demo.part_context import PartContext
from thresher.crawler.demo.words import SUBJECTS

_FANOUT = 6
_N_DIRECTORIES = 5
_MENU = 4  # pages in the menu
_N_WORDS = (110, 320)  # words of a page (least, most)


@dataclass(frozen=True, slots=True)
class Software:
    """How a host answers URLs that are not its pages."""

    kind: str  # of its odd URLs
    variant: str
    answer: Callable[[SoftErrorHost, str, int], PageTruth]  # called with (host, path, number of the odd URL or -1)
    directory: str = ""  # directory of its odd URLs; "": among the pages
    ending: str = ".html"
    has_pages: bool = True
    odd_share: float = 0.4  # share of the host's URLs that are odd
    n_aside: int = 40  # words of the template
    n_words: tuple[int, int] = _N_WORDS
    size: float = 1.0  # pages of the host, as a multiple of the part's pages per host
    insert: tuple[str, ...] = ()  # each page has one of these sentences
    keeps_paths: bool = False  # its odd URLs redirect to the same paths on its peer


class SoftErrorHost:
    """One host."""

    def __init__(self, context: PartContext, number: int, software: Software, lang: str, *, host: str = "") -> None:
        self.context, self.software, self.lang, self.number = context, software, lang, number
        self.host = host or context.domain(number)
        self.origin = context.origin(self.host)
        self.peers: tuple[SoftErrorHost, ...] = ()  # other hosts to which it redirects
        n_urls = max(4, int(context.n_pages * software.size)) if software.size else 0
        self.n_odd = round(n_urls * software.odd_share) if software.has_pages else n_urls
        self.n_pages = n_urls - self.n_odd if software.has_pages else 0
        self._words = SUBJECTS[number % len(SUBJECTS)].words
        menu = tuple(PlannedLink(self.page_url(i), self.page_title(i)) for i in range(min(1 + _MENU, self.n_pages)))
        self.template: HostTemplate = context.template(self.host, lang, subject=number, menu=menu, n_aside=software.n_aside)

    # names

    def page_path(self, page: int) -> str:
        return "/" if page == 0 else self._path("page", page, "", ".html")

    def page_url(self, page: int) -> str:
        return self.origin + self.page_path(page)

    def odd_path(self, number: int) -> str:
        if self.software.keeps_paths:
            return self.peers[0].page_path(number % self.peers[0].n_pages)
        return self._path("odd", number, self.software.directory, self.software.ending)

    def odd_url(self, number: int) -> str:
        return self.origin + self.odd_path(number)

    def _path(self, what: str, number: int, directory: str, ending: str) -> str:
        throw, words = self.context.throw(what, self.host, number), self._words
        directory = directory or words[throw % _N_DIRECTORIES]
        shown = number if what == "page" else number + self.n_pages
        return f"/{directory}/{words[(throw >> 8) % len(words)]}-{words[(throw >> 24) % len(words)]}-{shown}{ending}"

    def page_title(self, page: int) -> str:
        return self.context.text(self.lang, self.number).title(self.host, page)

    # what is at a path

    def find(self, path: str) -> PageTruth:
        page, odd = self.numbers(path)
        if page >= 0:
            return self.page(page)
        return self.software.answer(self, path, odd)

    def numbers(self, path: str) -> tuple[int, int]:
        """Return (number of the page, number of the odd URL) at `path`, -1 for none."""
        if path == "/" and self.n_pages:
            return 0, -1
        digits = path.removesuffix(".html").removesuffix("/").removesuffix(self.software.ending).rpartition("-")[2]
        if not (digits.isascii() and digits.isdigit() and len(digits) < 8):
            return -1, -1
        number = int(digits)
        if 0 < number < self.n_pages and self.page_path(number) == path:
            return number, -1
        odd = number - self.n_pages
        return -1, odd if 0 <= odd < self.n_odd and self.odd_path(odd) == path else -1

    def page(self, page: int) -> PageTruth:
        """Return a real page."""
        url = self.page_url(page)
        links = [
            PlannedLink(self.page_url(i), self.page_title(i))
            for i in range(page * _FANOUT + 1, min(page * _FANOUT + _FANOUT + 1, self.n_pages))
        ]
        links += [PlannedLink(self.odd_url(i), f"{self.page_title(page)} {i}") for i in range(page, self.n_odd, self.n_pages)]
        return PageTruth(
            kind="page",
            variant=self.software.variant,
            document=url,
            canonical=url,
            title=self.page_title(page),
            text=partial(self._text_of, page),
            links=tuple(links),
            template=self.template,
        )

    def _text_of(self, page: int) -> list[str]:
        n_words = self.context.rng.within(self.software.n_words, "length", self.host, page)
        insert = self.software.insert
        return [*insert[page % max(1, len(insert)) :][:1], *self.context.text(self.lang, self.number).paragraphs(n_words, self.host, page)]

    def entries(self) -> Iterator[PlannedLink]:
        """Yield the links that a portal must have, so that the whole host is reached."""
        if self.n_pages:
            yield PlannedLink(self.origin + "/", self.template.brand)
        else:
            yield from (PlannedLink(self.odd_url(i), f"{self.template.brand} {i}") for i in range(self.n_odd))
