"""The filter's gates on subjects made by hand: what is asked, what is said at once, what is said later."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from soft_bench import DAY_S, LOST, NOT_FOUND, at, bench, learn, old, requests, revised, says, tell, tell_with_control, url
from subjects import SPACE, answer, batch, page, pair
from webs import Bench

from thresher.config.settings import ExactDuplicateSettings, SoftErrorSettings
from thresher.crawler.core.effects import Hurry, Park, Request
from thresher.crawler.core.model import Page, Purpose, Reason
from thresher.filters import exact_duplicate
from thresher.filters.soft_error.filter import spec
from thresher.filters.soft_error.probe import directory_of

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


def test_a_plain_text_that_tells_of_errors_asks_for_nothing() -> None:
    """A log: where any name leads to the file, a probe would show it, too. Mutation: plain texts are read for phrases."""
    of = bench()
    log = replace(at("http://a.example/file50/log.txt"), mime_type="text/plain")
    assert not requests(learn(of, log))
    assert not says(of, log)


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


def test_a_probe_waits_until_twenty_suspects_do() -> None:
    """Mutations: it never waits, though most suspects are honest; or it waits though a whole site shows nothing else."""
    of = bench()
    asked = [effect for i in range(45) for effect in learn(of, at(f"http://a.example/x/{i}"))]
    (probe,) = [effect for effect in asked if isinstance(effect, Request)]
    assert probe.can_wait
    assert [effect for effect in asked if effect is not probe] == [Hurry("http://a.example", Purpose.PROBE)] * 2
    (control,) = [effect for effect in tell(of, answer(probe.url, at(probe.url))) if isinstance(effect, Request)]
    assert not control.can_wait, "so many wait for it"


def test_of_a_host_with_good_pages_twenty_suspects_are_wanted_for_each_request() -> None:
    of = bench()
    learn(of, at("http://a.example/", "all is well here " * 9))
    for directory in "xyz":
        assert requests(learn(of, at(f"http://a.example/{directory}/0")))
    asked = [[isinstance(effect, Hurry) for effect in learn(of, at(f"http://a.example/x/{i}"))] for i in range(1, 70)]
    assert asked.index([True]) == 60 - 3 - 1


def test_a_copy_of_a_suspect_is_judged_with_it() -> None:
    """Probes may come late, and a copy of a page that is an error is none less. Mutation: copies were no suspects: of 20 missing pages of a
    wiki 8 were not found.
    """
    of = Bench.of([exact_duplicate.spec(ExactDuplicateSettings(min_tokens=4)), spec(SoftErrorSettings())])

    def unwritten(name: str, query: str = "") -> Page:
        body = " ".join((name, *(f"leer{i}" for i in range(30)), name))
        return at(f"http://a.example/wiki/{name}{query}", body)

    learn(of, at("http://a.example/wiki/article", " ".join(f"word{i}" for i in range(90))))
    learn(of, unwritten("pear"))
    asked = requests(learn(of, unwritten("plum")))
    copy = unwritten("plum", "?ref=home")
    assert not requests(learn(of, copy)), "no request of its own"
    probe = asked[0]
    effects = tell_with_control(of, answer(probe, unwritten(probe.rpartition("/")[2])))
    assert revised(effects)[copy.url.key]
    assert len(revised(effects)) == 3


@pytest.mark.parametrize("title", ["Just a moment...", "Making sure you're not a bot!", "Attention Required! | Cloudflare"])
def test_a_challenge_is_called_a_gate_at_once_and_three_of_them_park_a_host_that_shows_nothing_else(title: str) -> None:
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
