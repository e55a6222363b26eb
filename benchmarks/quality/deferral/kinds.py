"""Kinds of aliases, ten honest and ten hostile: sites that show their documents under more than one URL.

In an honest kind nearly all views show what the document shows. In a hostile one only the first views do, or the URLs only look like
aliases; the tail must find what is held wrongly. `python -m benchmarks.quality.deferral --kinds` prints a line a kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import permutations

from thresher.crawler.analysis.recorded_graph import RecordedGraph

_AT = "http://site.example"
_A_LIST = 25
Views = Callable[[int], Iterator[tuple[str, str]]]  # number of a document → its URLs and what they show


def site(name: str, views: Views, n: int = 150) -> RecordedGraph:
    """Return a site of n documents: lists and the document's own pages link to all URLs of each."""
    pages: dict[str, tuple[str, list[str]]] = {}
    lists = [f"{_AT}/list/{i}" for i in range((n + _A_LIST - 1) // _A_LIST)]
    pages[_AT + "/"] = ("home", lists)
    documents = [[(path if "://" in path else _AT + path, text) for path, text in views(i)] for i in range(n)]
    for i, path in enumerate(lists):
        pages[path] = (f"list {i}", [url for document in documents[i * _A_LIST : (i + 1) * _A_LIST] for url, _ in document])
    for document in documents:
        for url, text in document:
            pages[url] = (text, [other for other, _ in document])
    graph, number = RecordedGraph(name), {url: i for i, url in enumerate(pages)}
    for url, (text, links) in pages.items():
        graph.add(url, text, tuple(number[link] for link in dict.fromkeys(links)))
    return graph


def languages(i: int) -> Iterator[tuple[str, str]]:
    """Six languages: one is translated, and one partly."""
    yield f"/en/{i}.html", f"{i}"
    for language in ("da", "ru", "es", "zh"):
        yield f"/{language}/{i}.html", f"{i}"
    yield f"/fr/{i}.html", f"français {i}"
    yield f"/ko/{i}.html", f"한국어 {i}" if i % 7 == 0 else f"{i}"


def prints(i: int) -> Iterator[tuple[str, str]]:
    yield from ((f"/doc/{i}", f"{i}"), (f"/doc/{i}?print=1", f"{i}"), (f"/print/doc/{i}", f"{i}"))


def slashes(i: int) -> Iterator[tuple[str, str]]:
    yield from ((f"/doc/{i}", f"{i}"), (f"/doc/{i}/", f"{i}"))


def cases(i: int) -> Iterator[tuple[str, str]]:
    yield from ((f"/docs/about-{i}.asp", f"{i}"), (f"/Docs/About-{i}.asp", f"{i}"))


def index_files(i: int) -> Iterator[tuple[str, str]]:
    yield from ((f"/doc{i}/", f"{i}"), (f"/doc{i}/index.html", f"{i}"), (f"/doc{i}/index.php", f"{i}"))


def mirrors(i: int) -> Iterator[tuple[str, str]]:
    yield from ((f"/doc/{i}", f"{i}"), (f"http://mirror.example/doc/{i}", f"{i}"), (f"https://site.example/doc/{i}", f"{i}"))


def suffixes(i: int) -> Iterator[tuple[str, str]]:
    yield from ((f"/doc{i}.html", f"{i}"), (f"/doc{i}.html.en", f"{i}"), (f"/doc{i}", f"{i}"))


def trackers(i: int) -> Iterator[tuple[str, str]]:
    yield f"/doc/{i}", f"{i}"
    for where in ("top", "side", "foot"):
        yield f"/doc/{i}?utm_source={where}", f"{i}"


def orders(i: int) -> Iterator[tuple[str, str]]:
    yield f"/dir{i}/", f"{i}"
    for column in "NMSD":
        for order in "AD":
            yield f"/dir{i}/?C={column};O={order}", f"{i} {order}" if column == "N" and order == "D" else f"{i}"


def branches(i: int) -> Iterator[tuple[str, str]]:
    """Four branches of a repository; a file in ten differs between them."""
    for branch in ("main", "v1", "v2", "v3"):
        yield f"/tree/{branch}/file{i}.c", f"{i} {branch}" if i % 10 == 0 else f"{i}"


def facets(i: int) -> Iterator[tuple[str, str]]:
    for order in permutations((f"a={i}", "b=2", "c=3")):
        yield f"/shop?{'&'.join(order)}", f"{i}"


def sessions(i: int) -> Iterator[tuple[str, str]]:
    """A session id in the path and one in the query, both new for each link."""
    yield f"/doc/{i}", f"{i}"
    for j in range(3):
        yield f"/s{i * 3 + j:05}x/doc/{i}", f"{i}"
        yield f"/doc/{i}?sid={(i * 3 + j) * 7919 % 99991}", f"{i}"


def four_pages(i: int) -> Iterator[tuple[str, str]]:
    """Two values that are the same for four pages, and then differ."""
    yield from ((f"/doc?id={i}", f"{i}"), (f"/doc?id={i}&tab=more", f"{i}" if i < 4 else f"more {i}"))


def negotiated(i: int) -> Iterator[tuple[str, str]]:
    """The URL without a language shows English, the others do not."""
    yield from ((f"/doc{i}", f"{i}"), (f"/doc{i}.en", f"{i}"), (f"/doc{i}.de", f"deutsch {i}"), (f"/doc{i}.fr", f"français {i}"))


def half_cases(i: int) -> Iterator[tuple[str, str]]:
    """A server for which upper and lower case differ; its first pages have copies in the other case."""
    yield from ((f"/word/ab{i}", f"{i}"), (f"/word/AB{i}", f"{i}" if i < 30 else f"capital {i}"))


def directories(i: int) -> Iterator[tuple[str, str]]:
    """A file, and a directory of the same name; for the first documents both show the same."""
    yield from ((f"/doc/{i}", f"{i}"), (f"/doc/{i}/", f"{i}" if i < 10 else f"directory {i}"))


def print_only(i: int) -> Iterator[tuple[str, str]]:
    """The print view also shows comments; the first pages have none."""
    yield from ((f"/doc/{i}", f"{i}"), (f"/doc/{i}?view=print", f"{i}" if i % 3 == 0 or i < 9 else f"{i} with comments"))


def stale_mirror(i: int) -> Iterator[tuple[str, str]]:
    """A mirror that stays as it is while the original changes."""
    yield from ((f"/doc/{i}", f"{i}"), (f"http://mirror.example/doc/{i}", f"{i}" if i < 50 else f"old {i}"))


def empty_months(i: int) -> Iterator[tuple[str, str]]:
    """Empty months look alike; some are not empty."""
    yield f"/doc/{i}", f"{i}"
    for month in range(1, 5):
        yield f"/cal?year={2000 + i}&month={month}", f"events of {i} {month}" if (i * 4 + month) % 11 == 0 else "no events"


def actions(i: int) -> Iterator[tuple[str, str]]:
    """A wiki's views: one shows the page, one a form, and two show what no other URL does."""
    yield f"/wiki?title=t{i}", f"{i}"
    yield f"/wiki?title=t{i}&action=view", f"{i}"
    yield f"/wiki?title=t{i}&action=edit", "log in to edit"
    for action in ("history", "raw"):
        yield f"/wiki?title=t{i}&action={action}", f"{action} {i}"


HONEST: tuple[Views, ...] = (languages, prints, slashes, cases, index_files, mirrors, suffixes, trackers, orders, branches)
HOSTILE: tuple[Views, ...] = (
    *(facets, sessions, four_pages, negotiated, half_cases),
    *(directories, print_only, stale_mirror, empty_months, actions),
)
KINDS: dict[str, Callable[[], RecordedGraph]] = {views.__name__: partial(site, views.__name__, views) for views in (*HONEST, *HOSTILE)}
