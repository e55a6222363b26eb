"""What most pages of a host share (menus, footers, notices) is no content: it is removed before two pages are compared.

Two articles under one template have most of their words in common. Methods that are good across hosts are therefore poor on one host
[HEN06]. Shingles that stand in at least half of the pages seen of a host are its boilerplate, and so is every word that
such a shingle covers.

Memory: 8 bytes a shingle of boilerplate. Time: 60 µs a page of 2,000 words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thresher.crawler.core.minhash import shingles
from thresher.crawler.core.model import U64


def learn(pages: Sequence[U64], *, width: int, share: float) -> U64:
    """Return the shingles that at least `share` of the pages have.    pages: hashes of words in order    returns: sorted hashes"""
    if not pages:
        return np.empty(0, dtype=np.uint64)
    found, counts = np.unique(np.concatenate([np.unique(shingles(tokens, width)) for tokens in pages]), return_counts=True)
    common: U64 = found[counts >= share * len(pages)]
    return common


def strip(tokens: U64, boilerplate: U64, *, width: int) -> U64:
    """Return the words that no boilerplate shingle covers, in order; all of them when none is left."""
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
