"""Far and endless are two things: beyond a place's limit, who named a URL counts, until nothing was new there for long."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from depth_told import DROPPED, HOME, HOST, KEPT, Crawled, day, day_text, of_site, prose
from msgspec.structs import replace
from subjects import SPACE

from thresher.config.settings import DepthCutoffSettings
from thresher.crawler.core.effects import Hold, Release
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import CrawlURL, Judgement
from thresher.filters.base import LinkJudgement
from thresher.filters.capabilities import Relinks
from thresher.filters.depth_cutoff.evidence import QUOTA, PlaceCounts
from thresher.filters.depth_cutoff.filter import NamedAgain
from thresher.filters.depth_cutoff.places import kind_of
from thresher.filters.evidence.standing import Standing


def view(number: int) -> str:
    return f"{HOST}/w/wiki?do=edit&id={number}"


def of_wiki(n: int = 15) -> Crawled:
    """Return a wiki whose articles are new and whose forms say what the articles say."""
    crawled = Crawled()
    crawled.fetch(HOST + "/", prose(), 0)
    for i in range(n):
        crawled.fetch(f"{HOST}/w/wiki?id={i}", prose(), 1 + i // 10)
        crawled.fetch(view(i), day_text(i), 2 + i // 10)
    return crawled


def turn(crawled: Crawled, url: CrawlURL) -> list[str]:
    """Return who holds a known URL when its turn has come."""
    batch = LinkBatch.of(url)
    return [effect.holder for effect in crawled.links.decide(crawled.links.measure(batch), crawled.memory)[1] if isinstance(effect, Hold)]


def test_what_good_pages_name_is_fetched_however_little_is_new_there() -> None:
    """A wiki has as many forms as articles.

    Mutation: all that lies deeper than the limit of its place is held, and 22 documents of a wiki are lost.
    """
    crawled = of_wiki()
    assert crawled.limit(view(99)) < 4
    assert crawled.held(view(99), 4, on=f"{HOST}/w/wiki?id=7") == ""
    assert crawled.held(view(99), 4, on=view(7)), "but what a form names is not"


def test_a_url_whose_turn_has_come_is_judged_by_who_named_it() -> None:
    """It is judged by the pages that name it. Mutation: the URL itself is looked up, of which nothing is known before it is fetched."""
    crawled = of_wiki()
    crawled.name(view(7), view(99))
    crawled.name(f"{HOST}/w/wiki?id=7", view(98))
    crawled.name("http://b.test/x", view(97))
    assert turn(crawled, replace(SPACE.url(view(99)), site_depth=4))
    assert turn(crawled, replace(SPACE.url(view(98)), site_depth=4)) == []
    assert turn(crawled, replace(SPACE.url(view(97)), site_depth=4)) == [], "who is entered from elsewhere is worth a look"


def test_a_page_that_is_worth_something_releases_what_worthless_ones_named_before() -> None:
    """Mutation: only the first page that names a URL counts, so a page of a wiki that a form names first is never fetched."""
    crawled = of_wiki()
    crawled.name(view(7), view(99), view(98))
    assert crawled.name_again(view(8), view(99)) == [], "another form knows no better"
    assert crawled.name_again(f"{HOST}/w/wiki?id=8", view(99), judgement=DROPPED) == []
    assert turn(crawled, replace(SPACE.url(view(99)), site_depth=4))
    assert crawled.name_again(f"{HOST}/w/wiki?id=8", view(99), f"{HOST}/w/wiki?id=9") == [view(99)]
    assert turn(crawled, replace(SPACE.url(view(99)), site_depth=4)) == []
    assert turn(crawled, replace(SPACE.url(view(98)), site_depth=4))
    assert crawled.name_again(f"{HOST}/w/wiki?id=8", view(99)) == [], "once is enough"


def test_what_was_released_is_released_again_by_the_journal() -> None:
    """Mutation: the measure in the journal has no keys, so that a replay releases nothing."""
    crawled = of_wiki()
    crawled.name(view(7), view(99))
    before = dict(crawled.memory.rows)
    measure = crawled.relinks.measure(Relinks(SPACE.url(f"{HOST}/w/wiki?id=8"), [SPACE.key(view(99))]))
    crawled.relinks.observe(measure, KEPT, crawled.memory)
    after, crawled.memory.rows = dict(crawled.memory.rows), dict(before)
    written = msgspec.msgpack.encode(measure)
    crawled.relinks.observe(msgspec.msgpack.decode(written, type=NamedAgain.measure_type), KEPT, crawled.memory)
    assert crawled.memory.rows == after != before


def test_no_place_is_closed_on_four_fertile_pages_or_eight_drops() -> None:
    """Cause 1: 74 of 125 documents of a calendar, 456 of a wiki. Both closed a place to all, and for good."""
    crawled = of_wiki()
    for i in range(1, 15):
        crawled.name(view(i), *(view(1000 * i + k) for k in range(3)))
    assert crawled.held(view(99), 4, on=f"{HOST}/w/wiki?id=7") == ""
    crawled = Crawled()
    for i in range(11):
        crawled.fetch(f"{HOST}/?sid={i}", prose(), 2, DROPPED)
    assert crawled.held(f"{HOST}/?sid=99", 2) == ""


def test_a_place_without_novelty_is_held_whoever_names_it_and_its_kept_pages_count_half() -> None:
    """Novelty orders the tail. Mutations: good pages vouched for facets for ever; what was kept was expected to yield nothing."""
    crawled = of_wiki(30)
    kept = crawled.held(view(99), 4, on=f"{HOST}/w/wiki?id=7")
    assert kept
    assert 0.4 < crawled.expected(kept) < 0.6
    assert crawled.held(f"{HOST}/w/wiki?id=99", 4) == ""
    for i in range(30):
        crawled.fetch(f"{HOST}/?sid={i}", prose(), 2, DROPPED)
    dropped = crawled.held(f"{HOST}/?sid=99", 2)
    assert dropped
    assert crawled.expected(dropped) == 0.0


@pytest.mark.parametrize(("first", "is_held"), [("colour", True), ("page", False), ("none", False)])
def test_a_choice_is_held_after_half_as_many_pages_once_others_of_its_path_are(first: str, *, is_held: bool) -> None:
    """A shop with five facets showed fourteen lists of each that said nothing new. Mutations: each facet for itself; pages of the lists,
    which are no choices and say something new, count as well, so that no path with pages ever teaches anything.
    """
    crawled = Crawled()
    for i in range(40):
        crawled.fetch(f"{HOST}/c/{i}", prose(), 1)
    for i in range(16):
        if first == "colour":
            crawled.fetch(f"{HOST}/c/{i}?colour=red", day_text(i), 2, DROPPED)
        if first != "none":
            crawled.fetch(f"{HOST}/c/{i}?page=2", prose(), 2)
    for i in range(9):
        crawled.fetch(f"{HOST}/c/{i}?size=large", day_text(i + 20), 2, DROPPED)
    assert bool(crawled.held(f"{HOST}/c/30?size=large", 2)) == is_held
    assert crawled.held(f"{HOST}/c/30?page=2", 2) == ""


@pytest.mark.parametrize(
    ("path", "judgement", "is_held"),
    [
        ("day?month=5&day={}", KEPT, False),
        ("2024/05/{}", KEPT, False),
        ("works/{}", KEPT, False),
        ("works/{}/plan", KEPT, False),
        ("works/{}", DROPPED, True),
        ("day?month=5&day={}", DROPPED, True),
        ("day?name=may&day={}", KEPT, True),
    ],
)
def test_kept_days_and_works_that_good_pages_name_are_fetched(path: str, judgement: Judgement, is_held: bool) -> None:
    """Mutations: they are held as soon as sixteen pages have had the same words, and at a quarter of the bytes a crawl without filters had
    twice the documents; this holds for days of a calendar alone, and at a tenth a painter's site had 132 works for plain's 176.
    """
    crawled = Crawled()
    crawled.fetch(HOST + "/", prose(), 0)
    for i in range(40):
        crawled.fetch(f"{HOST}/news/{i}", prose(), 1)
        crawled.fetch(f"{HOST}/{path.format(i)}", day_text(i), 2, judgement)
    assert bool(crawled.held(f"{HOST}/{path.format(99)}", 4, on=f"{HOST}/news/7")) == is_held


def test_what_is_held_comes_back_when_that_was_wrong_and_not_for_one_new_page() -> None:
    """Mutation: when a limit rises, all that was held below it is released, too."""
    crawled = of_wiki(30)
    holder = crawled.held(view(99), 4, on=f"{HOST}/w/wiki?id=7")
    released: list[str] = []
    for i in range(100, 140):
        text = prose() if i % 20 == 0 else day_text(i)
        released += [effect.holder for effect in crawled.fetch(view(i), text, 4) if isinstance(effect, Release)]
    assert released == []
    for i in range(200, 240):
        released += [effect.holder for effect in crawled.fetch(view(i), prose(), 4) if isinstance(effect, Release)]
    assert holder in released
    assert crawled.held(view(99), 4, on=f"{HOST}/w/wiki?id=7") == ""


def test_what_an_index_without_words_names_is_no_space_without_end() -> None:
    """A blog of photographs: months show pictures alone, a good page names them, and they name the posts.

    Mutations: whatever a worthless page names may be endless, and at a quarter of the requests a blog had 236 of plain's 294 posts; only
    the kind of that page counts, and an endless calendar of months and days costs 1,073 requests in place of 97.
    """
    crawled = Crawled()
    crawled.fetch(HOST + "/", prose(), 0)
    for i in range(30):
        for k in range(3):
            crawled.fetch(f"{HOST}/news/{3 * i + k}", prose(), 1)
        crawled.fetch(f"{HOST}/month/{i}/", day_text(i), 1)
        crawled.fetch(f"{HOST}/post/{i}/", day_text(i), 2)
    post = f"{HOST}/post/99/"
    assert crawled.held(post, 4, on=f"{HOST}/month/27/") == ""
    assert crawled.held(post, 4, on=f"{HOST}/post/27/"), "a post may name the next one without end"
    crawled.fetch(f"{HOST}/month/50/", day_text(1), 2, via=f"{HOST}/month/27/")
    assert crawled.held(post, 4, on=f"{HOST}/month/50/"), "and so may months"
    crawled.name(f"{HOST}/month/28/", f"{HOST}/post/98/")
    crawled.name(f"{HOST}/month/50/", f"{HOST}/post/97/")
    assert turn(crawled, replace(SPACE.url(f"{HOST}/post/98/"), site_depth=4)) == []
    assert turn(crawled, replace(SPACE.url(f"{HOST}/post/97/"), site_depth=4))


def test_copies_lead_to_copies() -> None:
    """Notes under ever new session ids, each with a link home: a copy of it names every note anew, where notes were new so far.

    Mutation: all that a note's URLs had shown spoke for those that copies named; 76 of 80 notes were fetched twice.
    """
    crawled = Crawled()
    crawled.fetch(HOST + "/", prose(), 0)
    for i in range(20):
        crawled.fetch(f"{HOST}/note?id={i}&sid=a{i}", prose(), 1)
        crawled.fetch(f"{HOST}/?sid=b{i}", prose(), 2, DROPPED)
    again = f"{HOST}/note?id=1&sid=c1"
    assert crawled.held(again, 3, on=f"{HOST}/?sid=b1") == ""
    for i in range(12):
        crawled.fetch(f"{HOST}/note?id={i}&sid=d{i}", prose(), 3, DROPPED, via=f"{HOST}/?sid=b1")
    assert crawled.held(again, 3, on=f"{HOST}/?sid=b1")
    assert crawled.held(again, 3, on=f"{HOST}/note?id=2&sid=a2") == ""


def test_what_was_held_before_the_site_s_words_were_known_comes_back() -> None:
    """Languages are spelled out when they were met often enough. Mutation: URLs stayed with a place that nobody learned of any more."""
    crawled = Crawled()
    for i in range(40):
        crawled.fetch(f"{HOST}/{'abcdfghijk'[i % 10]}x/guide/{i}", day_text(i), 2, DROPPED)
    held = crawled.held(f"{HOST}/ex/guide/99", 3, on=f"{HOST}/ax/guide/0")
    assert "<w>" in held
    released: list[str] = []
    for i in range(100, 110):
        found = crawled.fetch(f"{HOST}/ex/guide/{i}", day_text(i), 2, DROPPED)
        released += [effect.holder for effect in found if isinstance(effect, Release)]
    assert held in released


def test_a_place_that_few_have_seen_cuts_nothing() -> None:
    """Mutation: two worthless pages are enough to judge the third; trees of a repository's tags were lost."""
    crawled = Crawled()
    crawled.fetch(HOST + "/", prose(), 0)
    for i in range(7):
        crawled.fetch(f"{HOST}/old/{i}", day_text(0), 2)
        assert crawled.held(f"{HOST}/old/99", 20, on=f"{HOST}/old/1") == ""
    for i in range(7, 30):
        crawled.fetch(f"{HOST}/old/{i}", day_text(i), 2)
    assert crawled.held(f"{HOST}/old/99", 3, on=f"{HOST}/old/1")


