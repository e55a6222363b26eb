"""Part "patterns": URL patterns, some without any new document and some that only look so.

site       URLs                                                     kind        document
forum      see forum.py: permalinks, forms, feeds, sort orders
booking    see forum.py: a calendar
wiki       /wiki/Oak_seed_7                                         page        its own
           /w/index.php?title=…&action=edit[&redlink=1]             form        none
           /archive/2011/8.html                                     gone        none: 404, dead links of one shape
bloomer    /items/7: 1 to 30                                        copy        that of /items/1, whose notice they all show
           /items/31 and so on                                      page        its own: a pattern that yields late
           /list/2                                                  index       its own
archive    /archive/page/3/, linked as a chain                      index       its own: nearly the text of the others, ten new posts each
           /post/oak-seed-7                                         page        its own
manual     /en/guide/7                                              page        its own
           /de/guide/7, /pt/…, /fr/…                                page        its own where it is translated: 60, 30 and 10 %
           the same and /it/…, /pl/…                                fallback    that of /en/guide/7, whose text they show
"""

from __future__ import annotations

from functools import partial

from thresher.crawler.demo.forum import Booking, Forum
from thresher.crawler.demo.page_truth import PageTruth
from thresher.crawler.demo.part_context import PartContext, PartHost, PartSite, PartSites, children, number_in
from thresher.crawler.demo.words import SUBJECTS

N_PAGES = 400
N_COPIES = 30  # first items of the late bloomer
TRANSLATED = {"en": 1.0, "de": 0.6, "pt": 0.3, "fr": 0.1, "it": 0.0, "pl": 0.0}  # language → share of pages that are translated
_PER_LIST = 20
_PER_ARCHIVE_PAGE = 10
_N_ROOMS = 40
_FANOUT = 5


