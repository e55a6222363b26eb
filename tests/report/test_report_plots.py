"""Plots show what they are given, within their frame, whatever that is."""

from __future__ import annotations

import math
import re

from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.report.blocks import bounded
from thresher.crawler.report.svg import Axis, Series, columns, lines, share_bar, stacked_bar

POINTS = st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e12)), max_size=20).map(sorted)
X, Y = Axis("seconds"), Axis("pages")


def coordinates(svg: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for path in re.findall(r' d="([^"]+)"', svg) for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)", path)]


@given(POINTS)
def test_every_point_of_a_line_lies_in_the_frame(points: list[tuple[float, float]]) -> None:
    drawn = coordinates(lines([Series("one", points, is_filled=True)], X, Y))
    assert len(drawn) == (0 if len(points) < 2 else 2 * len(points) + 2)
    assert all(0 <= x <= 400 and 0 <= y <= 210 for x, y in drawn)


def test_the_greatest_value_reaches_the_top_and_nought_the_base() -> None:
    (_, base), (_, top) = coordinates(lines([Series("one", [(0, 0), (1, 8)])], X, Y))
    assert (base, top) == (172.0, 10.0)


def test_what_is_no_number_is_left_out() -> None:
    svg = lines([Series("one", [(0, 1), (1, math.nan), (2, math.inf), (3, 2)])], X, Y)
    assert len(coordinates(svg)) == 2
    assert "nan" not in svg
    assert "inf" not in svg


def test_plots_of_nothing_are_plots() -> None:
    for svg in (lines([], X, Y), lines([Series("one", [])], X, Y), columns([], X, Y), stacked_bar([]), share_bar(math.pi)):
        assert svg.startswith("<svg")
        assert svg.endswith("</svg>")


def test_one_point_is_a_dot() -> None:
    assert lines([Series("one", [(3, 4)])], X, Y).count("<circle") == 1


def test_columns_are_named_and_as_high_as_their_values() -> None:
    svg = columns([("<1", 2.0), ("<2", 4.0)], X, Y, [1.0, 4.0])
    heights = [float(height) for height in re.findall(r' height="([\d.]+)"', svg)]
    assert heights == [81.0, 40.5, 162.0, 162.0]
    assert "&lt;1: 2, of these 1" in svg


def test_bins_are_named_by_their_upper_bounds() -> None:
    assert bounded((1.0, 2.0, 5.0), [0, 3, 0, 1]) == [("<2", 3.0), ("<5", 0.0), ("≥5", 1.0)]
    assert bounded((1.0,), [0, 0]) == []
