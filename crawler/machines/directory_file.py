"""The directory's state on the head's disk: DIR/directory.json, written before it answers, by one process at a time."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import msgspec

from thresher.crawler.core.errors import StoreError
from thresher.crawler.machines.directory import DirectoryState
from thresher.storage.durable import replace_file
from thresher.storage.partitions import DIRECTORY

_PATIENCE_S = 15.0
_PAUSE_S = 0.1


def create(directory: Path) -> None:
    """Write the state of a new crawl, without any lease."""
    write(directory, DirectoryState())


def write(directory: Path, state: DirectoryState) -> None:
    """Replace the state, atomically and durably."""
    replace_file(directory / DIRECTORY, msgspec.json.encode(state) + b"\n")


def read(directory: Path) -> DirectoryState:
    """Return the state.

    Raises:
        StoreError: If the file is missing or damaged.
    """
    path = directory / DIRECTORY
    try:
        return msgspec.json.decode(path.read_bytes(), type=DirectoryState)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: expected a list of the machines that may make requests: {error}. Restore it from a backup") from None


def hold(directory: Path) -> int:
    """Lock the crawl's directory file until the returned descriptor is closed; waits for a process that was killed just now.

    Raises:
        StoreError: If another process has the lock.
    """
    descriptor = os.open(directory / f"{DIRECTORY}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                os.close(descriptor)
                raise StoreError(f"{directory}: another process grants the leases of this crawl. Wait until it has ended") from None
            time.sleep(_PAUSE_S)
        else:
            return descriptor
