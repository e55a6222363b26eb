"""What is no evidence of a soft error: a parameter that names nothing, a suffix, a home page, a likeness; and what a probe must change."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from soft_bench import LOST, NOT_FOUND, at, bench, is_sibling, learn, requests, revised, says, tell, url
from subjects import SPACE, answer, page, pair
from webs import Bench

from thresher.crawler.core.effects import Effect
from thresher.filters.soft_error.probe import directory_of


def honest_path(of: Bench, effects: list[Effect]) -> list[str]:
    """Answer the probe of a path with 404; return what is asked next."""
    (probe,) = requests(effects)
    assert "?" not in probe
    assert is_sibling(probe)
    return requests(tell(of, answer(probe, page(probe, NOT_FOUND, status=404))))


def test_a_parameter_that_names_nothing_is_never_probed() -> None:
    """The path is, and says honestly what is missing. Mutation: the control of a parameter was not asked for."""
    of = bench()
    (bare,) = honest_path(of, learn(of, at("http://a.example/p1.html?ref=home")))
    assert bare == "http://a.example/p1.html"
    assert tell(of, answer(bare, at(bare))) == []
    assert not says(of, at("http://a.example/p1.html?ref=foot"))


def test_a_parameter_that_names_nothing_at_two_urls_is_not_asked_about_again() -> None:
    of = bench()
    honest_path(of, learn(of, at("http://a.example/p0.html?ref=home")))
    for i in (1, 2):
        (bare,) = requests(learn(of, at(f"http://a.example/p{i}.html?ref=home")))
        tell(of, answer(bare, at(bare)))
    assert not requests(learn(of, at("http://a.example/p3.html?ref=home")))


def test_a_parameter_that_names_pages_is_probed_once_the_page_without_it_is_another() -> None:
    of = bench()
    suspect = at("http://a.example/wiki?id=nobody")
    (bare,) = honest_path(of, learn(of, suspect))
    (probe,) = requests(tell(of, answer(bare, page(bare))))
    assert is_sibling(probe)
    assert probe.startswith("http://a.example/wiki?id=")
    assert revised(tell(of, answer(probe, at(probe)))) == {suspect.url.key: True}
    assert says(of, at("http://a.example/wiki?id=another"))


def test_of_two_parameters_the_one_that_names_the_page_is_found_and_visits_name_nothing() -> None:
    of = bench()
    suspect = at("http://a.example/wiki?id=nobody&ref=newsletter-of-june&utm_source=a-very-long-name-of-a-source")
    (first,) = honest_path(of, learn(of, suspect))
    assert first == "http://a.example/wiki?id=nobody&utm_source=a-very-long-name-of-a-source"
    (second,) = requests(tell(of, answer(first, at(first))))
    assert second == "http://a.example/wiki?utm_source=a-very-long-name-of-a-source"
    (probe,) = requests(tell(of, answer(second, page(second))))
    assert re.fullmatch(r"http://a\.example/wiki\?id=[a-z]{25}&utm_source=a-very-long-name-of-a-source", probe)
    assert revised(tell(of, answer(probe, at(probe)))) == {suspect.url.key: True}


def test_what_one_url_is_without_a_parameter_says_nothing_of_another_url() -> None:
    """A gallery whose page is named by one parameter and tracked by the other. Mutation: the base was not compared."""
    of = bench()
    shown = [f"Nothing found? Look further. Picture {word} of the old harbour" for word in ("one", "two")]
    first, second = (at(f"http://a.example/gallery?page={i}&ref=newsletter", text) for i, text in enumerate(shown))
    (control,) = honest_path(of, [*learn(of, first), *learn(of, second)])
    asked = [control]
    while asked:
        picture = shown[1] if "page=1" in asked[0] else shown[0]
        effects = tell(of, answer(asked[0], at(asked[0], picture)))
        assert not revised(effects)
        asked = [*asked[1:], *requests(effects)]
    assert not says(of, first)
    assert not says(of, second)


def test_a_site_that_ignores_suffixes_of_the_path_keeps_its_pages() -> None:
    """Mutation: a probe's page that looks like the suspect sufficed."""
    of = bench()
    (probe,) = requests(learn(of, at("http://a.example/mug/print")))
    (control,) = requests(tell(of, answer(probe, at(probe))))
    assert control == "http://a.example/mug"
    (of_root,) = requests(tell(of, answer(control, at(control))))
    assert directory_of(of_root) == "http://a.example/"
    assert tell(of, answer(of_root, status=404)) == []
    assert not says(of, at("http://a.example/mug/print"))


