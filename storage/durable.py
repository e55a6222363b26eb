"""Writes files so that a power cut cannot undo them: first the bytes are synced, then the file gets its name, then the folder is synced."""

from __future__ import annotations

import os
from pathlib import Path

from thresher.storage.private import private


def replace_file(path: Path, content: bytes) -> None:
    """Replace the content of a file atomically: a reader, also after a power cut, finds the old or the new content. Other users cannot read
    it.
    """
    temporary = path.with_suffix(".tmp")
    with open(temporary, "wb", opener=private) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Sync a folder's entries to the disk: files that were made, renamed or removed in it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
