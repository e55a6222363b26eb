"""Checks an archive against its store: the records of every visit are complete at their places, one after the other, and nothing else is.

Each member is unpacked, which checks its checksum, and the last record of each visit must have the visit's number.
Memory: the records of one visit, unpacked. Time: about 100 µs a visit.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from thresher.crawler.core.errors import StoreError
from thresher.storage.archive.files import FOLDER, archive_name, file_path, lack, lacks
from thresher.storage.packing import unpack_u64
from thresher.storage.partitions import local_shard_paths
from thresher.storage.records import ARCHIVE_END, PLACE, ArchiveEnd, ArchivePlace
from thresher.storage.schema import CAPTURES, META, Meta
from thresher.storage.view import View


def lacking(path: Path) -> list[str]:
    """Return which files of the archives of a crawl on this machine are gone or too short, with the reason; [] if all are there."""
    return [told for shard in local_shard_paths(path) for told in lacking_in(shard)]


def lacking_in(shard: Path) -> list[str]:
    """Return which files of the archive of one shard are gone or too short, with the reason."""
    with View(shard) as view:
        return [f"{shard / FOLDER}/{told}" for told in lacks(view.path, view.secret, view.get(META, Meta.ARCHIVE))]


def committed_files(view: View) -> Iterator[tuple[Path, int]]:
    """Yield (path, length of the committed part) of each file of the archive of one store; nothing if it has none.

    Raises:
        StoreError: If one is gone, or lacks what was committed: an export would be incomplete without saying so.
    """
    value = view.get(META, Meta.ARCHIVE)
    if value is None:
        return
    end, name = ARCHIVE_END.decode(value), archive_name(view.path, view.secret)
    least = [0] * end.serial + [end.n_bytes] * bool(end.n_bytes)
    for key, packed in view.rows(CAPTURES):
        place = PLACE.decode(packed)
        if unpack_u64(key) < view.visit:
            least[place.serial] = max(least[place.serial], place.offset + place.n_bytes)
    for serial, n_bytes in enumerate(least):
        path = file_path(view.path / FOLDER, name, serial)
        if why := lack(path, n_bytes):
            raise StoreError(f"{path} {why}. Put it back; `thresher verify` says what it held")
        yield path, n_bytes if serial == end.serial else path.stat().st_size


def archive_problems(view: View, *, unpacks: bool) -> Iterator[str]:
    """Yield a message for each fault of the archive of one store.

    Args:
        unpacks: Whether the records are unpacked.
    """
    value = view.get(META, Meta.ARCHIVE)
    end = ArchiveEnd() if value is None else ARCHIVE_END.decode(value)
    name, last = archive_name(view.path, view.secret), ArchivePlace(0, 0, 0)
    for key, packed in view.rows(CAPTURES):
        visit, place = unpack_u64(key), PLACE.decode(packed)
        if visit >= view.visit:
            break
        if (place.serial, place.offset) < (last.serial, last.offset + last.n_bytes):
            yield f"capture {visit}: its records begin before those of the visit before it end"
        if (place.serial, place.offset + place.n_bytes) > (end.serial, end.n_bytes):
            yield f"capture {visit}: its records lie past the committed end of the archive"
        elif unpacks and (problem := _problem(file_path(view.path / FOLDER, name, place.serial), place, visit)):
            yield f"capture {visit}: {problem}"
        last = place
    if end.n_bytes and (last.serial, last.offset + last.n_bytes) != (end.serial, end.n_bytes):
        yield f"archive: committed up to byte {end.n_bytes} of file {end.serial}, and its last records end elsewhere"
    yield from (f"archive: {told}" for told in lacks(view.path, view.secret, value))


def _problem(path: Path, place: ArchivePlace, visit: int) -> str:
    """Return what is wrong with the records of one visit; "" if nothing is."""
    try:
        with path.open("rb") as file:
            file.seek(place.offset)
            data = gzip.decompress(file.read(place.n_bytes))
    except (OSError, EOFError, zlib.error) as error:
        return f"its records in {path.name} cannot be read: {error}"
    if not data.startswith(b"WARC/1.1\r\n") or b"\r\n\r\nvisit: %d\r\n" % visit not in data[data.rfind(b"WARC/1.1\r\n") :]:
        return f"its records in {path.name} are of another visit"
    return ""
