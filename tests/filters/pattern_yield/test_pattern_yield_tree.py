"""What a site's patterns learn, and what they hold: told answer by answer."""

from __future__ import annotations

import pytest
from told import SPACE, Site, mixed, pages, word

LOGIN = "please log in"


def logins(n: int) -> list[tuple[str, str]]:
    return [(f"/login?return={word(i)}", LOGIN) for i in range(n)]


def test_a_login_form_with_return_addresses_is_held_after_a_dozen_fetches() -> None:
    """Mutation: what a run of one text left pending was never taught."""
    site = Site()
    site.tell_all(mixed(pages(400), logins(400)))
    n_logins = sum(path.startswith("/login") for path in site.fetched)
    assert 8 <= n_logins < 40, n_logins
    assert sum(path.startswith("/wiki") for path in site.fetched) == 400, "pages are untouched"
    assert set(site.held.values()) == {"a.example/login?return=<w>"}


def lists_before_the_first_is_held(page_kib: int, list_kib: int, *, n_led: int = 0, are_alike: bool = True) -> int:
    """Tell pages and lists by turns until a list is held; return how many were fetched.

    Args:
        page_kib: Size of a page.
        list_kib: Size of a list.
        n_led: URLs that each list names first.
        are_alike: All lists have one text; else that of a page each.
    """
    site = Site()
    for i in range(0 if are_alike else 20):
        site.tell(f"/wiki/{word(100 + i)}", f"text {100 + i}", n_bytes=page_kib << 10)
    for i in range(60):
        site.tell(f"/wiki/{word(i)}", f"text {i}", n_bytes=page_kib << 10)
        if not site.tell(f"/list?from={word(i)}", "the same" if are_alike else f"text {100 + i}", n_led=n_led, n_bytes=list_kib << 10):
            return i
    raise AssertionError("no list was held")


def test_large_lists_that_show_nothing_new_are_held_sooner() -> None:
    """Mutations: a barren page counts once, whatever its size; it counts for as many as it is larger."""
    usual, large, huge = (lists_before_the_first_is_held(5, kib, n_led=1, are_alike=False) for kib in (5, 20, 500))
    assert usual > large == huge >= 4
    assert lists_before_the_first_is_held(5, 1, n_led=1, are_alike=False) == usual, "a small one counts once, too"


def test_large_lists_that_name_more_than_they_cost_are_held_no_sooner() -> None:
    """Lists of a register say what others do, and half of its documents waited behind them. Mutations: the size alone counts; links are
    believed however few they are.
    """
    usual, few, many = (lists_before_the_first_is_held(5, kib, n_led=n, are_alike=False) for kib, n in ((5, 8), (20, 7), (20, 8)))
    assert few < usual == many


def before_the_first_is_held(path: str, *, is_good: int = -1, n_led: int = 0) -> int:
    """Tell pages and URLs that show nothing by turns until one of these is held; return how many were fetched.

    Args:
        path: Of these URLs, with a place for a word.
        is_good: Number of the one that shows something.
        n_led: URLs that each names first.
    """
    site = Site()
    site.tell_all((f"/wiki/{word(100 + i)}", f"text {100 + i}") for i in range(20))
    for i in range(60):
        site.tell(f"/wiki/{word(i)}", f"text {i}")
        if not site.tell(path.format(word(i)), "one more" if i == is_good else f"text {100 + i % 20}", n_led=n_led):
            return i
    raise AssertionError("none was held")


def test_what_can_lead_nowhere_is_held_sooner_if_it_never_gave_anything() -> None:
    """Mutations: it takes eight; what leads on is counted as well; what gave something, too; a pattern that mixes words as well."""
    assert before_the_first_is_held("/{}/1/2") == 4
    assert before_the_first_is_held("/{}/1/2", n_led=1) == 8
    assert before_the_first_is_held("/{}/1/2", is_good=1) == 10
    assert before_the_first_is_held("/{0}/1/{0}") == 6


def test_on_a_site_of_large_pages_none_is_held_sooner() -> None:
    """Mutation: the size of a page is compared with a number of bytes, and not with the site's other pages."""
    assert lists_before_the_first_is_held(500, 500) == lists_before_the_first_is_held(5, 5)


def test_a_late_bloomer_is_found_out_by_what_is_drawn_of_it() -> None:
    """/items/1 … show one notice; beyond 2,000 they are documents. Mutation: draws of a barren pattern were not learned from."""
    site = Site()
    site.tell_all(mixed(pages(600), ((f"/items/{i}", "sold out") for i in range(1, 600))))
    assert site.barren() == {"/items/<n>"}
    fetched = [site.tell(f"/items/{i}", f"document {i}") for i in range(2_000, 2_400)]
    assert not site.barren()
    assert all(fetched[200:]), "once a fifth of the draws is worth it, nothing more is held"


