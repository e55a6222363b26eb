"""Words of a text as hashes."""

from __future__ import annotations

import unicodedata
from itertools import takewhile

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from thresher.crawler.core.sketch import MAX_UNITS, fingerprint, token_hashes

pytestmark = pytest.mark.usefixtures("each_implementation")


def is_letter(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character)[0] == "M" or ord(character) > 0xFFFF


def is_ideograph(character: str) -> bool:
    code = ord(character)
    blocks = ((0x3041, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF))
    return is_letter(character) and any(first <= code <= last for first, last in blocks)


def is_unspaced(character: str) -> bool:
    """Thai, Lao, Burmese, Khmer."""
    return is_letter(character) and any(
        first <= ord(character) <= last for first, last in ((0xE01, 0xEFF), (0x1000, 0x109F), (0x1780, 0x17FF))
    )


def reference(text: str) -> list[str]:
    """Return the words of a text by a loop over its characters."""
    words, word = [], ""
    for place, character in enumerate(text):
        lower = character.lower() if len(character.lower()) == 1 and ord(character) <= 0xFFFF else character
        if is_letter(character) and not is_ideograph(character) and not is_unspaced(character):
            word += lower
            continue
        words += [word] if word else []
        word = ""
        if is_ideograph(character):
            words.append(lower)
        elif is_unspaced(character):
            words.append("".join(takewhile(is_unspaced, text[place : place + 3])))
    return words + ([word] if word else [])


def hashes(text: str) -> list[int]:
    answer: list[int] = token_hashes(text).tolist()
    return answer


ALPHABET = st.characters(codec="utf-8") | st.sampled_from("aAbB01 \t.,-_éÉßİıΣσς日本かナー。한글กำहिن\u200d\u0301😀𠮷")


@given(st.text(ALPHABET, max_size=60))
@example("İstanbul ΑΣ ǅ 日本語text日本")
@example("0กำลังไป a")
@settings(max_examples=100, deadline=None)
def test_every_word_is_found_and_only_its_letters_count(text: str) -> None:
    """Law, against a loop. Mutation: without the division by the place's power, equal words differ."""
    words = reference(text)
    found = hashes(text)
    assert len(found) == len(words)
    assert found == [hashes(word)[0] for word in words]
    assert len(set(found)) == len(set(words))


@given(st.text(ALPHABET, max_size=30), st.text(ALPHABET, max_size=30))
@settings(max_examples=100, deadline=None)
def test_joined_texts_have_joined_words(left: str, right: str) -> None:
    """Law."""
    assert hashes(f"{left} {right}") == hashes(left) + hashes(right)


def test_equal_words_are_equal_wherever_they_stand() -> None:
    found = hashes("Grain, chaff; grain\nCHAFF (Grain)")
    assert found == [found[0], found[1], found[0], found[1], found[0]]
    assert len(set(hashes("ab ba aab abb a b aa bb"))) == 8


@pytest.mark.parametrize("text", ["Größe ÜBER straße", "Привет мир", "العربية نص", "हिन्दी पाठ", "한국어 텍스트", "Ελληνικά κείμενο"])
def test_words_of_any_script_count(text: str) -> None:
    assert len(hashes(text)) == len(text.split())
    assert hashes(text.upper().replace("SS", "ß")) == hashes(text.replace("ς", "σ"))


def test_ideographs_are_words() -> None:
    assert len(hashes("日本語のtext。")) == 5
    assert hashes("日本")[1] == hashes("本日")[0]


@pytest.mark.parametrize("text", ["", " ", "... --- !?", "\u2003\u3000。、"])
def test_without_words_there_is_no_fingerprint(text: str) -> None:
    assert fingerprint(token_hashes(text)) == b""


def test_the_fingerprint_knows_words_and_their_order_and_nothing_else() -> None:
    text = "the quick brown fox jumps over the lazy dog"
    same = "The quick, brown fox: jumps over\n\nthe LAZY dog."
    assert fingerprint(token_hashes(text)) == fingerprint(token_hashes(same))
    others = [
        "quick the brown fox jumps over the lazy dog",
        f"{text} dog",
        text[:-4],
        text.replace("fox", "f ox"),
        text.replace("lazy", "crazy"),
    ]
    prints = {fingerprint(token_hashes(other)) for other in [text, *others]}
    assert len(prints) == len(others) + 1
    assert {len(found) for found in prints} == {16}


def test_fingerprints_are_the_same_in_every_process() -> None:
    assert fingerprint(token_hashes("grain and chaff")).hex() == "eb9317db321f309e452fac492a31fafe"


@pytest.mark.parametrize("word", ["word ", "日", "w"])
def test_no_word_is_lost_behind_the_limit(word: str) -> None:
    """A text may be longer than the tables: its end still tells two texts apart, and its start is unchanged."""
    text = word * (MAX_UNITS // len(word) + 100)
    found = hashes(text)
    assert len(found) <= MAX_UNITS + 1
    assert found[:-1] == hashes(text[: (len(found) - 1) * len(word)] if word != "w" else "w" * MAX_UNITS)
    assert hashes(text + "x")[-1] != found[-1]
    assert hashes(text + "x")[:-1] == found[:-1]
