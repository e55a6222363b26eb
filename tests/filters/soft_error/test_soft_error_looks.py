"""What an error page may quote of a URL: the words of a plain path are hashed together, with the outcome of hashing each."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.core.sketch import token_hashes, word_hash
from thresher.filters.soft_error.looks import _quotes

_PATHS = st.text(st.sampled_from("aZ0/-_.~:@,/"), max_size=16)


@given(path=_PATHS)
def test_a_plain_path_is_quoted_by_all_its_words_and_by_those_of_its_last_segment(path: str) -> None:
    """Mutation: the words of the last two segments were its name; a name of one letter was one."""
    url = f"http://www.x-y.example/{path}"
    plain, with_query = _quotes(url), _quotes(f"{url}?")  # a query is hashed word for word
    assert plain.words == with_query.words
    assert plain.runs == with_query.runs[:2]


def test_the_words_of_ascii_are_hashed_together_as_each_alone() -> None:
    assert token_hashes("http://a_b.example/C-3").tolist() == [word_hash(word) for word in ("http", "a", "b", "example", "c", "3")]
