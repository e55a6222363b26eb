"""A held pattern with a word in it holds its URLs by those words that came back: each is a class of its own."""

from __future__ import annotations

from dict_memory import DictMemory
from subjects import batch
from test_pattern_yield_filter import SITE, Crawl, own, panel, told

from thresher.crawler.core.effects import Hold, Release
from thresher.crawler.core.ports import Memory
from thresher.filters.pattern_yield.records import MOST_KINDS
from thresher.filters.pattern_yield.sites import patterns_of

FORM = "pattern_yield a.example/<n>/<w>"


def views(memory: Memory) -> Crawl:
    """Return a crawl that has found the pattern of a document's views barren: `metrics` and `cite`, each seen twice."""
    crawl = Crawl(memory)
    for i in range(2):
        crawl.sit(told(f"http://a.example/doc/{i}", own(i)))
        for view in ("metrics", "cite"):
            crawl.sit(told(f"http://a.example/{i}/{view}", "nothing"))
    crawl.sit(told("http://a.example/doc/9", own(9)))
    return crawl


def held(crawl: Crawl, *urls: str, source: str = "http://a.example/doc/1") -> list[str]:
    crawl.asked.clear()
    crawl.sit(batch(*urls, source=source))
    return [effect.holder for effect in crawl.asked if isinstance(effect, Hold)]


def test_urls_are_held_by_the_words_that_came_back() -> None:
    """Mutation: all wait in the class of the pattern."""
    crawl = views(DictMemory())
    urls = [f"http://a.example/7/{view}" for view in ("metrics", "cite", "never-seen")]
    assert held(crawl, *urls) == [FORM.replace("<w>", "metrics"), FORM.replace("<w>", "cite"), FORM]


def test_a_url_that_is_judged_again_waits_where_its_kind_does() -> None:
    crawl = views(DictMemory())
    url = "http://a.example/7/cite"
    assert held(crawl, url, source=url) == held(crawl, url)


def test_all_kinds_of_a_pattern_are_released_with_it() -> None:
    """Also one that was named by a link alone. Mutations: only the pattern's own class is released; kinds of links are not noted."""
    crawl = views(DictMemory())
    for i in range(3, 5):  # the word comes back on URLs of another pattern
        crawl.sit(told(f"http://a.example/{i}/refs/x", own(i)))
    names = {*held(crawl, "http://a.example/8/refs", "http://a.example/8/cite"), FORM}
    assert len(names) == 3
    crawl.asked.clear()
    for i in range(20, 30):
        crawl.sit(told(f"http://a.example/{i}/view{own(i)}", own(i)))
    assert names <= {effect.holder for effect in crawl.asked if isinstance(effect, Release)}


def test_the_kinds_of_a_pattern_are_few() -> None:
    """A site may make up words without end. Mutation: no limit."""
    memory = DictMemory()
    crawl = views(memory)
    words = [f"w{own(i)}" for i in range(3 * MOST_KINDS)]
    for word in words:
        for i in range(2):
            crawl.sit(told(f"http://a.example/{i}/{word}/x", own(i) + word))
    names = held(crawl, *[f"http://a.example/9/{word}" for word in words])
    assert len(set(names)) == MOST_KINDS + 1 - 2  # the pattern's own, and two kinds had a place already
    (pattern,) = [of for of in patterns_of(memory, SITE) if of.form == FORM.removeprefix("pattern_yield ")]
    assert len(pattern.kinds) == MOST_KINDS


def test_the_journal_teaches_an_empty_memory_the_kinds_again() -> None:
    """Mutation: `decide` notes kinds without telling the journal."""
    lived, again = DictMemory(), DictMemory()
    crawl = views(lived)
    for i in range(3, 5):
        crawl.sit(told(f"http://a.example/{i}/refs/x", own(i)))
    held(crawl, "http://a.example/8/refs")
    panel(again).replay(crawl.journal)
    assert again.rows == lived.rows
    assert any("refs" in kind for pattern in patterns_of(again, SITE) for kind in pattern.kinds)
