"""`python -m benchmarks.living walls`: when which wall stands, what it answers, and once from end to end before a tiny site."""

from __future__ import annotations

import random
import re
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path

import pytest
from forking_agents import forking_commands
from tiny_site import SITE, page, serving_tiny

from benchmarks.living.barriers import Kind, Schedule, changed, instead, without_session
from benchmarks.living.proxy import walled
from benchmarks.living.recorded_site import served_again
from benchmarks.living.recordings import record
from benchmarks.living.walls import AFTERMATH, NEVER_SHOWN, before_recording, blame, through


def stood(schedule: Schedule, n_requests: int) -> list[Kind | None]:
    """Return the wall that stands at each request, which it answers or not."""
    return [(schedule.next(), schedule.standing)[1] for _ in range(n_requests)]


def test_every_kind_of_wall_stands_once_before_any_stands_again_and_the_site_is_itself_between_them() -> None:
    kinds = stood(Schedule(1, lambda: 0.0), 2_000)
    turns = [kind for before, kind in zip([None, *kinds], kinds, strict=False) if kind is not None and kind is not before]
    assert set(turns[: len(Kind)]) == set(Kind)
    assert all(before is None or kind is None or kind is before for before, kind in zip([None, *kinds], kinds, strict=False))


def test_a_seed_decides_everything() -> None:
    assert stood(Schedule(7, lambda: 0.0), 500) == stood(Schedule(7, lambda: 0.0), 500) != stood(Schedule(8, lambda: 0.0), 500)


def test_a_wall_that_nobody_comes_to_falls_with_time() -> None:
    now = [0.0]
    schedule = Schedule(1, lambda: now[0], [Kind.LIMIT])
    while schedule.next() is None:
        pass
    now[0] = 60.0
    assert schedule.next() is None


def test_walls_of_a_faster_pace_stand_and_are_waited_for_a_part_of_their_time() -> None:
    now = [0.0]
    for pace, stands in ((1, True), (4, False)):
        now[0] = 0.0
        schedule = Schedule(1, lambda: now[0], [Kind.LIMIT], pace)
        while schedule.next() is None:
            pass
        now[0] = 2.0
        assert (schedule.next() is not None) == stands
    answers = [instead(Kind.LIMIT_TIMED, "/", random.Random(1), pace) for pace in (1, 2, 7)]
    assert [answer and answer.headers["Retry-After"] for answer in answers] == ["2", "1", "1"]


@pytest.mark.parametrize("kind", Kind)
def test_a_wall_answers_by_itself_or_changes_what_the_site_answers(kind: Kind) -> None:
    answer, html = instead(kind, "/3", random.Random(1)), page(3)
    assert (answer is None) == (changed(kind, html, random.Random(1), [page(7)]) != html)


def test_a_wall_answers_every_second_request() -> None:
    schedule = Schedule(1, lambda: 0.0, [Kind.EVERY_SECOND])
    answered = [(schedule.next(), schedule.standing) for _ in range(500)]
    assert not any(one and other for (one, _), (other, _) in pairwise(answered))
    n_standing = sum(standing is not None for _, standing in answered)
    assert abs(sum(kind is not None for kind, _ in answered) - n_standing / 2) <= 10


def test_a_wall_that_changes_pages_leaves_a_teaser_or_no_links_or_the_words_in_another_order() -> None:
    html, rng = page(3), random.Random(1)
    teaser, old = changed(Kind.TEASERS, html, rng), changed(Kind.OLD_STATE, html, rng)
    assert teaser.count("word3x") == 28, "the first thirty words, two of them the heading's"
    assert "<a " not in teaser
    assert changed(Kind.UNLINKED, html, rng) == re.sub('<a href="[^"]*">', "<a>", html)
    assert sorted(re.findall(r"\w+", old)) == sorted(re.findall(r"\w+", html))
    assert old == changed(Kind.OLD_STATE, html, rng) != html
    assert changed(Kind.OTHER_PAGE, html, rng, [page(7)]) == page(7)


