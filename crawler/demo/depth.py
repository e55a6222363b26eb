"""Part "depth": endless spaces, and real pages that are many clicks deep.

    www     /docs/7/              page      a tree of a few levels, on the host of the calendar
            /novel/chapter-7      page      a chain of 40 pages, each linked only from the one before
            /cal/2024/05/[17/]    calendar  endless: months before and after, days; no document
    shop    /p/7                  page      products
            /c/3[?page=2]         index     categories: the only way to their products
            /c/3?f.size=m&f.…     facet     endless: facets in any order and number, and always a next page; no document
    notes   /note?id=7&sid=4f…    session   endless: the same pages with ever new session ids; the document is that of /note?id=7
    tree    /7/                   page      seven levels, 0 to 6, each page with two or three children

Real pages are the documents of the truth. Variant: docs, novel, product, category, note, tree.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from thresher.crawler.demo.labels import LabelledTrap
from thresher.crawler.demo.page_truth import PageTruth
from thresher.crawler.demo.part_context import PartContext, PartHost, PartSite, PartSites, children, number_in

N_PAGES = 400
N_CHAPTERS = 40
N_LEVELS = 7
_WIDE = 300  # with so many pages or more, the tree has three children a page
_FANOUT = 4
_N_CATEGORIES = 10
_PER_PAGE = 10  # products on a category's page
_FACETS = {
    "colour": ("red", "green", "blue", "black", "white"),
    "size": ("s", "m", "l", "xl"),
    "brand": ("acme", "oak", "nova", "peak", "rill", "tern"),
    "sort": ("price", "name", "newest"),
    "view": ("grid", "list"),
}
_MONTH = re.compile(r"/cal/([1-9]\d{3,5})/(0[1-9]|1[0-2])/(?:(0[1-9]|1\d|2[0-8])/)?", re.ASCII)
_FIRST_YEAR = 1970


def depth_part(context: PartContext) -> PartSites:
    """Make four hosts of four sites."""
    n = context.n_pages or N_PAGES
    www, shop, notes, tree = (f"{label}.{context.domain(number)}" for number, label in enumerate(("www", "shop", "notes", "tree")))
    sites: dict[str, PartSite] = {
        www: _Calendar(context, www, 3 * n // 10),
        shop: _Shop(context, shop, 3 * n // 4),
        notes: _Notes(context, notes, n // 5),
        tree: _Tree(context, tree, 3 if n >= _WIDE else 2),
    }
    return PartSites(
        context, sites, (LabelledTrap("calendar", www, "/cal/"), LabelledTrap("facet", shop, "?f."), LabelledTrap("session", notes, "sid="))
    )


class _Calendar:
    """Documents, a novel, and a calendar."""

    def __init__(self, context: PartContext, host: str, n_docs: int) -> None:
        menu = (("/", "Home"), ("/docs/0/", "Documents"), ("/novel/chapter-1", "Novel"), ("/cal/2024/05/", "Calendar"))
        self._part_host, self._n_docs = PartHost(context, host, subject=3, menu=menu), n_docs

    def find(self, path: str) -> PageTruth:
        if path == "/":
            return self._part_host.page(path, variant="docs")
        if (node := number_in(path, "/docs/", "/", below=self._n_docs)) >= 0:
            return self._part_host.page(
                path, [(f"/docs/{i}/", f"Section {i}") for i in children(node, _FANOUT, self._n_docs)], variant="docs"
            )
        if (chapter := number_in(path, "/novel/chapter-", below=N_CHAPTERS + 1)) > 0:
            links = [(f"/novel/chapter-{i}", f"Chapter {i}") for i in (chapter - 1, chapter + 1) if 1 <= i <= N_CHAPTERS]
            return self._part_host.page(path, links, variant="novel")
        match = _MONTH.fullmatch(path)
        return self._day_or_month(path, match) if match else self._part_host.gone()

    def _day_or_month(self, path: str, match: re.Match[str]) -> PageTruth:
        month = int(match[1]) * 12 + int(match[2]) - 1
        links = [
            (f"/cal/{i // 12}/{i % 12 + 1:02}/", f"{i // 12}-{i % 12 + 1:02}") for i in (month - 1, month + 1) if i // 12 >= _FIRST_YEAR
        ]
        links += [] if match[3] else [(f"{path}{day:02}/", f"{day}") for day in range(1, 29)]
        day = match[3] or "month"
        title, text = f"{day} {match[2]}/{match[1]}", f"Nothing is planned for {day} {match[2]}/{match[1]}. Add an event."
        return self._part_host.page(path, links, kind="calendar", own="", title=title, text=lambda: (text,), is_endless=True)


class _Shop:
    """Products in categories, with facets."""

    def __init__(self, context: PartContext, host: str, n_products: int) -> None:
        menu = (("/", "Home"), *((f"/c/{i}", f"Category {i}") for i in range(_N_CATEGORIES)))
        self._part_host, self._n_products = PartHost(context, host, subject=8, menu=menu), n_products

    def find(self, path: str) -> PageTruth:
        if path == "/":
            return self._part_host.page(path, variant="category")
        if (product := number_in(path, "/p/", below=self._n_products)) >= 0:
            related = self._part_host.context.rng.indexes(3, self._n_products, "related", self._part_host.host, product)
            return self._part_host.page(path, [(f"/p/{i}", f"Product {i}") for i in related], variant="product")
        bare, _, query = path.partition("?")
        category = number_in(bare, "/c/", below=_N_CATEGORIES)
        if category < 0:
            return self._part_host.gone()
        return self._facet(path, category, query) if query.startswith("f.") else self._category(path, category, query)

    def _category(self, path: str, category: int, query: str) -> PageTruth:
        products = range(category, self._n_products, _N_CATEGORIES)
        n_pages = -(-len(products) // _PER_PAGE)
        page = number_in(query, "page=", below=n_pages + 1) if query else 1
        if page < 1 or (query and page == 1):
            return self._part_host.gone()
        links = [(f"/p/{i}", f"Product {i}") for i in products[(page - 1) * _PER_PAGE : page * _PER_PAGE]]
        links += [(f"/c/{category}?page={page + 1}", "Next page")] if page < n_pages else []
        links += [(f"/c/{category}?f.{name}={value}", value) for name, values in _FACETS.items() for value in values]
        return self._part_host.page(path, links, kind="index", variant="category")

    def _facet(self, path: str, category: int, query: str) -> PageTruth:
        fields = parse_qsl(query)
        chosen = dict(fields)
        page = chosen.pop("page", "1")
        is_known = all(value in _FACETS.get(name.removeprefix("f."), ()) for name, value in chosen.items())
        if not is_known or not page.isdigit() or len(page) > 6 or len(fields) != len(chosen) + ("page" in query):
            return self._part_host.gone()
        plain = query.partition("&page=")[0]
        names = sorted(f"{name}={value}" for name, value in chosen.items())
        products = self._part_host.context.rng.indexes(4, self._n_products, "facet", category, *names)
        links = [
            (f"/p/{i - i % _N_CATEGORIES + category}", f"Product {i}")
            for i in products
            if i - i % _N_CATEGORIES + category < self._n_products
        ]
        links += [
            (f"/c/{category}?{plain}&f.{name}={value}", value)
            for name, values in _FACETS.items()
            if f"f.{name}" not in chosen
            for value in values
        ]
        links.append((f"/c/{category}?{plain}&page={int(page) + 1}", "Next page"))
        text = f"{len(links)} results for {', '.join(chosen.values())}, page {page}."
        return self._part_host.page(path, links, kind="facet", own="", title=f"Category {category}", text=lambda: (text,), is_endless=True)


class _Notes:
    """Notes whose links carry a session id that changes with every page."""

    def __init__(self, context: PartContext, host: str, n_notes: int) -> None:
        self._part_host, self._n_notes = PartHost(context, host, subject=6, menu=()), n_notes

    def find(self, path: str) -> PageTruth:
        bare, _, session = path.partition("sid=")
        own = bare.rstrip("&?")
        note = 0 if own == "/" else number_in(own, "/note?id=", below=self._n_notes)
        if note < 0 or (own == "/" and bare not in ("/", "/?")) or (own != "/" and session and not bare.endswith("&")):
            return self._part_host.gone()
        fresh = f"{self._part_host.context.throw('session', own, session):016x}"
        links = [(f"/note?id={i}&sid={fresh}", f"Note {i}") for i in children(note, _FANOUT, self._n_notes)]
        links.append((f"/?sid={fresh}", "Home"))
        kind = "session" if session else "page"
        return self._part_host.page(path, links, kind=kind, variant="note", own=own, is_endless=bool(session))


class _Tree:
    """A plain site of seven levels."""

    def __init__(self, context: PartContext, host: str, fanout: int) -> None:
        self._part_host, self._fanout = PartHost(context, host, subject=4), fanout
        self._n_nodes = sum(fanout**level for level in range(N_LEVELS))

    def find(self, path: str) -> PageTruth:
        node = 0 if path == "/" else number_in(path, "/", "/", below=self._n_nodes)
        if node < 0 or (node == 0 and path != "/"):
            return self._part_host.gone()
        return self._part_host.page(
            path, [(f"/{i}/", self._part_host.title(i)) for i in children(node, self._fanout, self._n_nodes)], variant="tree"
        )
