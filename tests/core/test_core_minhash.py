"""MinHash: the sketch estimates resemblance, whatever the length of the texts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from thresher.crawler.core.minhash import EMPTY, minhash, resemblance, shingles, slots
from thresher.crawler.core.model import U64
from thresher.crawler.core.sketch import token_hashes

pytestmark = pytest.mark.usefixtures("each_implementation")


def _two_sets(share: float, n: int, seed: int) -> tuple[U64, U64]:
    """Return two sets with n different random hashes in all, of which `share` is in both."""
    hashes = np.random.default_rng(seed).integers(0, 1 << 64, n, dtype=np.uint64)
    n_common = round(share * n)
    own = (n - n_common) // 2
    return hashes[: n_common + own], np.concatenate((hashes[:n_common], hashes[n_common + own :]))


@pytest.mark.parametrize("share", [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99])
def test_the_estimate_is_within_three_standard_errors_of_the_resemblance(share: float) -> None:
    """Matrix row 13. Mutation: a slot kept the last hash in place of the least."""
    k, n_trials = 128, 30
    found = [resemblance(*(slots(side, k) for side in _two_sets(share, 2000, seed))) for seed in range(n_trials)]
    assert abs(np.mean(found) - share) < 3 * np.sqrt(share * (1 - share) / k / n_trials)
    assert all(abs(one - share) < 4 * np.sqrt(share * (1 - share) / k) for one in found)


def test_texts_shorter_than_the_sketch_are_compared_without_bias() -> None:
    """Mutation: slots that no word fills stay empty, and two empty slots count as equal."""
    found = [resemblance(*(slots(side, 64) for side in _two_sets(0.6, 20, seed))) for seed in range(400)]
    assert abs(np.mean(found) - 0.6) < 0.03


def test_a_shingle_is_every_row_of_words() -> None:
    tokens = token_hashes("a b c d a b c")
    hashes = shingles(tokens, 3).tolist()
    assert len(hashes) == 5
    assert hashes[0] == hashes[4]
    assert len(set(hashes)) == 4
    assert all(one != other for one, other in pairwise(hashes))


def test_the_order_of_words_counts() -> None:
    assert resemblance(minhash(token_hashes("one two three"), 64, 3), minhash(token_hashes("three two one"), 64, 3)) == 0.0


def test_a_text_shorter_than_a_shingle_is_one() -> None:
    assert shingles(token_hashes("one two"), 5).size == 1
    assert resemblance(minhash(token_hashes("one two"), 64, 5), minhash(token_hashes("one two"), 64, 5)) == 1.0


def test_a_text_without_words_resembles_nothing_not_even_itself() -> None:
    nothing = minhash(token_hashes(""), 64, 3)
    assert nothing.tolist() == [int(EMPTY)] * 64
    assert resemblance(nothing, nothing) == 0.0


def test_the_sketch_is_the_same_in_every_process() -> None:
    """Stored sketches are compared later: these values were printed once."""
    sketch = minhash(np.arange(1, 10, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15), 4, 3)
    assert sketch.tolist() == [1653091449015468543, 6585650694708651529, 12700996654185245680, 15167276277031837173]


def test_a_number_of_slots_that_is_no_power_of_two_is_refused() -> None:
    with pytest.raises(ValueError, match="power of two"):
        minhash(token_hashes("a b c"), 48, 3)