def test_what_would_convict_the_home_page_convicts_nobody() -> None:
    """The home page is fetched if it is not known. Mutation: the root had no control."""
    of = bench()
    (probe,) = requests(learn(of, at("http://a.example/about")))
    (home,) = requests(tell(of, answer(probe, at(probe))))
    assert home == "http://a.example/"
    assert tell(of, answer(home, at(home))) == []
    assert not says(of, at("http://a.example/about"))


def test_a_page_of_few_words_that_says_nothing_of_an_error_is_no_suspect_however_like_another_it_is() -> None:
    of = bench()
    twins = [replace(page(f"http://a.example/p/{i}", "A photo of the old harbour. Next. Back."), title="Photo") for i in range(5)]
    assert not [effect for twin in twins for effect in learn(of, twin)]
    assert not any(says(of, twin) for twin in twins)


def test_a_page_that_says_nothing_of_an_error_is_one_only_if_it_repeats_an_error_page_to_the_word() -> None:
    """Three words of its own among four hundred of a template are not seen in a sketch. Mutation: the sketch sufficed."""
    template = " ".join(f"menu{i}" for i in range(400))
    of = bench()
    learn(of, page("http://a.example/gone", f"{template} nothing is here", status=404))
    assert says(of, page("http://a.example/p/1", f"{template} nothing is here"))["probe"] == "same_text"
    assert not says(of, page("http://a.example/p/2", f"{template} item seven blue"))


def test_probes_that_are_unlike_each_other_show_no_template() -> None:
    """A site with a saying of the day for whatever is asked. Mutation: any spread was a tolerance."""
    of = bench()
    first, second, third = (
        f"not found in any book: {' '.join(f'{letter}{i}' for i in range(4))} and so on and so forth as it is said" for letter in "abc"
    )
    asked = requests(learn(of, at("http://a.example/x/1", first)))
    asked = requests(tell(of, answer(asked[0], at(asked[0], second))))
    assert is_sibling(asked[0])
    assert tell(of, answer(asked[0], at(asked[0], third))) == []


def test_a_page_with_the_title_of_a_challenge_is_given_back_if_what_is_missing_is_answered_honestly() -> None:
    """Mutation: nothing was asked about what was called a gate at sight."""
    of = bench()
    stub = at("http://a.example/x/1", "What we check, and how often. More of it soon.", "Security check")
    judgement = of.judge(stub).judgement
    assert (judgement.keep, judgement.follow) == (False, True), "its links would be lost for good"
    (probe,) = requests(learn(of, stub))
    assert revised(tell(of, answer(probe, status=404))) == {stub.url.key: False}
    assert not says(of, at("http://a.example/x/2", "Who checks, and where.", "Security check"))


def test_an_application_that_shows_its_shell_as_home_page_is_no_wall() -> None:
    shell = "You need to enable JavaScript to run this app."
    of = bench()
    pages = [at(f"http://a.example/{name}", shell, "App") for name in ("", "inbox", "settings", "help", "team")]
    effects = [effect for subject in pages for effect in learn(of, subject)]
    for _ in range(3):
        effects = [effect for asked in requests(effects) for effect in tell(of, answer(asked, at(asked, shell, "App")))]
        assert not revised(effects)
    assert not any(says(of, subject) for subject in pages)


def test_a_page_at_which_the_probe_alone_lands_may_be_the_best_there_is() -> None:
    """A shop that leads whoever asks for what it never had to the first of its mugs. Mutation: landing there sufficed."""
    for hops in (0, 1):
        of = bench()
        stub = at("http://a.example/mugs/1", "Mug number 1 is no longer available. Ask us for others.", hops=hops)
        (probe,) = requests(learn(of, stub))
        (landing,) = requests(tell(of, answer(probe, status=302, target=stub.url)))
        assert revised(tell(of, answer(landing, stub))) == ({stub.url.key: True} if hops else {})
        assert bool(says(of, stub)) is bool(hops)


