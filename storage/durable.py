"""Files and their names that a power cut cannot undo: the bytes are on the disk before the name is, and the folder's entry is, too."""

from __future__ import annotations

import os
from pathlib import Path

from thresher.storage.private import private


def replace_file(path: Path, content: bytes) -> None:
    """Give a file new content at once: a reader, also after a power cut, finds the old content or the new. Others cannot read it."""
    temporary = path.with_suffix(".tmp")
    with open(temporary, "wb", opener=private) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Bring a folder's entries to the disk: files that were made, renamed or removed in it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
