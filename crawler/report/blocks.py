"""The parts that a report is laid out with: sections, figures, tables, lists of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from thresher.crawler.report.markup import Child, Markup, crawled, element
from thresher.crawler.report.svg import share_bar

_MOST_TIME = 253402300800  # the year 10000
_EVEN = 4  # four figures look better in two columns than in three
_LONG, _LONGER = 30, 110  # characters from which a cell is wide, or wider


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the page. id: that of its heading, for links within the page."""

    id: str
    title: str
    body: tuple[Child, ...]

    def html(self) -> Markup:
        return element("section", element("h2", self.title), self.body, id=self.id)


@dataclass(frozen=True, slots=True)
class Bar:
    """A number with a bar before it; the bar's length is a share, 0–1."""

    share: float
    text: str


@dataclass(frozen=True, slots=True)
class SameAbove:
    """The same value as in the row above: the cell is left blank."""


Cell = str | int | float | Bar | SameAbove | None


def note(*text: Child) -> Markup:
    """Return a sentence in small print."""
    return element("p", *text, class_="note")


def figure(title: str, plot: Markup, legend: Sequence[str] = (), *, text: str = "", class_: str | None = None) -> Markup:
    """Return a plot with its title; `legend` names its series in order, `text` says what to read from it."""
    keys = [element("span", element("i", class_=f"key k{number}"), name) for number, name in enumerate(legend, 1)]
    caption = element("figcaption", element("h3", title), element("p", keys, class_="legend") if keys else None)
    return element("figure", caption, plot, note(text) if text else None, class_=class_)


def grid(*figures: Child) -> Markup:
    """Return figures side by side, as many as there is room for."""
    return element("div", *figures, class_="grid two" if len(figures) == _EVEN else "grid")


def tiles(pairs: Iterable[tuple[str, str, str]]) -> Markup:
    """Return (name, value, small print) as tiles."""
    made = [
        element("div", element("dt", name), element("dd", value, element("small", small) if small else None), class_="tile")
        for name, value, small in pairs
    ]
    return element("dl", made, class_="tiles")


def facts(pairs: Iterable[tuple[str, Child]]) -> Markup:
    """Return (name, value) as a list; pairs without a value are left out."""
    return element("dl", [(element("dt", name), element("dd", value)) for name, value in pairs if value not in ("", None)], class_="facts")


def table(columns: Sequence[str], rows: Iterable[Sequence[Cell]], *, title: str = "") -> Markup:
    """Return a table; its texts are from the web, and escaped; numbers are to the right."""
    filled = [list(row) for row in rows]
    numeric = [_is_numeric(row[i] for row in filled) for i in range(len(columns))]
    head = element(
        "tr", [element("th", name, class_=_class(is_numeric), scope="col") for name, is_numeric in zip(columns, numeric, strict=True)]
    )
    body = [element("tr", [_cell(cell, is_numeric) for cell, is_numeric in zip(row, numeric, strict=True)]) for row in filled]
    made = element("table", element("caption", title) if title else None, element("thead", head), element("tbody", body))
    return element("div", made, class_="scroll", tabindex=0, role="region", aria_label=title or columns[0])


def more(title: str, *body: Child, is_open: bool = False) -> Markup:
    """Return a part that the reader can open."""
    return element("details", element("summary", title), *body, open="" if is_open else None)


def when(at: float) -> str:
    """Return a time in UTC, to the second."""
    if not 0 < at < _MOST_TIME:
        return "–"
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def percent(share: float | None) -> str:
    """Return a share, 0–1, in percent."""
    if share is None:
        return "–"
    return f"{share:.0%}" if share in (0.0, 1.0) else f"{share:.1%}"


def seconds(value: float) -> str:
    """Return a number of seconds."""
    return f"{value:g} s"


def bounded(bounds: Sequence[float], counts: Sequence[int]) -> list[tuple[str, float]]:
    """Return (name, count) for the bins that end at each bound and for the bin beyond the last, without empty bins at both ends."""
    names = [*(f"<{bound:g}" for bound in bounds), f"≥{bounds[-1]:g}"]
    filled = [i for i, count in enumerate(counts) if count]
    if not filled:
        return []
    return [(names[i], float(counts[i])) for i in range(filled[0], filled[-1] + 1)]


def _cell(cell: Cell, is_numeric: bool) -> Markup:
    match cell:
        case None | "":
            return element("td", "–", class_=_class(is_numeric))
        case SameAbove():
            return element("td")
        case Bar():
            return element("td", element("div", share_bar(cell.share), element("span", cell.text) if cell.text else None), class_="barred")
        case Markup():
            return element("td", cell, class_="long longer")
        case str():
            room = "long longer" if len(cell) > _LONGER else "long" if len(cell) > _LONG else None
            return element("td", crawled(cell), class_=room)
        case int():
            return element("td", f"{cell:,}", class_="n")
        case float():
            return element("td", f"{cell:,.2f}", class_="n")


def _class(is_numeric: bool) -> str | None:
    return "n" if is_numeric else None


def _is_numeric(cells: Iterable[Cell]) -> bool:
    found = [isinstance(cell, int | float) for cell in cells if not isinstance(cell, SameAbove | None)]
    return bool(found) and all(found)
