"""Near-replicas while a crawl runs [DDGMP03]: pages that have the text and the neighbourhood of a kept page, on any host.

Replicas on sites of other agents: sharing.py.

A page whose text resembles a kept page's by `resemblance` is reported (`looks_like`) and kept. One that resembles it by `drop_resemblance`
for sure is a replica: its record says `replica_of` and that the page is not new; other filters learn from that (aliases, patterns, the
tail). Its document is kept unless `store_replicas` is false, since the few words that differ may be what a reader looks for. Its new links
are followed within a budget (filters/copy_links.py): the indexes of an archive replicate one another and still name new pages. Seeds and
home pages are never replicas. Of two pages that replicate one another the canonical one is preferred, whichever came first: if the older
one names the younger in rel=canonical, or only the younger names itself, the verdict on the older one is revised.

Differs from the batch (batch.py) because a crawl cannot wait for all pages: projections are scaled by fixed numbers, the hyperlink map
takes one step over the children fetched so far, and boilerplate is recognised by slots (compare.py).

If two URLs of one site have exactly equal words, this filter says nothing: exact_duplicate.py knows better which of them to keep.

Neighbourhoods decide between equal texts only. If they are not known yet, the younger page is kept and the pair is pending. After every
`_PASS` pages of a host, the pending pairs of its site are compared again, and a verdict that changes is revised. A pair that nothing has
separated after `_MOST_TRIES` comparisons is a replica, since its texts are equal.

If most pages of a host replicate those of another host at the same paths, in several blocks of time (filters/evidence/blocks.py), the host
is a mirror. That is reported once, as a revision of the verdict on the page that decided it. From then on its URLs are held and fetched
last, or refused (mirror_hosts.py), as `mirrors` says.

Time: benchmarks/speed/replicas_inline.py prints it. Memory: see records.py.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

import msgspec

from thresher.config.settings import NearReplicaSettings
from thresher.crawler.core.effects import Conclude, Effect, Revise
from thresher.crawler.core.minhash import low_bytes
from thresher.crawler.core.model import LOOKS_LIKE, OF_SERIES, TOLD_APART, Judgement, Mode, Page, Reason, Verdict
from thresher.crawler.core.ownership import Ownership
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import is_home
from thresher.filters import copy_links
from thresher.filters.base import NO_EFFECTS, NOTHING_LEARNED, Effects
from thresher.filters.evidence.blocks import are_enough
from thresher.filters.near_replica import compare
from thresher.filters.near_replica.collide import Grid
from thresher.filters.near_replica.compare import CompareLimits, Likeness
from thresher.filters.near_replica.mirror_hosts import (
    NAME as NAME,  # noqa: PLC0414 - other modules import the name from here
)
from thresher.filters.near_replica.mirror_hosts import (
    MirrorFinding,
    MirrorGate,
    Mirrors,
    count,
    count_mirrored,
    has_mirrors,
    recent,
    write_host,
)
from thresher.filters.near_replica.random_projection import bucket_table, project_buckets
from thresher.filters.near_replica.records import (
    COMPONENTS,
    SLOTS,
    HostCounts,
    KnownPage,
    PendingPage,
    ReplicaMeasure,
    children_of,
    host_key,
    judged,
    name_of,
    name_on,
    page_key,
    pending_key,
    read,
    series_of,
    signature_of,
    template_key,
    write,
)
from thresher.filters.near_replica.resemblance import SHINGLE
from thresher.filters.near_replica.sharing import Shared, SharedGate
from thresher.filters.spec import FilterSpec

_WEIGHTS: Final = bucket_table(COMPONENTS)
_SILENT: Final = Verdict(NAME)
_BOX: Final = 64  # pages in one box of the grid
_PASS: Final = 64
_MOST_PENDING: Final = 64  # pairs compared in one pass
_MOST_TRIES: Final = 8
_MIN_MIRROR: Final = 20  # pages


def spec(settings: NearReplicaSettings, owners: Ownership | None = None, *, tells_copies: bool) -> FilterSpec:
    """Return the filter with its parts.

    Args:
        owners: Owners of sites, if there are several agents.
        tells_copies: Whether no other filter finds pages of one site with exactly equal words.
    """
    gate = ReplicaGate(settings, tells_copies=tells_copies)
    observes = settings.mode == "observe"
    links = copy_links.CopyLedger(NAME) if settings.mirrors == "keep" else MirrorGate(settings.mirrors, only_observes=observes)
    shared = Shared(gate, settings, owners) if owners is not None else None
    return FilterSpec(
        NAME,
        Mode(settings.mode),
        learned=links,
        again=None if settings.mirrors == "keep" else has_mirrors,
        page=gate if shared is None else SharedGate(gate, shared),
        peer_filter=shared,
        recent=recent,
        concluder=Mirrors(),
        adopts=Mirrors.adopts,
    )


class ReplicaGate:
    """Page gate."""

    name = NAME
    measure_type = ReplicaMeasure

    def __init__(self, settings: NearReplicaSettings, *, tells_copies: bool) -> None:
        self._settings = settings
        self._tells_copies = tells_copies
        dropped_from = max(settings.resemblance, settings.drop_resemblance)
        self._limits = CompareLimits(settings.max_distance, settings.max_neighbour_distance, settings.resemblance, dropped_from)
        self._grid = Grid(settings.max_distance, capacity=_BOX, name_bytes=compare.NAME_IN_GRID)

    def measure(self, page: Page, /) -> ReplicaMeasure:
        exempt = page.url.seed_distance == 0 or is_home(page.url.text)
        if not 200 <= page.status < 300 or page.tokens.size < self._settings.min_tokens:
            return ReplicaMeasure(None, exempt)
        url = page.url
        name = name_on(url.host, url.text)
        minima, tags = low_bytes(page.tokens, SLOTS, SHINGLE, compare.TAG_STEP)
        known = KnownPage(
            url.key,
            name,
            page.fingerprint[:8],
            url.host,
            signature_of(_normalised(project_buckets(page.tokens, _WEIGHTS))),
            minima,
            page.tokens.size,
            children_of(page.links),
            b"" if not page.canonical else name if page.canonical == url.text else name_of(page.canonical),
            at=page.at,
            exempt=exempt,
            series=series_of(url.host, url.text),
        )
        return ReplicaMeasure(known, exempt, tags, copy_links.kind_of(url), url.via)

    def decide(self, measure: ReplicaMeasure, memory: Memory, /) -> tuple[Verdict, Effects]:
        page = measure.known
        if page is None or measure.exempt:
            return _SILENT, NO_EFFECTS
        found = compare.nearest(page, measure.minima, self._grid, self._limits, memory)
        if found is None or (found.original.text == page.text and found.original.site == page.site and not self._tells_copies):
            return _SILENT, NO_EFFECTS
        if not found.same or not found.sure:
            return _report(page, found), NO_EFFECTS
        if _is_rather_kept(page, found.original):
            older = found._replace(original=page)
            said = {"replaces": found.original.page.hex(), **_measured(found)}
            return Verdict(NAME, evidence=said), (Revise(found.original.page, self._replica(older, follow=True)),)
        return self._replica(found, follow=copy_links.may_follow(page.page, measure.kind, self._settings.max_links, memory)), NO_EFFECTS

    def _replica(self, found: Likeness, *, follow: bool, keep: bool | None = None) -> Verdict:
        evidence = {"replica_of": found.original.page.hex(), **_measured(found)}
        keep = self._settings.store_replicas if keep is None else keep
        return Verdict(NAME, keep, follow, round(found.resemblance, 4), Reason.NEAR_REPLICA, evidence, new=False)

    def observe(self, measure: ReplicaMeasure, judgement: Judgement, memory: Memory, /) -> Effects:
        page = measure.known
        if page is None:
            return NOTHING_LEARNED
        own = next((verdict for verdict in judgement.verdicts if verdict.filter == NAME), _SILENT)
        is_replica = own.reason is Reason.NEAR_REPLICA
        if not judgement.is_new and not is_replica:
            return NOTHING_LEARNED
        original = None if "original" not in own.evidence or TOLD_APART in own.evidence else bytes.fromhex(str(own.evidence["original"]))
        if not is_replica:
            copy_links.pay(measure.via, memory)
        elif judgement.follow:
            copy_links.mark(page.page, measure.kind, memory)
        if is_replica:
            page = msgspec.structs.replace(page, replica_of=original)
        else:
            tags = compare.tags_of(page, measure.minima, memory.get(template_key(page)) or b"")
            self._grid.add(compare.name_in_grid(page), page.signature, memory, tags)
        host, effects = self._count(page, own, original if is_replica else None, memory)
        write(memory, page_key(page.name), page)
        if original is not None and "replaces" in own.evidence:
            _replace(original, page.name, memory)
        elif original is not None and float(own.evidence["known"]) < 1.0 and _is_one_text(page, original, memory):
            write(memory, pending_key(page), PendingPage(original, is_replica))
        return effects + (self._pass(page, memory) if host.n_pages % _PASS == 0 else NO_EFFECTS)

    def on_candidate(self, page: KnownPage, original: KnownPage, memory: Memory) -> Effects:
        """Compare a kept page with a page of another agent, which takes precedence over it; both are in the memory by now."""
        random_projection = compare.distance(page, original)
        found = compare.likeness(page, original, random_projection, self._limits, memory) if random_projection < self._limits.d else None
        if found is None:
            return NO_EFFECTS
        if found.known < 1.0 and page.text == original.text:
            write(memory, pending_key(page), PendingPage(original.name, bool(found.same)))
        if not found.same or not found.sure:
            return (Revise(page.page, _report(page, found)),)
        write(memory, page_key(page.name), msgspec.structs.replace(page, replica_of=original.name))
        own = self._replica(found, follow=True)
        host = read(memory, host_key(page), HostCounts) or HostCounts()
        if original.name[4:] == page.name[4:]:
            host.alike += 1  # the page was counted when it was kept
            count_mirrored(host, original)
        effects = self._mirror(page, own, host)
        write_host(page, host, memory)
        return (Revise(page.page, own), *effects)

    def find_by(self, known: KnownPage, tags: list[bytes], memory: Memory) -> None:
        """Enter a kept page of another agent under some of its tags."""
        self._grid.add(compare.name_in_grid(known), known.signature, memory, tags)

    # -- counts, and mirrors

    def _count(self, page: KnownPage, own: Verdict, original: bytes | None, memory: Memory) -> tuple[HostCounts, Effects]:
        """Count a page for its host; report the host if it is a mirror by now."""
        host = read(memory, host_key(page), HostCounts) or HostCounts()
        host.n_pages += 1
        is_new = original is None or float(own.evidence["resemblance"]) < 1.0  # many copies of one page are not a template
        if is_new and host.n_voters < compare.ENOUGH_VOTERS:
            compare.vote(host, page, memory)
        is_mirrored = original is not None and original[4:] == page.name[4:] and original[:4] != page.name[:4]
        count(host, is_alike=is_mirrored)
        if original is not None and is_mirrored and (known := read(memory, page_key(original), KnownPage)) is not None:
            count_mirrored(host, known)
        effects = self._mirror(page, own, host)
        write_host(page, host, memory)
        return host, effects

    def _mirror(self, page: KnownPage, own: Verdict, host: HostCounts) -> Effects:
        """Ask for the decision that a host is a mirror, if it seems to be one."""
        if not host.replicates or host.mirror_of or host.n_pages < _MIN_MIRROR:
            return NO_EFFECTS
        origin, n = max(host.replicates.items(), key=lambda item: item[1])
        if n < self._settings.mirror_share * host.n_pages or not are_enough(host.blocks.get(origin, 0)):
            return NO_EFFECTS
        said = {**own.evidence, "mirror": page.origin, "mirror_of": origin}
        verdict = Verdict(NAME, own.keep, own.follow, own.score, own.reason, said)
        finding = MirrorFinding(host_key(page), page.origin, origin, page.page, verdict)
        return (Conclude(page.site, msgspec.msgpack.encode(finding)),)

    # -- pairs that are pending until their neighbourhoods are known

    def _pass(self, page: KnownPage, memory: Memory) -> Effects:
        """Compare a site's pending pairs again."""
        waiting = list(islice(memory.scan(page.site + b"p"), _MOST_PENDING))
        effects = [effect for key, value in waiting if (effect := self._again(key, value, memory)) is not None]
        return tuple(effects)

    def _again(self, key: bytes, value: bytes, memory: Memory) -> Effect | None:
        pending = msgspec.msgpack.decode(value, type=PendingPage)
        page, original = (judged(memory, name) for name in (key[9:], pending.original))
        if page is None or original is None:
            memory.delete(key)
            return None
        random_projection = compare.distance(page, original)
        hyperlink_map, share = compare.neighbourhood(page, original, memory)
        if hyperlink_map < 0.0 and pending.tries + 1 < _MOST_TRIES:
            write(memory, key, PendingPage(pending.original, pending.merged, pending.tries + 1))
            return None
        memory.delete(key)
        is_same = hyperlink_map < self._limits.c
        if is_same == pending.merged:
            return None
        alike, _ = compare.resemblance(page, original, b"")
        likeness = Likeness(original, random_projection, alike, hyperlink_map, share, is_same, True)
        write(memory, page_key(page.name), msgspec.structs.replace(page, replica_of=pending.original if is_same else b""))
        if is_same:
            return Revise(page.page, self._replica(likeness, follow=True, keep=True))
        return Revise(page.page, Verdict(NAME, evidence={"no_replica_of": original.page.hex(), **_measured(likeness)}))


