"""Generated graphs: kinds of sites that recordings lack, and adversaries of deferral.

A text that begins with "~" stands for a page that differs from all others and shows nothing. It is no document, but no filter here can know
that.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, permutations

from thresher.crawler.analysis.recorded_graph import RecordedGraph

_AT = "http://site.example"


class _Draft:
    """A graph whose links are named by URL before their targets are there."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pages: dict[str, tuple[str, list[str]]] = {}

    def page(self, path: str, text: str, links: Iterable[str] = (), *, at: str = _AT) -> str:
        url = path if "://" in path else at + path
        self.pages[url] = (text, [link if "://" in link else at + link for link in links])
        return url

    def graph(self) -> RecordedGraph:
        """Return the graph; links to pages that were never made are left out."""
        graph, number = RecordedGraph(self.name), {url: i for i, url in enumerate(self.pages)}
        for url, (text, links) in self.pages.items():
            graph.add(url, text, tuple(number[link] for link in dict.fromkeys(links) if link in number))
        return graph


def _lists(draft: _Draft, name: str, items: list[str], *, a_list: int = 25, text: str = "") -> list[str]:
    """Add pages that list items; return their paths.    text: what all of them show; if empty, each has its own"""
    paths = [f"/{name}/{i}" for i in range((len(items) + a_list - 1) // a_list)]
    for i, path in enumerate(paths):
        draft.page(path, text or f"{name} {i}", [*paths[i + 1 : i + 2], *items[i * a_list : (i + 1) * a_list]])
    return paths


def _with_articles(draft: _Draft, n: int, more: Iterable[str] = ()) -> None:
    """Add a home page that links to n ordinary documents and to other pages."""
    items = [f"/article/{i}" for i in range(n)]
    draft.page("/", "home", ["/archive/0", *more])
    for path in items:
        draft.page(path, path)
    _lists(draft, "archive", items)


def first_barren(n: int = 800) -> RecordedGraph:
    """The first 200 of a class show one text, all others are documents."""
    draft = _Draft("first_barren")
    items = [f"/item?id={i}" for i in range(n)]
    draft.page("/", "home", ["/list/0"])
    _lists(draft, "list", items)
    for i, path in enumerate(items):
        draft.page(path, "not yet" if i < 200 else path)
    return draft.graph()


def unique_words(n: int = 3_000) -> RecordedGraph:
    """An endless space beside a site: each page shows the same text, and links by five words that are new in URLs."""
    rng, draft = random.Random(1), _Draft("unique_words")
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=9)) for _ in range(n)]
    _with_articles(draft, 400, ["/tag/" + words[0]])
    for i, word in enumerate(words):
        draft.page("/tag/" + word, "nothing found", ["/tag/" + other for other in words[5 * i + 1 : 5 * i + 6]])
    return draft.graph()


def empty_months(n: int = 1_500) -> RecordedGraph:
    """A calendar whose days all differ and show nothing, and a week with events at its end."""
    draft = _Draft("empty_months")
    _with_articles(draft, 400, ["/day?d=0"])
    for i in range(n):
        draft.page(f"/day?d={i}", f"event {i}" if i >= n - 7 else f"~ {i}", [f"/day?d={i + 1}", f"/day?d={i + 30}"])
    return draft.graph()


def behind_indexes(n: int = 600) -> RecordedGraph:
    """Documents to which only index pages link; all indexes show one text."""
    draft = _Draft("behind_indexes")
    items = [f"/record/{i}" for i in range(n)]
    for path in items:
        draft.page(path, path)
    paths = _lists(draft, "index", items, a_list=6, text="please enable scripts")
    draft.page("/", "home", ["/index/0", *paths[::7]])
    return RecordedGraph("behind_indexes", *_first_is_home(draft.graph()))


def _first_is_home(graph: RecordedGraph) -> tuple[list[str], list[str], list[Sequence[int]]]:
    order = sorted(range(len(graph.urls)), key=lambda i: graph.urls[i] != _AT + "/")
    new = {old: i for i, old in enumerate(order)}
    links: list[Sequence[int]] = [tuple(new[target] for target in graph.links[i]) for i in order]
    return [graph.urls[i] for i in order], [graph.texts[i] for i in order], links


def alias_hosts(n: int = 400) -> RecordedGraph:
    """One site under three names, where each page links to itself under the other names; and a small host with its own texts."""
    draft, hosts = _Draft("alias_hosts"), [f"http://{name}.example" for name in ("www", "m", "old")]
    for i in range(n):
        for host in hosts:
            links = (
                [f"{other}/doc/{i}" for other in hosts] + [f"{host}/doc/{j}" for j in (2 * i + 1, 2 * i + 2)] + ["http://small.example/0"]
            )
            draft.page(f"{host}/doc/{i}", f"doc {i}", links)
    for i in range(60):
        draft.page(f"http://small.example/{i}", f"small {i}", [f"http://small.example/{i + 1}"])
    return draft.graph()


def sessions(n: int = 60) -> RecordedGraph:
    """Each page puts a new session id into all links, so that each document has as many URLs as there are pages that link to it."""
    draft = _Draft("sessions")
    draft.page("/doc/0", "doc 0", [f"/doc/{i}?sid={_sid('home')}" for i in range(1, 11)])
    for minted in ["home", *range(n)]:
        for i in range(n):
            links = [f"/doc/{(i * 7 + j) % n}?sid={_sid(i)}" for j in range(1, 11)]
            draft.page(f"/doc/{i}?sid={_sid(minted)}", f"doc {i}", links)
    return draft.graph()


def _sid(seed: object) -> str:
    return f"{random.Random(str(seed)).getrandbits(64):016x}"


