"""Whether two pages of one text have one neighbourhood, as far as the links alone can tell: for a whole set and for the filter.

It is one if both lead to the same, or if one page's links are the other's and no more than as many again: what grew is no other
neighbourhood. On two hosts four of five of the same paths suffice, as in a mirror that lacks some. Everything else is left to HM.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Links = npt.NDArray[Any]
_SAME_PATHS: Final = 0.8  # of the paths linked to: resemblance from which two hosts' pages have the same neighbourhood


def is_same(ours: Links, theirs: Links, *, is_one_host: bool) -> bool:
    """Return whether two pages lead to the same.    ours, theirs: distinct links, of one host; on two hosts their paths"""
    common = np.intersect1d(ours, theirs, assume_unique=True).size
    own, other = ours.size - common, theirs.size - common
    if not own or not other:
        return bool(own + other <= max(common, 1))
    return not is_one_host and bool(common >= _SAME_PATHS * (own + other + common))
