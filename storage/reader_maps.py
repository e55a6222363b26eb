"""The maps of stores that this process reads. LMDB lets a process open a file once, so all its readers of a store share the map."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

import lmdb

from thresher.storage.check import check_data_file
from thresher.storage.faults import as_readers
from thresher.storage.schema import TABLES

_SPARE_BYTES = 1 << 30  # bytes of address space, so that a growing store is seldom remapped
_Key = tuple[int, int, int]  # process, device, inode: a forked process maps anew, and a store that was replaced is another file
_lock = threading.Lock()
_maps: dict[_Key, tuple[lmdb.Environment, int]] = {}  # with the number of readers


class ReaderMap:
    """One reader's share in the map of one of a store's two environments."""

    def __init__(self, path: Path) -> None:
        """Map the environment in a directory, or share the map of another reader.

        Raises:
            StoreError: If it cannot be read.
            UsageError: If a crawl of this process has it open.
        """
        data = path / "data.mdb"
        check_data_file(data)
        at = data.stat()
        self._key = os.getpid(), at.st_dev, at.st_ino
        self._is_open = True
        with _lock:
            env, n_readers = _maps.get(self._key, (None, 0))
            self.env = _opened(path, at.st_size) if env is None else env
            _maps[self._key] = self.env, n_readers + 1

    def close(self) -> None:
        """Give the share back; the last reader closes the map."""
        with _lock:
            if not self._is_open:
                return
            self._is_open = False
            _, n_readers = _maps.pop(self._key)
            if n_readers > 1:
                _maps[self._key] = self.env, n_readers - 1
            else:
                self.env.close()


def _opened(path: Path, n_bytes: int) -> lmdb.Environment:
    try:
        with suppress(lmdb.MemoryError):  # if there is little address space: without the spare bytes
            return _map(path, n_bytes + _SPARE_BYTES)
        return _map(path, n_bytes)
    except lmdb.Error as error:
        raise as_readers(path.parent, error) from None


def _map(path: Path, map_size: int) -> lmdb.Environment:
    return lmdb.open(str(path), readonly=True, create=False, max_dbs=len(TABLES) + 8, map_size=map_size, lib_version=0)
