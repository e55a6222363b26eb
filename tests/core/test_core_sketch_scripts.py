"""Words of scripts that are written without spaces."""

from __future__ import annotations

import random

import pytest

from thresher.crawler.core.minhash import minhash, resemblance
from thresher.crawler.core.sketch import token_hashes
from thresher.filters.near_replica.random_projection import project

pytestmark = pytest.mark.usefixtures("each_implementation")

THAI = "สวัสดีครับยินดีต้อนรับ"


@pytest.mark.parametrize("text", [THAI, "ສະບາຍດີທຸກຄົນ", "မင်္ဂလာပါအားလုံး", "សួស្តីអ្នកទាំងអស់គ្នា"], ids=["Thai", "Lao", "Burmese", "Khmer"])
def test_every_letter_begins_a_word_of_three(text: str) -> None:
    """Mutation: a run of letters is one word, as in Latin."""
    found = token_hashes(text).tolist()
    assert len(found) == len(text)
    assert found[:-2] == [token_hashes(text[i : i + 3])[0] for i in range(len(text) - 2)]


def test_such_a_run_ends_at_spaces_and_at_other_scripts() -> None:
    assert token_hashes("กขค abcงจ").tolist() == [
        *token_hashes("กขค").tolist(),
        *token_hashes("abc").tolist(),
        *token_hashes("งจ").tolist(),
    ]
    assert token_hashes("กข漢ค").tolist() == [*token_hashes("กข").tolist(), *token_hashes("漢").tolist(), *token_hashes("ค").tolist()]


def test_a_short_change_in_a_thai_text_without_spaces_leaves_it_alike() -> None:
    rng = random.Random(1)
    letters = [chr(rng.randrange(0x0E01, 0x0E2F)) for _ in range(2000)]
    text, changed, other = "".join(letters), "".join([*letters[:500], *"กกกกก", *letters[505:]]), "".join(sorted(letters))
    one, near, far = (token_hashes(each) for each in (text, changed, other))
    assert resemblance(minhash(one, 128, 3), minhash(near, 128, 3)) > 0.9
    assert resemblance(minhash(one, 128, 3), minhash(far, 128, 3)) < 0.1
    assert abs(project(one, 5) - project(near, 5)).max() < abs(project(one, 5) - project(far, 5)).max() / 4


def test_punctuation_beyond_latin_does_not_split_words() -> None:
    assert token_hashes("don’t – stop").tolist() == token_hashes("don't - stop").tolist()
