"""Compares sketches of pages: what `thresher replicas` prints. On several machines tasks do it, on any of them:

    points   the signature and map of each page, and the texts that are compared
    similar  the pairs of texts that collide by some bands of their sketches: a task for each part of the bands
    lines    clusters, pairs, mirrors or indexes

Memory: in each task, the sketches of all pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from thresher.config.settings import NearReplicaSettings
from thresher.crawler.analysis.columns import pack, unpack
from thresher.crawler.analysis.tasks import Tasks
from thresher.filters.near_replica.batch import Candidates, Cluster, ComparedTexts, Points, Space, TextPairs, Tolerance, similar, together
from thresher.filters.near_replica.indexes import same_children
from thresher.filters.near_replica.minhash import n_bands
from thresher.filters.near_replica.mirrors import mirrors
from thresher.filters.near_replica.sketching import Sketches

Wanted = Literal["clusters", "pairs", "mirrors", "indexes"]
_DEFAULTS: Final = NearReplicaSettings()
_PARTS: Final = 4  # of the bands


class CompareOrder(msgspec.Struct, frozen=True):
    """What a task is to compare. bands: those of `similar`, None for all"""

    tolerance: Tolerance
    wanted: Wanted
    bands: list[int] | None = None


class ComparedLines(msgspec.Struct, frozen=True):
    """What is printed. said: about all of it"""

    said: str
    lines: list[dict[str, Any]]


_encode = msgspec.msgpack.encode
_read_order = msgspec.msgpack.Decoder(CompareOrder).decode


def compared(
    sketches: Sketches, tolerance: Tolerance, wanted: Wanted, tasks: Tasks | None, say: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """Yield what is printed.

    Args:
        tasks: Of a crawl of several machines.
        say: Is told about all of it, before the first line.
    """
    if tasks is None:
        space = Space(sketches, tolerance)
        yield from _lines(space, space.text_pairs, wanted, say)
        return
    order, pages = CompareOrder(tolerance, wanted), tasks.put(pack_sketches(sketches))
    points, texts = tasks.run("points", [_encode(order), pages], n_results=2)
    found = []
    if wanted != "indexes":
        parts = _bands(sketches, tolerance)
        found = [tasks.run("similar", [_encode(msgspec.structs.replace(order, bands=bands)), texts])[0] for bands in parts]
    (made,) = tasks.run("lines", [_encode(order), pages, points, *found])
    answer = msgspec.msgpack.decode(tasks.fetch([made])[0], type=ComparedLines)
    if answer.said:
        say(answer.said)
    yield from answer.lines


def _bands(sketches: Sketches, tolerance: Tolerance) -> Sequence[list[int] | None]:
    if tolerance.candidates is not Candidates.BANDS:
        return [None]
    n = n_bands(sketches.minima, tolerance.rows)
    return [[*range(first, n, _PARTS)] for first in range(min(n, _PARTS))]


def points(order: bytes, pages: bytes) -> list[bytes]:
    """Return where all pages lie, and the texts that are compared, as a task."""
    space = Space(unpack_sketches(pages), _read_order(order).tolerance)
    return [pack({"r": space.r, "x": space.x}), pack(space.compared()._asdict())]


def similar_texts(order: bytes, texts: bytes) -> list[bytes]:
    """Return the pairs of texts that collide, as a task."""
    wanted = _read_order(order)
    return [pack(similar(ComparedTexts(**unpack(texts)), wanted.tolerance, wanted.bands)._asdict())]


def lines(order: bytes, pages: bytes, where: bytes, *found: bytes) -> list[bytes]:
    """Return what is printed, as a task."""
    wanted, said = _read_order(order), list[str]()
    space = Space(unpack_sketches(pages), wanted.tolerance, points=Points(**unpack(where)))
    n = len(space.classes.firsts)
    some = _lines(space, lambda: together([TextPairs(**unpack(part)) for part in found], n), wanted.wanted, said.append)
    return [_encode(ComparedLines(lines=[*some], said="".join(said)))]


def pack_sketches(sketches: Sketches) -> bytes:
    """Return sketches as bytes."""
    arrays = {name: getattr(sketches, name) for name in ("projections", "minima", "least", "links", "link_starts")}
    return pack({"urls": sketches.urls, "hosts": sketches.hosts, "texts": [text.hex() for text in sketches.texts], **arrays})


def unpack_sketches(packed: bytes) -> Sketches:
    """Return what `pack_sketches` packed."""
    columns = unpack(packed)
    return Sketches(**columns | {"texts": [bytes.fromhex(text) for text in columns["texts"]]})


def _lines(space: Space, pairs: Callable[[], TextPairs], wanted: Wanted, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    urls, hosts = space.sketches.urls, space.sketches.hosts
    if wanted == "indexes":
        for group in same_children(space.sketches, space.r, of_texts=space.tolerance.resemblance or _DEFAULTS.resemblance):
            yield {"representative": urls[group[0]], "same_children": [urls[page] for page in group[1:]]}
        return
    colliding = pairs()
    if wanted == "pairs":
        for block in space.pairs(colliding):
            for (one, other), random_projection, hyperlink_map, alike in zip(*(column.tolist() for column in block), strict=True):
                yield {"a": urls[one], "b": urls[other], **_measured(random_projection, hyperlink_map, alike, space.tolerance.c)}
        return
    clusters = space.clusters(colliding)
    n_replicas = sum(len(cluster.members) for cluster in clusters)
    say(f"{len(urls):,} pages, {len(clusters):,} clusters, {n_replicas:,} replicas of their representatives")
    if wanted == "clusters":
        yield from (_cluster(urls, cluster, space.tolerance.c) for cluster in clusters)
        return
    groups = [cluster.copies() for cluster in clusters]
    for mirror in mirrors(urls, hosts, space.sketches.texts, groups):
        yield {"mirror": mirror.host, "of": mirror.of, "pages": mirror.pages, "replicas": mirror.replicas, "share": mirror.share}


def _cluster(urls: list[str], cluster: Cluster, c: float) -> dict[str, Any]:
    members = [
        {"url": urls[one.page], **_measured(one.random_projection, one.hyperlink_map, one.resemblance, c)} for one in cluster.members
    ]
    return {"representative": urls[cluster.representative], "members": members}


def _measured(random_projection: float, hyperlink_map: float, resemblance: float, c: float) -> dict[str, Any]:
    return {
        "resemblance": round(resemblance, 4),
        "random_projection": round(random_projection, 6),
        "hyperlink_map": round(hyperlink_map, 6),
        "confirmed": hyperlink_map < c,
    }
