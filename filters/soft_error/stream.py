"""The score as a stream: counts in a filter's memory, one pair at a time, bounded per host and per target [LEE09].

    original's site 8 ‖ "h" ‖ hash of its host 8      → three cells: N originals, M targets, H target hosts
    target's site 8   ‖ "t" ‖ target's URL 8          → one cell: I originals
    target's site 8   ‖ "o" ‖ target's URL 8 ‖ original's key 16  → hash of the original's host 8; at most `MAX_ORIGINALS` a target

A cell (hyperloglog.py) is exact to 511 and a HyperLogLog of 4,096 bytes from there. While every cell is exact the score is that of the
batch (score.py) to the last bit; each larger count adds an independent standard error of .0071, so that the score is within .05 of the
batch's at three and a half standard errors. A pair that is replayed changes no cell.

**Late evidence.** The first redirects to an error page score low. When a target's count reaches a power of two, `observe` returns
`rescore`, and `relabels` scores the stored originals of that target again: O(log I) times for a target in all. Originals beyond the bound
need no second look: when they arrive the count is 1,024 already. Dropped records (a site's memory has a cap; lists of originals are dropped
first, then small counts) are counted again from nothing; a host's three counts are dropped together.

**Host** means a host queue, as `thresher.crawler.core.url.queue_name` names it: http, https, www. and bare of a name are one host.
All hosts of a site belong to one agent; a target of another agent is counted there over all agents (sharing.py).

Memory: up to 12 KB a host, 4 KB a target, 60 KB for 1,024 originals; 40 bytes for a host or target that was met once.
Time: 15 µs a pair below 512, 60 µs beyond.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Annotated, NamedTuple

import msgspec
import xxhash
from msgspec import Meta

from thresher.crawler.core.model import CrawlURL
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import queue_name
from thresher.filters.soft_error import hyperloglog
from thresher.filters.soft_error.score import ONE_EACH, Weights, sigma

Key = Annotated[bytes, Meta(min_length=16, max_length=16)]
MAX_ORIGINALS = 1024  # originals of one target that are scored again
_SITE = 8
_LENGTHS = struct.Struct(">3H")


class PairKeys(msgspec.Struct, array_like=True, frozen=True):
    """A redirect pair as the stream counts it; a msgspec type, for a filter's measure."""

    original: Key
    host: Key  # key of the original's host: 8 bytes of its site's key, 8 of the hash of its name
    target: Key
    target_host: Key  # key of the target's host, in the same form


class RedirectEvidence(NamedTuple):
    """The counts and the score of one redirect."""

    score: float  # σ, log10 units
    n_to_target: int  # I: originals that end at the target
    n_from_host: int  # N: originals of the host that redirect
    n_targets: int  # M: different targets of the host
    n_target_hosts: int  # H: different hosts of those targets
    rescore: bool = False  # the target's count has just reached a power of two: see `relabels`


class _Host(NamedTuple):
    """Cells of one host."""

    originals: bytes = b""
    targets: bytes = b""
    target_hosts: bytes = b""


def pair_keys(original: CrawlURL, target: CrawlURL) -> PairKeys:
    """Return the keys of a pair. The caller has excluded other spellings of one URL (spelling.same_page)."""
    return PairKeys(original.key, host_key(original), target.key, host_key(target))


def host_key(url: CrawlURL) -> bytes:
    """Return the key of a URL's host: 8 bytes of its site, 8 of the hash of its queue's name."""
    return url.key[:_SITE] + xxhash.xxh3_64_digest(queue_name(url.host).encode())


def observe(memory: Memory, keys: PairKeys, *, weights: Weights = ONE_EACH) -> RedirectEvidence:
    """Count a pair and return its score with it counted. A pair that was counted before changes nothing."""
    host_before, to_target_before = _read(memory, keys)
    host, to_target = _counted(host_before, to_target_before, keys)
    if host != host_before:
        memory.put(_host_cell(keys), _pack(host), weight=1.0 + hyperloglog.count(host.originals))
    n_before = hyperloglog.count(to_target_before)
    if to_target is not to_target_before:
        memory.put(_target_cell(keys.target), to_target, weight=1.0 + n_before)
    if n_before < MAX_ORIGINALS:
        _list_original(memory, keys)
    return _evidence(host, to_target, weights, n_before)


def evidence(memory: Memory, keys: PairKeys, *, weights: Weights = ONE_EACH) -> RedirectEvidence:
    """Return what `observe` would return, and change nothing."""
    host_before, to_target_before = _read(memory, keys)
    host, to_target = _counted(host_before, to_target_before, keys)
    return _evidence(host, to_target, weights, hyperloglog.count(to_target_before))