def facets(n: int = 250) -> RecordedGraph:
    """Facets in any order: the same choice under each permutation shows the same list."""
    draft, names = _Draft("facets"), ["color=red", "size=9", "brand=acme", "sale=1", "sort=new"]
    draft.page("/", "home", ["/shop", "/archive/0"])
    items = [f"/product/{i}" for i in range(n)]
    for k in range(len(names) + 1):
        for chosen in combinations(names, k):
            for order in permutations(chosen):
                wider = [f"/shop?{'&'.join([*order, name])}" for name in names if name not in order]
                rng = random.Random("&".join(chosen))
                draft.page("/shop" + ("?" if order else "") + "&".join(order), f"list {chosen}", wider + rng.sample(items, 12))
    for path in items:
        draft.page(path, path)
    _lists(draft, "archive", items)
    return draft.graph()


def outage(n: int = 900) -> RecordedGraph:
    """From the 300th to the 360th request every answer is the same text; the URLs of topics differ only in a number."""
    draft = _Draft("outage")
    items = [f"/topic?id={i}" for i in range(n)]
    draft.page("/", "home", [f"/list/{i}" for i in range((n + 24) // 25)])
    _lists(draft, "list", items)
    for path in items:
        draft.page(path, path, [path + "&print=1"])
        draft.page(path + "&print=1", path)
    graph = draft.graph()
    graph.outage = (300, 360)
    return graph


def forum(n: int = 500) -> RecordedGraph:
    """Topics under five URLs each, profiles behind a login, replies that lead to a form."""
    draft = _Draft("forum")
    topics = [f"/viewtopic.php?t={i}" for i in range(n)]
    draft.page("/", "home", ["/forum/0", "/login"])
    _lists(draft, "forum", topics)
    for i, path in enumerate(topics):
        views = [f"{path}&view={view}" for view in ("print", "newest", "unread")] + [f"{path}&start=0"]
        links = [*views, f"/profile.php?u={i % 90}", f"/posting.php?mode=reply&t={i}", f"/report.php?t={i}"]
        draft.page(path, f"topic {i}", [*links, topics[(i + 1) % n]])
        for view in views:
            draft.page(view, f"topic {i}", links)
        draft.page(f"/posting.php?mode=reply&t={i}", "log in")
        draft.page(f"/report.php?t={i}", "log in")
    for user in range(90):
        draft.page(f"/profile.php?u={user}", "log in" if user % 9 else f"profile {user}")
    return draft.graph()


def blog(n: int = 400) -> RecordedGraph:
    """Posts with tags, months, feeds, and URLs for replies; half of the tags list what one other page lists."""
    draft = _Draft("blog")
    posts = [f"/{2010 + i % 12}/{1 + i % 9:02}/post-{i}/" for i in range(n)]
    draft.page("/", "home", ["/page/0"])
    _lists(draft, "page", posts, a_list=10)
    for i, path in enumerate(posts):
        links = [path + "feed/", f"/tag/t{i % 150}/", f"/?p={i}", *(f"{path}?replytocom={i * 10 + j}" for j in range(3))]
        draft.page(path, f"post {i}", links)
        draft.page(path + "feed/", "")
        draft.page(f"/?p={i}", f"post {i}")
        for j in range(3):
            draft.page(f"{path}?replytocom={i * 10 + j}", f"post {i}")
    for tag in range(150):
        draft.page(f"/tag/t{tag}/", f"tag {tag % 75}", [f"/tag/t{tag}/feed/", *posts[tag::150]])
        draft.page(f"/tag/t{tag}/feed/", "")
    return draft.graph()


def endless_calendar(n: int = 1_200) -> RecordedGraph:
    """A calendar that shows one text for every month after the first forty, in three views."""
    draft = _Draft("endless_calendar")
    _with_articles(draft, 500, ["/cal?view=month&m=0"])
    for i in range(n):
        for view in ("month", "week", "agenda"):
            links = [f"/cal?view={other}&m={i}" for other in ("month", "week", "agenda")] + [f"/cal?view={view}&m={i + 1}"]
            draft.page(f"/cal?view={view}&m={i}", f"{view} {i}" if i < 40 else "no events", links)
    return draft.graph()


def many_hosts(n: int = 12) -> RecordedGraph:
    """Hosts of ten to a thousand documents that link to each other; half of them show each page under a second URL; one is down."""
    draft = _Draft("many_hosts")
    hosts = [f"http://h{i}.example" for i in range(n)]
    for at, host in enumerate(hosts):
        size = int(10 * 1.5**at)
        for i in range(size):
            links = [
                f"{host}/p/{2 * i + 1}",
                f"{host}/p/{2 * i + 2}",
                f"{hosts[(at + 1) % n]}/p/0",
                *([f"{host}/p/{i}?ref=x"] if at % 2 else []),
            ]
            draft.page(f"{host}/p/{i}", f"{at} {i}", links)
            if at % 2:
                draft.page(f"{host}/p/{i}?ref=x", f"{at} {i}")
    graph = draft.graph()
    graph.parked = frozenset([f"h{n - 3}.example"])
    return graph


def one_kind(n: int = 500) -> RecordedGraph:
    """A site without any redundancy."""
    draft = _Draft("one_kind")
    _with_articles(draft, n)
    return draft.graph()


SITES: tuple[Callable[[], RecordedGraph], ...] = (forum, blog, endless_calendar, many_hosts, one_kind)
ADVERSARIES: tuple[Callable[[], RecordedGraph], ...] = (
    *(first_barren, unique_words, empty_months, behind_indexes),
    *(alias_hosts, sessions, facets, outage),
)
