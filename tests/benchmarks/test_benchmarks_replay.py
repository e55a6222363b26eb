"""The short form of `python -m benchmarks.quality.replay`: without a player, what another reader finds in pages is in the WARC files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from benchmarks.quality import replay_browser
from benchmarks.quality.replay import _Needs, archive, gallery, needed, of_css, served
from benchmarks.support.chromium import Shown


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


def test_a_replay_in_a_browser_is_judged_by_what_was_answered_live(capsys: pytest.CaptureFixture[str]) -> None:
    """What had no answer live is left out; a request that is lost, and a page that looks different with all of them, are named."""
    live = {
        "http://a/1": Shown({"http://a/1": 200, "http://a/i": 200, "http://b/x": 0}, b"1"),
        "http://a/2": Shown({"http://a/2": 200}, b"2"),
    }
    assert replay_browser.told("same", live, live)
    assert not replay_browser.told("lost", live, live | {"http://a/1": Shown({"http://a/1": 200, "http://a/i": 404}, b"1")})
    assert not replay_browser.told("looks", live, live | {"http://a/2": Shown({"http://a/2": 200}, b"3")})
    same, lost, named, looks, different = capsys.readouterr().out.splitlines()
    assert "3 requests answered live, 0 not so in the replay (100.0% found), 2 screenshots the same; 1 URLs without" in same
    assert "1 not so in the replay (66.7% found)" in lost
    assert named.split() == ["404", "http://a/i,", "of", "http://a/1"]
    assert "1 screenshots the same" in looks
    assert different.split()[-1] == "http://a/2"


def test_without_a_browser_the_replay_is_skipped_with_a_word(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("sys.argv", ["replay_browser"])
    replay_browser.main()
    assert capsys.readouterr().out.startswith("skipped: no chromium on the path: apt-get install")
