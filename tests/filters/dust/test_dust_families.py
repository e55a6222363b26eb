"""Alias families: what is believed of which URLs, when a belief sinks, and what the learned gate makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from random import Random

import pytest
import xxhash
from dict_memory import DictMemory
from msgspec.structs import replace
from subjects import SPACE, batch, page
from webs import Bench

from thresher.config.settings import DustSettings, ExactDuplicateSettings, NearReplicaSettings
from thresher.crawler.core.effects import Hold
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Mode, Reason
from thresher.crawler.core.url import origin_of
from thresher.filters import exact_duplicate
from thresher.filters.dust import families
from thresher.filters.dust import filter as dust
from thresher.filters.dust.memory import NAME
from thresher.filters.dust.shown import ShownPage, words_of
from thresher.filters.near_replica import filter as near_replica

A = "http://a.example"
SITE = SPACE.site_key("a.example")


def shown(url: str, text: str) -> ShownPage:
    return ShownPage.of(xxhash.xxh3_64_digest(text.encode()), SPACE.key(url))


class Site:
    """What is known of one site's families."""

    def __init__(self) -> None:
        self.memory = DictMemory()

    def learn(self, pages: Mapping[str, str], at: str = A) -> None:
        for path, text in pages.items():
            url = at + path
            families.learn(self.memory, SITE, url, origin_of(url), shown(url, text))

    def alias(self, path: str, at: str = A) -> families.Alias | None:
        return families.alias(self.memory, SITE, at + path, at)

    def believes(self, path: str) -> bool:
        return self.alias(path) is not None


def learned(pages: Mapping[str, str]) -> Site:
    site = Site()
    site.learn(pages)
    return site


@pytest.mark.parametrize(
    ("pages", "alias"),
    [
        ({f"/{lang}/{i}": f"{i}" for i in range(8) for lang in ("en", "da")} | {"/en/99": "99"}, "/da/99"),
        ({f"/p/{i}{print_}": f"{i}" for i in range(8) for print_ in ("", "?print=1")} | {"/p/99": "99"}, "/p/99?print=1"),
        ({f"/p?id={i}&sid={i * 7 + j}": f"{i}" for i in range(5) for j in range(3)} | {"/p?id=99&sid=1": "99"}, "/p?id=99&sid=31337"),
        ({f"/s{i * 7 + j}/p/{i}": f"{i}" for i in range(5) for j in range(3)} | {"/s3/p/99": "99"}, "/s31337/p/99"),
        ({f"/{i}/?C=N;O={order}": f"{i}" for i in range(8) for order in "AD"} | {"/99/?C=N;O=A": "99"}, "/99/?C=N;O=D"),
        ({f"/x{i}{slash}": f"{i}" for i in range(8) for slash in ("", "/")} | {"/x99": "99"}, "/x99/"),
        ({path: f"{i}" for i in range(8) for path in (f"/x{i}", f"/X{i}")} | {"/x99": "99"}, "/X99"),
        ({f"/x{i}.html{lang}": f"{i}" for i in range(8) for lang in ("", ".en", ".de")} | {"/x99.html": "99"}, "/x99.html.de"),
        ({f"/x{i}{index}": f"{i}" for i in range(8) for index in ("/", "/index.html")} | {"/x99/": "99"}, "/x99/index.html"),
        ({f"{print_}/x{i}": f"{i}" for i in range(8) for print_ in ("", "/print")} | {"/x99": "99"}, "/print/x99"),
        ({f"/x?a={i}&b=2{order}": f"{i}" for i in range(8) for order in ("", "&c=3")} | {"/x?a=99&b=2": "99"}, "/x?a=99&b=2&c=3"),
        ({path: f"{i}" for i in range(8) for path in (f"/x?a={i}&b=2", f"/x?b=2&a={i}")} | {"/x?a=99&b=2": "99"}, "/x?b=2&a=99"),
    ],
)
def test_families_of_aliases_are_believed_where_their_like_is_known(pages: dict[str, str], alias: str) -> None:
    """Languages, print views, sessions, orders, slashes, case, negotiated suffixes, index files, facets.

    Mutation: pools of one place's values alone miss the sessions.
    """
    assert learned(pages).believes(alias)