def test_paginated_archives_are_never_cut() -> None:
    """Listings whose texts are copies of each other, each naming four posts first. Mutation: `arrived` gave no credit."""
    site, posts = Site(), 0
    for page in range(150):
        path = f"/archive?page={page}"
        site.tell(path, "archive" if page % 2 else "the same archive", n_led=5, via=f"/archive?page={page - 1}" if page else "")
        for _ in range(4):
            posts += 1
            assert site.tell(f"/post/{word(posts)}", f"post {posts}", via=path)
    assert not site.barren()
    evidence = site.evidence("/archive?page=<n>")
    assert evidence.worth >= 0.9 * evidence.fetched > 80


def test_listings_that_lead_to_nothing_new_are_cut() -> None:
    """The same with links to copies: what leads nowhere is not credited."""
    site = Site()
    for page in range(150):
        path = f"/archive?page={page}"
        site.tell(f"/wiki/Page_{word(page)}", f"text {page}")
        site.tell(path, "archive", n_led=2)
        for i in range(2):
            site.tell(f"/print/{word(2 * page + i)}", "printed", via=path)
    assert {"/archive?page=<n>", "/print/<w>"} <= site.barren()


def test_a_translated_site_keeps_its_translations() -> None:
    """English, German to 60 %, French to 10 %, Italian not at all; what is not translated shows the English text. German comes later."""
    site = Site()
    shares = {"en": 1.0, "de": 0.6, "fr": 0.1, "it": 0.0}
    for i in range(400):
        for language, share in shares.items():
            is_translated = i * 7 % 10 < 10 * share
            site.tell(f"/{language}/guide/{i}", f"{language if is_translated else 'en'} {i}")
    assert {"/it/guide/<n>"} <= site.barren() <= {"/it/guide/<n>", "/fr/guide/<n>", "/de/guide/<n>"}
    assert sum(path.startswith("/en/") for path in site.fetched) == 400
    assert [site.evidence(f"/{language}/guide/<n>").is_surpassed for language in ("de", "it")] == [True, False]


def test_a_pattern_that_yields_less_than_the_rest_comes_later_and_back_when_it_yields_as_much() -> None:
    """Every second tag of a blog lists what another tag lists. Mutations: patterns are not compared; what is drawn releases nothing."""
    site = Site()
    for i in range(80):
        site.tell(f"/{word(i)}/{word(1000 + i)}", f"post {i}")
        site.tell(f"/tag/{word(i)}", f"posts {i // 2}")
    held = [path for path in site.held if path.startswith("/tag/")]
    assert len(held) > 30
    assert set(site.held) == set(held), "posts are never held"
    for i in range(2_000, 2_100):
        site.tell(f"/tag/{word(i)}", f"posts {i}", is_drawn=True)
    assert not site.barren()


def test_what_was_dead_and_is_alive_is_not_held_again_for_what_it_was() -> None:
    """Twenty dead pages in a row, then good ones. Mutation: once draws had ended that opinion, the pattern was compared with its site by
    fetches from before, held again, and waited for fifteen draws more: some three hundred of the site's fetches.
    """
    site, states = Site(), list[tuple[bool, bool]]()
    for i in range(60):
        site.tell(f"/{word(i)}/{word(1000 + i)}", f"post {i}")
        site.tell(f"/item/{i}", f"item {i}" if i >= 20 else "sold out", is_drawn=True)
        of = site.evidence("/item/<n>")
        states += [] if states and states[-1] == (of.barren, of.is_surpassed) else [(of.barren, of.is_surpassed)]
    assert states == [(False, False), (True, False), (False, False)]


def test_a_pattern_that_yielded_less_and_then_nothing_is_held_as_any_other() -> None:
    """Mutation: it waits for draws that yield as much as the rest, and twenty draws that yield nothing do not count."""
    site = Site()
    for i in range(80):
        site.tell(f"/{word(i)}/{word(1000 + i)}", f"post {i}")
        site.tell(f"/tag/{word(i)}", f"posts {i // 2}")
    tags = site.evidence("/tag/<w>")
    assert (tags.is_surpassed, tags.barren) == (True, True)
    for i in range(80):
        site.tell(f"/tag/{word(i)}", "posts 1", is_drawn=True)
    tags = site.evidence("/tag/<w>")
    assert (tags.is_surpassed, tags.barren) == (False, True)


