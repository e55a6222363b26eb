"""Allows one process per store: an flock on `crawl.lock`, which names its holder and is released when that ends."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from thresher.crawler.core.errors import StoreLockedError

_PATIENCE_S = 0.4
_PAUSE_S = 0.02


def boot_id() -> str:
    """Return an id of this boot of the machine: a process id is only valid within one boot."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"


class CrawlLock:
    """Held from construction to `release`."""

    def __init__(self, path: Path) -> None:
        """Take the lock. It is tried for a short time: a holder that was killed just now ends within moments, and so does a reader.

        Raises:
            StoreLockedError: If another process holds it; the message names that process.
        """
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        until = time.monotonic() + _PATIENCE_S
        try:
            while not self._is_taken():
                if time.monotonic() > until:
                    holder = os.read(self._fd, 200).decode("ascii", "replace").partition(" ")[0] or "unknown"
                    advice = f"Wait for it, or stop it (kill -INT {holder})"
                    raise StoreLockedError(f"{path.parent}: in use by process {holder}. {advice}")
                time.sleep(_PAUSE_S)
        except BaseException:
            os.close(self._fd)
            raise
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()} {boot_id()}\n".encode(), 0)

    def _is_taken(self) -> bool:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            return False
        return True

    def release(self) -> None:
        os.close(self._fd)


def lock_holder(path: Path) -> int:
    """Return the id of the process that holds the store's lock, 0 if none does.

    A starting crawl is not disturbed: the lock is only tried if the process that it names exists.
    """
    try:
        descriptor = os.open(path / "crawl.lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        pid, _, boot = os.read(descriptor, 200).decode("ascii", "replace").strip().partition(" ")
        if not pid.isdigit() or boot != boot_id() or not _exists(int(pid)):
            return 0
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return 0
        return int(pid)
    finally:
        os.close(descriptor)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True
