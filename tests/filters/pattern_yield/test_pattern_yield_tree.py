"""What a site's patterns learn, and what they hold: told answer by answer."""

from __future__ import annotations

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
    """English, German to 60 %, French to 10 %, Italian not at all; what is not translated shows the English text."""
    site = Site()
    shares = {"en": 1.0, "de": 0.6, "fr": 0.1, "it": 0.0}
    for i in range(400):
        for language, share in shares.items():
            is_translated = i * 7 % 10 < 10 * share
            site.tell(f"/{language}/guide/{i}", f"{language if is_translated else 'en'} {i}")
    assert {"/it/guide/<n>"} <= site.barren() <= {"/it/guide/<n>", "/fr/guide/<n>"}
    assert [sum(path.startswith(f"/{language}/") for path in site.fetched) for language in ("en", "de")] == [400, 400]


def test_dead_links_of_one_shape_are_cut_whatever_their_pages_say() -> None:
    site = Site()
    for i in range(300):
        site.tell(f"/wiki/Page_{word(i)}", f"text {i}")
        site.tell(f"/archive/{2000 + i % 20}/{i}.html", f"not found: {i}", status=404)
    assert "/archive/<n>/<n>.html" in site.barren()
    assert not any("wiki" in path for path in site.held)
    assert len(site.held) > 200


# -- coarse patterns


def test_a_parameter_with_many_values_is_cut_by_its_name() -> None:
    """Each sort order by itself is too seldom to prove anything."""
    site = Site()
    for i in range(600):
        site.tell(f"/list/{word(i)}", f"list {i}")
        site.tell(f"/list?sort=key{word(i % 40)}&start={i}", "sorted")
    assert not any(f"key{word(i)}" in form for form in site.barren() for i in range(40))
    assert site.barren()
    assert len(site.held) > 400


def test_a_good_value_of_a_barren_parameter_is_spared_once_two_of_it_were_drawn() -> None:
    """Nine actions yield nothing and one does. Mutation: a value spoke for itself from eight fetches on; of twice as many it was held."""
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
    """Mutation: a run of one text was learned from as it came."""
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
    """Mutation: a long run of one text never taught."""
    site = Site()
    site.tell_all(pages(100))
    fetched = site.tell_all((f"/day?date={2024 + i // 360}-{i // 30 % 12 + 1}-{i % 30 + 1}", "no bookings") for i in range(1_500))
    assert fetched < 200


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
