"""The filter's gates on subjects made by hand: what is asked, what is said at once, what is said later."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from subjects import SPACE, answer, batch, page, pair
from webs import Bench

from config.settings import SoftError
from crawler.core.model import Answer, CrawlURL, Effect, Page, Park, Purpose, Reason, RedirectPair, Request, Revise
from filters.soft_error.filter import plug
from filters.soft_error.probe import N_LETTERS, directory_of

DAY_S = 86_400.0
LOST = "http://b.example/sorry"
NOT_FOUND = "Sorry, the page that you asked for could not be found here. It may have been removed, or its name may have changed."


def bench(**options: float) -> Bench:
    return Bench.of([plug(SoftError(**options))])  # type: ignore[arg-type]


def learn(of: Bench, subject: Page | RedirectPair) -> list[Effect]:
    """Judge and learn one subject; return what is asked for."""
    sitting = of.judge(subject)
    return [effect for _, effect in (*sitting.effects, *of.panel.learn(sitting)[0])]


def says(of: Bench, subject: Page | RedirectPair) -> dict[str, str | int | float]:
    """Return the evidence of a verdict that calls the subject a soft error, {} if it is none."""
    (verdict,) = of.judge(subject).judgement.verdicts
    assert (verdict.reason is Reason.SOFT_ERROR) == (not verdict.keep)
    return dict(verdict.evidence) if not verdict.keep else {}


def tell(of: Bench, told: Answer) -> list[Effect]:
    return [effect for _, effect in of.panel.answered("soft_error", told)[0]]


def tell_with_control(of: Bench, told: Answer) -> list[Effect]:
    """Answer a probe, and with 404 the control that it makes necessary."""
    effects = tell(of, told)
    (control,) = requests(effects)
    assert not is_sibling(control)
    return tell(of, answer(control, status=404))


def is_sibling(asked: str) -> bool:
    return re.search(rf"[a-z]{{{N_LETTERS}}}", asked) is not None


def requests(effects: list[Effect]) -> list[str]:
    return [effect.url for effect in effects if isinstance(effect, Request)]


def revised(effects: list[Effect]) -> dict[bytes, bool]:
    """Return key → does it stand as a soft error now?"""
    return {effect.page: effect.verdict.reason is Reason.SOFT_ERROR for effect in effects if isinstance(effect, Revise)}


def old(i: int, target: str = LOST, *, at: float = 0.0) -> RedirectPair:
    return replace(pair(f"http://a.example/old/{i}", target), at=at, original=url(f"http://a.example/old/{i}"))


def url(text: str, distance: int = 2) -> CrawlURL:
    return SPACE.url(SPACE.canonical(text), seed_distance=distance)


# -- what is asked


def test_the_second_original_of_a_host_that_ends_at_one_page_asks_for_one_probe() -> None:
    of = bench()
    asked = [learn(of, old(i)) for i in range(6)]
    (probe,) = [effect for effects in asked for effect in effects]
    assert probe in asked[1]
    assert isinstance(probe, Request)
    assert probe.purpose is Purpose.PROBE
    assert directory_of(probe.url) == "http://a.example/old/"


def test_a_home_page_or_an_error_page_as_target_asks_at_the_first_original() -> None:
    assert requests(learn(bench(), old(1, "http://a.example/")))
    assert requests(learn(bench(), old(1, "http://a.example/errors/404.html")))
    assert not requests(learn(bench(), old(1, "http://b.example/new/1")))


def test_a_directory_is_asked_once_a_day_and_a_cleared_one_a_week_later() -> None:
    of = bench()
    (probe,) = requests([*learn(of, old(1)), *learn(of, old(2))])
    assert not requests(learn(of, old(3)))
    tell(of, answer(probe, failure="timeout_total"))
    assert not requests(learn(of, old(4)))
    (again,) = requests(learn(of, old(5, at=DAY_S)))
    assert again != probe
    tell(of, answer(again, status=404, at=DAY_S))
    assert not requests(learn(of, old(6, at=6 * DAY_S)))
    assert requests(learn(of, old(7, at=9 * DAY_S)))


def test_a_host_is_asked_no_more_than_its_budget_of_a_day() -> None:
    of = bench(max_probes=3)
    pairs = [pair(f"http://a.example/{i}/x", "http://a.example/") for i in range(10)]
    assert len(requests([effect for subject in pairs for effect in learn(of, subject)])) == 3
    tomorrow = [replace(subject, at=DAY_S) for subject in pairs[3:]]
    assert len(requests([effect for subject in tomorrow for effect in learn(of, subject)])) == 3


def test_no_budget_no_probe() -> None:
    of = bench(max_probes=0)
    assert not [effect for i in range(9) for effect in learn(of, old(i, "http://a.example/"))]


# -- what the answer means


def test_a_probe_that_lands_where_they_did_tells_on_all_of_them() -> None:
    of = bench()
    (probe,) = requests([*learn(of, old(1)), *learn(of, old(2))])
    effects = tell(of, answer(probe, status=302, target=SPACE.url(LOST)))
    assert revised(effects) == {old(i).original.key: True for i in (1, 2)}
    third = says(of, old(3))
    assert third == {"kind": "soft_404", "probe": "same_target"} | {key: third[key] for key in third if key not in ("kind", "probe")}
    assert (third["n_to_target"], third["n_from_host"], third["n_targets"], third["n_target_hosts"]) == (3, 3, 1, 1)
    assert third["sigma"] == pytest.approx(0.954, abs=1e-3)


def test_an_honest_404_clears_the_directory_however_high_the_score() -> None:
    of = bench(threshold=1.0)
    (probe,) = requests([effect for i in range(20) for effect in learn(of, old(i))])
    assert says(of, old(20)), "the score has spoken before the answer came"
    effects = tell(of, answer(probe, status=404))
    assert not any(revised(effects).values())
    assert len(revised(effects)) >= 15
    assert not says(of, old(20))


def test_a_redirect_of_a_probe_to_what_is_not_known_is_followed_to_its_end() -> None:
    of = bench()
    (probe,) = requests([*learn(of, old(1)), *learn(of, old(2))])
    hop = "http://a.example/moved"
    assert requests(tell(of, answer(probe, status=301, target=SPACE.url(hop)))) == [hop]
    assert revised(tell(of, answer(hop, status=302, target=SPACE.url(LOST)))) == {old(i).original.key: True for i in (1, 2)}


def test_a_redirect_of_a_probe_that_ends_at_an_honest_404_clears() -> None:
    of = bench()
    (probe,) = requests([*learn(of, old(1)), *learn(of, old(2))])
    https = "https://a.example/old/elsewhere"
    tell(of, answer(probe, status=301, target=SPACE.url(https)))
    assert tell(of, answer(https, status=404)) == []
    assert not says(of, old(3))


def test_a_circle_of_redirects_is_left_after_four_hops() -> None:
    of = bench()
    (probe,) = requests([*learn(of, old(1)), *learn(of, old(2))])
    asked, n = [probe], 0
    while asked:
        n += 1
        asked = requests(tell(of, answer(asked[0], status=302, target=SPACE.url(f"http://a.example/round/{n}"))))
        assert n < 10
    assert n == 5


@pytest.mark.parametrize("target", ["http://a.example/login?next=%2Fold%2F{}", "http://a.example/404.asp?404;http://a.example:80/old/{}"])
def test_targets_that_quote_the_original_are_one_target(target: str) -> None:
    of = bench()
    (probe,) = requests(learn(of, old(1, target.format(1))))
    effects = tell(of, answer(probe, status=302, target=SPACE.url(SPACE.canonical(target.format(probe.rpartition("/")[2])))))
    assert revised(effects) == {old(1).original.key: True}
    assert says(of, old(2, target.format(2)))["n_to_target"] == 2
    links = of.panel.links(batch(target.format(9), "http://a.example/other", source="http://a.example/old/9")).judgement
    assert links.admitted.tolist() == [False, True]


def test_home_pages_and_seeds_are_exempt_unless_a_gate_stands_there() -> None:
    of = bench()
    home, seed = pair("http://a.example/", LOST), replace(old(9), original=url("http://a.example/old/9", 0))
    (probe,) = requests([*learn(of, old(1)), *learn(of, old(2))])
    tell(of, answer(probe, status=302, target=SPACE.url(LOST)))
    assert says(of, old(3))
    assert not says(of, home)
    assert not says(of, seed)
    gate = replace(page(LOST, "This domain is for sale. Related searches: cheap flights"), url=replace(url(LOST), hops=1))
    learn(of, gate)
    assert says(of, home)["kind"] == says(of, seed)["kind"] == "parked"


@pytest.mark.parametrize("status", [404, 410, 500, 503])
def test_a_target_with_an_error_status_hides_nothing(status: int) -> None:
    of = bench(threshold=0.1)
    pairs = [replace(old(i), status=status) for i in range(20)]
    assert not [effect for subject in pairs for effect in learn(of, subject)]
    assert not says(of, pairs[-1])


# -- pages


def at(text: str, body: str = NOT_FOUND, title: str = "", hops: int = 0) -> Page:
    return replace(page(text, body), url=replace(url(text), hops=hops), title=title)


def test_a_page_that_says_not_found_waits_for_its_probe_and_is_revised() -> None:
    of = bench()
    suspect = at("http://a.example/x/1")
    assert not says(of, suspect)
    (probe,) = requests(learn(of, suspect))
    effects = tell_with_control(of, answer(probe, at(probe)))
    assert revised(effects) == {suspect.url.key: True}
    assert says(of, at("http://a.example/x/2"))["probe"] == "same_text"
    assert not says(
        of, at("http://a.example/x/3", "Of pages that could not be found: an article of other words, and of many more of them.")
    )


def test_other_directories_of_the_host_need_no_probe_of_their_own() -> None:
    of = bench()
    (probe,) = requests(learn(of, at("http://a.example/x/1")))
    tell_with_control(of, answer(probe, at(probe)))
    assert says(of, at("http://a.example/y/1"))["kind"] == "soft_404"


def test_a_home_page_or_seed_that_looks_like_the_probe_is_none_unless_it_is_a_gate() -> None:
    """Mutation: `PageGate` judged home pages and seeds as it judges others."""
    of = bench()
    (probe,) = requests(learn(of, at("http://a.example/x/1")))
    tell_with_control(of, answer(probe, at(probe)))
    seed = replace(at("http://a.example/x/2"), url=url("http://a.example/x/2", 0))
    assert says(of, at("http://a.example/x/2"))
    assert not says(of, at("http://a.example/"))
    assert not says(of, seed)
    parked = "This domain is for sale. Related searches: cheap flights, car insurance, new phones, games and loans"
    of = bench()
    (probe,) = requests(learn(of, at("http://a.example/x/1", parked)))
    tell(of, answer(probe, at(probe, parked)))
    assert says(of, at("http://a.example/", parked))["kind"] == "parked"


def test_an_honest_404_clears_a_page_that_talks_of_errors() -> None:
    of = bench()
    article = at("http://a.example/x/1")
    (probe,) = requests(learn(of, article))
    assert tell(of, answer(probe, page(probe, NOT_FOUND, status=404))) == []
    assert not says(of, article)


def test_of_a_thin_template_two_probes_tell_and_no_more_are_asked() -> None:
    """Both probes show an advertisement of their own; an honest page differs by more than they do."""
    template = " ".join(f"menu{i}" for i in range(40))
    texts = {
        name: f"{template} page not found, sorry {ad}"
        for name, ad in {"1": "apples and pears", "2": "plums and figs", "3": "nuts and dates"}.items()
    }
    of = bench()
    suspect, honest = (
        at("http://a.example/x/1", texts["1"]),
        at("http://a.example/x/2", f"{template} found not only there: our offers of today"),
    )
    first = requests(learn(of, suspect))
    second = requests(tell(of, answer(first[0], at(first[0], texts["2"]))))
    assert len(first) == len(second) == 1
    assert first != second
    effects = tell_with_control(of, answer(second[0], at(second[0], texts["3"])))
    assert revised(effects) == {suspect.url.key: True}
    assert not requests(effects)
    assert not says(of, honest)
    assert not requests(learn(of, honest))


@pytest.mark.parametrize("title", ["Just a moment...", "Making sure you're not a bot!", "Attention Required! | Cloudflare"])
def test_a_challenge_is_set_aside_at_once_and_three_of_them_park_a_host_that_shows_nothing_else(title: str) -> None:
    """P49."""
    challenges = [at(f"http://a.example/{i}", f"Ray {i}", title) for i in range(4)]
    of = bench()
    effects = [learn(of, challenge) for challenge in challenges]
    assert all(says(of, challenge)["kind"] == "challenge" for challenge in challenges)
    assert [Park("http://a.example", Reason.WALLED) in asked for asked in effects] == [False, False, True, False]
    of = bench()
    learn(of, page("http://a.example/good"))
    assert not [effect for challenge in challenges for effect in learn(of, challenge) if isinstance(effect, Park)]


def test_an_article_with_the_title_of_a_challenge_is_none() -> None:
    article = at("http://a.example/1", " ".join(f"word{i}" for i in range(200)), "Just a moment: a novel")
    assert not says(bench(), article)


# -- what is no evidence


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
    """Mutation: nothing was asked about what was set aside at sight."""
    of = bench()
    stub = at("http://a.example/x/1", "What we check, and how often. More of it soon.", "Security check")
    assert says(of, stub)["kind"] == "challenge"
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


# -- links


def test_a_directory_that_answers_everything_is_closed_and_a_good_page_opens_it() -> None:
    of = bench(give_up_after=5)
    (probe,) = requests([*learn(of, old(1)), *learn(of, old(2))])
    links = batch("http://a.example/old/99", "http://a.example/new/1")
    tell(of, answer(probe, status=302, target=SPACE.url(LOST)))
    for i in range(3, 6):
        assert of.panel.links(links).judgement.admitted.all()
        learn(of, old(i))
    assert of.panel.links(links).judgement.admitted.tolist() == [False, True]
    assert of.panel.turn(url("http://a.example/old/98")).refused is not None
    assert of.panel.turn(url("http://a.example/old/98", 0)).refused is None, "a seed is fetched all the same"
    learn(of, at("http://a.example/old/50", " ".join(f"good{i}" for i in range(30))))
    assert of.panel.links(links).judgement.admitted.all()
    assert of.panel.turn(url("http://a.example/old/98")).refused is None
