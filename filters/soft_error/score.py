"""The score of a redirect from the whole log [LEE09, eq. 1].

σ(u, v) = k1·log10 I_v + k2·log10(N_h / M_h) + k3·log10(1 / H_h)        h = host(u)
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Weights(NamedTuple):
    """k1, k2, k3 of the score, each ≥ 0."""

    target: float = 1.0  # of log10 I: many originals end at the target
    ratio: float = 1.0  # of log10(N/M): the host sends many originals to few targets
    spread: float = 1.0  # of log10(1/H): the host sends them to few hosts


ONE_EACH = Weights()
THRESHOLD = 3.0  # right for millions of pairs; see calibrate.py for smaller logs


def sigma(n_to_target: int, n_from_host: int, n_targets: int, n_target_hosts: int, weights: Weights = ONE_EACH) -> float:
    """Score one redirect; higher is more suspicious.    counts ≥ 1; returns: log10 units, about -3 … 7    [LEE09, eq. 1]"""
    return (
        weights.target * math.log10(n_to_target)
        + weights.ratio * math.log10(n_from_host / n_targets)
        - weights.spread * math.log10(n_target_hosts)
    )