def test_a_page_that_says_nothing_new_counts_by_what_it_led_to_once_that_is_known() -> None:
    """Until then it counts a little more than half: as barren, listings would be held before their posts are fetched; if it did not count,
    of a log whose pages lead to what is fetched much later only the pages that are new would.

    Mutations: each page counts as barren at once; a page does not count until it is known; a page that led to nothing counts as open.
    """
    site = Site()
    site.tell_all(pages(4))

    def counted() -> tuple[float, float]:
        of = site.evidence("/<w>?page=<n>").standing
        return of.n, of.s

    def tell(path: str, text: str, *, led_by: str = "", n_led: int = 0) -> tuple[float, float]:
        site.tell(path, text, via=led_by, n_led=n_led)
        return counted()

    tell("/archive?page=1", "the archive")
    assert tell("/wiki/Page_a", "text a") == pytest.approx((1, 1), abs=0.1)
    assert tell("/archive?page=2", "the archive", n_led=2) == pytest.approx((1, 1), abs=0.1)  # waits for another text
    assert tell("/wiki/Page_b", "text 3", led_by="/archive?page=2") == pytest.approx((2, 1.6), abs=0.1)
    assert tell("/wiki/Page_c", "text c", led_by="/archive?page=2") == pytest.approx((2, 2), abs=0.1)
    assert tell("/archive?page=3", "the archive", n_led=2) == pytest.approx((3, 2.6), abs=0.1)
    assert tell("/wiki/Page_d", "text 3", led_by="/archive?page=3") == pytest.approx((3, 2.6), abs=0.1)
    assert tell("/wiki/Page_e", "text 2", led_by="/archive?page=3") == pytest.approx((3, 2), abs=0.1)


def test_lists_that_were_held_before_their_links_had_decided_are_free_once_these_have() -> None:
    """Lists of which three in four say the same, and which name posts. Mutations: what they led to is not counted; it frees nothing."""
    site = Site()
    for i in range(40):
        site.tell_all(pages(1, start=i))
        site.tell(f"/list/{i}", "the list" if i % 4 else f"list {i}", n_led=1)
    assert site.evidence("/list/<n>").is_surpassed
    assert "/list/39" in site.held
    for path in [path for path in site.fetched if path.startswith("/list/")]:
        site.tell(f"/post{path}", f"post of {path}", via=path)
    assert not site.barren()


def test_a_pattern_that_mixes_kinds_is_not_compared_before_the_word_that_names_them_is_known() -> None:
    """Ten views of each article of a wiki, of which two are new each time. Mutation: all of them were held as one class by the first 25."""
    site = Site()
    for i in range(1_000, 1_030):
        site.tell(f"/{word(i)}", f"article {i}")
    views = ["history", "backlinks", "login", "register", "index", "media", "recent", "print", "raw", "export"]
    for i in range(60):
        site.tell(f"/{word(i)}", f"article {i}")
        for at, view in enumerate(views):
            site.tell(f"/wiki?do={view}&id={word(i)}", f"{view} {i}" if at < 2 else f"article {i}")
    fetched = [path for path in site.fetched if "do=history" in path or "do=backlinks" in path]
    assert len(fetched) == 120
    assert "/wiki?do=login&id=<w>" in site.barren()


def test_a_pattern_that_yields_as_much_as_the_rest_is_not_held() -> None:
    site = Site()
    for i in range(300):
        site.tell(f"/{word(i)}/{word(1000 + i)}", f"post {i if i * 7 % 10 < 6 else 0}")
        site.tell(f"/tag/{word(i)}", f"posts {i if i * 3 % 10 < 6 else 0}")
    assert not site.barren()


def test_a_pattern_that_yields_a_little_less_than_the_rest_is_not_held() -> None:
    """Lists and exports count as new, and only look better than versions of which one in nine is empty. Mutation: any difference holds."""
    site = Site()
    for i in range(300):
        site.tell(f"/{word(i)}/{word(1000 + i)}", f"post {i}")
        site.tell(f"/tag/{i}", f"posts {i if i % 9 else 0}")
    assert not site.barren()


def test_dead_links_of_one_shape_are_cut_whatever_their_pages_say() -> None:
    site = Site()
    for i in range(300):
        site.tell(f"/wiki/Page_{word(i)}", f"text {i}")
        site.tell(f"/archive/{2000 + i % 20}/{i}.html", f"not found: {i}", status=404)
    assert "/archive/<n>/<n>.html" in site.barren()
    assert not any("wiki" in path for path in site.held)
    assert len(site.held) > 200


def test_queries_without_names_are_values_of_one_pattern() -> None:
    """As those of the framesets of a Javadoc.    Mutation: each is a name, and has a pattern of its own."""
    site = Site()
    for i in range(60):
        site.tell(f"/api/{word(i)}.html", f"text {i}")
        site.tell(f"/api/index.html?{word(i)}.html", "a frameset")
    assert site.barren() <= {"/api/index.html?=<w>", "/api/<w>.html?=<w>"}
    assert len(site.held) > 45


# -- coarse patterns