@pytest.mark.parametrize(
    ("name", "is_error"),
    [("1", False), ("1?ref=home", False), ("3", True)],
    ids=["the page", "with a parameter", "its text at another address"],
)
def test_a_page_at_which_the_probe_has_landed_before_is_no_error_for_looking_like_itself(name: str, is_error: bool) -> None:
    """The first mug of that shop is linked, but waited while the probe landed there. Mutation: only what was read before the probe was
    spared, so an honest page was lost.
    """
    of = bench()
    first, second = (
        "Mug number 1 is no longer available. Ask us for others.",
        "Mug number 2 is no longer available. It was blue, and broke.",
    )
    (probe,) = requests(learn(of, at("http://a.example/mugs/2", second)))
    landing = at("http://a.example/mugs/1", first)
    (asked,) = requests(tell(of, answer(probe, status=302, target=landing.url)))
    assert tell(of, answer(asked, landing)) == []
    subject = at(f"http://a.example/mugs/{name}", first)
    effects = learn(of, subject)
    while asking := requests(effects):
        effects = [effect for request in asking for effect in tell(of, answer(request, status=302, target=landing.url))]
    assert revised(effects) == ({subject.url.key: True} if is_error else {})
    assert bool(says(of, subject)) is is_error


def test_a_page_that_looks_like_where_the_probe_lands_is_an_error() -> None:
    """What is missing leads elsewhere, and what is named shows the same itself. Mutation: only answers without a redirect were compared."""
    of = bench()
    suspect = at("http://a.example/docs/gone")
    (probe,) = requests(learn(of, suspect))
    (landing,) = requests(tell(of, answer(probe, status=302, target=url(LOST))))
    (control,) = requests(tell(of, answer(landing, at(landing))))
    assert control == "http://a.example/docs"
    assert revised(tell(of, answer(control, status=302, target=url(LOST)))) == {suspect.url.key: True}


# -- redirects by a parameter


def test_redirects_that_drop_a_parameter_which_names_nothing_hide_no_error() -> None:
    of = bench()
    pairs = [
        replace(pair(f"http://a.example/p?ref={name}", "http://a.example/p"), original=url(f"http://a.example/p?ref={name}"))
        for name in ("home", "foot")
    ]
    (bare,) = requests([effect for subject in pairs for effect in learn(of, subject)])
    assert bare == "http://a.example/p"
    assert tell(of, answer(bare, page(bare))) == []
    assert not says(of, pairs[0])


def test_redirects_by_a_parameter_that_names_pages_are_told_by_a_probe_of_it() -> None:
    of = bench()
    pairs = [replace(pair(f"http://a.example/article?id={i}", LOST), original=url(f"http://a.example/article?id={i}")) for i in (1, 2)]
    (bare,) = requests([effect for subject in pairs for effect in learn(of, subject)])
    assert bare == "http://a.example/article"
    (probe,) = requests(tell(of, answer(bare, page(bare))))
    assert is_sibling(probe)
    effects = tell(of, answer(probe, status=302, target=SPACE.url(LOST)))
    assert revised(effects) == {subject.original.key: True for subject in pairs}


def test_redirects_that_are_the_same_without_the_parameter_are_told_by_a_probe_of_the_path() -> None:
    of = bench()
    pairs = [replace(pair(f"http://a.example/x/{i}?ref=home", LOST), original=url(f"http://a.example/x/{i}?ref=home")) for i in (1, 2)]
    (bare,) = requests([effect for subject in pairs for effect in learn(of, subject)])
    (probe,) = requests(tell(of, answer(bare, status=302, target=SPACE.url(LOST))))
    assert directory_of(probe) == "http://a.example/x/"
    effects = tell(of, answer(probe, status=302, target=SPACE.url(LOST)))
    assert revised(effects) == {subject.original.key: True for subject in pairs}
