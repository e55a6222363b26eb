"""Checks the archive of a crawl that was killed, from its files, by a reader of another program."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

from warcio.archiveiterator import ArchiveIterator

from thresher.storage.archive.record import labelled, sha1
from thresher.storage.packing import unpack_u64, visit_of
from thresher.storage.partitions import shard_paths
from thresher.storage.records import REQUISITE
from thresher.storage.schema import CAPTURES, REQUISITES
from thresher.storage.view import View


class _Shard(NamedTuple):
    """The visits of one shard."""

    visits: Counter[int]  # visits whose records are in its archive
    captures: set[int]  # visits whose places are in its store
    expected: list[tuple[int, int, str]]  # shard, visit and URL of what was answered; the visits of moved sites are of another shard
    needed: list[str]  # requisites that any shard has fetched


def archive_faults(store: Path) -> list[str]:
    """Return a message for each fault; [] if every visit of the store has its records exactly once, and there are no others."""
    faults: list[str] = []
    answered: set[str] = set()
    records: set[str] = set()
    references: list[tuple[str, str]] = []
    shards = [_of_shard(number, path, answered, records, references, faults) for number, path in enumerate(shard_paths(store))]
    for number, shard in enumerate(shards):
        where = f"shard {number}: " if len(shards) > 1 else ""
        faults += [f"{where}visit {visit}: {n} times in the archive" for visit, n in shard.visits.items() if n != 1]
        faults += [f"{where}visit {visit}: in the archive, and not in the store" for visit in shard.visits.keys() - shard.captures]
        faults += [f"{where}visit {visit}: lacks its records" for visit in shard.captures - shard.visits.keys()]
    expected = sorted({place for shard in shards for place in shard.expected})
    faults += [
        f"shard {number}, visit {visit}: {url} was answered, and has no records"
        for number, visit, url in expected
        if visit not in shards[number].captures
    ]
    urls = {url for _, _, url in expected}.union(*(shard.needed for shard in shards))
    faults += [f"{url}: answered, and no answer is in the archive" for url in sorted(urls - answered)]
    faults += [f"{url}: a revisit of {to}, which is in no archive" for url, to in references if to not in records]
    return faults


def _of_shard(
    number: int, path: Path, answered: set[str], records: set[str], references: list[tuple[str, str]], faults: list[str]
) -> _Shard:
    """Return the visits of a shard; add the contents of its files to the other arguments."""
    visits: Counter[int] = Counter()
    for file in sorted((path / "archive").glob("*.warc.gz")):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, no_record_parse=True):
                header, block = record.rec_headers.get_header, record.raw_stream.read()
                if header("WARC-Block-Digest") != labelled(sha1(block)):
                    faults.append(f"{file.name}: a record that is not what was written")
                if record.rec_type == "metadata" and block.startswith(b"visit: "):
                    visits[int(block[7 : block.index(b"\r")])] += 1
                if record.rec_type in ("response", "revisit"):
                    answered.add(header("WARC-Target-URI"))
                    records.add(header("WARC-Record-ID"))
                if to := header("WARC-Refers-To"):
                    references.append((header("WARC-Target-URI"), to))
    with View(path, at_once=True) as view:
        captures = {unpack_u64(key) for key, _ in view.rows(CAPTURES)}
        expected = [(number, visit, page.url) for visit, page in view.all_pages() if page.status]
        urls = {url.key: (*visit_of(row.visit, number)[::-1], url.text) for url, row in view.all_urls()}
        expected += [urls[key] for key, _ in view.all_edges() if key in urls]
        needed = [record.text for record in map(REQUISITE.decode, dict(view.rows(REQUISITES)).values()) if record.state == "fetched"]
    return _Shard(visits, captures, expected, needed)
