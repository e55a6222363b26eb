"""Part "replicas": near-replicas of known distance, mirrors, and pages that only look like replicas.

    originals and edition   /a/7      page, edited    the same page with a known share of its words changed; two languages
    origin and mirrors      /p/7      page, mirror    equal text at equal paths; the second mirror lacks one page in twenty and has an older
                                                      version (kind edited) of another
    twins                   /kind/7   twin            equal text, but children of their own: documents of their own
                            /none/7   empty           equal text, no children: one document
                            /item/7   page
    archive                 /3/date.html, thread.html, author.html
                                      index           the same ten children and different text: documents of their own
                            /msg/37   page

An edited page is a replica, and has its original's document, where at most `REPLICA_SHARE` of its words are changed. The template around an
edited or mirrored page is that of its original. `planted_pairs` returns every pair with its distance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from thresher.crawler.demo.page_truth import PageTruth
from thresher.crawler.demo.part_context import Part, PartContext, PartHost, PartSite, PartSites, children, number_in
from thresher.crawler.demo.texts import coined

N_PAGES = 200
SHARES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.35, 0.5)  # shares of a page's words that are changed
MANNERS = ("scattered", "block")
REPLICA_SHARE = 0.05
_OLD_SHARE = 0.15  # share of the words that differ in a mirror's older versions
_LENGTHS = (180, 400)  # words of a page (least, most)
_FANOUT = 4
_PER_VOLUME = 10  # messages of a volume
_INDEXES = ("date", "thread", "author")
_CHILDREN = 3  # children of a twin


@dataclass(frozen=True, slots=True)
class Pair:
    """Two planted pages and how they relate."""

    first: str
    second: str
    manner: str  # mirror, scattered, block, empty: maybe replicas; twin: equal text, other children; index: equal children, other text
    share: float  # share of the words of the main text that differ; 0 for mirrors and twins, 1 for indexes

    @property
    def is_replica(self) -> bool:
        return self.manner not in ("twin", "index") and self.share <= REPLICA_SHARE


class _Book:
    """A tree of pages under one directory, and its editions."""

    def __init__(self, context: PartContext, host: str, directory: str, lang: str, n_pages: int) -> None:
        self.part_host = PartHost(context, host, lang, subject=2)
        self.n_pages, self._directory = n_pages, directory

    def path(self, page: int) -> str:
        return "/" if page == 0 else f"/{self._directory}/{page}"

    def number(self, path: str) -> int:
        """Return a page's number, -1 for none."""
        return 0 if path == "/" else max(number_in(path, f"/{self._directory}/", below=self.n_pages), 0) or -1

    def words(self, page: int) -> list[str]:
        n_words = self.part_host.context.rng.within(_LENGTHS, "length", self.part_host.host, page)
        return self.part_host.text.words(n_words, self.part_host.host, page)

    def title(self, page: int) -> str:
        return self.part_host.title(page)

    def links(self, page: int) -> list[tuple[str, str]]:
        return [(self.path(i), self.title(i)) for i in children(page, _FANOUT, self.n_pages)]

    def find(self, path: str) -> PageTruth:
        page = self.number(path)
        return self.truth(self.part_host, page) if page >= 0 else self.part_host.gone()

    def truth(self, shown_on: PartHost, page: int, *, kind: str = "page", variant: str = "", share: float = 0.0) -> PageTruth:
        """Return a page as the host `shown_on` shows it, with a share of its words changed."""
        truth = shown_on.page(
            self.path(page),
            self.links(page),
            kind=kind,
            variant=variant,
            title=self.title(page),
            text=partial(self._text, page, variant, share),
        )
        own = self.part_host.origin + self.path(page)
        return replace(truth, document=own, canonical=own) if share <= REPLICA_SHARE else truth

    def _text(self, page: int, manner: str, share: float) -> list[str]:
        return self.part_host.text.set(self.changed(page, manner, share))

    def changed(self, page: int, manner: str, share: float) -> list[str]:
        """Return a page's words with ⌊share · n⌋ of them replaced: scattered, or in one block."""
        words = self.words(page)
        n_changed, rng = int(share * len(words)), self.part_host.context.rng
        order = rng.column(len(words), "places", self.part_host.host, page).argsort().tolist()
        start = order[0] % (len(words) - n_changed + 1)
        for i, place in enumerate(order[:n_changed] if manner == "scattered" else range(start, start + n_changed)):
            number = rng.throw("replacement", self.part_host.host, page, i) % 50_000
            new = coined(self.part_host.text.lang, number)
            words[place] = new if new != words[place] else coined(self.part_host.text.lang, number + 1)
        return words

    def true_share(self, page: int, share: float) -> float:
        n_words = len(self.words(page))
        return int(share * n_words) / n_words

    def beside(self, context: PartContext, host: str) -> PartHost:
        """Return another host with this one's template."""
        part_host = PartHost(context, host, self.part_host.text.lang, subject=self.part_host.subject)
        part_host.template = replace(self.part_host.template, menu=part_host.template.menu)
        return part_host


