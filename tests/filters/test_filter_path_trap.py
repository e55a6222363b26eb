"""Path traps: endless spaces end, ordinary sites do not notice, however large they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from zlib import crc32

import pytest
from dict_memory import DictMemory
from subjects import batch, page, refusal
from webs import SEEDS, Bench

from thresher.config.settings import FilterSettings, Override, PathTrapSettings, ScopeSettings, Settings
from thresher.crawler.core.effects import Hold
from thresher.crawler.core.model import Page, Reason
from thresher.filters.base import LinkColumns
from thresher.filters.panel import Panel
from thresher.filters.path_shapes import calendar_of, shape_of
from thresher.filters.path_trap import ShapeTrap
from thresher.filters.path_trap import spec as path_trap
from thresher.filters.registry import specs

BOILERPLATE = " ".join(f"menu{i}" for i in range(40))
Text = Callable[[str], str]  # of a URL's page


@pytest.mark.parametrize(
    "path",
    ["/a/b/a/b/a/b/a/b/", "/products/products/products/products/", "/" + "x/y/z/" * 9, "/?" + "&".join(f"p{i}=1" for i in range(21))],
)
def test_a_trap_by_shape_is_refused(path: str) -> None:
    """F60."""
    assert refusal(ShapeTrap(PathTrapSettings()), f"http://a.example{path}") in (Reason.PATH_TRAP, Reason.TOO_MANY_SEGMENTS)


@pytest.mark.parametrize("path", ["/", "/a/a/a/", "/docs/2024/05/17/title.html", "/x?a=1&b=2&c=3"])
def test_an_ordinary_path_passes(path: str) -> None:
    assert refusal(ShapeTrap(PathTrapSettings()), f"http://a.example{path}") is None


@pytest.mark.parametrize(
    ("path", "is_refused"),
    [
        ("/x/y/z", True),  # more segments than the general 2, although no more than a segment may repeat
        ("/deep/x/y/z", False),
        ("/deep/1/2/3/4/5", True),
        ("/deep/less/1", True),  # the longest override that has the bound
        ("/deep/less?a&b&c", False),
        ("/?a&b&c", True),
        ("/deep/a/a/a", True),
        ("/deeper/y/z", True),  # no part of what it begins like
    ],
)
def test_bounds_of_shape_differ_by_prefix(path: str, *, is_refused: bool) -> None:
    bounds = {
        "http://a.example/deep/less/": {"max_segments": 2},
        "example,a)/deep/": {"max_segments": 5, "max_segment_repeats": 2},
        "a.example": {"max_params": 2},
        "http://a.example/deep/": {"max_params": 9},
    }
    overrides = [Override(match=match, options={f"filters.path_trap.{key}": n for key, n in of.items()}) for match, of in bounds.items()]
    settings = Settings(
        filters=FilterSettings(path_trap=PathTrapSettings(max_segments=2)), scope=ScopeSettings(type="any"), overrides=overrides
    )
    panel = Panel(specs(settings, SEEDS), lambda _name: DictMemory(), audit_share=0.0)
    assert bool(panel.static(LinkColumns.of(f"http://a.example{path}", "http://a.example", "a.example"))) is is_refused


# -- what URLs have in common


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/", "/"),
        ("/tags/7", "/tags/#"),
        ("/tags/7/", "/tags/#"),
        ("/forum/topic-17.html", "/forum/topic-#.html"),
        ("/forum/print-17.html", "/forum/print-#.html"),
        ("/forum/12.0", "/forum/#"),
        ("/forum/hello-world-2.html", "/forum/*.html"),
        ("/user/17/posts", "/user/#/*"),
        ("/forum/viewtopic.php?t=17&sid=4f", "/forum/viewtopic.php?sid&t"),
        ("/forum/viewtopic.php?sid=4f&t=18&t=19", "/forum/viewtopic.php?sid&t"),
        ("/viewtopic2.php?t=1", "/viewtopic#.php?t"),
        ("/wiki/Main_Page?action=edit", "/wiki/*?action"),
        ("/list?p1=a&p2=b", "/*?p#"),
        ("/git?p=x.git;a=blob;h=1f", "/*?a&h&p"),
    ],
)
def test_a_shape_is_the_path_without_its_numbers_and_the_names_of_the_parameters(path: str, shape: str) -> None:
    assert shape_of(f"http://a.example{path}", "http://a.example") == f"http://a.example{shape}"


@pytest.mark.parametrize(
    ("path", "calendar"),
    [
        ("/2024/05/17/", "/#/#/#/"),
        ("/cal/2024/05/", "/cal/#/#/"),
        ("/cal?month=5&year=2024", "/cal?month=#&year=#"),
        ("/book?room=3&date=2024-05-17", "/book?room=3&date=#-#-#"),
        ("/2024/05/17/4711.html", "/#/#/#/4711.html"),
        ("/2024/05/17/title.html", "/#/#/#/title.html"),
        ("/2024", ""),
        ("/docs/7/", ""),
    ],
)
def test_a_calendar_is_the_url_without_its_dates_alone(path: str, calendar: str) -> None:
    """Articles of a day have a number of their own; each is a "calendar" by itself, and none of them is long."""
    assert calendar_of(f"http://a.example{path}", "http://a.example") == (f"http://a.example{calendar}" if calendar else "")


# -- what they yield


def own(url: str) -> str:
    """A text of its own for each URL, and nothing that the URL says."""
    return " ".join(f"w{crc32(f'{url} {i}'.encode())}" for i in range(30))


def alike(url: str) -> str:
    """What a trap shows: always the same, and what the URL says."""
    return f"{url.rpartition('/')[2]} {BOILERPLATE}"


class Site:
    """A crawl of URLs as a list of links gives them, through the real panel, with what it fetched and what it refused."""

    def __init__(self, of: FilterSettings, text: Text = own, *, everything: bool = False) -> None:
        filters = specs(Settings(filters=of), ()) if everything else [path_trap(of.path_trap, judges=["exact_duplicate"])]
        self.bench = Bench.of(filters)
        self.text = text
        self.fetched: list[str] = []
        self.refused: dict[str, Reason | None] = {}
        self.held: list[str] = []
        self.holders: set[str] = set()

    def find(self, urls: Iterable[str]) -> list[str]:
        """Find new links, a page's worth of fifty at a time; return those that are queued."""
        queued, waiting = [], list(urls)
        for at in range(0, len(waiting), 50):
            links = batch(*waiting[at : at + 50])
            deliberation = self.bench.panel.links(links)
            self.bench.panel.learn(deliberation)
            self.holders |= {effect.holder for _, effect in deliberation.effects if isinstance(effect, Hold)}
            queued += [url for url, is_in in zip(links.texts, deliberation.judgement.admitted, strict=True) if is_in]
            self.refused |= {links.texts[i]: verdict.reason for i, verdict in deliberation.judgement.refused.items()}
        return queued

    def fetch(self, urls: Iterable[str], *, status: int = 200) -> None:
        """Let each URL have its turn."""
        for url in urls:
            found = page(url, self.text(url), status=status)
            turn = self.bench.panel.turn(found.url)
            if turn.refused is not None:
                self.refused[url] = turn.refused.reason
            elif turn.held:
                self.held.append(url)
                self.holders |= {effect.holder for _, effect in turn.held if isinstance(effect, Hold)}
            else:
                self.fetched.append(url)
                self.bench.panel.learn(self.bench.panel.page(found))

    def crawl(self, urls: Iterable[str]) -> None:
        for url in urls:
            self.fetch(self.find([url]))


