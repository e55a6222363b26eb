"""An output file that is complete or absent: written under another name, synced, then renamed.

Only its owner may read it, since it contains what a crawl found, unless it replaces a file that others may read.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE
from typing import BinaryIO

from thresher.crawler.core.errors import DiskError, UsageError
from thresher.storage.durable import sync_folder
from thresher.storage.private import MODE


@contextmanager
def replacing(path: Path, *, force: bool) -> Iterator[BinaryIO]:
    """Yield a file to write; it replaces `path` if the block ends without an exception, and is deleted otherwise.

    Raises:
        UsageError: If there is a file already and `force` is not set.
            DiskError: If `path` is a symbolic link, or the disk refuses.
    """
    _check(path, force=force)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, MODE)
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"{path.parent}: no such directory. Make it first, or name another place with -o") from None
    except OSError as error:
        raise DiskError(f"{temporary}: cannot be written: {error.strerror}") from error
    try:
        with os.fdopen(descriptor, "wb", buffering=1 << 20) as file:
            yield file
            file.flush()
            os.fsync(descriptor)
        _check(path, force=force)
        with suppress(FileNotFoundError):
            temporary.chmod(S_IMODE(path.stat().st_mode))
        _put_in_place(temporary, path)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DiskError(f"{path}: cannot be written: {error.strerror or error}. What was there is untouched") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def replacing_folder(path: Path, *, force: bool) -> Iterator[Path]:
    """Yield an empty folder to fill; it replaces `path` if the block ends without an exception, and is deleted otherwise.

    Raises:
        UsageError: If there is something already and `force` is not set, or it contains files of another kind.
        DiskError: As for `replacing`.

    """
    _check_folder(path, force=force)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.mkdir(mode=0o700)
    except FileNotFoundError:
        raise UsageError(f"{path.parent}: no such directory. Make it first, or name another place with -o") from None
    except OSError as error:
        raise DiskError(f"{temporary}: cannot be written: {error.strerror}") from error
    try:
        yield temporary
        for file in temporary.iterdir():
            with file.open("rb") as written:
                os.fsync(written.fileno())
        sync_folder(temporary)
        _check_folder(path, force=force)
        if path.exists():
            shutil.rmtree(path)
        _put_in_place(temporary, path)
    except OSError as error:
        raise DiskError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _put_in_place(temporary: Path, path: Path) -> None:
    temporary.replace(path)
    sync_folder(path.parent)


def _check_folder(path: Path, *, force: bool) -> None:
    if path.is_symlink():
        raise DiskError(f"{path}: a symbolic link, which is never followed. Remove it, or name its target with -o")
    if not path.exists():
        return
    if not force:
        raise UsageError(f"{path}: exists already. Add --force to replace it, or name another folder with -o")
    if not path.is_dir() or any(file.suffix != ".parquet" for file in path.iterdir()):
        raise UsageError(f"{path}: expected a folder of Parquet files to replace, found something else. Name another folder with -o")


def _check(path: Path, *, force: bool) -> None:
    if path.is_symlink():
        raise DiskError(f"{path}: a symbolic link, which is never followed. Remove it, or name its target with -o")
    if path.is_dir():
        raise UsageError(f"{path}: a directory, expected a file. Name a file in it with -o")
    if path.exists() and (not force or not path.is_file()):
        raise UsageError(f"{path}: exists already. Add --force to replace it, or name another file with -o")
