"""Whose fault is it? LMDB's and the system's errors as errors with an exit code."""

from __future__ import annotations

import errno
import os

import lmdb

from crawler.core.errors import DiskError, StoreError, ThresherError

_DISK_ERRNOS = frozenset({errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})


def is_disk(error: BaseException) -> bool:
    """Is the disk to blame? py-lmdb's errors carry no number, only the system's words for it."""
    if isinstance(error, lmdb.Error):
        return isinstance(error, lmdb.DiskError | lmdb.ReadonlyError) or any(os.strerror(number) in str(error) for number in _DISK_ERRNOS)
    return isinstance(error, OSError) and error.errno in _DISK_ERRNOS


def as_ours(error: BaseException) -> ThresherError:
    """Translate what stopped the store into an error with an exit code."""
    if isinstance(error, ThresherError):
        return error
    ours: ThresherError
    if is_disk(error) or isinstance(error, lmdb.PanicError | OSError):
        ours = DiskError(f"the disk refuses: {error}. What was committed is safe: make room, or repair it, then run `resume`")
    elif isinstance(error, lmdb.CorruptedError | lmdb.PageNotFoundError | lmdb.InvalidError):
        ours = StoreError(f"the store is damaged: {error}. Restore it from a backup")
    else:
        ours = ThresherError(f"the store broke: {error!r}; what was committed is safe: run `resume`")
    ours.__cause__ = error
    return ours
