"""Figures of depth fits: measured against modelled, and what visitors did on each level. Need matplotlib, the extra `report`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO

import numpy as np

from thresher.crawler.analysis.figures import DPI
from thresher.filters.depth_cutoff.chains import Action
from thresher.filters.depth_cutoff.fit import Depths, Fit
from thresher.filters.depth_cutoff.models import Model, share

_MOST_LEVELS = 15
_STYLES: dict[Model, str] = {"A": "s--", "B": "^-", "C": "v-."}


def draw(
    out: BinaryIO, title: str, of: Depths, fits: Mapping[Model, Fit], of_actions: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
) -> None:
    """Write a PNG.

    Args:
        of_actions: Share of page views by level, computed from the measured actions.
    """
    from matplotlib.figure import Figure

    n = min(_MOST_LEVELS, max(5, len(of.by_level)))
    levels = np.arange(n)
    measured = np.append(of.cumulative(), np.ones(n))[:n]
    figure = Figure(figsize=(13, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.bar(levels, measured, color="lightgray", label=f"measured, {of.n_views:,} views")
    for model, found in fits.items():
        if model != "A":  # the same curve as B
            name = f"A q={fits['A'].q:.3f} = B q={found.q:.3f}" if model == "B" else f"C q={found.q:.3f}"
            left.plot(levels, share(model, found.q, levels), _STYLES[model], label=f"{name}, error {found.error:.3f}", markersize=5)
    left.plot(levels, np.cumsum(of_actions)[:n], ":", color="black", label="chain of the measured actions")
    left.axhline(0.9, color="gray", linewidth=0.8)
    left.set(xlabel="level, from 0", ylabel="share of page views to this level", ylim=(0.0, 1.02), title=title)
    left.legend(loc="lower right")
    _draw_actions(right, of, levels)
    figure.savefig(out, format="png", dpi=DPI)


def _draw_actions(axes: object, of: Depths, levels: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> None:
    from matplotlib.axes import Axes

    assert isinstance(axes, Axes)
    rows = [row for row in of.actions[: len(levels)] if sum(row.values())]
    below = np.zeros(len(rows))
    for action in Action:
        shares = np.array([row[action] / sum(row.values()) for row in rows])
        axes.bar(np.arange(len(rows)), shares, bottom=below, label=action.name.lower())
        below += shares
    axes.set(xlabel="level, from 0", ylabel="share of what visitors did next", ylim=(0.0, 1.0), title="actions by level")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
