"""Graph files: both formats, packed or not; what is no link is counted and left out, what is no graph is named."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest

from thresher.crawler.core.errors import UsageError
from thresher.crawler.graph.reading import NamedGraph, read_graph


def read(tmp_path: Path, content: bytes) -> NamedGraph:
    (tmp_path / "graph").write_bytes(content)
    return read_graph(str(tmp_path / "graph"))


def links(found: NamedGraph) -> list[tuple[str, str]]:
    graph = found.graph
    return [(found.name(s), found.name(t)) for s, t in zip(graph.sources().tolist(), graph.targets.tolist(), strict=True)]


def test_an_edge_list_names_its_nodes_in_the_order_of_their_mention(tmp_path: Path) -> None:
    found = read(tmp_path, "http://é.example/\tb\r\nb\tc\nb\tc\n\nc\thttp://é.example/\n".encode())
    assert found.names == ["http://é.example/", "b", "c"]
    assert links(found) == [("http://é.example/", "b"), ("b", "c"), ("c", "http://é.example/")]
    assert found.n_torn == 0


def test_torn_lines_are_counted_and_left_out(tmp_path: Path) -> None:
    found = read(tmp_path, b"a\tb\n\xff\tb\nno tab\na\tb\tc\n\tb\nb\ta\nb\t")
    assert links(found) == [("a", "b"), ("b", "a")]
    assert (found.n_torn, found.first_torn) == (5, 2)


def test_a_law_graph_has_numbers_for_names(tmp_path: Path) -> None:
    found = read(tmp_path, b"3\n2 1\n\n0\n\n")
    assert links(found) == [("0", "1"), ("0", "2"), ("2", "0")]
    assert found.names is None


def test_a_packed_graph_is_unpacked(tmp_path: Path) -> None:
    assert links(read(tmp_path, gzip.compress(b"2\n1\n\n"))) == [("0", "1")]


def test_a_minus_is_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(gzip.compress(b"a\tb\n")))

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert links(read_graph("-")) == [("a", "b")]


WRONG = {
    b"2\n5\n\n": ":2: expected numbers of nodes, 0 to 1, found '5'",
    b"2\nx y\n\n": ":2: expected numbers of nodes, 0 to 1, found 'x y'",
    b"2\n99999999999\n\n": ":2: expected numbers of nodes",
    b"2\n1\n": "expected 2 lines of targets after the first, found 1. The file is cut off",
    b"1\n\nextra\n": ":3: expected the end after 1 lines of targets",
    b"9999999999\n": ":1: expected at most 2,147,483,647 nodes",
    b"\nno graph\nat all": ":2: expected `source<TAB>target` on each line",
    gzip.compress(b"a\tb\n" * 1000, mtime=0)[:-12]: "cannot be read",
}


@pytest.mark.parametrize("content", WRONG)
def test_what_is_no_graph_is_named_with_its_line(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(UsageError) as raised:
        read(tmp_path, content)
    assert WRONG[content] in str(raised.value)


def test_a_file_that_is_not_there_and_a_directory_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(UsageError, match="cannot be read"):
            read_graph(str(path))


def test_an_empty_file_is_an_empty_graph(tmp_path: Path) -> None:
    assert read(tmp_path, b"").graph.n_nodes == 0
