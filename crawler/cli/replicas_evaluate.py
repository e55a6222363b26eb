"""`thresher replicas --evaluate`: precision and recall over a sweep of C and D, on standard output and as a figure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from thresher.crawler.analysis.figures import require_matplotlib
from thresher.crawler.cli.common import print_json
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.url import BadURL
from thresher.crawler.terminal.printable import printable
from thresher.storage.export.target import replacing

if TYPE_CHECKING:
    from thresher.filters.near_replica.batch import Tolerance
    from thresher.filters.near_replica.evaluate import LabelledPairs, PrecisionPoint
    from thresher.filters.near_replica.sketching import Sketches

_STEPS = (0.02, 0.05, 0.1, 0.15, 0.25, 0.35, 0.5, 0.7, 1.0)  # shares of the widest D and C
_DRAWN = (0.25, 0.5, 1.0)  # the curves of the figure: the paper has three
Pair = tuple[int, int]


def evaluate(sketches: Sketches, rule: Tolerance, labels: str, figure: str | None) -> int:
    """Print one line for each C and D up to those of `rule`, and break-even on standard error."""
    from thresher.filters.near_replica.batch import Space
    from thresher.filters.near_replica.evaluate import curve, judge

    if figure is not None:
        require_matplotlib("--figure")
        if not Path(figure).parent.is_dir():
            raise UsageError(f"--figure {figure}: there is no directory {Path(figure).parent}. Make it first, or name another place")
    are, are_none = _labels(labels, sketches.urls)
    widest = replace(rule, c=1.0)
    space = Space(sketches, widest)
    judged = judge(space.pairs(space.text_pairs()), are, are_none)
    ds = [round(rule.d * step, 6) for step in _STEPS]
    cs = [*dict.fromkeys(round(min(rule.c, 1.0) * step, 6) for step in _STEPS), 1.0]
    for d in ds:
        for point in curve(judged, d, cs):
            print_json(_line(point))
    _say(judged, ds, cs)
    if figure is not None:
        _draw(Path(figure), judged, ds, cs, rule.d)
    return 0


def _line(point: PrecisionPoint) -> dict[str, float | int]:
    return {
        "D": point.d,
        "C": point.c,
        "precision": round(point.precision, 4),
        "recall": round(point.recall, 4),
        "f1": round(point.f1, 4),
        "returned": point.returned,
    }


def _say(judged: LabelledPairs, ds: list[float], cs: list[float]) -> None:
    from thresher.filters.near_replica.evaluate import break_even, curve

    points = [point for d in ds for point in curve(judged, d, cs)]
    best = max(points, key=lambda point: min(point.precision, point.recall))
    alone = break_even([point for point in points if point.c >= 1.0])
    click.echo(
        f"{judged.n_replicas:,} pairs of replicas known, {len(judged.random_projection):,} pairs within the widest tolerances", err=True
    )
    click.echo(f"break-even of RP alone {alone:.4f}, of RP and HM {break_even(points):.4f} at D {best.d:g}, C {best.c:g}", err=True)


def _draw(path: Path, judged: LabelledPairs, ds: list[float], cs: list[float], widest: float) -> None:
    from thresher.crawler.analysis.replica_figure import draw
    from thresher.filters.near_replica.evaluate import curve

    curves = {f"D = {widest * step:g}": curve(judged, round(widest * step, 6), cs) for step in _DRAWN}
    curves["RP alone"] = [judged.at(d, 1.0) for d in ds]
    with replacing(path, force=True) as out:
        draw(out, curves)


def _labels(source: str, urls: list[str]) -> tuple[set[Pair], set[Pair]]:
    """Read labelled pairs; print how many lines were left out.

    Raises:
        UsageError: If none is left.
    """
    number = {url: page for page, url in enumerate(urls)}
    try:
        with open(source, "rb") as file:
            return _pairs(source, file, number)
    except OSError as error:
        raise UsageError(f"{source}: cannot be read: {error.strerror}. Expected lines of URL, tab, URL") from None


def _pairs(source: str, file: BinaryIO, number: dict[str, int]) -> tuple[set[Pair], set[Pair]]:
    from thresher.crawler.analysis.replica_pages import space as url_space

    found: dict[str, set[Pair]] = {"1": set(), "0": set()}
    torn = unknown = 0
    first = ""
    space = url_space()
    for n_line, raw in enumerate(file, 1):
        if raw.isspace():
            continue
        fields = raw.decode("utf-8", "replace").rstrip("\r\n").split("\t")
        try:
            one, other = (number.get(space.canonical(url)) for url in fields[:2])
            of_kind = found[fields[2] if len(fields) > 2 else "1"]
        except (ValueError, KeyError, BadURL):
            torn += 1
            first = first or f"line {n_line:,}: {raw[:200].decode('utf-8', 'replace').strip()}"
            continue
        if one is None or other is None or one == other:
            unknown += 1
        else:
            of_kind.add((min(one, other), max(one, other)))
    if torn:
        click.echo(f"{source}: {torn:,} lines are no pair of URLs and were left out; first: {printable(first)}", err=True)
    if unknown:
        click.echo(f"{source}: {unknown:,} pairs name a page that is not there, or a page beside itself", err=True)
    if not found["1"]:
        raise UsageError(
            f"{source}: no pair of replicas among the pages. Expected lines of URL, tab, URL, and 0 as a third field if they are none"
        )
    return found["1"], found["0"]