def pattern_part(context: PartContext) -> PartSites:
    """Make one host of each kind."""
    n = context.n_pages or N_PAGES
    names = ("forum", "booking", "wiki", "shop", "blog", "docs")
    forum, booking, wiki, shop, blog, docs = (f"{name}.{context.domain(number)}" for number, name in enumerate(names))
    sites: dict[str, PartSite] = {
        forum: Forum(context, forum, n // 4),
        booking: Booking(context, booking, _N_ROOMS, 2 * n),
        wiki: Wiki(context, wiki, 3 * n // 4),
        shop: LateBloomer(context, shop, N_COPIES + n // 2),
        blog: DemoArchive(context, blog, 3 * n // 4),
        docs: Manual(context, docs, 3 * n // 10),
    }
    return PartSites(context, sites)


class Wiki:
    """A wiki: articles that link to each other, edit forms, and links to articles and archives that do not exist."""

    def __init__(self, context: PartContext, host: str, n_articles: int) -> None:
        self._part_host = PartHost(context, host, subject=7)
        self._n_articles = n_articles
        words = SUBJECTS[7].words
        throws = [context.throw("article", number) for number in range(2 * n_articles)]
        names = [f"{words[t % len(words)].capitalize()}_{words[(t >> 16) % len(words)]}_{i}" for i, t in enumerate(throws)]
        self._names, self._missing = names[:n_articles], names[n_articles:]
        self._numbers = {name: number for number, name in enumerate(self._names)}

    def find(self, path: str) -> PageTruth:
        if path == "/":
            return self._part_host.page(path, [(f"/wiki/{name}", name) for name in self._names[:_FANOUT]])
        if path.startswith("/wiki/") and (number := self._numbers.get(path[6:], -1)) >= 0:
            return self._part_host.page(path, self._links(number), title=path[6:].replace("_", " "))
        title, _, action = path.removeprefix("/w/index.php?title=").partition("&")
        if path.startswith("/w/index.php?title=") and action in ("action=edit", "action=edit&redlink=1"):
            text = (f"You are not logged in. Editing {title.replace('_', ' ')}.", *self._part_host.template.aside)
            return self._part_host.page(path, kind="form", own="", title="Edit", text=lambda: text)
        return self._part_host.gone()

    def _links(self, number: int) -> list[tuple[str, str]]:
        throws = self._part_host.context.rng.indexes(4, self._n_articles, "wiki links", self._part_host.host, number)
        known = [*(child + _FANOUT - 1 for child in children(number, _FANOUT, self._n_articles - _FANOUT + 1)), *throws]
        links = [(f"/wiki/{self._names[other]}", self._names[other]) for other in known]
        missing = self._missing[number]
        links += [
            (f"/w/index.php?title={self._names[number]}&action=edit", "Edit"),
            (f"/w/index.php?title={missing}&action=edit&redlink=1", missing),
        ]
        return [*links, (f"/archive/{2001 + throws[0] % 20}/{number}.html", "Archived")]


class LateBloomer:
    """A shop whose first items are sold: they all show the same notice."""

    def __init__(self, context: PartContext, host: str, n_items: int) -> None:
        self._part_host, self._n_items = PartHost(context, host, subject=8), n_items

    def find(self, path: str) -> PageTruth:
        n_lists = -(-self._n_items // _PER_LIST)
        if path == "/":
            return self._part_host.page(path, [(f"/list/{i}", f"List {i}") for i in range(1, n_lists + 1)])
        if (number := number_in(path, "/list/", below=n_lists + 1)) > 0:
            first = (number - 1) * _PER_LIST + 1
            items = range(first, min(first + _PER_LIST, self._n_items + 1))
            return self._part_host.page(path, [(f"/items/{item}", f"Item {item}") for item in items], kind="index")
        item = number_in(path, "/items/", below=self._n_items + 1)
        if item <= 0:
            return self._part_host.gone()
        return self._part_host.page(path, kind="copy" if item <= N_COPIES else "page", own="/items/1" if item <= N_COPIES else path)


class DemoArchive:
    """A blog's archive: posts that can be reached only by a chain of index pages."""

    def __init__(self, context: PartContext, host: str, n_posts: int) -> None:
        self._part_host = PartHost(context, host, subject=6, menu=(("/", "Home"), ("/archive/page/1/", "Archive")))
        words = SUBJECTS[6].words
        throws = [context.throw("post", number) for number in range(n_posts)]
        self._posts = [f"/post/{words[t % len(words)]}-{words[(t >> 16) % len(words)]}-{i}" for i, t in enumerate(throws)]
        self._numbers = {path: number for number, path in enumerate(self._posts)}

    def find(self, path: str) -> PageTruth:
        if path == "/":
            return self._part_host.page(path)
        if path in self._numbers:
            return self._part_host.page(path)
        n_pages = -(-len(self._posts) // _PER_ARCHIVE_PAGE)
        page = number_in(path, "/archive/page/", "/", below=n_pages + 1)
        if page <= 0:
            return self._part_host.gone()
        posts = self._posts[(page - 1) * _PER_ARCHIVE_PAGE : page * _PER_ARCHIVE_PAGE]
        links = [(post, self._part_host.title(post)) for post in posts]
        links += [(f"/archive/page/{page + 1}/", "Older posts")] if page < n_pages else []
        return self._part_host.page(path, links, kind="index", title="Archive", text=partial(self._teasers, page, posts))

    def _teasers(self, page: int, posts: list[str]) -> list[str]:
        """Return the text of an index page: an introduction that all index pages share, and a line for each post."""
        introduction = self._part_host.text.paragraphs(80, self._part_host.host, "introduction")
        return [f"Page {page}.", *introduction, *(self._part_host.text.paragraphs(6, self._part_host.host, post)[0] for post in posts)]


class Manual:
    """A manual in six languages; what is not translated is shown in English."""

    def __init__(self, context: PartContext, host: str, n_topics: int) -> None:
        self._part_host = PartHost(context, host, subject=1, menu=tuple((f"/{lang}/guide/0", lang) for lang in TRANSLATED))
        self._n_topics = n_topics

    def find(self, path: str) -> PageTruth:
        if path == "/":
            return self._part_host.page(path)
        lang = path[1:3]
        topic = number_in(path, f"/{lang}/guide/", below=self._n_topics)
        if lang not in TRANSLATED or topic < 0:
            return self._part_host.gone()
        links = [(f"/{lang}/guide/{child}", f"{child}") for child in children(topic, _FANOUT, self._n_topics)]
        links += [(f"/{other}/guide/{topic}", other) for other in TRANSLATED]
        if self._part_host.context.unit("translated", lang, topic) < TRANSLATED[lang]:
            return self._part_host.page(path, links, variant=lang, lang=lang)
        return self._part_host.page(path, links, kind="fallback", variant=lang, own=f"/en/guide/{topic}")
