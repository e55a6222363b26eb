"""What filters remember of a crawl of schema 6 is the same after it was carried over, and read by today's code.

The rows of schema 6 that are read here were written by its own code (stored_crawl.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from stored_crawl import unpacked

from thresher.filters.canary.first_answers import FirstAnswers
from thresher.filters.canary.vocabulary import vocabulary_of
from thresher.filters.dust.families import MOST_LISTED, EarlyPage
from thresher.filters.evidence.early import PackedList
from thresher.storage import migrating
from thresher.storage.migrating_memory import memory_bytes_rows, memory_rows
from thresher.storage.overlay import Row
from thresher.storage.packing import MEMORY_HEADER, pack_u64
from thresher.storage.schema import MEMORY
from thresher.storage.tables.memory import StoredMemory, filter_tag
from thresher.storage.view import View

CANARY, DUST, UNDO = map(filter_tag, ("canary", "dust", "undo"))
HEADER = bytes(MEMORY_HEADER)
QUEUE, SITE = b"the site" + b"its host", b"the site"
PAGE = ["http://a.test/", b"text1", b"orig1", True, True]


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[bytes, bytes], View]]:
    """The rows of `memory` in schema 6, and the crawl after it was carried over."""
    path = unpacked(6, tmp_path_factory.mktemp("carried"))
    with migrating._opened(path / "state/data.mdb") as env:
        before = dict(migrating._open_rows(path, env, MEMORY))
    migrating.migrate(path, print)
    with View(path) as view:
        yield before, view


def of(rows: dict[bytes, bytes], tag: bytes, length: int, kind: bytes) -> dict[bytes, Any]:
    """Return the values that were lists in msgpack, by key without the filter's tag."""
    found = {key[2:]: row[MEMORY_HEADER:] for key, row in rows.items() if key[:2] == tag and len(key) == 2 + length and key.endswith(kind)}
    return {key: msgspec.msgpack.decode(value) for key, value in found.items() if value}


def test_first_answers_and_the_words_of_their_pages_are_the_same(carried: tuple[dict[bytes, bytes], View]) -> None:
    before, view = carried
    memory = StoredMemory(view, "canary", 1 << 30)
    lists = of(before, CANARY, 17, b"E")
    assert lists
    for key, listed in lists.items():
        first = FirstAnswers(memory, key[:16])
        assert [[*answer[:6]] for answer in first.answers()] == [answer[:6] for answer in listed]
        assert (first.n_kept, first.has_own) == (sum(answer[5] for answer in listed), False)
        kept = [answer[6] for answer in listed if answer[5]]
        assert (memory.get(key[:16] + b"W") or b"\0")[1:] == b"".join(kept)
        assert vocabulary_of(memory, key[:16]).n == len(kept)
    known = of(before, CANARY, 17, b"W")
    assert {n for n, _, _ in known.values()} > {12}
    for key, (n, common, until_then) in known.items():
        assert (vocabulary_of(memory, key[:16])) == (n, common)
        assert memory.get(key) == bytes((n,)) + (common or until_then)


def test_first_pages_are_the_same(carried: tuple[dict[bytes, bytes], View]) -> None:
    before, view = carried
    lists = of(before, DUST, 9, b"f")
    assert max(map(len, lists.values())) == 16
    for key, listed in lists.items():
        pages = PackedList(StoredMemory(view, "dust", 1 << 30), key, 1.0, MOST_LISTED)
        items = pages.items()
        read = [EarlyPage.unpacked(item) for item in items]
        assert [[page.url, *page.shown, page.was_met] for page in read] == listed
        assert [item[-1] for item in items] == [sum(page.was_met for page in read[: at + 1]) for at in range(len(read))]


