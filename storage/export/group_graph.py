"""`hostgraph` and `sitegraph`: which host or site links to which other, and by how many links of pages.

Memory: 30 bytes a link across groups, and what storage/graph.py takes. Time: 0.2 µs a link, 2 µs a URL.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Literal

import numpy as np

from crawler.core.places import places
from storage.export.fields import Field, Kind
from storage.graph import read_links
from storage.packing import unpack_u64
from storage.schema import URL, URLS
from storage.view import View

GroupLink = tuple[str, str, int]


def _rows(view: View, level: Literal["host", "site"]) -> Iterator[GroupLink]:
    """Yield (source, target, links) of each pair of groups, in the order in which they were found."""
    links = read_links(view)
    n = len(links.known.states)
    seqs = np.fromiter((seq for key in view.keys(URLS) if (seq := unpack_u64(key)) < n), dtype=np.int64)
    found = places((URL.decode(value).text for _, value in islice(view.rows(URLS), len(seqs))), level)
    groups = np.zeros(n, dtype=np.int64)
    groups[seqs] = found.of
    sources, targets = np.repeat(groups, np.diff(links.offsets)), groups[links.targets]
    across = sources != targets
    pairs, counts = np.unique(sources[across] << 32 | targets[across], return_counts=True)
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        yield found.names[pair >> 32], found.names[pair & 0xFFFFFFFF], count


_FIELDS: tuple[Field[GroupLink], ...] = (
    Field("source", lambda link: link[0]),
    Field("target", lambda link: link[1]),
    Field("links", lambda link: link[2]),
)
HOSTGRAPH_KIND = Kind("hostgraph", lambda view, wanted: _rows(view, "host"), _FIELDS)
SITEGRAPH_KIND = Kind("sitegraph", lambda view, wanted: _rows(view, "site"), _FIELDS)
