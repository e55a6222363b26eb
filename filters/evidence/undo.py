"""Undoes what filters learned about a site: their memories return to the state in which the site was last believed.

If a wall answers instead of a site, every filter learns wrong things, each in its own records: a barren pattern, a spent shape, an alias, a
text that was "kept". No filter can undo that by itself. So their memories (`Undo.over`) write a note when a record changes for the first
time since its site was last believed: the value before the change. If a good canary shows that a site's hosts answer themselves, the notes
are deleted (`believe`). If a canary fails, the old values are restored, the newest note first (`void`). If a note is written twice, for
example after a restart, the older one is used.

The notes are records of a separate memory, under their site: they are committed with the visit that made them, and move with the site to
another agent. If no page of a site can be a canary, the site is never believed; then the oldest notes are dropped first, and the changes
that they describe become permanent. Records that belong to no site, and records that a memory has dropped to make room, are not restored.

    site 8 ‖ number 4 → [(filter, key, value before or nil, weight)]

Memory: the keys changed since a site was last believed, some `_MOST_NOTED` in all. Time: .3 µs the first put of a record where the memory
notes by itself (`NotingMemory`), which a stored one with the native code does; else 1 µs, and .2 µs each later put.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from thresher.crawler.core.ports import Change, Memory, NotingMemory, Put

NAME: Final = "undo"
_SITE: Final = 8
_NO_SITE: Final = bytes(3)  # ends the first eight bytes of a record that belongs to no site
_MOST_NOTED: Final = 1 << 16
_DELETED: Final = 0.0  # weight of a restored record: a memory does not tell the old weight

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Change]).decode


class Undo:
    """The changes of each site's records since the site was last believed."""

    def __init__(self, log: Memory) -> None:
        self._log = log
        self._memories: dict[str, UndoableMemory] = {}
        self._n_noted = 0
        self._unsaved: dict[bytes, list[Change]] = {}
        self._next: dict[bytes, int] = {}  # number of a site's next note

    def over(self, name: str, memory: Memory) -> UndoableMemory:
        """Return a filter's memory that notes what changes in it."""
        found = self._memories[name] = UndoableMemory(name, memory, self._unsaved)
        return found

    def save(self) -> None:
        """Write the notes made since the last save."""
        for site, changes in self._unsaved.items():
            n = self._number(site)
            self._log.put(site + n.to_bytes(4, "big"), _encode(changes), weight=float(n))
            self._next[site] = n + 1
            self._n_noted += len(changes)
        self._unsaved.clear()
        if self._n_noted >= _MOST_NOTED:
            self._n_noted = 0
            for memory in self._memories.values():
                memory.noted.clear()

    def believe(self, site: bytes) -> None:
        """Believe what the filters remember about a site: delete its notes."""
        for key in [key for key, _ in self._log.scan(site)]:
            self._log.delete(key)
        n_unsaved = len(self._unsaved.pop(site, ()))
        n_forgotten = sum(len(memory.noted.pop(site, ())) for memory in self._memories.values())
        self._n_noted -= n_forgotten - n_unsaved
        self._next.pop(site, None)

    def void(self, site: bytes) -> None:
        """Restore a site's records as they were when it was last believed."""
        written = [_decode(value) for _, value in self._log.scan(site)]
        for changes in reversed([*written, self._unsaved.get(site, [])]):
            for name, key, value, weight in reversed(changes):
                memory = self._memories.get(name)
                if memory is None:
                    continue  # the filter is now off
                if value is None:
                    memory.memory.delete(key)
                else:
                    memory.memory.put(key, value, weight=weight)
        self.believe(site)

    def _number(self, site: bytes) -> int:
        if len(self._next) > _MOST_NOTED:
            self._next.clear()
        found = self._next.get(site)
        if found is None:
            last = max((key for key, _ in self._log.scan(site)), default=None)
            found = 0 if last is None else int.from_bytes(last[_SITE:], "big") + 1
        return found


class UndoableMemory:
    """A filter's memory that notes its changes. Reads go to the memory itself."""

    def __init__(self, name: str, memory: Memory, changes: dict[bytes, list[Change]]) -> None:
        """Create the memory over another one.

        Args:
            changes: Site → its notes; the value of each record before its first change is added here.
        """
        self.memory = memory  # the memory itself: changes made here are not noted
        self.noted: dict[bytes, set[bytes]] = {}  # site → keys of the records whose earlier value is noted
        self._name, self._changes = name, changes
        noting = memory.noting(name, self.noted, changes) if isinstance(memory, NotingMemory) else None
        self.put: Put = noting or self._put
        self.get: Callable[[bytes], bytes | None] = memory.get
        self.get_many: Callable[[Iterable[bytes]], list[bytes | None]] = memory.get_many
        self.scan: Callable[[bytes], Iterator[tuple[bytes, bytes]]] = memory.scan

    def _put(self, key: bytes, value: bytes, /, weight: float = 0.0) -> None:
        self._note(key, weight)
        self.memory.put(key, value, weight)

    def delete(self, key: bytes, /) -> None:
        self._note(key, _DELETED)
        self.memory.delete(key)

    def _note(self, key: bytes, weight: float) -> None:
        """Note the value of a record before it changes, unless there is a note already or the record belongs to no site."""
        site = key[:_SITE]
        if site.endswith(_NO_SITE):
            return
        noted = self.noted.setdefault(site, set())
        if key not in noted:
            noted.add(key)
            self._changes.setdefault(site, []).append((self._name, key, self.memory.get(key), weight))
