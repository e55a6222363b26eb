"""The words of pages of one shard as columns, for tasks that sketch them (replica_sketches.py, dust_lists.py): hashes, and no text.

Time: 0.6 ms a page of 25 KB. Memory: 8 bytes a word of the pages that are asked for together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import msgspec
import numpy as np

from thresher.crawler.analysis.columns import pack, unpack
from thresher.crawler.core.model import U64
from thresher.crawler.core.sketch import token_hashes
from thresher.storage.export.words import page_words
from thresher.storage.view import View


class PageWords(NamedTuple):
    """A page. words: None if its body is not stored, or has no text that can be read here; url: "" if it was not asked for"""

    url: str
    words: U64 | None


class WordsExport(msgspec.Struct, tag=True, frozen=True):
    """An order to export the words of the pages of these visits."""

    visits: list[int]

    def export(self, view: View) -> bytes:
        return _packed([PageWords("", page_words(view, visit)) for visit in self.visits])


class LooksExport(msgspec.Struct, tag=True, frozen=True):
    """An order to export what DUST compares of the pages of these visits: a page whose body is stored has words, if only those of an empty
    text.
    """

    visits: list[int]

    def export(self, view: View) -> bytes:
        return _packed([_looked_at(view, visit) for visit in self.visits])


def words_in(exports: Sequence[bytes]) -> Iterator[PageWords]:
    """Yield the pages of exports, one after the other."""
    return chain.from_iterable(map(_pages, exports))


def _looked_at(view: View, visit: int) -> PageWords:
    page = view.tables.pages.read(visit)
    if page is None or not (page.fingerprint and page.has_body):
        return PageWords("", None)
    words = page_words(view, visit)
    return PageWords(page.url, token_hashes("") if words is None else words)


def _packed(pages: Sequence[PageWords]) -> bytes:
    words = [page.words for page in pages if page.words is not None]
    return pack(
        {
            "url": [page.url for page in pages],
            "has_words": np.array([page.words is not None for page in pages], dtype=np.bool_),
            "n_words": np.array([0 if page.words is None else page.words.size for page in pages], dtype=np.int64),
            "words": np.concatenate([np.empty(0, dtype=np.uint64), *words]),
        }
    )


def _pages(packed: bytes) -> Iterator[PageWords]:
    columns = unpack(packed)
    ends = np.cumsum(columns["n_words"])
    for url, has_words, n, end in zip(
        columns["url"], columns["has_words"].tolist(), columns["n_words"].tolist(), ends.tolist(), strict=True
    ):
        yield PageWords(url, columns["words"][end - n : end] if has_words else None)
