"""The first items of a host are listed in their order until one may matter; then the list is closed for good."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from dict_memory import DictMemory

from thresher.filters.evidence.early import EarlyList, HeadList, LastDecoded, LastWritten, RowList

KEY = b"site___1x"


class SiteHead(msgspec.Struct, array_like=True):
    """What a filter knows of a host, with its first items among it."""

    n: int = 0
    early: list[str] = []


def row_list(memory: DictMemory) -> EarlyList[str]:
    return RowList(memory, KEY, msgspec.msgpack.Decoder(list[str]), 1.0)


def head_list(memory: DictMemory) -> HeadList[str, SiteHead]:
    return HeadList(memory, KEY, msgspec.msgpack.Decoder(SiteHead), 1.0)


READERS = pytest.mark.parametrize("read", [row_list, head_list])


@READERS
def test_items_are_listed_in_their_order_while_there_is_room(read: Callable[[DictMemory], EarlyList[str]]) -> None:
    """Mutations: one item more than `most` is listed; the list is not written."""
    memory, most = DictMemory(), EarlyList.most
    assert [read(memory).enter(lambda listed: f"item {len(listed)}") for _ in range(most)] == list(range(1, most + 1))
    assert read(memory).enter(lambda _: "one more") == 0
    assert read(memory).take() == [f"item {i}" for i in range(most)]


@READERS
def test_an_item_that_may_matter_is_not_listed_and_changes_nothing(read: Callable[[DictMemory], EarlyList[str]]) -> None:
    """The filter compares it with the listed ones."""
    memory = DictMemory()
    assert read(memory).enter(lambda listed: None if "a" in listed else "a") == 1
    before = dict(memory.rows)
    assert read(memory).enter(lambda listed: None if "a" in listed else "a") == 0
    assert memory.rows == before


def test_a_closed_row_stays_closed_even_if_nothing_was_listed() -> None:
    """Mutation: the record of a list that was closed without any item is not written, so that its host looks new for ever."""
    for n in (0, 1):
        memory = DictMemory()
        for _ in range(n):
            row_list(memory).enter(lambda _: "a")
        assert row_list(memory).take() == ["a"] * n
        assert (row_list(memory).items, row_list(memory).take()) == (None, [])
        assert row_list(memory).enter(lambda _: "b") == 0


def test_a_head_is_written_with_its_items_and_closed_by_whoever_takes_them() -> None:
    """Mutation: a head without items counted as a new one."""
    memory = DictMemory()
    first = head_list(memory)
    first.head.n = 7
    assert first.enter(lambda _: "a") == 1
    opened = head_list(memory)
    assert (opened.head.n, opened.take(), opened.head.early) == (7, ["a"], [])
    assert head_list(memory).items == ["a"], "the taker writes the head, with all that it has learned"
    opened.write()
    assert (head_list(memory).items, head_list(memory).enter(lambda _: "b")) == (None, 0)
    assert head_list(memory).head.n == 7


def test_a_list_that_is_read_again_is_not_that_of_whoever_read_it_first() -> None:
    """Mutations: the remembered items were given out themselves, so that what was added to them unwritten stood in the next list; other
    bytes were taken for the last ones.
    """
    memory, decoder = DictMemory(), LastDecoded(msgspec.msgpack.Decoder(list[str]))
    first = RowList(memory, KEY, decoder, 1.0)
    first.enter(lambda _: "a")
    read, again = (RowList(memory, KEY, decoder, 1.0) for _ in range(2))
    assert read.items == again.items == ["a"]
    assert read.items is not None
    read.items.append("unwritten")
    assert RowList(memory, KEY, decoder, 1.0).items == ["a"]
    RowList(memory, KEY, decoder, 1.0).enter(lambda _: "b")
    assert RowList(memory, KEY, decoder, 1.0).items == ["a", "b"]


def test_a_head_that_was_just_written_is_given_to_one_reader() -> None:
    """Mutations: the second reader got the same head, with the first one's unwritten changes; a head of other bytes was given."""
    memory, written = DictMemory(), LastWritten[SiteHead]()

    def read(key: bytes = KEY) -> HeadList[str, SiteHead]:
        return HeadList(memory, key, msgspec.msgpack.Decoder(SiteHead), 1.0, written)

    one = read()
    one.enter(lambda _: "a")
    two = read()
    assert two.head is one.head
    two.head.n = 7  # unwritten
    assert (read().head.n, read().items) == (0, ["a"])
    two.write()
    read(b"site___2x").enter(lambda _: "of another site")
    assert (read().head.n, read().items) == (7, ["a"])
