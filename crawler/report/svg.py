"""Plots as inline SVG: lines, columns and small bars. They take their colours from the page and need no script.

A plot is drawn 400 units wide and scaled to its column, so that its text stays as large as the page's small print.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10

from thresher.crawler.report.markup import Markup, element, join

_WIDTH, _HEIGHT = 400, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 10, 38
_MOST_TICKS = 5
_LEAST = 1e-300  # the smallest range that an axis can be divided into

Format = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Series:
    """One line: its points are (x, y), x ascending."""

    name: str
    points: Sequence[tuple[float, float]]
    is_filled: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a plot.

    `most`: the value at its end; None: the largest drawn value.
    """

    label: str
    format: Format = lambda value: short(value)
    most: float | None = None


def short(value: float) -> str:
    """Return a number in at most five characters: 0.25, 7, 12k, 3.4M."""
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= scale:
            return f"{value / scale:.3g}{unit}"
    return f"{value:.3g}"


def in_percent(share: float) -> str:
    """Return a share, 0–1, in percent, in at most five characters."""
    return f"{100 * share:.3g}%"


def lines(series: Sequence[Series], x: Axis, y: Axis) -> Markup:
    """Draw up to four lines in one plot; both axes begin at 0."""
    shown = [Series(one.name, [(at, of) for at, of in one.points if isfinite(at) and isfinite(of)], one.is_filled) for one in series]
    points = [point for one in shown for point in one.points]
    frame = _Frame(
        x.most if x.most is not None else max((at for at, _ in points), default=0.0),
        y.most if y.most is not None else max((of for _, of in points), default=0.0),
    )
    drawn = [_line(one, number, frame) for number, one in enumerate(shown, 1)]
    ticks = [(frame.x(value), x.format(value)) for value in nice_ticks(frame.x_most, 6)]
    return _plot(_label(x, y, [one.name for one in shown]), frame, ticks, drawn, x, y)


def columns(values: Sequence[tuple[str, float]], x: Axis, y: Axis, marks: Sequence[float] = ()) -> Markup:
    """Draw a column for each (name, value).

    Args:
        marks: Part of each column that is drawn darker; without marks, all of it.
    """
    frame = _Frame(max(1, len(values)), y.most if y.most is not None else max((value for _, value in values), default=0.0))
    step = (_WIDTH - _LEFT - _RIGHT) / max(1, len(values))
    drawn = []
    for i, (name, value) in enumerate(values):
        left = _LEFT + step * i + step * 0.1
        said = f"{name}: {y.format(value)}" + (f", of these {y.format(marks[i])}" if marks else "")
        parts = [_column(left, step * 0.8, value, frame, "c2" if marks else "c1")]
        parts += [_column(left, step * 0.8, marks[i], frame, "c1")] if marks else []
        drawn.append(element("g", element("title", said), parts))
    every = ceil(len(values) / 9)
    ticks = [(_LEFT + step * (i + 0.5), name) for i, (name, _) in enumerate(values) if i % every == 0]
    return _plot(_label(x, y, [name for name, _ in values[:1]]), frame, ticks, drawn, x, y)


def share_bar(share: float) -> Markup:
    """Draw a bar for a share, 0–1; 1 is as wide as the cell."""
    width = 100 * min(1.0, max(0.0, share))
    return element(
        "svg",
        element("rect", class_="track", width=100, height=8),
        element("rect", class_="c1", width=f"{width:.2f}", height=8),
        class_="bar",
        viewBox="0 0 100 8",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def stacked_bar(parts: Sequence[tuple[str, float]]) -> Markup:
    """Draw up to six (name, value) as parts of one bar."""
    total = sum(value for _, value in parts) or 1.0
    drawn, at = [], 0.0
    for number, (name, value) in enumerate(parts, 1):
        width = 1000 * value / total
        title = element("title", f"{name}: {value:,.0f}")
        drawn.append(element("rect", title, x=f"{at:.1f}", width=f"{width:.1f}", height=24, class_=f"c{number}"))
        at += width
    label = ", ".join(f"{name} {value:,.0f}" for name, value in parts)
    return element("svg", drawn, class_="stack", viewBox="0 0 1000 24", preserveAspectRatio="none", role="img", aria_label=label)


def nice_ticks(most: float, n: int = _MOST_TICKS) -> list[float]:
    """Return up to n + 1 round values from 0 to at most `most`; their distance is 1, 2 or 5 times a power of ten."""
    if not (isfinite(most) and most > _LEAST):
        return [0.0]
    power = 10.0 ** floor(log10(most / n))
    step = next(power * factor for factor in (1, 2, 5, 10, 20) if most / (power * factor) <= n)
    return [step * i for i in range(floor(most / step * (1 + 1e-9)) + 1)]


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where values lie in a plot; both axes begin at 0."""

    x_most: float
    y_most: float

    def x(self, value: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (value / self.x_most if self.x_most > 0 else 0.0)

    def y(self, value: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (value / self.y_most if self.y_most > 0 else 0.0)


def _plot(label: str, frame: _Frame, ticks: Sequence[tuple[float, str]], drawn: Sequence[Markup], x: Axis, y: Axis) -> Markup:
    base = _HEIGHT - _BOTTOM
    grid = []
    for value in nice_ticks(frame.y_most):
        at = round(frame.y(value), 1)
        grid.append(element("line", class_="rung", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=at, y2=at))
        grid.append(element("text", y.format(value), x=_LEFT - 6, y=at + 4, text_anchor="end"))
    names = [element("text", name, x=round(at, 1), y=base + 15, text_anchor="middle") for at, name in ticks]
    axis = element("text", x.label, class_="axis", x=(_LEFT + _WIDTH - _RIGHT) / 2, y=_HEIGHT - 5, text_anchor="middle")
    return element("svg", join((grid, drawn, names, axis)), class_="plot", viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=label)


def _line(series: Series, number: int, frame: _Frame) -> Markup:
    if not series.points:
        return Markup()
    if len(series.points) == 1:
        ((at, of),) = series.points
        return element("circle", cx=f"{frame.x(at):.1f}", cy=f"{frame.y(of):.1f}", r=3.5, class_=f"c{number}")
    path = " L".join(f"{frame.x(at):.1f},{frame.y(of):.1f}" for at, of in series.points)
    drawn = [element("path", d=f"M{path}", class_=f"line l{number}")]
    if series.is_filled:
        base = f"{_HEIGHT - _BOTTOM}"
        ends = f"M{frame.x(series.points[0][0]):.1f},{base} L{path} L{frame.x(series.points[-1][0]):.1f},{base} Z"
        drawn.insert(0, element("path", d=ends, class_=f"area a{number}"))
    return join(drawn)


def _column(left: float, width: float, value: float, frame: _Frame, class_: str) -> Markup:
    top = frame.y(value)
    height = max(0.0, _HEIGHT - _BOTTOM - top)
    return element("rect", x=f"{left:.1f}", y=f"{top:.1f}", width=f"{width:.1f}", height=f"{height:.1f}", class_=class_)


def _label(x: Axis, y: Axis, names: Sequence[str]) -> str:
    return f"{y.label} by {x.label}" + (f": {', '.join(names)}" if len(names) > 1 else "")
