"""What a crawl's archive must be, whatever killed the crawl: judged from the files, by a reader that did not write them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from thresher.storage.archive.record import labelled, sha1
from thresher.storage.packing import unpack_u64
from thresher.storage.partitions import shard_paths
from thresher.storage.records import REQUISITE
from thresher.storage.schema import CAPTURES, REQUISITES
from thresher.storage.view import View


def archive_faults(store: Path) -> list[str]:
    """Return what is wrong, in words; [] if every visit of the store has its records exactly once, and nothing else is there."""
    return [fault for shard in shard_paths(store) for fault in _of_shard(shard)]


def _of_shard(shard: Path) -> list[str]:
    found: Counter[int] = Counter()
    answered: Counter[str] = Counter()
    torn: list[str] = []
    for file in sorted((shard / "archive").glob("*.warc.gz")):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, no_record_parse=True):
                block = record.raw_stream.read()
                if record.rec_headers.get_header("WARC-Block-Digest") != labelled(sha1(block)):
                    torn.append(f"{file.name}: a record that is not what was written")
                if record.rec_type == "metadata" and block.startswith(b"visit: "):
                    found[int(block[7 : block.index(b"\r")])] += 1
                if record.rec_type in ("response", "revisit"):
                    answered[record.rec_headers.get_header("WARC-Target-URI")] += 1
    with View(shard, at_once=True) as view:
        captures = {unpack_u64(key) for key, _ in view.rows(CAPTURES)}
        pages = {visit: page.url for visit, page in view.all_pages() if page.status}
        texts = {url.key: (url.text, row.visit) for url, row in view.all_urls()}
        needed = [record.text for record in map(REQUISITE.decode, dict(view.rows(REQUISITES)).values()) if record.state == "fetched"]
        redirects = {texts[key][1]: texts[key][0] for key, _ in view.all_edges() if key in texts}
    visits = {**pages, **redirects}
    return [
        *torn,
        *(f"visit {visit}: {n} times in the archive" for visit, n in found.items() if n != 1),
        *(f"visit {visit}: in the archive, and not in the store" for visit in found.keys() - captures),
        *(f"visit {visit}: lacks its records" for visit in captures - found.keys()),
        *(f"visit {visit}: {url} was answered, and has no records" for visit, url in visits.items() if visit not in captures),
        *(f"{url}: answered, and no answer is in the archive" for url in (*visits.values(), *needed) if not answered[url]),
    ]
