"""Where snapshots are kept: objects by name, each written once and completely."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from thresher.crawler.core.errors import DiskError, StoreError, UsageError
from thresher.storage.durable import replace_file, sync_folder


class Target(Protocol):
    """A place for objects. Errors of the place raise DiskError, a missing object raises StoreError."""

    def put(self, name: str, content: bytes) -> None:
        """Write an object durably and completely, or not at all."""
        ...

    def get(self, name: str, offset: int = 0, n_bytes: int | None = None) -> bytes:
        """Return an object, or a part of it."""
        ...

    def names(self, folder: str) -> list[str]:
        """Return the names of the objects in a folder, sorted."""
        ...

    def delete(self, name: str) -> None: ...


def is_url(where: str) -> bool:
    """Return whether a target is at a URL, for which fsspec is needed."""
    return "://" in where


def target(where: str) -> Target:
    """Return the target at a path, or at a URL as `s3://bucket/crawl`, for which the extra `snapshots` is needed."""
    if not is_url(where):
        return FolderTarget(Path(where))
    import fsspec

    try:
        system, path = fsspec.core.url_to_fs(where)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{where}: cannot be used as a target: {error}") from None
    return FsspecTarget(system, path, where)


class FolderTarget:
    """A folder of a file system here."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, name: str, content: bytes) -> None:
        path = self._folder / name
        try:
            if not path.parent.exists():
                path.parent.mkdir(mode=0o700, parents=True)
                sync_folder(path.parent.parent)
            replace_file(path, content)
        except OSError as error:
            raise DiskError(f"{path}: cannot be written: {error.strerror}. The snapshots before this one are whole") from None

    def get(self, name: str, offset: int = 0, n_bytes: int | None = None) -> bytes:
        path = self._folder / name
        try:
            with path.open("rb") as file:
                file.seek(offset)
                return file.read() if n_bytes is None else file.read(n_bytes)
        except FileNotFoundError:
            raise _gone(str(path)) from None
        except OSError as error:
            raise DiskError(f"{path}: cannot be read: {error.strerror}") from None

    def names(self, folder: str) -> list[str]:
        try:
            return sorted(f"{folder}/{entry.name}" for entry in os.scandir(self._folder / folder) if not entry.name.endswith(".tmp"))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise DiskError(f"{self._folder / folder}: cannot be read: {error.strerror}") from None

    def delete(self, name: str) -> None:
        path = self._folder / name
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise DiskError(f"{path}: cannot be deleted: {error.strerror}") from None


class FsspecTarget:
    """A folder of a file system of fsspec."""

    def __init__(self, system: Any, root: str, where: str) -> None:
        self._system = system
        self._root = root.rstrip("/")
        self._where = where

    def put(self, name: str, content: bytes) -> None:
        path = f"{self._root}/{name}"
        with self._errors_as_ours(name, "written", ". The snapshots before this one are whole"):
            self._system.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._system.pipe_file(path, content)

    def get(self, name: str, offset: int = 0, n_bytes: int | None = None) -> bytes:
        end = None if n_bytes is None else offset + n_bytes
        try:
            with self._errors_as_ours(name, "read"):
                return bytes(self._system.cat_file(f"{self._root}/{name}", start=offset or None, end=end))
        except FileNotFoundError:
            raise _gone(f"{self._where}/{name}") from None

    def names(self, folder: str) -> list[str]:
        try:
            with self._errors_as_ours(folder, "read"):
                self._system.invalidate_cache()
                return sorted(f"{folder}/{path.rpartition('/')[2]}" for path in self._system.ls(f"{self._root}/{folder}", detail=False))
        except FileNotFoundError:
            return []

    def delete(self, name: str) -> None:
        with suppress(FileNotFoundError), self._errors_as_ours(name, "deleted"):
            self._system.rm_file(f"{self._root}/{name}")

    @contextmanager
    def _errors_as_ours(self, name: str, done: str, advice: str = "") -> Iterator[None]:
        """Translate the errors of a file system to DiskError, except for a missing object.

        Args:
            done: What cannot be done with the object, for the message.
        """
        try:
            yield
        except FileNotFoundError:
            raise
        except Exception as error:  # noqa: BLE001 - each file system has errors of its own
            raise DiskError(f"{self._where}/{name}: cannot be {done}: {type(error).__name__}: {error}{advice}") from None


def _gone(where: str) -> StoreError:
    return StoreError(f"{where}: expected an object of a snapshot, found none. Restore another snapshot")
