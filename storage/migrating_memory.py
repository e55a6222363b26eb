"""Rows of filters' memories that schemas 5 and 6 had in another form, in the form of schema 7.

    canary   queue 16 ‖ "E"         a host's first answers: were msgpack, each with its page's words; are packed, and the words are in "W"
    canary   queue 16 ‖ "W"         a host's words: were msgpack [pages, common words, words until these are known]; are pages 1 ‖ words
    canary   queue 16 ‖ "H"         a host's state: in schema 5, one field was missing
    dust     site 8 ‖ "f"           a site's first pages: were msgpack; are packed
    undo     site 8 ‖ number 4      earlier values of other filters' records, dust's "f" among them

All other rows are copied. A row in today's form is copied, too: crawls that a development version began have some. A row that has neither
form is left out, and the filter learns it again from the pages that follow.

These forms are written down here once more, and not taken from the filters: a filter may change, the past does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge
from itertools import groupby
from struct import Struct
from typing import Any, Final

import msgspec

from thresher.storage.overlay import Row
from thresher.storage.packing import MEMORY_HEADER, pack_u64
from thresher.storage.tables.memory import filter_tag

Rows = Iterator[Row]

_CANARY, _DUST, _UNDO = filter_tag("canary"), filter_tag("dust"), filter_tag("undo")
_TAGS: Final = frozenset((_CANARY, _DUST, _UNDO))
_TAG: Final = 2
_SITE: Final = 8
_PLACE: Final = _TAG + _SITE  # bytes of a key that say which filter's records of which site
_OF_HOST: Final = _TAG + 16 + 1  # bytes of a key of a host's one record of a kind
_OF_SITE: Final = _TAG + _SITE + 1
_MSGPACK_LIST: Final = 0x90  # from here on the first byte begins a list in msgpack; in packed rows it counts, 16 at most
_IN_ROW: Final = 16  # items of a packed row
_LENGTH: Final = 2  # bytes before each item
_HASH: Final = 5  # bytes of dust's hashes
_ANSWER: Final = Struct(">BIBB")  # marks, `least`, lengths of token and `via`
_IS_KEPT: Final = 1
_WAS_MET, _IS_COPY = 1, 2
_PAGES: Final = 12  # pages from which a host's words are known
_FEWEST: Final = 20  # bytes of the words of a page that counts
_IS_FOREIGN: Final = 14  # place of the field that schema 5 had not

_Answer = tuple[bytes, str, bytes, int, bytes, bool, bytes]  # key, URL, token, least, via, is_kept, words
_Page = tuple[str, bytes, bytes, bool, bool]  # URL, text, original, is_copy, was_met
_Note = tuple[str, bytes, bytes | None, float]  # filter, key, earlier value, weight

_answers = msgspec.msgpack.Decoder(list[_Answer]).decode
_pages = msgspec.msgpack.Decoder(list[_Page]).decode
_words = msgspec.msgpack.Decoder(tuple[int, bytes, bytes]).decode
_notes = msgspec.msgpack.Decoder(list[_Note]).decode
_fields = msgspec.msgpack.Decoder(list[Any]).decode
_encode = msgspec.msgpack.Encoder().encode


def memory_rows(rows: Rows) -> Rows:
    """Yield rows of `memory` in the form of schema 7.

    Args:
        rows: Those of schema 5 or 6, in the order of their keys.
    """
    words: Row | None = None  # of the first answers of a host; their row comes later
    for key, row in rows:
        if words is not None and words[0] <= key:
            if words[0] < key:
                yield words
            words = None
        header, value = row[:MEMORY_HEADER], row[MEMORY_HEADER:]
        try:
            if key[:_TAG] == _CANARY and len(key) == _OF_HOST and key.endswith(b"E") and _is_list(value):
                answers = _answers(value)
                value = _packed(map(_answer, answers, _kept_until(answers)))
                if of_pages := [answer[-1] for answer in answers if answer[5] and len(answer[-1]) >= _FEWEST]:
                    words = key[:-1] + b"W", header + bytes((len(of_pages),)) + b"".join(of_pages)
            elif key[:_TAG] in _TAGS:
                value = _carried(key, value)
        except (msgspec.MsgspecError, ValueError):
            continue
        yield key, header + value
    if words is not None:
        yield words


def memory_bytes_rows(rows: Rows, memory: Rows) -> Rows:
    """Yield rows of `memory_bytes` that agree with the rows of `memory`.

    Args:
        rows: Those of `memory_bytes` until now.
        memory: What `memory_rows` yields.
    """
    by_place = groupby((row for row in memory if row[0][:_TAG] in _TAGS), lambda row: row[0][:_PLACE])
    sums = ((place, pack_u64(sum(len(key) + len(value) for key, value in of))) for place, of in by_place)
    return merge((row for row in rows if row[0][:_TAG] not in _TAGS), sums)


def _carried(key: bytes, value: bytes) -> bytes:
    """Return the value of a row in the form of schema 7.

    Raises:
        ValueError: If it has no known form.
        msgspec.MsgspecError: The same.
    """
    if not _is_list(value):
        return value
    if key[:_TAG] == _UNDO:
        return _encode([(name, of, _earlier(name, of, before), weight) for name, of, before, weight in _notes(value)])
    if key[:_TAG] == _DUST:
        return _first_pages(value) if len(key) == _OF_SITE and key.endswith(b"f") else value
    convert = _OF_CANARY.get(key[-1:]) if len(key) == _OF_HOST else None
    return value if convert is None else convert(value)


def _is_list(value: bytes) -> bool:
    return bool(value) and value[0] >= _MSGPACK_LIST


def _earlier(name: str, key: bytes, value: bytes | None) -> bytes | None:
    """Return the earlier value of a record; None, as if there was none, if it has no known form."""
    if name != "dust" or value is None:
        return value
    try:
        return _carried(_DUST + key, value)
    except (msgspec.MsgspecError, ValueError):
        return None


def _packed(items: Iterator[bytes]) -> bytes:
    rows = [len(item).to_bytes(_LENGTH, "big") + item for item in items]
    if not 0 < len(rows) <= _IN_ROW:
        raise ValueError(f"a list of {len(rows)}")
    return bytes((len(rows),)) + b"".join(rows)


def _kept_until(answers: list[_Answer]) -> list[int]:
    """Return for each answer how many were kept until then, with itself."""
    return [sum(answer[5] for answer in answers[: at + 1]) for at in range(len(answers))]


def _answer(answer: _Answer, n_kept: int) -> bytes:
    key, url, token, least, via, is_kept, _ = answer
    start = _ANSWER.pack(is_kept * _IS_KEPT, least, len(token), len(via))
    return start + key[_SITE:] + token + via + url.encode() + bytes((n_kept, False))


def _first_pages(value: bytes) -> bytes:
    pages = _pages(value)
    if any(len(text) != _HASH or len(original) != _HASH for _, text, original, _, _ in pages):
        raise ValueError("hashes of another length")
    n_met = [sum(page[4] for page in pages[: at + 1]) for at in range(len(pages))]
    marks = (bytes((was_met * _WAS_MET + is_copy * _IS_COPY,)) for *_, is_copy, was_met in pages)
    return _packed(mark + page[1] + page[2] + page[0].encode() + bytes((n,)) for mark, page, n in zip(marks, pages, n_met, strict=True))


def _host_words(value: bytes) -> bytes:
    n, common, until_then = _words(value)
    return bytes((n,)) + (common if n >= _PAGES else until_then)


def _host_state(value: bytes) -> bytes:
    fields = _fields(value)
    if len(fields) > _IS_FOREIGN + 1 and not isinstance(fields[_IS_FOREIGN + 1], bool):
        return _encode([*fields[:_IS_FOREIGN], False, *fields[_IS_FOREIGN:]])
    return value


_OF_CANARY: Final[dict[bytes, Callable[[bytes], bytes]]] = {b"W": _host_words, b"H": _host_state}