def _normalised(projection: list[float]) -> list[float]:
    """Return r: R̂ scaled so that −2 becomes 0 and 2 becomes 1, and cut there. R̂'s components have a standard deviation of 1/√3."""
    r = [0.5 + 0.25 * at for at in projection]
    return r if min(r) >= 0.0 and max(r) <= 1.0 else [min(max(at, 0.0), 1.0) for at in r]


def _is_rather_kept(page: KnownPage, older: KnownPage) -> bool:
    """Return whether the younger of two pages that replicate one another is the canonical one."""
    if page.canonical == older.name:
        return False
    return older.canonical == page.name or (page.canonical == page.name and older.canonical != older.name)


def _replace(older: bytes, kept: bytes, memory: Memory) -> None:
    """Record that a kept page has become a replica of a younger one."""
    known = read(memory, page_key(older), KnownPage)
    if known is not None:
        write(memory, page_key(older), msgspec.structs.replace(known, replica_of=kept))


def _report(page: KnownPage, found: Likeness) -> Verdict:
    """Return the verdict that a page looks like a kept one, and is kept.

    The verdict is marked if both pages belong to a series, since such pages share a template, and if their host tells them apart: in both
    cases their likeness says less.
    """
    of_series = {OF_SERIES: 1} if page.series == found.original.series != b"" else {}
    told_apart = {TOLD_APART: 1} if found.told_apart else {}
    said = {LOOKS_LIKE: found.original.page.hex(), **_measured(found), **of_series, **told_apart}
    return Verdict(NAME, score=round(found.resemblance, 4), evidence=said)


def _is_one_text(page: KnownPage, original: bytes, memory: Memory) -> bool:
    known = read(memory, page_key(original), KnownPage)
    return known is not None and known.text == page.text


def _measured(found: Likeness) -> dict[str, str | float]:
    return {
        "original": found.original.name.hex(),
        "random_projection": round(found.random_projection, 6),
        "hyperlink_map": round(found.hyperlink_map, 6),
        "known": round(found.known, 4),
        "resemblance": round(found.resemblance, 4),
    }