def test_all_other_rows_are_copied(carried: tuple[dict[bytes, bytes], View]) -> None:
    """Rows of today's form, too: those of the carried crawl stay as they are if they are carried over once more."""
    before, view = carried
    after = dict(view.rows(MEMORY))
    assert before.keys() <= after.keys()
    assert {key[-1:] for key in before if before[key] != after[key]} == {b"E", b"W", b"f"}
    assert dict(memory_rows(iter(sorted(after.items())))) == after


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (CANARY + QUEUE + b"W", [3, {1: 2}], None),
        (CANARY + QUEUE + b"E", [["no", "answer"]], None),
        (CANARY + QUEUE + b"H", [*range(10), b"", [], None, True, False, 7, 0.5], [*range(10), b"", [], None, True, False, False, 7, 0.5]),
        (CANARY + QUEUE + b"H", [*range(10), b"", [], None, True, False, True, 7], [*range(10), b"", [], None, True, False, True, 7]),
        (DUST + SITE + b"f", [["http://a.test/", b"text of another length", b"orig1", True, True]], None),
        (DUST + SITE + b"b", ["a place"], ["a place"]),
        (UNDO + SITE + bytes(4), [["dust", SITE + b"b", None, 1.0]], [["dust", SITE + b"b", None, 1.0]]),
        (UNDO + SITE + bytes(4), [["dust", SITE + b"f", msgspec.msgpack.encode([["x"]]), 1.0]], [["dust", SITE + b"f", None, 1.0]]),
    ],
    ids=[
        "words of schema 5",
        "no answers",
        "state of schema 5",
        "state of schema 6",
        "no pages",
        "places",
        "no value",
        "a note without form",
    ],
)
def test_what_has_no_known_form_is_learned_again(key: bytes, value: Any, expected: Any) -> None:
    rows: Iterator[Row] = iter([(key, HEADER + msgspec.msgpack.encode(value))])
    found = dict(memory_rows(rows))
    assert found == ({} if expected is None else {key: HEADER + msgspec.msgpack.encode(expected)})


def test_earlier_values_are_converted_too() -> None:
    """Mutation: notes are copied, and a wall that is found later restores a list that nobody can read."""
    note = [["dust", SITE + b"f", msgspec.msgpack.encode([PAGE]), 1.0], ["near_replica", SITE + b"f", b"\x91\x01", 2.0]]
    ((_, row),) = memory_rows(iter([(UNDO + SITE + bytes(4), HEADER + msgspec.msgpack.encode(note))]))
    (_, _, value, _), other = msgspec.msgpack.decode(row[MEMORY_HEADER:])
    item = b"\3text1orig1http://a.test/\1"
    assert value == b"\1" + len(item).to_bytes(2, "big") + item
    assert other == note[1]


def test_the_bytes_of_each_site_are_added_up_anew() -> None:
    memory = [(CANARY + QUEUE + b"E", b"12"), (CANARY + QUEUE + b"W", b"345"), (DUST + SITE + b"f", b"")]
    other = filter_tag("soft_error") + SITE
    rows = sorted([(CANARY + SITE, pack_u64(1)), (other, pack_u64(9)), (DUST + SITE, pack_u64(2)), (DUST + b"site two", pack_u64(2))])
    found = dict(memory_bytes_rows(iter(rows), iter(sorted(memory))))
    assert found == {CANARY + SITE: pack_u64(2 * 19 + 5), DUST + SITE: pack_u64(11), other: pack_u64(9)}


def test_words_of_a_host_come_in_the_order_of_keys() -> None:
    """The row of a host's words stands after its candidates, before the next host; the last one at the end."""
    answers = [[QUEUE, "http://a.test/", b"token..1", 3, b"", True, b"wordwordwordwordword"]]
    encode: Callable[[Any], bytes] = msgspec.msgpack.encode
    hosts = [SITE + bytes((n,)) * 8 for n in (1, 2)]
    rows = [(CANARY + host + kind, HEADER + (encode(answers) if kind == b"E" else b"\0")) for host in hosts for kind in (b"E", b"K\0")]
    found = [key for key, _ in memory_rows(iter(rows))]
    assert found == [CANARY + host + kind for host in hosts for kind in (b"E", b"K\0", b"W")]
