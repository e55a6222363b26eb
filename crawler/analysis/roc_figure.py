"""The two figures of [LEE09] for your own log: the share of each class with a score of at least x, and the ROC curve of the score.

Needs matplotlib, the extra `report`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO

import numpy as np

from thresher.crawler.analysis.figures import DPI
from thresher.filters.soft_error.calibrate import Roc, area
from thresher.filters.soft_error.score import F64, THRESHOLD


def draw(out: BinaryIO, classes: Mapping[str, F64], curve: Roc, threshold: float) -> None:
    """Write a PNG of both figures.

    Args:
        classes: Name → scores, at least one each.
        threshold: The threshold in use.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5), layout="constrained")
    cumulative, receiver = figure.subplots(1, 2)
    for name, scores in classes.items():
        rising = np.sort(scores)
        share = 1.0 - np.arange(len(rising)) / len(rising)
        cumulative.step(rising, share, where="pre", label=f"{name} ({len(rising):,})")
    for at, style in ((threshold, "-"), (THRESHOLD, ":")):
        cumulative.axvline(at, color="gray", linestyle=style, linewidth=0.8)
    cumulative.set(xlabel="score σ", ylabel="share of redirects that score at least σ", ylim=(0.0, 1.02))
    cumulative.legend()
    receiver.plot([0.0, *curve.false_positive_rate], [0.0, *curve.recall], label=f"area {area(curve):.3f}")
    receiver.plot([0.0, 1.0], [0.0, 1.0], color="gray", linestyle=":", linewidth=0.8)
    at = int(np.searchsorted(-curve.thresholds, -threshold, side="right")) - 1
    if at >= 0:
        receiver.plot(curve.false_positive_rate[at], curve.recall[at], "o", label=f"threshold {threshold:.3g}")
    receiver.set(xlabel="false-positive rate", ylabel="recall", title="labels: an error word in the target, not in the original")
    receiver.legend()
    figure.savefig(out, format="png", dpi=DPI)