def numbered(form: str, n: int) -> list[str]:
    return [form.format(i) for i in range(n)]


TOPICS = ("http://a.example/forum/topic-{}.html", "http://a.example/forum/{}", "http://a.example/forum/viewtopic.php?t={}")


@pytest.mark.parametrize("form", TOPICS)
def test_a_large_forum_is_found_whole_in_the_default_configuration(form: str) -> None:
    """All 12,000 topics are known before the first is fetched; 5,000 URLs of a directory were the bound, and 2,600 topics of 4,331 lost."""
    site = Site(FilterSettings(audit_share=0.0), everything=True)
    topics = numbered(form, 12_000)
    assert site.find(topics) == topics
    site.fetch(topics[:600])
    assert (len(site.fetched), site.refused, site.held) == (600, {}, [])
    assert site.find(numbered(form + "&new", 10)) == numbered(form + "&new", 10)


def test_a_shape_is_held_for_barren_answers_alone_and_then_at_once() -> None:
    """F60. An opinion refuses nothing. Mutation: the bound counted `answered`; `again` was left out of the spec."""
    site = Site(FilterSettings(path_trap=PathTrapSettings(max_per_prefix=50)), alike)
    site.fetch(site.find(numbered("http://a.example/trap/{}", 1_000)))
    assert len(site.fetched) == 51, "the first shows something new"
    assert (len(site.held), site.refused) == (949, {})
    assert site.holders == {"path_trap http://a.example/trap/#"}
    (spec,) = site.bench.panel.specs
    assert spec.recent is not None
    recent = spec.recent("path_trap http://a.example/trap/#", site.bench.memories["path_trap"])
    assert recent is not None
    assert (recent.n, recent.streak) == (51, 50)
    assert site.find(["http://a.example/trap/5000", "http://a.example/docs/5000", "http://a.example/"]) == [
        "http://a.example/docs/5000",
        "http://a.example/",
    ]


def test_urls_that_wait_are_held_or_are_aliases_cost_a_shape_nothing() -> None:
    """Only answers do: so there is nothing to refund. Mutation: the learned gate counted what it admitted."""
    site = Site(FilterSettings(path_trap=PathTrapSettings(max_per_prefix=50)), alike)
    assert len(site.find(numbered("http://a.example/trap/{}", 5_000))) == 5_000
    assert site.bench.rows("path_trap") == {}


