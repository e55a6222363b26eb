"""Decay, audits, expected yields."""

from __future__ import annotations

import pytest

from thresher.filters.evidence.audits import audits_due, draw_order
from thresher.filters.evidence.decay import Recent
from thresher.filters.evidence.posterior import expected, lower_share, pooled


def test_the_order_of_drawing_is_that_of_nobody() -> None:
    """The first hundred of a class are a sample of all of it: neither early nor late, and other ones with another key or class."""
    keys = [b"%d" % i for i in range(2_000)]
    order = sorted(range(2_000), key=lambda i: draw_order(b"secret", b"class", keys[i]))
    assert 850 < sum(order[:100]) / 100 < 1_150
    for secret, holder in ((b"other", b"class"), (b"secret", b"another")):
        other = sorted(range(2_000), key=lambda i: draw_order(secret, holder, keys[i]))
        assert len(set(order[:100]) & set(other[:100])) < 20


def test_audits_keep_to_their_share() -> None:
    assert [audits_due(known, 0, 0.02) for known in (0, 49, 50, 500)] == [0, 0, 1, 10]
    assert audits_due(500, 10, 0.02) == 0
    assert audits_due(500, 12, 0.02) == 0


def test_what_was_long_ago_is_forgotten() -> None:
    recent = Recent()
    for _ in range(200):
        recent.learn(True, window=20)
    for _ in range(60):
        recent.learn(False, window=20)
    assert recent.n == pytest.approx(20, abs=0.1)
    assert recent.s < 1.0
    assert recent.streak == 60


def test_a_class_that_was_seldom_fetched_is_expected_to_be_like_the_others() -> None:
    assert expected(Recent(), 0.3) == pytest.approx(0.3)
    assert expected(Recent(60, 0), 0.3) < 0.02
    assert pooled([Recent(60, 30), Recent(60, 0)]) == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize(("n", "s"), [(0, 0), (1, 1), (4, 4), (50, 25), (50, 50)])
def test_the_lower_share_lies_below(n: int, s: int) -> None:
    assert 0 <= lower_share(n, s) <= (s / n if n else 0)
