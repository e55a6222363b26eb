"""Sessions, levels and actions out of requests; fits to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from thresher.crawler.core.access_log import LoggedRequest, parse
from thresher.filters.depth_cutoff.chains import Action
from thresher.filters.depth_cutoff.fit import best, depths, fit, fits, of_actions
from thresher.filters.depth_cutoff.models import MODELS, Model, share, stationary
from thresher.filters.depth_cutoff.sessions import Sessions, from_log, from_paths

OWN = "http://a.example"


def get(
    path: str, at: int, referer: str | None = "-", *, client: str = "1.2.3.4", agent: str | None = "Mozilla", status: int = 200
) -> LoggedRequest:
    own = OWN + referer if referer and referer.startswith("/") else referer
    return LoggedRequest(client, at, "GET", path, status, 100, own, agent)


def told(*requests: LoggedRequest, **options: Any) -> Sessions:
    return from_log(requests, host="a.example", **options)


def names(of: Sessions) -> list[str]:
    return [Action(action).name for action in of.reached_by]


# -- levels and actions


def test_a_page_is_one_level_below_the_page_that_refers_to_it() -> None:
    of = told(get("/", 0), get("/a", 10, "/"), get("/b", 20, "/a"))
    assert of.levels.tolist() == [0, 1, 2]
    assert names(of) == ["START", "NEXT", "NEXT"]


def test_a_referer_other_than_the_page_before_was_seen_in_between() -> None:
    """Mutation: the pages between are not filled in, and /c seems to follow /b by a click forward."""
    of = told(get("/", 0), get("/a", 10, "/"), get("/b", 20, "/a"), get("/c", 30, "/"))
    assert of.levels.tolist() == [0, 1, 2, 0, 1]
    assert names(of) == ["START", "NEXT", "NEXT", "START", "NEXT"]
    assert of.n_filled == 1


def test_a_page_keeps_the_level_on_which_it_was_seen_first() -> None:
    of = told(get("/", 0), get("/a", 10, "/"), get("/b", 20, "/a"), get("/a", 30, "/b"), get("/", 40, "/a"))
    assert of.levels.tolist() == [0, 1, 2, 1, 0]
    assert names(of)[3:] == ["BACK", "BACK"]


def test_a_way_up_by_two_levels_is_prev_but_start_if_the_session_began_there() -> None:
    of = told(
        get("/", 0), get("/a", 10, "/"), get("/b", 20, "/a"), get("/c", 30, "/b"), get("/a", 40, "/c"), get("/c", 50), get("/", 60, "/c")
    )
    assert names(of)[4:] == ["PREV", "FWD", "START"]


def test_a_page_that_nothing_of_the_site_refers_to_is_a_jump_to_level_0() -> None:
    of = told(get("/", 0), get("/a", 10, "/"), get("/x", 20, "http://search.example/?q=x"))
    assert (of.levels.tolist(), names(of)[-1]) == ([0, 1, 0], "JUMP")


def test_a_reload_stays() -> None:
    assert names(told(get("/", 0), get("/", 10), get("/", 20, "/"))) == ["START", "STAY", "STAY"]


def test_without_referers_new_pages_lead_on_from_the_one_before() -> None:
    of = from_log([get(path, at, None, agent=None) for at, path in enumerate(("/", "/a", "/b", "/a"))])
    assert of.levels.tolist() == [0, 1, 2, 1]


# -- what is a session


def test_half_an_hour_of_silence_ends_a_session_and_clients_do_not_mix() -> None:
    """Mutation: a pause of 1,800 s does not end it."""
    of = told(get("/", 0), get("/", 5, client="5.6.7.8"), get("/a", 1799, "/"), get("/b", 3599, "/a"), get("/", 6, agent="Opera"))
    assert len(of) == 4
    assert sorted(np.diff(np.append(of.starts, len(of.levels))).tolist()) == [1, 1, 2, 2]


def test_requests_are_taken_in_the_order_of_their_time() -> None:
    assert told(get("/b", 20, "/a"), get("/", 0), get("/a", 10, "/")).levels.tolist() == [0, 1, 2]


def test_what_no_visitor_looks_at_is_dropped_and_counted() -> None:
    of = told(
        get("/", 0),
        get("/style.css?v=2", 1, "/"),
        get("/logo.PNG", 1, "/"),
        get("/", 2, agent="Googlebot/2.1"),
        get("/robots.txt", 3, client="9.9.9.9"),
        get("/a", 4, client="9.9.9.9"),
        get("/?x=../../etc/passwd", 5),
        get("/gone", 6, status=404),
        get("/a", 7, "/", status=304),
        LoggedRequest("1.2.3.4", 8, "POST", "/form", 200, 1, "-", "Mozilla"),
        get("/mail/inbox", 9, "/"),
        exclude=re.compile("^/mail/"),
    )
    assert of.levels.tolist() == [0, 1]
    dropped = of.dropped
    assert (dropped.robots, dropped.attacks, dropped.embedded, dropped.excluded, dropped.other) == (3, 1, 2, 1, 2)


def test_frames_are_part_of_their_page() -> None:
    """A frame asked for within a second of its frameset is no view, and a link in it leads on from the frameset."""
    of = told(get("/", 0), get("/menu", 1, "/"), get("/main", 1, "/"), get("/a", 20, "/menu"))
    assert (of.levels.tolist(), of.dropped.frames, of.n_filled) == ([0, 1], 2, 0)


def test_the_site_is_the_host_that_referers_name_most() -> None:
    of = from_log([get("/", 0), get("/a", 9, "/"), get("/b", 19, "/a"), get("/c", 29, "http://else.example/b")])
    assert (of.own_host, of.levels.tolist()) == ("a.example", [0, 1, 2, 0])


def test_an_empty_log_has_no_sessions() -> None:
    assert len(from_log([])) == 0


def test_clicks_back_lead_up() -> None:
    of = from_paths([["A", "B", "<", "C", "D"], ["A", "<"]])
    assert of.levels.tolist() == [0, 1, 0, 1, 2, 0]
    assert names(of) == ["START", "NEXT", "BACK", "NEXT", "NEXT", "START"]


# -- lines


LINE = '1.2.3.4 - bob [17/May/2015:10:05:03 +0200] "GET /a?b=c HTTP/1.1" 200 2326'


def test_a_line_in_either_format_is_read() -> None:
    at = 1431849903
    assert parse(LINE) == LoggedRequest("1.2.3.4", at, "GET", "/a?b=c", 200, 2326, None, None)
    assert parse(LINE + r' "http://a.example/" "Mo\"zilla"') == LoggedRequest(
        "1.2.3.4", at, "GET", "/a?b=c", 200, 2326, "http://a.example/", r"Mo\"zilla"
    )
    assert parse(LINE.replace("2326", "-")) == LoggedRequest("1.2.3.4", at, "GET", "/a?b=c", 200, -1, None, None)


@pytest.mark.parametrize(
    "asked", ["-", "", r"\x16\x03\x01\x02", "garbage", "PROPFIND /a HTTP/1.1", "M-SEARCH * HTTP/1.1", "get / HTTP/1.0"]
)
@pytest.mark.parametrize("rest", ["408 -", '408 0 "-" "-"', '400 226 "-" "-" 0.001'])
def test_a_line_without_a_request_is_a_log_line(asked: str, rest: str) -> None:
    """Apache and nginx write such a line for a connection that times out before a request.

    Mutation: the line must have a method in capitals.
    """
    found = parse(f'1.2.3.4 - - [17/May/2015:10:05:03 +0200] "{asked}" {rest}')
    assert found is not None
    method, _, target = asked.removesuffix(" HTTP/1.1").removesuffix(" HTTP/1.0").rpartition(" ")
    assert (found.status, found.method, found.target) == (int(rest[:3]), method, target)


def test_connections_without_a_request_are_no_views_and_make_no_robot() -> None:
    silent = [LoggedRequest("1.2.3.4", at, "", "-", 408, 0, "-", "-") for at in range(30)]
    of = told(*silent, get("/", 40), get("/a", 50, "/"))
    assert (len(of), of.levels.tolist(), of.dropped.robots, of.dropped.other) == (1, [0, 1], 0, 30)


@pytest.mark.parametrize(
    "line",
    ["", LINE[:40], LINE + ' "http://a.example/" "Mozi', LINE.replace("May", "Mai"), LINE.replace("17/", "37/"), "{}", "GET / HTTP/1.1"],
)
def test_a_torn_line_is_none(line: str) -> None:
    assert parse(line) is None


# -- measures and fits


def of_levels(sessions: Sequence[Sequence[int]]) -> Sessions:
    starts = np.cumsum([0, *map(len, sessions)])[:-1]
    levels = np.concatenate([np.array(session) for session in sessions]).astype(np.int32)
    return Sessions(levels, np.zeros(len(levels), np.int8), starts)


def test_depths_are_counted_by_view_and_by_session() -> None:
    of = depths(of_levels([[0], [0, 1, 2], [0, 1]]))
    assert (of.n_sessions, of.n_views, of.by_level.tolist(), of.by_session.tolist()) == (3, 6, [3, 2, 1], [1, 1, 1])
    assert [of.mean_length, of.single_share] == pytest.approx([2, 1 / 3])
    assert of.levels == (0, 1, 2, 2)


def test_actions_are_counted_by_the_level_that_they_leave() -> None:
    of = depths(from_paths([["A", "B", "<", "C"], ["A"]]))
    assert (of.actions[0][Action.NEXT], of.actions[0][Action.EXIT]) == (2, 1)
    assert (of.actions[1][Action.BACK], of.actions[1][Action.EXIT]) == (1, 1)


@pytest.mark.parametrize(("model", "q"), [("A", 0.35), ("B", 0.6), ("C", 0.45)])
def test_a_model_s_own_views_give_its_q_back(model: Model, q: float) -> None:
    """Mutation: least squares on the shares of single levels; in model C, without the factor of the share."""
    by_level = np.round(1e9 * stationary(model, q, 200)).astype(np.int64)
    found = fit(model, by_level)
    assert [found.q, found.q_likely] == pytest.approx([q, q], abs=1e-6)
    assert found.error < 1e-8
    assert best(fits(by_level)) == ("C" if model == "C" else "B")


def test_least_squares_and_likelihood_are_each_best_at_what_they_say() -> None:
    by_level = np.array([50, 20, 14, 9, 4, 2, 1])
    levels = np.arange(len(by_level))
    for model in MODELS:
        found = fit(model, by_level)
        for other in (found.q_likely - 0.01, found.q_likely + 0.01):
            logs = np.log(stationary(model, other, len(by_level)))
            assert by_level @ logs / by_level.sum() < found.log_likelihood
        cumulative = np.cumsum(by_level) / by_level.sum()
        errors = [float(np.sqrt(np.mean((cumulative - share(model, q, levels)) ** 2))) for q in (found.q - 1e-3, found.q + 1e-3)]
        assert min(errors) > found.error


def test_measured_actions_come_to_the_measured_shares() -> None:
    """Simulated visitors follow model B; the actions that are counted in their logs, taken as a chain, lead to B's shares again."""
    rng = np.random.default_rng(3)
    paths = [["x"] * int(length) for length in rng.geometric(1 - 0.6, 20_000)]
    of = depths(from_paths(paths))
    shares, levels = of_actions(of.actions)
    assert np.cumsum(shares)[:6] == pytest.approx(of.cumulative()[:6], abs=2e-3)
    assert levels == of.levels


def test_no_views_cannot_be_fitted() -> None:
    with pytest.raises(ValueError, match="found none"):
        fit("B", np.zeros(3, np.int64))
