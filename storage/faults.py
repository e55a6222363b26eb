"""Translates errors of LMDB and of the system into errors whose exit code says whether the disk, the store or our code is at fault."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path

import lmdb

from thresher.crawler.core.errors import DiskError, StoreError, ThresherError, UsageError

_DISK_ERRNOS = frozenset({errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})
_PROCESS = 512 << 20  # bytes of address space that an agent needs beside its store's maps
_LEAST_ADVISED, _MOST_ADVISED = 32 << 20, 256 << 20  # bytes of one map
_OPEN_HERE = "already open in this process"
_ROT = (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.InvalidError, lmdb.CursorFullError, lmdb.BadTxnError)


def is_disk(error: BaseException) -> bool:
    """Return whether the disk is at fault. py-lmdb's errors have no number, only the system's text for it."""
    if isinstance(error, lmdb.Error):
        return isinstance(error, lmdb.DiskError | lmdb.ReadonlyError) or any(os.strerror(number) in str(error) for number in _DISK_ERRNOS)
    return isinstance(error, OSError) and error.errno in _DISK_ERRNOS


def is_ours(error: BaseException) -> bool:
    """Return whether `as_ours` can translate the error."""
    return isinstance(error, ThresherError | lmdb.Error) or is_disk(error)


def as_ours(error: BaseException) -> ThresherError:
    """Translate the error that stopped the store into an error with an exit code."""
    if isinstance(error, ThresherError):
        return error
    ours: ThresherError
    if _OPEN_HERE in str(error):
        ours = UsageError(f"{error} Close the reader or the crawl that has it open, then try again. Nothing is damaged")
    elif isinstance(error, lmdb.MemoryError):
        ours = UsageError(
            f"{error}: {address_space_in_words()}, and the store reserves two maps of store.map_size each, as addresses, not as memory. "
            f"Raise the limit, as by `ulimit -v unlimited`{_less()}. Nothing is damaged"
        )
    elif is_disk(error) or isinstance(error, lmdb.PanicError | OSError):
        ours = DiskError(f"the disk refuses: {error}. What was committed is safe: make room, or repair it, then run `resume`")
    elif isinstance(error, _ROT):
        ours = StoreError(f"the store is damaged: {error}. Restore it from a backup")
    else:
        ours = ThresherError(f"the store broke: {error!r}; what was committed is safe: run `resume`")
    ours.__cause__ = error
    return ours


def as_readers(path: Path, error: BaseException) -> ThresherError:
    """Translate an error that stopped a reader of the store in `path`."""
    ours: ThresherError
    if _OPEN_HERE in str(error):
        ours = UsageError(
            f"{path}: a crawl of this process has it open. Read it when that has ended, or from another process; `on_page` gets each page, "
            "with its text. Nothing is damaged"
        )
    elif isinstance(error, lmdb.MemoryError):
        ours = UsageError(
            f"{error}: {address_space_in_words()}, and reading a store maps its files, which takes addresses, not memory. Raise the limit, "
            "as by `ulimit -v unlimited`. Nothing is damaged"
        )
    elif os.strerror(errno.EACCES) in str(error):
        ours = UsageError(
            f"{path}: {error}. Whoever reads a crawl must be able to write the files lock.mdb in its folders `state` and `results`: "
            "readers note there what they look at. Nothing is damaged"
        )
    elif is_disk(error):
        ours = DiskError(f"{path}: cannot be read: {error}. Repair the disk, or copy the crawl to another")
    else:
        ours = StoreError(f"{path}: damaged: {error}. `verify {path}` says more. Restore it from a backup")
    ours.__cause__ = error
    return ours


def _less() -> str:
    """Return the advice to set smaller maps, if the limit leaves room for any beside the process itself."""
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    room = _MOST_ADVISED if soft == resource.RLIM_INFINITY else min(_MOST_ADVISED, (soft - _PROCESS) // 2)
    if room < _LEAST_ADVISED:
        return f"; a crawl wants {(_PROCESS + 2 * _MOST_ADVISED) >> 20:,} MiB at the least"
    advised = 1 << (room.bit_length() - 1)
    return f", or set less, as by --set 'store.map_size={advised >> 20} MiB': maps grow by themselves as far as the limit lets them"


def address_space_in_words() -> str:
    """Return a clause that says what limits the address space of this process."""
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    if soft == resource.RLIM_INFINITY:
        return "the system gives this process no more address space"
    return f"this process may have {soft >> 20:,} MiB of address space in all (ulimit -v)"
