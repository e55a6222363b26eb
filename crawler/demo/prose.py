"""Prose that looks and compresses like real text: sentences of plausible words, drawn once per subject and joined per page.

A subject's words are drawn by Zipf's law from its own vocabulary and from the common words of its language. A page takes sentences of its
host's subject by number, so that a page of 25 KB costs one column of numbers and one join, and two pages of one subject share few
sentences.

Memory: some 0.4 MB per subject and charset in use. Time: 12 ms for each, once in a process, whatever number of webs it serves.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from thresher.crawler.demo.seeded_random import SeededRandom
from thresher.crawler.demo.words import DemoVocabulary

N_SENTENCES = 4096
_INLINE = (
    "<em>{}</em>",
    "<b>{}</b>",
    "{} &amp; co",
    "{}&nbsp;&ndash;",
    "&quot;{}&quot;",
    "{}&hellip;",
    "<STRONG>{}</STRONG>",
    "{} &lt;1&gt;",
)


class Prose:
    """The sentences of one subject, encoded in one charset."""

    def __init__(self, rng: SeededRandom, subject: int, vocabulary: DemoVocabulary, charset: str) -> None:
        self._rng = rng
        self._sentences = [sentence.encode(charset) for sentence in _sentences(rng, subject, vocabulary)]
        self.mean_bytes = sum(map(len, self._sentences)) / N_SENTENCES + 1  # mean length of a sentence and the space after it

    def sentences(self, n: int, *page: str | int) -> list[bytes]:
        """Return the first n sentences of a page."""
        return list(map(self._sentences.__getitem__, self._rng.indexes(n, N_SENTENCES, "text", *page)))


@lru_cache(maxsize=128)
def prose_of(seed: int, subject: int, vocabulary: DemoVocabulary, charset: str) -> Prose:
    """Return the sentences of a subject in all webs of a seed."""
    return Prose(SeededRandom(seed), subject, vocabulary, charset)


def _sentences(rng: SeededRandom, subject: int, vocabulary: DemoVocabulary) -> list[str]:
    lengths = [6 + length for length in rng.indexes(N_SENTENCES, 14, "lengths", subject)]
    words = _zipf(rng, 20 * N_SENTENCES, vocabulary, subject)
    oddities = rng.indexes(N_SENTENCES, 8 * len(_INLINE), "oddities", subject)
    sentences, at = [], 0
    for length, oddity in zip(lengths, oddities, strict=True):
        chosen = words[at : at + length]
        at += length
        chosen[0] = chosen[0].capitalize()
        if oddity < len(_INLINE):
            chosen[length // 2] = _INLINE[oddity].format(chosen[length // 2])
        if length > 12:
            chosen[5] += ","
        sentences.append(" ".join(chosen) + ".")
    return sentences


def _zipf(rng: SeededRandom, n: int, vocabulary: DemoVocabulary, subject: int) -> list[str]:
    """Draw n words. Common words and the subject's words alternate in rank, so that each make up about half of the text."""
    order: list[str] = []
    for i, common in enumerate(vocabulary.common):
        order.append(common)
        if i < len(vocabulary.words):
            order.append(vocabulary.words[i])
    weights = 1.0 / (np.arange(len(order)) + 3.0)
    edges = np.cumsum(weights / weights.sum())
    words: list[str] = []
    for chunk in range(0, n, 1 << 15):
        units = rng.column(min(n - chunk, 1 << 15), "words", subject, chunk) / 2.0**64
        words.extend(order[rank] for rank in np.minimum(np.searchsorted(edges, units), len(order) - 1).tolist())
    return words