class _Edition:
    """The pages of a book, each with a share of its words changed."""

    def __init__(self, context: PartContext, host: str, book: _Book) -> None:
        self._book, self._part_host = book, book.beside(context, host)

    def _change(self, page: int) -> tuple[str, float]:
        return MANNERS[page // len(SHARES) % len(MANNERS)], SHARES[page % len(SHARES)]

    def find(self, path: str) -> PageTruth:
        page = self._book.number(path)
        if page < 0:
            return self._part_host.gone()
        manner, share = self._change(page)
        return self._book.truth(self._part_host, page, kind="edited", variant=manner, share=share)

    def pairs(self) -> list[Pair]:
        found = []
        for page in range(self._book.n_pages):
            (manner, share), path = self._change(page), self._book.path(page)
            found.append(
                Pair(self._book.part_host.origin + path, self._part_host.origin + path, manner, self._book.true_share(page, share))
            )
        return found


class _Mirror:
    """The pages of a book at the same paths; with gaps: some are missing, some are old versions."""

    def __init__(self, context: PartContext, host: str, book: _Book, *, has_gaps: bool) -> None:
        self._book, self._part_host, self._has_gaps = book, book.beside(context, host), has_gaps
        self.origin = book.part_host.host

    def _is_missing(self, page: int) -> bool:
        return self._has_gaps and page % 20 == 7 and not children(page, _FANOUT, self._book.n_pages)

    def _share(self, page: int) -> float:
        return _OLD_SHARE if self._has_gaps and page % 20 == 13 else 0.0

    def find(self, path: str) -> PageTruth:
        page = self._book.number(path)
        if page < 0 or self._is_missing(page):
            return self._part_host.gone()
        share = self._share(page)
        return self._book.truth(self._part_host, page, kind="edited" if share else "mirror", variant="block" if share else "", share=share)

    def pairs(self) -> list[Pair]:
        found = []
        for page in range(self._book.n_pages):
            if not self._is_missing(page):
                share, path = self._share(page), self._book.path(page)
                first, second = self._book.part_host.origin + path, self._part_host.origin + path
                found.append(Pair(first, second, "block" if share else "mirror", self._book.true_share(page, share)))
        return found


class _Twins:
    """Pages with equal text: some have children of their own, some have none."""

    def __init__(self, context: PartContext, host: str, n_twins: int) -> None:
        self._part_host, self._n_twins, self._n_empty = PartHost(context, host, "de"), n_twins, max(2, n_twins // 2)

    def find(self, path: str) -> PageTruth:
        part_host = self._part_host
        if path == "/":
            links = [(f"/kind/{i}", f"{i}") for i in range(self._n_twins)] + [(f"/none/{i}", f"{i}") for i in range(self._n_empty)]
            return part_host.page(path, links)
        if number_in(path, "/item/", below=_CHILDREN * self._n_twins) >= 0:
            return part_host.page(path)
        if (twin := number_in(path, "/kind/", below=self._n_twins)) >= 0:
            links = [(f"/item/{_CHILDREN * twin + i}", "Mehr") for i in range(_CHILDREN)]
            return part_host.page(
                path, links, kind="twin", title="Kategorie", text=partial(part_host.text.paragraphs, 130, part_host.host, "twin")
            )
        if number_in(path, "/none/", below=self._n_empty) >= 0:
            text = partial(part_host.text.paragraphs, 130, part_host.host, "none")
            return part_host.page(path, kind="empty", own="/none/0", title="Keine Treffer", text=text)
        return part_host.gone()

    def pairs(self) -> list[Pair]:
        origin = self._part_host.origin
        twins = [Pair(f"{origin}/kind/{i}", f"{origin}/kind/{i + 1}", "twin", 0.0) for i in range(self._n_twins - 1)]
        return twins + [Pair(f"{origin}/none/0", f"{origin}/none/{i}", "empty", 0.0) for i in range(1, self._n_empty)]


class _Archive:
    """Messages in volumes, each with three indexes."""

    def __init__(self, context: PartContext, host: str, n_volumes: int) -> None:
        self._part_host, self._n_volumes = PartHost(context, host, subject=9), n_volumes

    def find(self, path: str) -> PageTruth:
        part_host = self._part_host
        if path == "/":
            return part_host.page(path, [(f"/{volume}/{index}.html", index) for volume in range(self._n_volumes) for index in _INDEXES])
        if number_in(path, "/msg/", below=self._n_volumes * _PER_VOLUME) >= 0:
            return part_host.page(path)
        index = next((index for index in _INDEXES if path.endswith(f"/{index}.html")), "")
        volume = number_in(path, "/", f"/{index}.html", below=self._n_volumes) if index else -1
        return self._index(path, volume, index) if volume >= 0 else part_host.gone()

    def _index(self, path: str, volume: int, index: str) -> PageTruth:
        part_host = self._part_host
        messages = range(volume * _PER_VOLUME, (volume + 1) * _PER_VOLUME)
        order = sorted(messages, key=lambda message: part_host.context.throw(index, part_host.host, message))
        links = [(f"/msg/{message}", " ".join(part_host.text.words(9, part_host.host, index, message))) for message in order]
        text = partial(part_host.text.paragraphs, 30, part_host.host, index)
        return part_host.page(path, links, kind="index", variant=index, title=f"By {index}", text=text)

    def pairs(self) -> list[Pair]:
        origin = self._part_host.origin
        couples = (("date", "thread"), ("thread", "author"), ("date", "author"))
        return [Pair(f"{origin}/{i}/{a}.html", f"{origin}/{i}/{b}.html", "index", 1.0) for i in range(self._n_volumes) for a, b in couples]


def replica_part(context: PartContext) -> PartSites:
    """Make nine hosts, each of a site of its own."""
    n = context.n_pages or N_PAGES
    names = [f"www.{context.domain(number)}" for number in range(9)]
    english, chinese = _Book(context, names[0], "a", "en", n), _Book(context, names[2], "a", "zh", n)
    origin = _Book(context, names[4], "p", "ru", n)
    sites: list[PartSite] = [
        english,
        _Edition(context, names[1], english),
        chinese,
        _Edition(context, names[3], chinese),
        origin,
        _Mirror(context, names[5], origin, has_gaps=False),
        _Mirror(context, names[6], origin, has_gaps=True),
        _Twins(context, names[7], max(3, n // 5)),
        _Archive(context, names[8], max(2, n // 15)),
    ]
    return PartSites(context, dict(zip(names, sites, strict=True)))


def planted_pairs(part: Part) -> list[Pair]:
    """Return every pair that was planted in this part."""
    assert isinstance(part, PartSites)
    return [pair for site in part.by_host.values() if isinstance(site, _Edition | _Mirror | _Twins | _Archive) for pair in site.pairs()]


def planted_mirrors(part: Part) -> dict[str, str]:
    """Return mirror → origin, by host."""
    assert isinstance(part, PartSites)
    return {host: site.origin for host, site in part.by_host.items() if isinstance(site, _Mirror)}
