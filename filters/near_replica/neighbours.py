"""Whether two pages with one text have the same neighbourhood, as far as links alone can say. Used for whole sets and by the filter.

It is the same if both have the same links, or if one page's links contain the other's and are at most twice as many: a neighbourhood that
has grown is still the same. On two hosts four of five equal paths are enough, since a mirror may lack some. HM decides all other cases.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Links = npt.NDArray[Any]
_SAME_PATHS: Final = 0.8  # resemblance of the linked paths from which pages of two hosts have the same neighbourhood


def is_same(ours: Links, theirs: Links, *, is_one_host: bool) -> bool:
    """Return whether two pages lead to the same pages.

    Args:
        ours: Distinct links of one page, if both are of one host; else their paths.
        theirs: The same of the other page.
    """
    common = np.intersect1d(ours, theirs, assume_unique=True).size
    own, other = ours.size - common, theirs.size - common
    if not own or not other:
        return bool(own + other <= max(common, 1))
    return not is_one_host and bool(common >= _SAME_PATHS * (own + other + common))