@pytest.mark.parametrize(
    ("pages", "new"),
    [
        ({f"/{lang}/{i}": f"{lang} {i}" for i in range(8) for lang in ("en", "de")} | {"/en/99": "en 99"}, "/de/99"),
        ({f"/topic?id={i}": f"{i}" for i in range(30)}, "/topic?id=31"),
        ({f"/list?page={i}": f"{i}" for i in range(30)}, "/list?page=31"),
        ({}, "/anything?at=all"),
        ({f"/p/{i}{print_}": f"{i}" for i in range(8) for print_ in ("", "?print=1")}, "/q/99?print=1"),
        ({f"/x{i}.{kind}": f"{i}{kind}" for i in range(8) for kind in ("html", "txt")} | {"/x99.html": "99"}, "/x99.txt"),
        ({path: path for i in range(8) for path in (f"/wiki/ab{i}", f"/wiki/AB{i}")} | {"/wiki/ab99": "99"}, "/wiki/AB99"),
        ({f"/x{i}{slash}": f"{i}{slash}" for i in range(8) for slash in ("", "/")} | {"/x99": "99"}, "/x99/"),
        ({f"/w?t={i}{do}": f"{i}{do}" for i in range(8) for do in ("", "&action=raw")} | {"/w?t=99": "99"}, "/w?t=99&action=raw"),
        ({f"/docs/{v}/{i}": f"{v} {i}" for i in range(8) for v in (1, 2, 3)} | {"/docs/1/99": "1 99"}, "/docs/2/99"),
    ],
)
def test_nothing_is_believed_of_urls_that_show_their_own(pages: dict[str, str], new: str) -> None:
    assert not learned(pages).believes(new)


def test_a_family_is_believed_from_its_fourth_answer() -> None:
    """Mutation: `ENOUGH` is 5."""
    site = learned({f"/{lang}/{i}": f"{i}" for i in range(3) for lang in ("en", "da")} | {"/en/99": "99"})
    assert not site.believes("/da/99")
    site.learn({"/en/4": "4", "/da/4": "4"})
    assert site.believes("/da/99")


def test_values_of_their_own_are_exceptions_of_a_family() -> None:
    """The Danish pages show the English text under another address, the French ones do not, and both values stand at one place of the URL.

    Mutation: the evidence of the single value is left out.
    """
    texts = {"en": "", "da": "", "ru": "", "fr": " français"}
    site = learned({f"/{lang}/{i}": f"{i}{own}" for i in range(12) for lang, own in texts.items()} | {"/en/99": "99"})
    assert site.believes("/da/99")
    assert site.believes("/ru/99")
    assert not site.believes("/fr/99")
    assert site.believes("/pt/99"), "what is not known yet is like most"


def test_a_belief_that_was_wrong_sinks_by_what_is_fetched_all_the_same() -> None:
    """Two values lead to the same page four times, and then to different pages. Mutation: comparisons that disagree are not counted."""
    site = learned({f"/{lang}/{i}": f"{i}" for i in range(4) for lang in ("en", "da")})
    site.learn({f"/en/{i}": f"{i}" for i in range(50, 99)})
    assert site.believes("/da/98")
    site.learn({f"/da/{i}": f"dansk {i}" for i in range(50, 56)})
    assert not site.believes("/da/98")


def test_what_was_long_ago_is_outweighed() -> None:
    """Mutation: counts are never halved."""
    site = learned({f"/{lang}/{i}": f"{i}" for i in range(300) for lang in ("en", "da")} | {"/en/999": "999"})
    assert site.believes("/da/999")
    site.learn({f"/{lang}/{i}": f"{lang}{i}" for i in range(400, 500) for lang in ("en", "da")})
    assert not site.believes("/da/999")


def test_a_url_whose_like_was_not_fetched_is_none() -> None:
    site = learned({f"/{lang}/{i}": f"{i}" for i in range(8) for lang in ("en", "da")})
    assert not site.believes("/da/99")


