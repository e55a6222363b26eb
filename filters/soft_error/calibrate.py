"""Weights and threshold from the log itself, judged on proxy labels [LEE09, figures 1 and 2].

θ = 3 fits logs of millions of pairs: every count grows with the log, and in a small log no pair reaches it. A label that needs no human:
the target has an error word that the original does not have (url_kind.names_error). It misses soft errors without an error word, as
redirects to the home page; these count as negatives here, which lowers the measured precision but not recall. Since their scores are
distributed like those of labelled pairs, they lower J of every threshold by the same share, and the best threshold stays the same (J is
recall minus false-positive rate, Youden's index). Some score lower, as farms of hosts with one URL each. So the lowest threshold whose J is
within 2 % of the largest is taken: J is flat there; on a 10 % sample of a simulated log recall is .999 with this rule and .55 to .99
without.

Weights. Where soft errors are rare, log10 I does harm: many hosts with one URL each, which all redirect to a portal, look like soft errors.
`best_weights` reduces k1 only, by the area under the ROC of the labels. This is a trade-off: on a simulated log of 41,515 redirects, 10 %
of them soft, k1 = ¼ raises precision from .56 to .95 and lowers recall from 1.0 to .89: farms, also of hosts with one URL, are missed
(benchmarks/quality/soft_errors_log.py).

Time: 0.3 s a million pairs for a curve.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thresher.filters.soft_error.score import F64, I64, ONE_EACH, THRESHOLD, PairCounts, Weights

Labels = npt.NDArray[np.bool_]

MIN_LABELLED = 10  # pairs with a proxy label, below which nothing is calibrated
MIN_J = 0.3  # recall - false-positive rate that a chosen threshold must reach; guessing at random reaches 0
_FLAT = 0.98  # share of the largest J that the chosen threshold must reach
_K1 = (1.0, 0.75, 0.5, 0.25)


class Roc(NamedTuple):
    """The numbers of pairs that each threshold would flag; one entry for each distinct score, highest first."""

    thresholds: F64
    n_true: I64  # labelled pairs at or above the threshold
    n_false: I64  # unlabelled pairs at or above it

    @property
    def recall(self) -> F64:
        return self.n_true / max(1, int(self.n_true[-1]))

    @property
    def false_positive_rate(self) -> F64:
        return self.n_false / max(1, int(self.n_false[-1]))

    @property
    def precision(self) -> F64:
        return self.n_true / (self.n_true + self.n_false)


class Quality(NamedTuple):
    """The quality of one threshold by the labels; shares 0 to 1."""

    threshold: float
    precision: float
    recall: float
    false_positive_rate: float


def roc(scores: F64, labels: Labels) -> Roc:
    """Return the curve of all thresholds over at least one score."""
    thresholds, inverse = np.unique(-scores, return_inverse=True)
    n_true = np.bincount(inverse, weights=labels, minlength=len(thresholds))
    n_all = np.bincount(inverse, minlength=len(thresholds))
    return Roc(-thresholds, np.cumsum(n_true).astype(np.int64), np.cumsum(n_all - n_true).astype(np.int64))


def area(curve: Roc) -> float:
    """Return the area under the ROC: the chance that a labelled pair outscores another, ties half; NaN without both kinds."""
    if not curve.n_true[-1] or not curve.n_false[-1]:
        return float("nan")
    recall = np.concatenate(([0.0], curve.recall))
    false_positive_rate = np.concatenate(([0.0], curve.false_positive_rate))
    return float(np.trapezoid(recall, false_positive_rate))


def quality(scores: F64, labels: Labels, threshold: float) -> Quality:
    """Return the quality if every score of at least `threshold` is flagged; NaN if nothing is flagged or labelled."""
    flagged = scores >= threshold
    n_true, n_flagged, n_labelled = int((flagged & labels).sum()), int(flagged.sum()), int(labels.sum())
    return Quality(
        threshold,
        precision=n_true / n_flagged if n_flagged else float("nan"),
        recall=n_true / n_labelled if n_labelled else float("nan"),
        false_positive_rate=(n_flagged - n_true) / max(1, len(labels) - n_labelled),
    )


def best_threshold(curve: Roc) -> float:
    """Return the lowest threshold whose recall - false-positive rate is within `_FLAT` of the largest.

    `THRESHOLD` where the labels teach nothing: fewer than `MIN_LABELLED` pairs are labelled, no threshold reaches a J of `MIN_J`, or the
    best would flag what scores 0, as a page does that one URL of a host moved to.
    """
    if curve.n_true[-1] < MIN_LABELLED or not curve.n_false[-1]:
        return THRESHOLD
    gain = curve.recall - curve.false_positive_rate
    good = curve.thresholds[(gain >= _FLAT * gain.max()) & (curve.thresholds > 0.0)]
    return float(good[-1]) if gain.max() >= MIN_J and len(good) else THRESHOLD


def best_weights(counts: PairCounts, labels: Labels) -> Weights:
    """Return the weights, k1 shrunk or not, whose scores separate the labelled pairs best; k = 1 if they are too few to tell."""
    if labels.sum() < MIN_LABELLED or labels.all():
        return ONE_EACH
    tried = [ONE_EACH._replace(target=k1) for k1 in _K1]
    areas = [area(roc(counts.score(weights), labels)) for weights in tried]
    return max(zip(areas, tried, strict=True))[1]