def test_a_parameter_with_many_values_is_cut_by_its_name() -> None:
    """Each sort order by itself occurs too seldom to prove anything."""
    site = Site()
    for i in range(600):
        site.tell(f"/list/{word(i)}", f"list {i}")
        site.tell(f"/list?sort=key{word(i % 40)}&start={i}", "sorted")
    assert not any(f"key{word(i)}" in form for form in site.barren() for i in range(40))
    assert site.barren()
    assert len(site.held) > 400


def test_a_good_value_of_a_barren_parameter_is_spared_once_two_of_it_were_drawn() -> None:
    """Nine actions yield nothing and one does.

    Mutation: a value is judged by its own fetches from the eighth on, so that it is held at twice as many.
    """
    site = Site()
    actions = ["edit", "info", "raw", "login", "watch", "move", "purge", "rights", "credits"]
    spared = []
    for i in range(400):
        for action in actions:
            site.tell(f"/index.php?action={action}&title={word(i)}", f"you may not {action}")
        spared.append(site.tell(f"/index.php?action=history&title={word(i)}", f"history of {i}"))
    assert sum(spared[-75:]) > 70
    assert not any(site.tell(f"/index.php?action={action}&title=last", "you may not") for action in actions)


# -- one text for all


def test_a_site_that_shows_one_text_for_everything_teaches_nothing() -> None:
    """Mutation: a run of pages with one text is learned from at once."""
    site = Site()
    assert site.tell_all((f"/wiki/Page_{word(i)}", "consent") for i in range(500)) == 500
    assert not site.barren()


def test_an_outage_in_the_middle_of_a_crawl_teaches_nothing() -> None:
    site = Site()
    site.tell_all(pages(200))
    site.tell_all((path, "down for maintenance") for path, _ in pages(300, start=200))
    site.tell_all((f"/user/{i}", "down for maintenance") for i in range(100))
    assert not site.barren()
    assert site.tell_all(pages(200, start=500)) == 200


def test_a_calendar_that_is_all_that_is_left_is_cut_all_the_same() -> None:
    """Mutation: a long run of pages with one text is never learned from."""
    site = Site()
    site.tell_all(pages(100))
    fetched = site.tell_all((f"/day?date={2024 + i // 360}-{i // 30 % 12 + 1}-{i % 30 + 1}", "no bookings") for i in range(1_500))
    assert fetched < 200


def test_dead_links_of_several_shapes_that_are_all_that_is_left_are_cut() -> None:
    """Mutations: a run counts only for one pattern; patterns that have yielded something are among them."""
    site = Site()
    site.tell_all(pages(100))
    dead = [path for i in range(200) for path in (f"/old/{word(i)}.html", f"/old/api/{word(i)}.html")]
    fetched = sum(site.tell(path, "not found", status=404) for path in dead)
    assert fetched < 100
    assert {"/old/<w>.html", "/old/api/<w>.html"} <= set(site.barren())


def test_dead_links_below_a_folder_that_is_known_by_them_alone_are_cut() -> None:
    """Its first links were of the pattern of folders that are not known, of which others have yielded something.

    Mutation: what waits keeps the patterns of its time.
    """
    site = Site()
    for folder in ("guide", "api", "news", "faq"):
        site.tell_all((f"/{folder}/{word(i)}.html", f"{folder} {i}") for i in range(20))
    dead = [path for i in range(200) for path in (f"/matrix/{word(i)}.html", f"/matrix/ref/{word(i)}.html")]
    assert sum(site.tell(path, "not found", status=404) for path in dead) < 60
    assert site.tell("/guide/last.html", "the last of the guide")


def test_an_outage_over_new_shapes_teaches_nothing_once_a_good_one_shows_it_too() -> None:
    site = Site()
    site.tell_all(pages(100))
    for i in range(200):
        site.tell(f"/old/{word(i)}.html", "down for maintenance")
        site.tell(f"/wiki/Page_{word(100 + i)}", "down for maintenance")
    assert not site.barren()


def test_texts_too_short_to_tell_apart_teach_nothing() -> None:
    site = Site()
    site.tell_all(pages(50))
    for i in range(200):
        site.tell(f"/app/{word(i)}", None)
        site.tell(f"/wiki/Page_{word(i + 100)}", f"text {i + 100}")
    assert not site.barren()
    assert site.evidence("/app/<w>").fetched == 0


# -- bounds


def test_the_same_answers_always_teach_the_same() -> None:
    sites = [Site(), Site()]
    for site in sites:
        site.tell_all(mixed(pages(200), logins(200)))
    assert sites[0].fetched == sites[1].fetched
    key = SPACE.site_key("a.example")
    assert sites[0].replay.patterns(key) == sites[1].replay.patterns(key)
