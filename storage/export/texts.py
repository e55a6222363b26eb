"""Texts of known URLs, many at a time: rows refer to URLs by key or number, exports show their texts."""

from __future__ import annotations

from collections.abc import Iterable

from thresher.storage.packing import unpack_seen
from thresher.storage.schema import SEEN
from thresher.storage.view import View

_MOST = 50_000  # texts in the cache, about 10 MB


class TextLookup:
    """Caches recent answers: a page's links share their source, a site's pages their referrers."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._by_key: dict[bytes, str] = {}
        self._by_seq: dict[int, str] = {}

    def of_keys(self, keys: Iterable[bytes]) -> dict[bytes, str]:
        """Return {key: text} for the keys of known URLs."""
        wanted = {key for key in keys if key}
        if len(self._by_key) + len(wanted) > _MOST:
            self._by_key.clear()
        rest = [key for key in wanted if key not in self._by_key]
        rows = [(key, value) for key, value in zip(rest, self._view.get_many(SEEN, rest), strict=True) if value is not None]
        texts = self._read([unpack_seen(value).seq for _, value in rows])
        self._by_key.update((key, text) for (key, _), text in zip(rows, texts, strict=True) if text)
        return {key: self._by_key[key] for key in wanted if key in self._by_key}

    def of_seqs(self, seqs: Iterable[int]) -> dict[int, str]:
        """Return {number: text} for the numbers of known URLs, in ascending order: that of discovery."""
        wanted = sorted(set(seqs))
        if len(self._by_seq) + len(wanted) > _MOST:
            self._by_seq.clear()
        rest = [seq for seq in wanted if seq not in self._by_seq]
        self._by_seq.update((seq, text) for seq, text in zip(rest, self._read(rest), strict=True) if text)
        return {seq: self._by_seq[seq] for seq in wanted if seq in self._by_seq}

    def _read(self, seqs: list[int]) -> list[str]:
        """Return the text of each number, "" if there is none."""
        return ["" if url is None else url.text for url in self._view.tables.urls.get_many(seqs)]