def count_of_peer(memory: Memory, keys: PairKeys) -> None:
    """Count a pair of another agent, for its target only: the other agent counts for the original's host."""
    before = target_cell(memory, keys.target)
    add_to_target(memory, keys.target, hyperloglog.add(before, xxhash.xxh3_64_digest(keys.original)))
    if hyperloglog.count(before) < MAX_ORIGINALS:
        _list_original(memory, keys)


def add_to_target(memory: Memory, target: bytes, cell: bytes) -> None:
    """Add a cell's originals to a target.

    Args:
        target: Key, 16 bytes.
        cell: A hyperloglog.py cell.
    """
    before = target_cell(memory, target)
    after = hyperloglog.union(before, cell)
    if after is not before:
        memory.put(_target_cell(target), after, weight=1.0 + hyperloglog.count(before))


def target_cell(memory: Memory, target: bytes) -> bytes:
    """Return the originals of a target, as a cell.

    Args:
        target: Key, 16.
    """
    return memory.get(_target_cell(target)) or b""


def standing(memory: Memory, keys: PairKeys, *, weights: Weights = ONE_EACH) -> RedirectEvidence | None:
    """Return the score of a pair by the counts so far, without the pair itself; None if its host or target was never met."""
    host, to_target = _read(memory, keys)
    return _evidence(host, to_target, weights) if host.originals and to_target else None


def n_to_target(memory: Memory, target: bytes) -> int:
    """Return how many originals are known to end at a target.

    Args:
        target: Key, 16.
    """
    return hyperloglog.count(target_cell(memory, target))


def originals(memory: Memory, target: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield (key of the original, its host's key) of a target's stored originals, at most `MAX_ORIGINALS`, in key order."""
    prefix = target[:_SITE] + b"o" + target[_SITE:]
    for row, host_hash in memory.scan(prefix):
        original = row[len(prefix) :]
        yield original, original[:_SITE] + host_hash


def relabels(memory: Memory, target: bytes, *, weights: Weights = ONE_EACH) -> Iterator[tuple[bytes, RedirectEvidence]]:
    """Yield (key of the original, its present score) of a target's stored originals, whose labels may have to change."""
    to_target = target_cell(memory, target)
    of_host: dict[bytes, RedirectEvidence] = {}
    for original, host_key_ in originals(memory, target):
        if host_key_ not in of_host:
            host = _unpack(memory.get(host_key_[:_SITE] + b"h" + host_key_[_SITE:]))
            if not host.originals:  # the record was dropped: there is no evidence against the original any more
                continue
            of_host[host_key_] = _evidence(host, to_target, weights)
        yield original, of_host[host_key_]


def _read(memory: Memory, keys: PairKeys) -> tuple[_Host, bytes]:
    host, to_target = memory.get_many((_host_cell(keys), _target_cell(keys.target)))
    return _unpack(host), to_target or b""


def _counted(host: _Host, to_target: bytes, keys: PairKeys) -> tuple[_Host, bytes]:
    """Return the cells with the pair in them."""
    counted = _Host(
        hyperloglog.add(host.originals, keys.original[_SITE:]),
        hyperloglog.add(host.targets, xxhash.xxh3_64_digest(keys.target)),
        hyperloglog.add(host.target_hosts, xxhash.xxh3_64_digest(keys.target_host)),
    )
    return counted, hyperloglog.add(to_target, xxhash.xxh3_64_digest(keys.original))


def _list_original(memory: Memory, keys: PairKeys) -> None:
    row = keys.target[:_SITE] + b"o" + keys.target[_SITE:] + keys.original
    if memory.get(row) is None:
        memory.put(row, keys.host[_SITE:])


def _evidence(host: _Host, to_target: bytes, weights: Weights, n_before: int | None = None) -> RedirectEvidence:
    n_to, n_from = hyperloglog.count(to_target), hyperloglog.count(host.originals)
    n_targets, n_target_hosts = hyperloglog.count(host.targets), hyperloglog.count(host.target_hosts)
    rescore = n_before is not None and n_to.bit_length() > n_before.bit_length()
    return RedirectEvidence(sigma(n_to, n_from, n_targets, n_target_hosts, weights), n_to, n_from, n_targets, n_target_hosts, rescore)


def _host_cell(keys: PairKeys) -> bytes:
    return keys.host[:_SITE] + b"h" + keys.host[_SITE:]


def _target_cell(target: bytes) -> bytes:
    return target[:_SITE] + b"t" + target[_SITE:]


def _pack(host: _Host) -> bytes:
    return _LENGTHS.pack(*map(len, host)) + b"".join(host)


def _unpack(record: bytes | None) -> _Host:
    if record is None:
        return _Host()
    n_originals, n_targets, _ = _LENGTHS.unpack_from(record)
    cut = _LENGTHS.size + n_originals
    return _Host(record[_LENGTHS.size : cut], record[cut : cut + n_targets], record[cut + n_targets :])