def test_a_mirror_is_believed_across_hosts_of_any_site() -> None:
    site, mirror = Site(), SPACE.site_key("m.example")
    for i in range(8):
        for key, host in ((SITE, A), (mirror, "http://m.example")):
            families.learn(site.memory, key, f"{host}/x{i}", host, shown(f"{host}/x{i}", f"{i}"))
    families.learn(site.memory, SITE, f"{A}/x99", A, shown(f"{A}/x99", "99"))
    found = families.alias(site.memory, mirror, "http://m.example/x99", "http://m.example")
    assert found is not None
    assert found.holder == "dust family host http://m.example"
    assert families.alias(site.memory, mirror, "http://m.example/own", "http://m.example") is None


@pytest.mark.parametrize("seed", range(12))
def test_first_pages_that_are_listed_teach_the_same_in_the_end(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutations: a page that is like the one at its path on another host is listed; a listed page is not counted for the hosts."""
    random, at = Random(seed), ("http://a.example", "http://www.a.example", "http://m.example")
    keys = {origin: SPACE.site_key(origin.removeprefix("http://www.").removeprefix("http://")) for origin in at}
    paths = [f"/{lang}/{i}{view}" for lang in ("en", "da") for i in range(6) for view in ("", "?print=1", "/")]
    story = [(random.choice(at), random.choice(paths), random.randrange(2, 60)) for _ in range(random.randrange(4, 90))]
    outcomes = []
    for most in (families.MOST_LISTED, 0):
        monkeypatch.setattr(families, "MOST_LISTED", most)
        memory, told = DictMemory(), list[object]()
        for origin, path, text in story:
            of = SPACE.key(f"{at[0]}{paths[text % 9]}") if text % 7 == 0 else b""
            page = ShownPage.of(xxhash.xxh3_64_digest(bytes((text,))), SPACE.key(origin + path), of)
            told.append(families.learn(memory, keys[origin], origin + path, origin, page))
            told += [families.alias(memory, keys[host], host + paths[text % 36], host) for host in at]
        monkeypatch.setattr(families, "MOST_LISTED", 0)
        for origin in at:
            families.learn(memory, keys[origin], f"{origin}/last", origin, shown(f"{origin}/last", "last"))
        outcomes.append((told, memory.rows))
    assert outcomes[0] == outcomes[1]


def test_many_first_pages_of_one_site_teach_the_same_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutations: each listed page enters the groups of its path, though hardly any was alike there; so does one of eight too few."""
    outcomes = []
    for most in (families.MOST_LISTED, 0):
        monkeypatch.setattr(families, "MOST_LISTED", most)
        memory = DictMemory()
        for number in range(90):  # the first 50 paths were met at another site
            for site in ("b.example", "a.example")[number >= 50 :]:
                url = f"http://{site}/x{number}"
                assert not families.learn(memory, SPACE.site_key(site), url, f"http://{site}", shown(url, url)).n_alike
        for site in ("a.example", "b.example"):
            monkeypatch.setattr(families, "MOST_LISTED", 0)
            families.learn(memory, SPACE.site_key(site), f"http://{site}/last", f"http://{site}", shown(f"http://{site}/last", site))
        outcomes.append(memory.rows)
    assert outcomes[0] == outcomes[1]


def test_classes_name_what_they_hold_and_know_what_it_came_to() -> None:
    texts = {"en": "", "da": "", "ko": " 한국어"}
    pages = {f"/{lang}/{i}": f"{i}{own if i % 2 else ''}" for i in range(12) for lang, own in texts.items()}
    site = learned(pages | {"/en/99": "99"})
    danish, korean = site.alias("/da/99"), site.alias("/ko/99")
    assert danish is not None
    assert danish.holder == "dust family http://a.example segment 1 da"
    assert families.recent(danish.holder, site.memory).s == 0
    of_korean = families.recent("dust family http://a.example segment 1 ko", site.memory)
    assert korean is None or korean.bound < danish.bound
    assert 0.3 < of_korean.s / of_korean.n < 0.7, "a class that is half new is served before one that is not"
    assert families.recent("dust family of another", site.memory).n == 0


def test_the_orders_of_a_list_show_the_same_after_those_of_one_folder() -> None:
    """As Apache lists folders: four orders of the first are believed for all others. Mutation: `words_of` is the page's fingerprint."""
    files, site = ("Alpha", "Beta", "Gamma"), DictMemory()

    def fetch(path: str, names: tuple[str, ...]) -> None:
        met = page(A + path, f"Index {' '.join(names)}")
        shown = ShownPage.of(words_of(met), met.url.key)
        families.learn(site, SITE, met.url.text, A, shown)

    fetch("/", files)
    for order, names in zip(("N;O=D", "M;O=A", "S;O=A", "D;O=A"), list(permutations(files))[1:], strict=False):
        fetch(f"/?C={order}", names)
    fetch("/x/", ("Delta", "Epsilon"))
    assert families.alias(site, SITE, f"{A}/x/?C=N;O=D", A) is not None
    assert words_of(page(A, "a b a")) != words_of(page(A, "a b")), "how often a word stands there counts"


def test_a_table_of_the_same_words_that_names_other_things_shows_something_else() -> None:
    """Two seasons' tables of one league, and one of them in another order. Mutation: `words_of` leaves out what a page names."""
    teams, places = [f"team{i}" for i in range(12)], [str(i) for i in range(12)]

    def table(path: str, order: list[str], season: int) -> bytes:
        text = " ".join(f"{team} {place}" for team, place in zip(order, places, strict=True))
        named = [SPACE.canonical(f"{A}/match/{season}-{i}") for i in range(6)]
        return words_of(replace(page(A + path, text), links=(*named, SPACE.canonical(f"{A}{path}?sort={order[0]}"))))

    first = table("/table", teams, 2012)
    assert table("/table", teams[::-1], 2012) == first
    assert table("/table", teams[::-1], 2013) != first
    few = [words_of(replace(page(A + path, "Please log in"), links=(A + path + "/forgotten",))) for path in ("/1", "/2")]
    assert few[0] == few[1], "a page of few words is compared by them alone"


# -- as it is plugged in


def bench(mode: Mode = Mode.ENFORCE) -> Bench:
    settings = DustSettings(mode="observe" if mode is Mode.OBSERVE else "enforce")
    return Bench.of(
        (
            replace(exact_duplicate.spec(ExactDuplicateSettings(min_tokens=4)), mode=mode),
            replace(near_replica.spec(NearReplicaSettings(min_tokens=20), tells_copies=False), mode=mode),
            replace(dust.spec(settings, judges=["exact_duplicate", "near_replica"] if mode is Mode.ENFORCE else ()), mode=mode),
        )
    )


def text(name: object, n: int = 60) -> str:
    return " ".join(f"{name}-{i}" for i in range(n))


def teach(at: Bench, pages: Mapping[str, str], status: int = 200) -> None:
    at.tell([page(A + path, body, status=status, seed_distance=2) for path, body in pages.items()])


def held(at: Bench, *paths: str) -> dict[str, str]:
    links: LinkBatch = batch(*(A + path for path in paths))
    effects = at.panel.links(links).effects
    return {effect.url[len(A) :]: effect.holder for _, effect in effects if isinstance(effect, Hold)}


LANGUAGES = {f"/{lang}/{i}": text(i) for i in range(6) for lang in ("en", "da")} | {"/en/99": text(99)}


def test_links_of_a_believed_family_are_held_long_before_a_rule_is_mined() -> None:
    """Mutation: pages that a filter dropped as copies are not compared."""
    at = bench()
    teach(at, LANGUAGES)
    assert held(at, "/da/99", "/da/", "/en/100", "/fr/101") == {"/da/99": "dust family http://a.example segment 1 da"}


def test_a_url_is_judged_again_when_its_turn_comes() -> None:
    at = bench()
    url = SPACE.url(f"{A}/da/99", seed_distance=2)
    assert not at.panel.turn(url).held
    teach(at, LANGUAGES)
    assert [effect.holder for _, effect in at.panel.turn(url).held if isinstance(effect, Hold)] == [
        "dust family http://a.example segment 1 da"
    ]


def test_one_that_observes_says_what_it_would_hold_and_holds_nothing() -> None:
    at = bench(Mode.OBSERVE)
    teach(at, LANGUAGES)
    deliberation = at.panel.links(batch(f"{A}/da/99"))
    assert not deliberation.effects
    assert deliberation.judgement.admitted.all()
    assert deliberation.said is not None
    assert deliberation.said[0].reason is Reason.HELD_BY_FILTER


def test_replicas_count_as_one_text() -> None:
    """Print views have a line of their own; near_replica calls them copies.

    Mutation: the original that such a verdict names is not read.
    """
    at = bench()
    words = {i: text(f"w{i}", 300) for i in range(7)}
    teach(at, {f"/p/{i}{view}": words[i] + (" printed on paper" if view else "") for i in range(6) for view in ("", "?print=1")})
    teach(at, {"/p/6": words[6]})
    assert list(held(at, "/p/6?print=1")) == ["/p/6?print=1"]


@pytest.mark.parametrize("canonical", [True, False])
def test_posts_under_menus_in_another_language_count_as_one_text(canonical: bool) -> None:
    """Mutation: those that their host tells apart have no original."""
    at = bench()
    words = {i: text(f"w{i}", 400) for i in range(7)}
    menus = {lang: text(lang, 12) for lang in ("en", "fr")}
    pages = [(f"/{lang}/post-{i}", menus[lang] + " " + words[i]) for i in range(6) for lang in menus]
    for path, body in (*pages, ("/en/post-6", menus["en"] + " " + words[6])):
        at.tell([page(A + path, body, seed_distance=2, canonical=A + path if canonical else "")])
    assert list(held(at, "/fr/post-6", "/en/post-7")) == ["/fr/post-6"]


@pytest.mark.parametrize("unlike", [2, 4, 8])
def test_pages_of_one_template_are_no_aliases_of_each_other(unlike: int) -> None:
    """Each has 400 words that all have, and few of its own, and names itself canonical.

    Mutation: they are reported however many are alike: from the fifth page on all others are held.
    """
    at = bench()
    for name in ("apples", "bricks", "candles", "doors", "engines", "flowers", "gloves", "hammers", "icons", "jackets", "knives", "lamps"):
        at.tell([page(f"{A}/p/{name}", text("law", 400) + " " + text(name, unlike), seed_distance=2, canonical=f"{A}/p/{name}")])
        assert not held(at, "/p/mirrors", "/p/nails", "/p/ovens")


def test_days_that_look_alike_are_no_aliases_of_each_other() -> None:
    """Mutation: pages of a series have an original."""
    at = bench()
    for i in range(9):
        at.tell([page(f"{A}/day/{i}", text("hours", 400) + " " + text(f"day{i}", 3), seed_distance=2, canonical=f"{A}/day/{i}")])
    assert not held(at, "/day/10")


@pytest.mark.parametrize("status", [404, 500])
def test_errors_are_no_aliases_of_each_other(status: int) -> None:
    at = bench()
    teach(at, {f"/{lang}/{i}": text("not found") for i in range(9) for lang in ("en", "da")}, status=status)
    assert not held(at, "/da/99", "/en/99", "/da/1")


def test_home_pages_and_what_was_asked_for_by_name_are_never_held() -> None:
    at = bench()
    teach(at, {f"/?lang={i}": text("home") for i in range(9)} | {"/": text("home")})
    assert not held(at, "/")
    seed = SPACE.url(f"{A}/?lang=99", seed_distance=0)
    assert not at.panel.turn(seed).held


def test_the_memory_of_a_family_is_bounded_by_small_records() -> None:
    """A hostile site makes a new session id on each page, and a new parameter each time. Mutation: groups keep all of their pages."""
    at = bench()
    teach(at, {f"/p?id=1&sid={i}": text(i % 50) for i in range(300)} | {f"/q?k{i}=1": text("same") for i in range(300)})
    rows = at.rows(NAME)
    assert max(len(value) for key, value in rows.items() if key[8:9] in (b"g", b"v")) <= 2 + 8 * 10
    teach(at, {f"/r?{'k' * 999}={j}": text("same") for j in range(9)})
    teach(at, {f"/r?k{i}={j}": text("same") for i in range(70) for j in range(6)})
    places = families.known_places(at.memories[NAME], SITE)
    assert len(places) == 64
    assert max(map(len, places)) < 100


def test_pages_read_twice_do_not_speak_for_themselves() -> None:
    at = bench()
    for _ in range(9):
        teach(at, {"/en/1": text(1)})
    assert not held(at, "/da/1", "/en/2")
