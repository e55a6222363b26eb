"""What an error page may quote of a URL."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.core.sketch import token_hashes, word_hash
from thresher.filters.soft_error import looks

_PATHS = st.text(st.sampled_from("aZ0/-_.~:@,/"), max_size=16)
_TEXTS = st.lists(st.sampled_from(("www", "x", "y", "example", "a", "z", "0", "az0", "z0", "0a", "else")), max_size=24)


@given(path=_PATHS, words=_TEXTS)
def test_a_page_quotes_a_plain_url_by_its_words_in_a_row_and_by_those_of_its_last_segment(path: str, words: list[str]) -> None:
    """With the native code and without. Mutations: the words of the last two segments were its name; a name of one letter was one; "//" in
    the path began the URL.
    """
    url, tokens = f"http://www.x-y.example/{path}", token_hashes(" ".join(words))
    found = looks._without_echo(tokens, url).tolist()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(looks, "NATIVE", False)
        assert found == looks._without_echo(tokens, url).tolist()


def test_the_words_of_ascii_are_hashed_together_as_each_alone() -> None:
    assert token_hashes("http://a_b.example/C-3").tolist() == [word_hash(word) for word in ("http", "a", "b", "example", "c", "3")]
