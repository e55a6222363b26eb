"""`redirects`: every redirect that was answered, with the end of its chain if that has settled, or else the state of the chain.

`end` is one of `ChainEnd`; a loop has no `final`, and its hops are those until it meets a URL again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from thresher.storage.export.fields import ExportKind, Field, iso
from thresher.storage.export.labels import LabelLookup
from thresher.storage.export.texts import TextLookup
from thresher.storage.records import PAIR, EdgeRecord, PairRecord
from thresher.storage.schema import PAIRS
from thresher.storage.tables.redirects import ChainEnd
from thresher.storage.view import View

_CHUNK = 1000
_OF_PAIR = frozenset(("final", "final_status", "hops", "end"))


@dataclass(slots=True)
class RedirectRow:
    """One redirect, and the pair of its original if its chain has ended."""

    url: str | None
    edge: EdgeRecord
    pair: PairRecord | None = None
    end: ChainEnd = "settled"
    hops: int = 0
    label: str | None = None


def rows(view: View, wanted: frozenset[str]) -> Iterator[RedirectRow]:
    """Yield the rows of the export."""
    texts, labels = TextLookup(view), LabelLookup.of_view(view)
    edges = view.all_edges()
    while chunk := list(islice(edges, _CHUNK)):
        found = texts.of_keys(key for key, _ in chunk)
        made = [RedirectRow(found.get(key), edge) for key, edge in chunk]
        if "label" in wanted:
            labelled = labels.of(key for key, _ in chunk)
            for row, (key, _) in zip(made, chunk, strict=True):
                row.label = labelled.get(key)
        if wanted & _OF_PAIR:
            for row, value in zip(made, view.get_many(PAIRS, [key for key, _ in chunk]), strict=True):
                row.pair = None if value is None else PAIR.decode(value)
            for row, (key, _) in zip(made, chunk, strict=True):
                row.end, row.hops = ("settled", row.pair.hops) if row.pair is not None else view.tables.redirects.chain_end(key)
        yield from made


REDIRECTS_KIND = ExportKind(
    "redirects",
    rows,
    (
        Field("url", lambda row: row.url),
        Field("to", lambda row: row.edge.to_text),
        Field("status", lambda row: row.edge.status),
        Field("final", lambda row: row.pair and row.pair.target_text),
        Field("final_status", lambda row: (row.pair and row.pair.status) or None),
        Field("hops", lambda row: row.hops),
        Field("end", lambda row: row.end),
        Field("at", lambda row: iso(row.edge.found_at)),
        Field("label", lambda row: row.label),
    ),
)
