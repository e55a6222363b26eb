"""Views from browsers' caches, intervals, and when a log says enough for advice: by simulated surfers whose q is known."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from thresher.crawler.core.access_log import LoggedRequest
from thresher.filters.depth_cutoff.fit import Depths, depths, fit, fits, suggested
from thresher.filters.depth_cutoff.interval import of_mean, of_share
from thresher.filters.depth_cutoff.models import Model
from thresher.filters.depth_cutoff.sessions import Sessions, from_log, from_paths

_OWN = "http://a.example"


def surfers(q: float, model: Model, n: int, *, leaves: float, has_cache: bool, seed: int = 5) -> Iterator[LoggedRequest]:
    """Yield the log of n sessions: with q a click on a new page; else she leaves, on the first page or by chance; else she goes back.

    has_cache: the browser shows again what it has; else it asks the server for it.
    """
    rng = np.random.default_rng(seed)
    n_pages = 0
    for session in range(n):
        path, at = ["/"], 0
        yield LoggedRequest(f"c{session}", at, "GET", "/", 200, 1, "-", "M")
        while True:
            at += 20
            if rng.random() < q:
                n_pages += 1
                yield LoggedRequest(f"c{session}", at, "GET", f"/p{n_pages}", 200, 1, _OWN + path[-1], "M")
                path.append(f"/p{n_pages}")
                continue
            if len(path) == 1 or rng.random() < leaves:
                break
            del path[{"A": len(path) - 1, "B": 1, "C": int(rng.integers(1, len(path) + 1))}[model] :]
            if not has_cache:
                yield LoggedRequest(f"c{session}", at, "GET", path[-1], 200, 1, "-", "M")


def measured(q: float, model: Model, n: int, **of: float) -> Depths:
    return depths(from_log(surfers(q, model, n, leaves=of["leaves"], has_cache=bool(of["has_cache"])), host="a.example"))


@pytest.mark.parametrize(("q", "naive"), [(0.3, 0.325), (0.6, 0.62)])
def test_clicks_back_that_browsers_answer_from_their_caches_do_not_raise_q(q: float, naive: float) -> None:
    """In these logs the browser answered every click back from its cache, so the server saw none of them.

    Mutation: only the clicks back that a Referer shows are added.
    """
    of = measured(q, "B", 3000, leaves=0, has_cache=True)
    found = of.fits()["B"]
    assert fit("B", of.by_level).q > naive
    assert found.q == pytest.approx(q, abs=0.015)
    assert found.q_likely == pytest.approx(q, abs=0.015)
    assert found.q_interval[0] < q < found.q_interval[1]


@pytest.mark.parametrize("model", ["A", "B"])
@pytest.mark.parametrize("leaves", [0.2, 0.6])
@pytest.mark.parametrize("q", [0.3, 0.6])
def test_a_log_with_caches_fits_as_the_same_surfers_without(q: float, model: Model, leaves: float) -> None:
    cached, whole = (measured(q, model, 1500, leaves=leaves, has_cache=has_cache) for has_cache in (True, False))
    assert cached.fits()["B"].q == pytest.approx(fit("B", whole.by_level).q, abs=0.015)


def test_a_log_that_shows_every_view_stays_as_it_is() -> None:
    whole = measured(0.5, "B", 200, leaves=0, has_cache=False)
    assert whole.views.tolist() == whole.by_level.tolist()
    assert whole.n_cached == 0


def test_no_more_views_are_added_than_sessions_could_have_had() -> None:
    """Links that are opened in tabs look as if the visitor had gone back after each, since hardly any click comes from the page before.

    Mutation: no bound on the views that are added.
    """
    log = [LoggedRequest(f"c{i}", 0, "GET", "/", 200, 1, "-", "M") for i in range(100)]
    log += [LoggedRequest(f"c{i}", 10 * k, "GET", f"/p{k}", 200, 1, f"{_OWN}/", "M") for i in range(100) for k in (1, 2, 3)]
    of = depths(from_log(log, host="a.example"))
    assert of.by_level.tolist() == [300, 300]
    assert of.views.tolist() == [300, 300]  # each first page's next click was on it: q is 1
    sparse = [request for request in log if request.target != "/p1" or int(request.client[1:]) < 5]
    assert depths(from_log(sparse, host="a.example")).views[0] <= 300 + 100


# -- intervals


def test_intervals_hold_q_as_often_as_they_say() -> None:
    """100 logs of 60 sessions, q likely of model B. Mutation: views were taken for independent, groups for more than they are."""
    held = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        of = depths(from_paths([["x"] * int(length) for length in rng.geometric(1 - 0.5, 60)]))
        low, high = fit("B", of.views, of.views_without, n_draws=float(of.n_views)).q_likely_interval
        held += low <= 0.5 <= high
    assert held >= 90


def test_one_step_in_many_views_has_a_wide_interval_and_none_has_one_too() -> None:
    views = [["x"]] * 210
    for paths, most in (([*views, ["x", "y"]], 0.06), (views, 0.03)):
        low, high = depths(from_paths(paths)).fits()["B"].q_interval
        assert low < 0.005
        assert 0.01 < high < most


def test_of_one_session_nothing_is_known() -> None:
    of = depths(from_paths([["a", "b", "c"]]))
    assert of.fits()["B"].q_interval == (0.0, 1.0)
    assert of.fits()["A"].q_interval == (0.0, 0.5)
    assert of.mean_length_interval == (-np.inf, np.inf)


def test_groups_that_say_the_same_leave_the_interval_of_a_share() -> None:
    low, high = of_share(0.5, [0.5] * 30, 100)
    assert (low, high) == pytest.approx((0.400, 0.600), abs=0.005)
    assert of_mean(2.0, [1.9, 2.1]) == pytest.approx((2.0 - 1.27062, 2.0 + 1.27062), abs=1e-4)


# -- advice


def paths(n_steps: int, n_sessions: int) -> Sessions:
    """Return sessions of one page, and among them some that go one step deeper, spread evenly."""
    goes_on = [i * n_steps // n_sessions != (i + 1) * n_steps // n_sessions for i in range(n_sessions)]
    return from_paths([["x", "y"] if deeper else ["x"] for deeper in goes_on])


def test_no_q_is_suggested_below_the_evidence_that_is_stated() -> None:
    """Mutation: a q was suggested whatever the log."""
    for sessions, said in ((paths(1, 211), "50 steps are wanted"), (paths(49, 400), "50 steps are wanted")):
        of = depths(sessions)
        q, why = suggested(of, of.fits()["B"])
        assert q is None
        assert said in why
    of = depths(paths(60, 400))
    q, why = suggested(of, of.fits()["B"])
    assert q == of.fits()["B"].q
    assert "60 steps deeper in 400 sessions" in why


def test_no_q_is_suggested_by_an_interval_that_is_too_wide_or_a_log_without_referers() -> None:
    rng = np.random.default_rng(2)
    few = depths(from_paths([["x"] * int(length) for length in rng.geometric(0.2, 20)]))
    assert few.n_steps >= 50
    assert suggested(few, fits(few.views, few.views_without, n_draws=few.n_views)["B"])[0] is None
    blind = depths(from_log([LoggedRequest(f"c{i}", at, "GET", f"/{at}", 200, 1, None, None) for i in range(300) for at in (0, 10)]))
    q, why = suggested(blind, blind.fits()["B"])
    assert q is None
    assert "no Referers" in why
