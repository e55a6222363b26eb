"""Rows that are packed by hand, as today's code writes them: the bytes of fixed contents. Each must stay as it is while `VERSION` does.

A new row that is packed by hand goes here, too. If a filter learns something else in the same form, the bytes here change as well: whoever
changed it looks why, and pins them anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import xxhash
from dict_memory import DictMemory

from thresher.config.settings import ExactDuplicateSettings
from thresher.crawler.core.model import Judgement, Reason, State
from thresher.crawler.core.ports import SeenRow
from thresher.filters import copy_links
from thresher.filters.canary import records, samples, vocabulary
from thresher.filters.canary.first_answers import EarlyAnswer, FirstAnswers
from thresher.filters.canary.news import Seen
from thresher.filters.canary.records import HostState
from thresher.filters.depth_cutoff import novelty
from thresher.filters.dust import collisions, families
from thresher.filters.dust import records as dust_records
from thresher.filters.dust.shown import ShownPage
from thresher.filters.evidence.undo import Undo
from thresher.filters.exact_duplicate import DigestMeasure, ExactDuplicateFilter, outdate
from thresher.filters.near_replica import records as replica_records
from thresher.filters.near_replica.collide import Grid
from thresher.filters.soft_error import hyperloglog, stream
from thresher.storage import packing, url_rows
from thresher.storage.snapshots import manifest
from thresher.storage.tables import journal, tail
from thresher.storage.tables.memory import filter_tag

SITE = b"thesite."
PAGE, OTHER = SITE + b"page...1", SITE + b"page...2"
URL = "http://a.test/x?b=1"
_LONG = 200  # bytes
WORDS = np.arange(1, 41, dtype=np.uint32).tobytes()


def packed_forms() -> dict[str, Any]:
    """Return the bytes of each form, in hexadecimal digits; of a memory, those of its rows. Of many bytes, their hash is enough."""
    return {of.__name__.removeprefix("_"): {key: _shown(value) for key, value in sorted(of().items())} for of in _ALL}


def _shown(value: bytes) -> str:
    return value.hex() if len(value) <= _LONG else f"{len(value)} bytes {xxhash.xxh3_64_hexdigest(value)}"


def _rows(memory: DictMemory) -> dict[str, bytes]:
    return {key.hex(): value for key, value in memory.rows.items()}


def _packing() -> dict[str, bytes]:
    seen = SeenRow(State.REFUSED, Reason.MIRROR, 3, 2, 1, packing.PURPOSES[1], 77, 88, 9)
    return {
        "seen": packing.pack_seen(seen),
        "queue key": packing.pack_queue_key(PAGE, 2, 3, 4),
        "waiting": packing.pack_waiting(1, 2, 3, 4, 5, 6),
        "due": packing.pack_due(1.5, PAGE),
        "memory": packing.pack_memory(1.5, 7, b"value"),
        "links": packing.pack_links([1, 5, 300, 70_000]),
        "skips": packing.pack_skips(1, 2),
        "f64": packing.pack_f64(1.5),
        "urls": url_rows.pack_urls([URL, URL + "2"], [PAGE, b"another." + PAGE[8:]], OTHER, 1.5),
    }


def _tables() -> dict[str, bytes]:
    return {
        "tail place": tail._PLACE.pack(PAGE[8:], b"tag....1", 3, b"order..1", True),
        "arrived": msgspec.msgpack.encode(journal.arrived(journal.Move(1, 2, [(b"key", b"value")]))),
        "departed": msgspec.msgpack.encode(journal.departed(1, 2)),
        "snapshot's place": manifest.packed(manifest.ChunkPlace(bytes(range(20)), 1, 2, 3, 4)),
        "memory key": filter_tag("canary") + PAGE,
    }


def _canary_first_answers() -> dict[str, bytes]:
    memory = DictMemory()
    for i in range(17):
        FirstAnswers(memory, PAGE).add(EarlyAnswer(PAGE, f"{URL}{i}", b"token..1", 3, OTHER, True, 1, bool(i % 2)), has_own=i > 2)
    return _rows(memory)


def _canary_vocabulary() -> dict[str, bytes]:
    memory = DictMemory()
    vocabulary.learn(memory, PAGE, WORDS)
    for _ in range(12):
        vocabulary.learn(memory, OTHER, WORDS)
    return _rows(memory)


def _canary_records() -> dict[str, bytes]:
    memory = DictMemory()
    samples.note(memory, Seen(PAGE, OTHER, URL, b"token..1", 3), HostState(2))
    records.be_patient(memory, PAGE, b"token..1", URL, 5)
    records.note_again(memory, PAGE, OTHER, 3)
    records.note_wall(memory, PAGE, b"token..1")
    return _rows(memory)


def _depth_cutoff() -> dict[str, bytes]:
    sampled = np.arange(1, 12, dtype=np.uint16).tobytes()
    return {"table": novelty.look(sampled, b"")[1], "sample": novelty.sample(np.arange(1, 9, dtype=np.uint64) << np.uint64(59), "/x")}


def _dust_families() -> dict[str, bytes]:
    memory = DictMemory()
    for i, text in enumerate((b"text1", b"text2", b"text3", b"text1")):
        url = f"http://a.test/p?sid={i}"
        families.learn(memory, SITE if i else b"othersit", url, "http://a.test", ShownPage(text, b"key.%d" % i, bool(i % 2)))
        families.learn(memory, b"shutsite", url + "&print=1", "http://a.test", ShownPage(b"text1", b"key.%d" % i, False))
    return _rows(memory)


def _dust_records() -> dict[str, bytes]:
    memory = DictMemory()
    dust_records.write_look(memory, PAGE, URL, dust_records.StoredLook(b"finger.1", bytes(range(128))))
    dust_records.write_look(memory, OTHER, URL + "2", dust_records.StoredLook())
    dust_records.write_fetched(memory, SITE, URL, URL + "2")
    dust_records.note_asked(memory, SITE, URL)
    collisions.remember_first(memory, SITE, b"text...1", b"digest.1")
    collisions.note(memory, SITE, URL, URL + "2", None)
    return _rows(memory)


def _exact_duplicate() -> dict[str, bytes]:
    memory = DictMemory()
    of, judgement = ExactDuplicateFilter(ExactDuplicateSettings()), Judgement(keep=True, follow=True, verdicts=())
    outdate([PAGE], memory)
    of.observe(DigestMeasure(SITE + b"text 1", PAGE, b"kind", b"", True, False), judgement, memory)
    of.observe(DigestMeasure(SITE + b"text 1", OTHER, b"kind", b"", False, False), judgement, memory)
    copy_links.mark(OTHER, b"kind", memory)
    return _rows(memory)


def _near_replica() -> dict[str, bytes]:
    memory = DictMemory()
    grid = Grid(0.3, capacity=4, name_bytes=8)
    grid.add(b"name...1", replica_records.signature_of([0.25] * replica_records.COMPONENTS), memory, [b"tag....1"])
    return {**_rows(memory), "name": replica_records.name_of(URL), "children": replica_records.children_of([URL, URL + "2"])}


def _soft_error() -> dict[str, bytes]:
    memory = DictMemory()
    for i in range(3):
        original = SITE + b"old....%d" % i
        stream.observe(memory, stream.PairKeys(original, SITE + b"host...1", PAGE, SITE + b"host...2"))
    cell = b""
    for i in range(1_000):
        cell = hyperloglog.add(cell, (i * 0x9E3779B97F4A7C15 % (1 << 64)).to_bytes(8, "big"))
    return {**_rows(memory), "registers": cell}


def _undo() -> dict[str, bytes]:
    memory, log = DictMemory(), DictMemory()
    undo = Undo(log)
    of = undo.over("dust", memory)
    of.put(PAGE, b"new", 2.0)
    of.put(PAGE, b"newer", 2.0)
    undo.save()
    return _rows(log)


_ALL: tuple[Callable[[], dict[str, bytes]], ...] = (
    *(_packing, _tables, _canary_first_answers, _canary_vocabulary, _canary_records, _depth_cutoff, _dust_families, _dust_records),
    *(_exact_duplicate, _near_replica, _soft_error, _undo),
)
