"""Mirror hosts while a crawl runs: which hosts mirror others, and what happens to their URLs.

If most pages of a host replicate those of another host at the same paths, the host is a mirror. That is an opinion about its URLs that
were not fetched: as `mirrors` says, they are held and fetched last (one class for each pair of hosts), or refused. Those that are fetched
all the same (audits, the tail) are counted like any other page. If too few of the latest pages are replicas, that is less than half of the
share that makes a mirror, new URLs are not held any more.

    (no site's) 8 ‖ hash of class 8   → latest pages 1, replicas among them 1, for the order of the tail

Time: 3 µs a batch of links to hosts that are no mirrors.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final, Literal

import msgspec
import xxhash

from thresher.crawler.core.effects import Revise
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Reason, Verdict
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import is_home
from thresher.filters import copy_links
from thresher.filters.base import NO_EFFECTS, NOTHING_REFUSED, Effects, HeldLink, LinkJudgement, LinkRuling, hold_links
from thresher.filters.evidence.blocks import block_of, with_block
from thresher.filters.evidence.decay import Recent, halved
from thresher.filters.near_replica.records import HostCounts, KnownPage, host_key, name_of, read

NAME: Final = "near_replica"
_MOST_ORIGINALS: Final = 8
_MOST: Final = 64  # latest pages of a host that are counted
_PRIOR: Final = 8  # these counts are given to the tail as so many fetches
_LASTING: Final = 1e9


def count(host: HostCounts, *, is_alike: bool) -> None:
    """Count one of the latest pages of a host.

    Args:
        is_alike: Whether it replicates the page of the same path on another host.
    """
    host.lately, host.alike = halved(host.lately + 1, host.alike + is_alike, _MOST)


def count_mirrored(host: HostCounts, original: KnownPage) -> None:
    """Count, for the other host, a page that replicates its page of the same path; the hosts with the smallest counts are dropped first."""
    if len(host.replicates) >= _MOST_ORIGINALS and original.origin not in host.replicates:
        least = min(host.replicates, key=host.replicates.__getitem__)
        del host.replicates[least]
        host.blocks.pop(least, None)
    host.replicates[original.origin] = host.replicates.get(original.origin, 0) + 1
    host.blocks[original.origin] = with_block(host.blocks.get(original.origin, 0), block_of(max(0, host.n_pages - 1)))


def write_host(page: KnownPage, host: HostCounts, memory: Memory) -> None:
    """Write the record of a host; for a mirror, also the counts of its class."""
    _write(host_key(page), page.origin, host, memory)


def _write(key: bytes, origin: str, host: HostCounts, memory: Memory) -> None:
    memory.put(key, msgspec.msgpack.encode(host), weight=_LASTING)
    if host.mirror_of:
        memory.put(_class_key(holder(origin, host.mirror_of)), bytes((host.lately, host.alike)), weight=_LASTING)


def holder(origin: str, mirror_of: str) -> str:
    """Return the name under which the URLs of a mirror are held."""
    return f"{NAME} mirror {origin} of {mirror_of}"


def recent(of: str, memory: Memory) -> Recent:
    """Return the yield of a mirror's latest pages: those that replicate nothing gave something new."""
    n, alike = memory.get(_class_key(of)) or b"\0\0"
    worth = min(n, _PRIOR)
    return Recent(float(worth), worth * (1 - alike / n)) if n else Recent()


def has_mirrors(key: bytes, memory: Memory, /) -> bool:
    """Return whether any host of this URL's site was reported as a mirror."""
    return memory.get(key[:8] + b"m") is not None


class MirrorFinding(msgspec.Struct, array_like=True, frozen=True):
    """A host seems to be a mirror."""

    key: bytes  # memory key of its HostCounts
    host: str  # origin
    of: str  # origin that it mirrors
    page: bytes  # key of the page by which that was found
    verdict: Verdict  # verdict on this page, with the evidence


class Mirrors:
    """Decides that hosts which seem to be mirrors are mirrors."""

    name = NAME
    finding_type: type[Any] = MirrorFinding

    @staticmethod
    def adopts(_site: bytes, finding: MirrorFinding, memory: Memory, /) -> bool:
        """Return whether the host of a finding is not yet known as a mirror."""
        host = read(memory, finding.key, HostCounts)
        return host is not None and not host.mirror_of

    def on_finding(self, site: bytes, finding: MirrorFinding, memory: Memory, /) -> Effects:
        """Record that a host is a mirror; return the revised verdict on the page by which that was found."""
        host = read(memory, finding.key, HostCounts)
        if host is None or host.mirror_of:
            return NO_EFFECTS
        host.mirror_of = finding.of
        _write(finding.key, finding.host, host, memory)
        memory.put(site + b"m", b"", weight=_LASTING)
        return (Revise(finding.page, finding.verdict),)


class MirrorMeasure(msgspec.Struct, array_like=True, dict=True):
    """The data for counting links of copies. Decisions also need the links: the batch is available then, but is not journaled."""

    source: bytes


class MirrorGate:
    """Learned gate: holds or refuses links to mirrors, and counts the links of copies."""

    name = NAME
    measure_type = MirrorMeasure

    def __init__(self, mirrors: Literal["hold", "drop"], *, only_observes: bool = False) -> None:
        """Create the gate.

        Args:
            only_observes: Whether links are only reported, and neither held nor refused.
        """
        self._drops = mirrors == "drop"
        self._only_observes = only_observes
        self._ledger = copy_links.CopyLedger(NAME)

    def measure(self, batch: LinkBatch, /) -> MirrorMeasure:
        measure = MirrorMeasure(self._ledger.measure(batch))
        measure.__dict__["batch"] = batch
        return measure

    def decide(self, measure: MirrorMeasure, memory: Memory, /) -> tuple[LinkRuling, Effects]:
        batch: LinkBatch = measure.__dict__["batch"]
        sites = [site for site in batch.site_keys if has_mirrors(site, memory)]
        if not sites:
            return NOTHING_REFUSED, NO_EFFECTS
        found: dict[int, HostCounts] = {}
        hosts: dict[str, HostCounts | None] = {}
        for i in batch.of_sites(sites):
            origin = batch.hosts[i]
            if origin not in hosts:
                hosts[origin] = read(memory, batch.keys[i][:8] + b"h" + name_of(origin + "/")[:4], HostCounts)
            if (host := hosts[origin]) is not None and host.mirror_of:
                found[i] = host
        if self._drops:
            return LinkRuling({i: _refusal(host) for i, host in found.items()}), NO_EFFECTS
        is_seed = batch.source.seed_distance == 0 and len(batch) == 1 and batch.keys[0] == batch.source.key
        held = [
            HeldLink(i, holder(batch.hosts[i], host.mirror_of), partial(_refusal, host))
            for i, host in found.items()
            if host.is_mirror_still and not is_seed and not is_home(batch.texts[i])
        ]
        return hold_links(batch, held, only_observes=self._only_observes)

    def observe(self, measure: MirrorMeasure, judgement: LinkJudgement, memory: Memory, /) -> Effects:
        return self._ledger.observe(measure.source, judgement, memory)


def _refusal(host: HostCounts) -> Verdict:
    return Verdict(NAME, False, False, 1.0, Reason.MIRROR, {"mirror_of": host.mirror_of})


def _class_key(of: str) -> bytes:
    digest = xxhash.xxh3_64_digest(of.encode())
    return digest[:1] + b"mirr\0\0\0" + digest
