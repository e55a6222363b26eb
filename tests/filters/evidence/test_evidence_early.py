"""The first items of a host are listed in their order until one may matter; then the list is closed for good."""

from __future__ import annotations

import msgspec
from dict_memory import DictMemory

from thresher.filters.evidence.early import HeadList, LastWritten, PackedList

KEY = b"site___1x"


class SiteHead(msgspec.Struct, array_like=True):
    """What a filter knows of a host, with its first items among it."""

    n: int = 0
    early: list[str] = []


def packed_list(memory: DictMemory, most: int = 40) -> PackedList:
    return PackedList(memory, KEY, 1.0, most)


def head_list(memory: DictMemory) -> HeadList[str, SiteHead]:
    return HeadList(memory, KEY, msgspec.msgpack.Decoder(SiteHead), 1.0)


def test_items_are_listed_in_their_order_while_there_is_room() -> None:
    """Mutation: one item more than `most` is listed; the list is not written."""
    memory, most = DictMemory(), HeadList.most
    assert [head_list(memory).enter(lambda listed: f"item {len(listed)}") for _ in range(most)] == list(range(1, most + 1))
    assert head_list(memory).enter(lambda _: "one more") == 0
    assert head_list(memory).take() == [f"item {i}" for i in range(most)]


def test_an_item_that_may_matter_is_not_listed_and_changes_nothing() -> None:
    """The filter compares it with the listed ones."""
    memory = DictMemory()
    assert head_list(memory).enter(lambda listed: None if "a" in listed else "a") == 1
    before = dict(memory.rows)
    assert head_list(memory).enter(lambda listed: None if "a" in listed else "a") == 0
    assert memory.rows == before


def test_a_packed_list_is_read_as_it_was_written_however_many_records_it_takes() -> None:
    """Mutations: a full record is followed by none; an item of other records is not found; the last item is that of the first record."""
    memory, items = DictMemory(), [b"%d" % n * (n % 7) for n in range(40)]
    for n, item in enumerate(items):
        first = packed_list(memory)
        assert (len(first), first.has_room, first.items()) == (n, True, items[:n])
        first.append(item)
        assert first.items() == packed_list(memory).items() == items[: n + 1]
        assert packed_list(memory).tail(2) == item[-2:] or len(item) < 2
    full = packed_list(memory)
    assert (len(full), full.has_room) == (40, False)
    assert [full.may_have(b"39"), full.may_have(b"1010"), full.may_have(b"none")] == [True, True, False]


def test_a_packed_list_stays_closed_even_if_nothing_was_listed() -> None:
    """Mutations: the record of a list that was closed without any item is not written, so that its host looks new for ever; records after
    the first one stay.
    """
    for n in (0, 1, 40):
        memory = DictMemory()
        for _ in range(n):
            packed_list(memory).append(b"a")
        assert packed_list(memory).take() == [b"a"] * n
        closed = packed_list(memory)
        assert (len(closed), closed.is_open, closed.has_room, closed.take(), closed.tail(1)) == (0, False, False, [], b"")
        assert memory.rows == {KEY: b""}


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
