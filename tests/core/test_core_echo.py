"""Words of a page without those of its URL."""

from __future__ import annotations

import pytest

from thresher.crawler.core.echo import without_echo
from thresher.crawler.core.sketch import token_hashes

ORIGIN = "http://a.example"


@pytest.mark.parametrize(
    ("path", "page", "left"),
    [
        ("/edit?title=Blue+whale", "edit the article blue whale here", "the article here"),
        ("/Blue%20Whale.html", "the blue whale is large", "the is large"),
        ("/wiki/talk:blue_whale", "what is said of the blue whale", "what is said of the"),
        ("/day/2024/03/05", "2024 03 05 before 2024 03 04 after 2024 03 06", "before after"),
        ("/page/7", "page 7 of 9", "of 9"),
        ("/", "no word of this is in the path", "no word of this is in the path"),
        ("/blue", "the whale blue and the blue one", "the whale and the one"),
        ("/blue-whale", "the whale is blue", "the whale is blue"),  # not adjacent
        ("/only-words", "only words", ""),
        ("/" + "-".join("word" for _ in range(13)), "word word", "word word"),  # too long a value to be an echo
    ],
)
def test_words_of_the_url_are_left_out_where_they_stand_in_a_row(path: str, page: str, left: str) -> None:
    """Mutations: the extension is kept; words after a colon are no value; of a date, only the date itself is left out."""
    kept = without_echo(ORIGIN + path, ORIGIN, token_hashes(page))
    assert kept.tolist() == token_hashes(left).tolist()


def test_a_number_alone_may_be_kept() -> None:
    """Mutation: `numbers` is ignored."""
    words = token_hashes("chapter 7 of the book")
    assert without_echo(ORIGIN + "/7", ORIGIN, words, numbers=False).tolist() == words.tolist()
    assert without_echo(ORIGIN + "/7", ORIGIN, words).tolist() == token_hashes("chapter of the book").tolist()
