"""Figure 1 of [DDGMP03] for your own labelled pages: precision over recall, a curve for each D along C, and one for RP alone.

Needs matplotlib, the extra `report`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import BinaryIO

from thresher.crawler.analysis.figures import DPI
from thresher.filters.near_replica.evaluate import PrecisionPoint, break_even


def draw(out: BinaryIO, curves: Mapping[str, Sequence[PrecisionPoint]]) -> None:
    """Write a PNG.

    Args:
        curves: Name → points, drawn in the order of their recall.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 6), layout="constrained")
    axes = figure.subplots()
    for name, points in curves.items():
        rising = sorted((point.recall, point.precision) for point in points if point.returned)
        style = "k--" if name == "RP alone" else "-"
        axes.plot(*zip(*rising, strict=True), style, marker=".", label=f"{name}, break-even {break_even(points):.3f}")
    axes.plot([0.0, 1.0], [0.0, 1.0], color="gray", linestyle=":", linewidth=0.8)
    axes.set(xlabel="recall", ylabel="precision", xlim=(0.0, 1.02), ylim=(0.0, 1.02))
    axes.legend(loc="lower left")
    figure.savefig(out, format="png", dpi=DPI)
