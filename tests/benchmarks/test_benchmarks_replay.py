"""The short form of `python -m benchmarks.quality.replay`: without a player, what another reader finds in pages is in the WARC files."""

from __future__ import annotations

import gzip
from pathlib import Path

from benchmarks.quality.replay import _Needs, archive, gallery, needed, of_css, served


def test_what_another_reader_finds_in_pages_is_in_the_archive(tmp_path: Path) -> None:
    """A gallery with images of two sizes on two hosts, styles within styles, a font. Mutation: without requisites all of it is missing."""
    (folder := tmp_path / "gallery").mkdir()
    with served(folder, "127.0.0.3") as other, served(folder, "127.0.0.2") as origin:
        gallery(folder, other)
        taken = archive(f"{origin}/", tmp_path / "store", 2)
        wanted = needed(taken)
    (file,) = (tmp_path / "store").rglob("archive/*.warc.gz")
    content = gzip.decompress(file.read_bytes())
    assert taken == [f"{origin}/", f"{origin}/0.html"]
    assert len(wanted) == 20 + 6
    assert [url for url in wanted if f"WARC-Target-URI: {url}\r\n".encode() not in content] == []


def test_the_other_reader_reads() -> None:
    parser = _Needs()
    parser.feed('<img src=a srcset="b 1x, c 2x"><style>p { x: url(d) }</style><link rel=icon href=e><link rel=next href=no>')
    assert [each for each in parser.found if each] == ["a", "b", "c", "d", "e"]
    assert of_css("/* url(no) */ @import 'x'; a { b: url( \"y\" ) }") == ["x", "y"]