def test_a_worthless_page_leads_on_through_redirects() -> None:
    """Mutation: a redirect between two months of a calendar hides that a worthless page names the second month."""
    crawled = of_site()
    crawled.name(day(5), f"{HOST}/next")
    hop = replace(SPACE.url(f"{HOST}/next"), site_depth=2, via=SPACE.key(day(5)))
    batch = replace(LinkBatch.of(SPACE.url(day(99))), source=hop, site_depths=[3], is_redirect=True)
    crawled.links.observe(crawled.links.measure(batch), LinkJudgement(np.ones(1, np.bool_), {}), crawled.memory)
    assert turn(crawled, replace(SPACE.url(day(99)), site_depth=3))


def test_what_visitors_do_not_reach_is_held_and_what_lies_beyond_the_ceiling_refused() -> None:
    """This holds whichever page names it.

    What access logs show is only an opinion, so such URLs may still be fetched last; a limit that the user sets is never exceeded.
    Mutation: the tail fetches URLs beyond the user's limit.
    """
    for settings in ({"q": 0.6}, {"ceiling": 4}):
        crawled = Crawled(**settings)
        for i in range(20):
            crawled.fetch(f"{HOST}/docs/{i}/", prose(), 1 + i // 10)
        assert bool(crawled.held(f"{HOST}/docs/99/", 5, on=HOME.text)) == ("q" in settings)
        assert crawled.is_refused(f"{HOST}/docs/99/", 5) == ("ceiling" in settings)
        assert crawled.held(f"{HOST}/docs/99/", 4, on=HOME.text) == ""
    assert DepthCutoffSettings().ceiling is None


def test_a_place_is_held_only_where_less_is_new_than_elsewhere_on_its_host() -> None:
    """A repository's views say in other words what its files say: 2 % of them are new to somebody who counts words, all are documents.

    Mutation: a place was held by its own novelty alone; nine tenths of such a site were fetched in no order at its end.
    """
    crawled = Crawled()
    crawled.fetch(HOST + "/", prose(), 0)
    for i in range(60):
        for kind in ("log", "tree", "blob"):
            crawled.fetch(f"{HOST}/{kind}?id={i}", day_text(i), 2)
    assert crawled.held(f"{HOST}/log?id=99", 3, on=f"{HOST}/log?id=1") == ""
    for i in range(60):
        crawled.fetch(f"{HOST}/new/{i}", prose(), 2)
    assert crawled.held(f"{HOST}/log?id=99", 3, on=f"{HOST}/log?id=1")


def test_a_place_without_end_is_held_though_nothing_is_new_elsewhere_either() -> None:
    """Mutation: a place is only compared with other places, and a site that consists of one calendar has no other."""
    every, place = Standing(n=100, s=50, squares=100), PlaceCounts("a.example/*")
    assert not place.is_less(every)
    place.opinion.recent.streak = QUOTA
    assert place.is_less(every)


def test_semicolons_separate_the_names_of_a_kind() -> None:
    """Mutation: only `&` separates the fields of a query, and each file of a repository browser is a kind of its own."""
    assert (
        kind_of(f"{HOST}/?p=x.git;a=blob;h=1f", HOST) == kind_of(f"{HOST}/?p=y.git&a=tree&h=2e", HOST) != kind_of(f"{HOST}/?p=x.git", HOST)
    )