def test_sessions_are_minted_anew_and_the_site_never_sees_them() -> None:
    rng = random.Random(1)
    one, other = changed(Kind.SESSIONS, page(3), rng), changed(Kind.SESSIONS, page(3), rng)
    assert one != other
    assert '"/7?sid=' in one
    assert '"/7?view=print&amp;sid=' not in one
    assert without_session("/7?view=print&sid=0123456789abcdef") == "/7?view=print"
    assert without_session("/7?sid=0123456789abcdef") == "/7"


def test_a_redirect_adds_a_session_once_or_without_end() -> None:
    once, then = (instead(Kind.SESSION_REDIRECTS, path, random.Random(1)) for path in ("/3?view=print", "/3?sid=0123456789abcdef"))
    assert once is not None
    assert without_session(once.headers["Location"]) == "/3?view=print" != once.headers["Location"]
    assert then is None, "the site itself answers"
    again = instead(Kind.LOOP, "/3?sid=0123456789abcdef", random.Random(1))
    assert again is not None
    assert without_session(again.headers["Location"]) == "/3" != again.headers["Location"]


def test_a_proxy_hands_on_what_the_site_answers_and_remembers_what_stood(tmp_path: Path) -> None:
    with serving_tiny(tmp_path, is_fronted=True) as place, walled(place, 1, []) as walls:
        connection = HTTPConnection(place.address, place.port, timeout=600)
        for path, status in (("/3?sid=0123456789abcdef", 200), ("/none", 404)):
            connection.request("GET", path, headers={"Host": "tiny.example"})
            response = connection.getresponse()
            assert (response.status, response.read() == page(3).encode()) == (status, status == 200)
        connection.close()
    assert walls.met == {"tiny.example/3?sid=0123456789abcdef": [""], "tiny.example/none": [""]}


def test_a_loss_is_put_down_to_the_wall_that_its_address_met_last() -> None:
    met = {"a.example:80/x": ["", "429"], "a.example:80/y?b=1": [""], "a.example:80/often": ["429"] * 8, "a.example:80/less": ["429"] * 7}
    assert blame(["http://a.example:80/x"], met) == "429"
    assert blame(["http://a.example:80/y?b=1", "http://a.example:80/z"], met) == AFTERMATH
    assert blame(["http://a.example:80/often"], met) == NEVER_SHOWN
    assert blame(["http://a.example:80/less"], met) == "429"
    assert blame(["http://a.example:80/often", "http://a.example:80/y?b=1"], met) == "429", "the site itself has answered"


def test_a_tiny_site_is_crawled_without_walls_and_through_them(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with forking_commands(), serving_tiny(tmp_path, is_fronted=True) as place:
        assert through(SITE, place, tmp_path, [], 3, [Kind.VARIANTS], with_plain=False) == 0
    told = capfd.readouterr().out
    assert "without walls: " in told
    assert "filters: " in told
    assert " behind walls; lost 0 of 16" in told


def test_a_recorded_site_answers_as_it_did_and_walls_stand_before_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What only its sitemap announced was lost. Mutations: redirects and queries were not answered; what is not recorded was 200."""
    with forking_commands():
        with serving_tiny(tmp_path, has_sitemap=True) as place:
            record(SITE, place, tmp_path)
        with served_again(SITE, tmp_path / SITE.name, tmp_path / "again") as again:
            connection = HTTPConnection(again.address, again.own_port, timeout=600)
            for path, status in (("/3?view=print", 200), ("/none", 404)):
                connection.request("GET", path, headers={"Host": f"tiny.example:{again.port}"})
                response = connection.getresponse()
                assert (response.status, response.read() == page(3).encode()) == (status, status == 200)
            connection.close()
        assert again.port == place.port
        assert before_recording(SITE, tmp_path, tmp_path / "walls", [], 3, [Kind.VARIANTS], pace=2) == 0
    assert " behind walls; lost 0 of 17" in capfd.readouterr().out