@pytest.mark.parametrize("status", [404, 410, 200])
def test_errors_and_copies_are_barren(status: int) -> None:
    site = Site(FilterSettings(path_trap=PathTrapSettings(max_per_prefix=50)), alike)
    site.fetch(numbered("http://a.example/a?t={}", 200), status=status)
    assert 50 <= len(site.fetched) <= 51


def test_a_shape_that_yields_one_new_page_in_twenty_is_never_closed() -> None:
    """Mutation: `is_spent` looks at the fetches that gave nothing alone."""

    def text(url: str) -> str:
        return own(url) if int(url.rpartition("=")[2]) % 18 == 0 else alike(url)

    site = Site(FilterSettings(path_trap=PathTrapSettings(max_per_prefix=50)), text)
    site.fetch(numbered("http://a.example/a?t={}", 1_000))
    assert len(site.fetched) == 1_000


def test_what_one_script_wastes_does_not_close_another() -> None:
    """The printable copies of topics are in the same folder as the topics."""
    site = Site(FilterSettings(path_trap=PathTrapSettings(max_per_prefix=50)), lambda url: alike(url) if "print" in url else own(url))
    for i in range(200):
        site.crawl([f"http://a.example/forum/print.php?t={i}", f"http://a.example/forum/viewtopic.php?t={i}"])
    assert sum("print" in url for url in site.fetched) == 51
    assert sum("viewtopic" in url for url in site.fetched) == 200


def test_a_short_new_text_counts_neither_way() -> None:
    """A gallery's captions; what always is the same is barren all the same."""
    site = Site(FilterSettings(path_trap=PathTrapSettings(max_per_prefix=50)), lambda url: f"caption {own(url)[:20]}")
    site.fetch(numbered("http://a.example/photo.php?id={}", 300))
    assert len(site.fetched) == 300
    empty = Site(FilterSettings(path_trap=PathTrapSettings(max_per_prefix=50)), lambda url: "")
    empty.fetch(numbered("http://a.example/photo.php?id={}", 300))
    assert len(empty.fetched) == 51


def days(n: int) -> list[str]:
    return [f"http://a.example/cal?day={d}&month={m}&year={y}" for y in range(2000, 2100) for m in range(1, 13) for d in range(1, 29)][:n]


def test_a_calendar_is_held_after_few_barren_days() -> None:
    """F60. What a page says of its date its URL has said."""
    site = Site(FilterSettings(path_trap=PathTrapSettings(max_calendar=24)), lambda url: f"nothing is planned {BOILERPLATE}")
    site.crawl(days(300))
    assert len(site.fetched) == 25
    assert site.holders == {"path_trap calendar http://a.example/cal?day=#&month=#&year=#"}
    assert site.refused == {}


def test_a_calendar_ends_although_each_of_its_pages_is_new() -> None:
    """F60. That limit is the user's, and no opinion. Mutation: `GENEROUS` was left out."""
    site = Site(FilterSettings(path_trap=PathTrapSettings(max_calendar=12)))
    site.crawl(days(300))
    assert len(site.fetched) == 120
    assert set(site.refused.values()) == {Reason.PATH_TRAP}


def test_dated_articles_are_no_calendar() -> None:
    """Whether they have a title or a number of their own; 200 of the latter were all that a site had."""
    site = Site(FilterSettings(path_trap=PathTrapSettings(max_calendar=3)))
    articles = [f"http://a.example/2024/05/{day:02}/{4711 + day}.html" for day in range(1, 29)]
    articles += [f"http://a.example/2024/06/{day:02}/title-of-{'abcdefghij'[day % 10]}{'klm'[day // 10]}.html" for day in range(1, 29)]
    site.crawl(articles)
    assert site.fetched == articles


def test_hosts_of_one_site_are_apart() -> None:
    site = Site(FilterSettings(path_trap=PathTrapSettings(max_per_prefix=24)), alike)
    site.crawl(numbered("http://x.a.example/t/{}", 40))
    site.crawl(numbered("http://y.a.example/t/{}", 20))
    assert len(site.fetched) == 25 + 20


def test_what_a_head_gate_refused_is_barren() -> None:
    """Attachments by number: their bodies are refused, and the spec asks (`unread`) to learn from such answers."""
    bench = Bench.of([path_trap(PathTrapSettings(max_per_prefix=5))])
    for url in numbered("http://a.example/dl.php?id={}", 5):
        bench.panel.learn(bench.panel.unread(_without_text(url)))
    deliberation = bench.panel.links(batch("http://a.example/dl.php?id=77", "http://a.example/other.php?id=77"))
    assert deliberation.judgement.admitted.tolist() == [False, True]


def _without_text(url: str) -> Page:
    return page(url, "")
