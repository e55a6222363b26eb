"""Append-only compressed logs: `NNNNNN.jsonl.zst`, each a sequence of independent zstd frames, one frame per commit.

The committed length is in `meta`; on opening, all bytes after it are cut off. A plain `zstdcat *.zst` reads them.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from backports import zstd

_SEGMENT_BYTES = 64 << 20
_SUFFIX = ".jsonl.zst"
_LEVEL = 3


def segment_path(folder: Path, segment: int) -> Path:
    return folder / f"{segment:06}{_SUFFIX}"


class SegmentWriter:
    """Appends frames durably. After construction only the writer thread uses it.

    Its file stays open: a crawl must be able to commit even when its connections use every file descriptor.
    """

    def __init__(self, folder: Path, segment: int, n_bytes: int) -> None:
        """Cut off everything after the committed end (`segment`, `n_bytes`)."""
        self._folder = folder
        self._segment = segment
        self._n_bytes = n_bytes
        for path in sorted(folder.glob(f"*{_SUFFIX}")):
            if path > segment_path(folder, segment):
                path.unlink()
        current = segment_path(folder, segment)
        if current.exists() and current.stat().st_size > n_bytes:
            os.truncate(current, n_bytes)
        self._descriptor = self._open()

    def append(self, lines: Iterable[bytes]) -> tuple[int, int]:
        """Write one frame and sync it; return the end to commit, which makes it valid. The next frame overwrites a failed one."""
        if self._n_bytes >= _SEGMENT_BYTES:
            self._segment, self._n_bytes = self._segment + 1, 0
            full, self._descriptor = self._descriptor, self._open()
            os.close(full)
        frame = zstd.compress(b"".join(line + b"\n" for line in lines), _LEVEL)
        os.ftruncate(self._descriptor, self._n_bytes)
        written = 0
        while written < len(frame):
            written += os.pwrite(self._descriptor, frame[written:], self._n_bytes + written)
        os.fsync(self._descriptor)
        self._n_bytes += len(frame)
        return self._segment, self._n_bytes

    def close(self) -> None:
        os.close(self._descriptor)

    def _open(self) -> int:
        return os.open(segment_path(self._folder, self._segment), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)


def read_lines(folder: Path, end: tuple[int, int], start: tuple[int, int] = (0, 0)) -> Iterator[bytes]:
    """Yield every committed line from `start` up to `end` (segment, bytes: where frames end), oldest first."""
    for segment in range(start[0], end[0] + 1):
        path = segment_path(folder, segment)
        if not path.exists():
            continue
        first = start[1] if segment == start[0] else 0
        n_bytes = (end[1] if segment == end[0] else path.stat().st_size) - first
        if n_bytes <= 0:
            continue
        with path.open("rb") as file:
            file.seek(first)
            frames = file.read(n_bytes)
        with zstd.ZstdFile(io.BytesIO(frames)) as lines:
            yield from (line.rstrip(b"\n") for line in lines)
