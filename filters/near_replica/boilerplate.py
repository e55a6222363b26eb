"""Removes boilerplate: words that most pages of a host share (menus, footers, notices), before two pages are compared.

Two articles under one template have most of their words in common. So methods that are good across hosts are poor on one host [HEN06].
Shingles that occur on at least half of the pages seen of a host are its boilerplate, and so is every word within such a shingle.

Memory: 8 bytes a shingle of boilerplate. Time: 60 µs a page of 2,000 words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thresher.crawler.core.minhash import shingles
from thresher.crawler.core.model import U64


def learn(pages: Sequence[U64], *, width: int, share: float) -> U64:
    """Return the shingles that at least `share` of the pages have: sorted hashes.

    Args:
        pages: Hashes of each page's words, in order.
        width: Words a shingle.
    """
    if not pages:
        return np.empty(0, dtype=np.uint64)
    found, counts = np.unique(np.concatenate([np.unique(shingles(tokens, width)) for tokens in pages]), return_counts=True)
    common: U64 = found[counts >= share * len(pages)]
    return common


def strip(tokens: U64, boilerplate: U64, *, width: int) -> U64:
    """Return the words that are in no boilerplate shingle, in order; all words if none would be left."""
    if not boilerplate.size or tokens.size < width:
        return tokens
    hashes = shingles(tokens, width)
    places = np.minimum(np.searchsorted(boilerplate, hashes), boilerplate.size - 1)
    begins = np.zeros(tokens.size + 1, dtype=np.int32)
    common = np.flatnonzero(boilerplate[places] == hashes)
    begins[common] += 1
    begins[common + width] -= 1
    left = tokens[np.cumsum(begins[:-1]) == 0]
    return left if left.size else tokens
