"""Three models of a surfer on an infinite site: the share of page views on each level [BC04].

The surfer is on a level: so many clicks from the page where she entered. With probability q she goes one level deeper; else, in model

    A   one level back            x_i = q x_{i-1} + (1-q) x_{i+1}
    B   to the first level        x_i = q x_{i-1}
    C   to a level seen so far,   x_i = q x_{i-1} + (1-q) Σ_{k≥i} x_k / (k+1)
        each as likely, the current one included

For each surfer who leaves the site another one enters: EXIT, START and JUMP are one move to level 0. The share of views on levels 0 to k is

    A   1 - (q/(1-q))^{k+1}, for q < 1/2; from 1/2 on she goes deeper for ever, and no distribution is stationary
    B   1 - q^{k+1}
    C   1 - (2 + k - (k+1) q) q^{k+1}

So A with q_A and B with q_B = q_A/(1-q_A) are one distribution. Levels count from 0: "five levels" are the levels to k = 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf, log, log1p
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
Model = Literal["A", "B", "C"]
MODELS: tuple[Model, ...] = get_args(Model)
_MOST_LEVELS = 10**9


def ratio(model: Model, q: float) -> float:
    """Return the parameter of the geometric distribution: q for B and C, q/(1-q) for A.

    Raises:
        ValueError: If there is no stationary distribution.
    """
    limit = 0.5 if model == "A" else 1.0
    if not 0 <= q < limit:
        raise ValueError(f"model {model}: expected 0 <= q < {limit:g}, got {q:g}: from {limit:g} on the surfer drifts away for ever")
    return q / (1 - q) if model == "A" else q


def q_of_ratio(model: Model, r: float) -> float:
    """Return the q whose `ratio` is r."""
    return r / (1 + r) if model == "A" else r


def share(model: Model, q: float, levels: npt.ArrayLike) -> F64:
    """Return the share of views on the levels 0 to k, for each k of `levels`."""
    return share_of_ratio(model, np.float64(ratio(model, q)), levels)


def share_of_ratio(model: Model, r: npt.ArrayLike, levels: npt.ArrayLike) -> F64:
    """Return `share` for a `ratio` instead of q; r and levels are broadcast."""
    r, k = np.asarray(r, dtype=np.float64), np.asarray(levels, dtype=np.float64)
    beyond = r ** (k + 1)
    return np.asarray(1 - beyond * (2 + k - (k + 1) * r) if model == "C" else 1 - beyond)


def stationary(model: Model, q: float, n_levels: int) -> F64:
    """Return the share of views on each of the first `n_levels` levels."""
    r, i = ratio(model, q), np.arange(n_levels, dtype=np.float64)
    return (1 - r) ** 2 * (i + 1) * r**i if model == "C" else (1 - r) * r**i


def mean_level(model: Model, q: float) -> float:
    """Return the mean level of a view."""
    r = ratio(model, q)
    return (2 if model == "C" else 1) * r / (1 - r)


def q_of_mean(model: Model, mean: float) -> float:
    """Return the q of a mean level: the maximum-likelihood fit to views with that mean."""
    r = mean / ((2 if model == "C" else 1) + mean)
    return q_of_ratio(model, r)


def levels_for(model: Model, q: float, wanted: float) -> int:
    """Return the smallest k whose levels 0 to k hold the wanted share (0 ≤ wanted < 1) of the views."""
    r = ratio(model, q)
    if r == 0 or wanted <= 0:
        return 0
    k = max(0, ceil(log1p(-wanted) / log(r) - 1e-9) - 1)  # exact for A and B; C needs at least as many
    while k < _MOST_LEVELS and float(share(model, q, k)) < wanted - 1e-12:
        k += 1
    return k


def transition(model: Model, q: float, n_levels: int) -> F64:
    """Return the chain over the first `n_levels` levels, [from, to]. Moves beyond the last level stay on it."""
    chain = np.zeros((n_levels, n_levels))
    for i in range(n_levels):
        chain[i, min(i + 1, n_levels - 1)] += q
        match model:
            case "A":
                chain[i, max(i - 1, 0)] += 1 - q
            case "B":
                chain[i, 0] += 1 - q
            case "C":
                chain[i, : i + 1] += (1 - q) / (i + 1)
    return chain


def varying(deeper: Sequence[float], *, goes_on: bool = True) -> tuple[F64, float]:
    """Return model B with a probability for each level: the shares of the levels, and of all that are deeper.

    Args:
        deeper: The probability to go deeper from levels 0, 1 and so on; n of them give shares of n + 1 levels.
        goes_on: Whether the last probability holds for all deeper levels; else there are none.
    """
    weights = np.cumprod(np.concatenate(([1.0], np.asarray(deeper, dtype=np.float64))))
    last = float(deeper[-1]) if deeper and goes_on else 0.0
    beyond = inf if last >= 1 else float(weights[-1]) * last / (1 - last)
    if beyond == inf:
        return np.zeros_like(weights), 1.0
    total = float(weights.sum()) + beyond
    return weights / total, beyond / total


def levels_for_varying(deeper: Sequence[float], wanted: float, *, goes_on: bool = True, most: int = 1000) -> int:
    """Return the smallest k, at most `most`, whose levels 0 to k have the wanted share under `varying`. No numpy: filters call it often."""
    last = deeper[-1] if goes_on and deeper else 0.0
    weight = total = 1.0
    weights = [weight]
    for probability in deeper:
        weight *= probability
        total += weight
        weights.append(weight)
    if last >= 1 and weight > 0:
        return most
    total += weight * last / (1 - last) if weight > 0 else 0.0
    reached = 0.0
    for level, weight in enumerate(weights):
        reached += weight
        if reached >= (wanted - 1e-12) * total:
            return min(level, most)
    beyond = 1 - reached / total
    if last <= 0 or beyond <= 0 or wanted >= 1:
        return most if last > 0 and beyond > 0 else min(len(deeper), most)
    return min(len(deeper) + ceil(log((1 - wanted) / beyond) / log(last) - 1e-9), most)
