"""Link graphs from files: `source<TAB>target` lines, or the ASCII graph of LAW; gzip is recognised, - is standard input.

A LAW graph begins with a line with the number of nodes; line v + 2 has the targets of node v [webgraph's ASCIIGraph]. An edge list names
nodes by any text, mostly URLs; nodes are numbered in the order in which they appear.

Memory: 30 bytes a link while it is read, and about 150 a named node.
"""

from __future__ import annotations

import gzip
import io
import sys
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np

from thresher.crawler.core.errors import UsageError
from thresher.crawler.graph.csr import MOST_NODES, Graph

_GZIP = b"\x1f\x8b"
_LONGEST_NUMBER = 20  # most characters of a line with the number of nodes


@dataclass(frozen=True, slots=True, eq=False)
class NamedGraph:
    """A graph as read from a file. names: [n_nodes], or None if nodes have only numbers."""

    graph: Graph
    names: list[str] | None
    n_torn: int  # lines that were left out: no link, or no text
    first_torn: int  # number of the first such line, 0 if none

    def name(self, node: int) -> str:
        return str(node) if self.names is None else self.names[node]


def read_graph(path: str) -> NamedGraph:
    """Read a graph file.

    Raises:
        UsageError: If it cannot be read or has neither format.
    """
    with _opened(path) as file:
        try:
            first = file.readline()
            if len(first) < _LONGEST_NUMBER and first.strip().isdigit():
                return _law(path, int(first), file)
            return _edge_list(path, chain((first,), file) if first else ())
        except (OSError, EOFError) as error:
            raise UsageError(f"{path}: cannot be read: {error}") from None


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    """Yield the open file; gzip is unpacked."""
    try:
        with nullcontext(sys.stdin.buffer) if path == "-" else Path(path).open("rb") as file:
            if isinstance(file, io.BufferedReader) and file.peek(2)[:2] == _GZIP:
                with gzip.open(file) as unpacked:
                    yield io.BufferedReader(unpacked)
            else:
                yield file
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read: {error.strerror or error}. Name a crawl's directory, a file of links, or - for standard input"
        ) from None


def _law(path: str, n_nodes: int, lines: Iterable[bytes]) -> NamedGraph:
    if n_nodes > MOST_NODES:
        raise UsageError(f"{path}:1: expected at most {MOST_NODES:,} nodes, found {n_nodes:,}")
    targets, degrees = array("i"), array("q")
    for number, line in enumerate(lines, 2):
        if len(degrees) == n_nodes:
            if line.strip():
                raise UsageError(f"{path}:{number}: expected the end after {n_nodes:,} lines of targets, found another line")
            continue
        try:
            found = array("i", map(int, line.split()))
        except (ValueError, OverflowError):
            found = array("i", (-1,))
        if found and not 0 <= min(found) <= max(found) < n_nodes:
            raise UsageError(f"{path}:{number}: expected numbers of nodes, 0 to {n_nodes - 1}, found {_shown(line)}")
        degrees.append(len(found))
        targets.extend(found)
    if len(degrees) < n_nodes:
        raise UsageError(f"{path}: expected {n_nodes:,} lines of targets after the first, found {len(degrees):,}. The file is cut off")
    sources = np.repeat(np.arange(n_nodes), np.array(degrees, dtype=np.int64))
    return NamedGraph(Graph.from_links(sources, np.array(targets, dtype=np.int32), n_nodes), None, 0, 0)


def _edge_list(path: str, lines: Iterable[bytes]) -> NamedGraph:
    numbers: dict[str, int] = {}
    links = array("i")
    n_torn = first_torn = 0
    for number, line in enumerate(lines, 1):
        parts = line.rstrip(b"\r\n").split(b"\t")
        try:
            source, target = (part.decode() for part in parts)
        except ValueError:  # not two parts, or not UTF-8
            source = target = ""
        if source and target:
            links.append(numbers.setdefault(source, len(numbers)))
            links.append(numbers.setdefault(target, len(numbers)))
        elif line.strip():
            n_torn += 1
            first_torn = first_torn or number
    if n_torn and not links:
        raise UsageError(
            f"{path}:{first_torn}: expected `source<TAB>target` on each line, or a LAW ASCII graph that begins with its number of nodes; "
            f"found no such line in {n_torn:,}"
        )
    pairs = np.array(links, dtype=np.int32).reshape(-1, 2)
    return NamedGraph(Graph.from_links(pairs[:, 0], pairs[:, 1], len(numbers)), list(numbers), n_torn, first_torn)


def _shown(line: bytes) -> str:
    return repr(line[:60].decode("utf-8", "replace").strip())
