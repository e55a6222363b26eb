"""What lists have in common says nothing of what they list; what a family held is released once it is surely none."""

from __future__ import annotations

from subjects import page
from test_dust_families import SITE, A, Site, bench, shown, teach

from thresher.crawler.core.effects import Release
from thresher.filters.dust import families

LISTS = {f"/{parish}/{section}/": section for parish in range(4) for section in "ABCDE"}
PARCELS = {f"/{parish}/A/{i}": f"{parish} {i}" for parish in range(2) for i in range(30)}


def test_what_is_alike_of_lists_says_nothing_of_what_they_list() -> None:
    """The parcels of two parishes differ; of the third only lists were fetched. Mutation: kinds are not counted."""
    site = Site()
    site.learn(LISTS)
    site.learn({"/0/A/7": "0 7"})
    assert site.believes("/2/A/7")  # nothing else is known
    site.learn(PARCELS)
    assert not site.believes("/2/A/7")


def test_a_kind_with_enough_answers_for_a_value_speaks_for_itself() -> None:
    """Of seven languages all but one are translated. Mutation: the answers of all values speak first."""
    spoken = {"fr": "fr", "de": "de", "es": "es", "ja": "ja", "ko": "ko", "tr": "tr", "da": "fr"}
    site = Site()
    site.learn({f"/{language}/page{i}.html": f"{text} {i}" for i in range(12) for language, text in spoken.items()})
    site.learn({"/fr/page90.html": "fr 90"})
    assert site.believes("/da/page90.html")
    assert not site.believes("/de/page90.html")


def test_a_section_speaks_for_itself() -> None:
    """Lists of authors in two orders show the same, lists of books do not. Mutation: a value counts for all sections."""
    site = Site()
    site.learn({f"/books/{order}/{i}": f"{order} {i}" for i in range(12) for order in ("stored", "abc")})
    site.learn({f"/authors/{order}/{i}": f"{i}" for i in range(6) for order in ("stored", "abc")})
    site.learn({"/authors/stored/99": "99", "/books/stored/99": "stored 99"})
    assert site.believes("/authors/abc/99")
    assert not site.believes("/books/abc/99")


def test_what_a_family_held_is_released_when_it_surely_is_none() -> None:
    """Mutations: it is never released; it is released whenever its lower bound sinks."""
    site, told = Site(), dict[str, tuple[str, ...]]()
    for path, text in (LISTS | PARCELS).items():
        told[path] = families.learn(site.memory, SITE, A + path, A, shown(A + path, text)).sunk
    sunk = [holder for of in told.values() for holder in of]
    assert not any(told[path] for path in LISTS)
    assert sunk.count(f"dust family {A} segment 1 1") == 1


def test_a_share_around_the_belief_releases_nothing() -> None:
    site = Site()
    pages = {f"/{language}/{i}": f"{language if i % 2 else ''}{i}" for i in range(80) for language in ("en", "da")}
    assert not any(families.learn(site.memory, SITE, A + path, A, shown(A + path, text)).sunk for path, text in pages.items())


def test_the_page_gate_asks_for_the_release() -> None:
    """Mutation: the gate does not."""
    at = bench()
    teach(at, {path: f"a list of section {text}" for path, text in LISTS.items()})
    asked = []
    for path, text in PARCELS.items():
        judged = at.panel.page(page(A + path, f"parcel {text}"))
        asked += [*judged.effects, *at.panel.learn(judged)[0]]
    assert f"dust family {A} segment 1 1" in [effect.holder for _, effect in asked if isinstance(effect, Release)]
