"""`thresher soft-errors`: lines of a log or redirects of a crawl in, scores out; lines that are no redirect are counted and skipped."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import Command
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.crawler.analysis.redirect_log import read_file
from thresher.crawler.core.url import BadURL, URLRules, URLSpace

KEYS = ["original", "target", "score", "n_to_target", "n_from_host", "n_targets", "n_target_hosts", "soft_error", "kind"]


def tsv(*pairs: tuple[str, str]) -> bytes:
    return "".join(f"{original}\t{target}\n" for original, target in pairs).encode()


def to_error(n: int, host: str = "a") -> list[tuple[str, str]]:
    return [(f"http://{host}.example/{i}", f"http://{host}.example/404") for i in range(n)]


def moves(n: int) -> list[tuple[str, str]]:
    return [(f"http://old{i}.example/x", f"http://new{i}.example/y") for i in range(n)]


@pytest.fixture
def log(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(content: bytes) -> Path:
        path = tmp_path / "log.tsv"
        path.write_bytes(content)
        return path

    return write


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_every_redirect_of_a_file_is_a_line_with_its_score_and_counts(thresher: Command, log: Callable[[bytes], Path]) -> None:
    ran = thresher("soft-errors", log(tsv(*to_error(40), ("http://a.example/x", "http://b.example/"))))
    assert (ran.code, ran.err) == (0, "")
    rows = lines(ran.out)
    assert all(list(row) == KEYS for row in rows)
    assert len(rows) == 41
    assert [row["n_to_target"] for row in rows] == [40] * 40 + [1]
    assert {row["soft_error"] for row in rows} == {False}
    assert (rows[0]["kind"], rows[-1]["kind"]) == ("soft_404", "root")
    assert rows[0]["score"] == pytest.approx(2.6128, abs=1e-4)  # log10(40 · 41 / 2 / 2)


def test_standard_input_is_read_by_default_and_as_a_dash(thresher: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in ([], ["-"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(tsv(*to_error(3)))))
        assert len(lines(thresher("soft-errors", *words).out)) == 3


def test_a_crawl_gives_its_completed_pairs(thresher: Command, crawl: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in crawl.rglob("*") if path.is_file() and path.name != "lock.mdb"}
    ran = thresher("soft-errors", crawl)
    assert ran.code == 0
    assert [(row["original"], row["target"], row["score"]) for row in lines(ran.out)] == [
        ("https://a.example/old", "https://a.example/new", 0.0)
    ]
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_urls_are_put_in_canonical_form(thresher: Command, log: Callable[[bytes], Path]) -> None:
    rows = lines(thresher("soft-errors", log(tsv(("HTTP://A.example:80/%7ex#top", "http://b.example/a/../404")))).out)
    assert (rows[0]["original"], rows[0]["target"]) == ("http://a.example/~x", "http://b.example/404")


def test_what_is_no_pair_is_counted_reported_and_skipped(thresher: Command, log: Callable[[bytes], Path]) -> None:
    bad = [
        b"torn",
        b"http://a.example/\tone\ttoo many",
        b"http://a.example/\xff\thttp://b.example/",
        "http://a.example/\thttp://b.example/".encode("utf-16"),
        b"ftp://a.example/\thttp://b.example/",
        b"http://a.example/" + b"x" * 100_000 + b"\thttp://b.example/",
        b"http://a.example/" + b"x" * 9_000 + b"\thttp://b.example/",
        b"\x1b[31mhttp://a.example/\thttp://b.example/\x00",
        b"\t",
    ]
    good = tsv(*to_error(2))
    ran = thresher("soft-errors", log(b"\xef\xbb\xbf" + good.replace(b"\n", b"\r\n") + b"\n\n".join(bad) + b"\n" + good))
    assert ran.code == 0
    assert len(lines(ran.out)) == 2
    said = {"2 not two fields with a tab between (first: line 3)", "2 not UTF-8", "1 longer than 65,536 bytes", "too_long", "bad_scheme"}
    assert all(words in ran.err for words in said)
    assert f"skipped {len(bad)} of " in ran.err
    assert ran.err.isprintable() or "\x1b" not in ran.err


@pytest.mark.parametrize("content", [b"one\ntwo\n", b"\xff\xfe\n", b"x" * 3_000_000, b"not\tthis\n"])
def test_a_file_without_any_pair_is_an_error_that_says_why(content: bytes, thresher: Command, log: Callable[[bytes], Path]) -> None:
    ran = thresher("soft-errors", log(content))
    assert (ran.code, ran.out) == (2, "")
    assert "is original URL, tab, target URL" in ran.err


def test_an_empty_log_has_no_redirects(thresher: Command, log: Callable[[bytes], Path]) -> None:
    for options in ([], ["--summary"], ["--threshold", "auto", "--weights", "auto"]):
        assert thresher("soft-errors", log(b""), *options).code == 0


def test_other_spellings_are_left_out_and_counted_by_kind(thresher: Command, log: Callable[[bytes], Path]) -> None:
    pairs = [("http://a.example/x", "https://a.example/x"), ("http://a.example/x", "http://a.example/en/x"), *moves(1)]
    ran = thresher("soft-errors", log(tsv(*pairs)))
    assert len(lines(ran.out)) == 1
    assert "left out 2 redirects to another spelling of the same page: scheme 1, locale 1" in ran.err


def test_weights_and_threshold_are_the_callers(thresher: Command, log: Callable[[bytes], Path]) -> None:
    path = log(tsv(*to_error(10)))
    assert lines(thresher("soft-errors", path, "--weights", "1,0,0").out)[0]["score"] == 1.0
    assert {row["soft_error"] for row in lines(thresher("soft-errors", path, "--threshold", "2").out)} == {True}
    assert {row["soft_error"] for row in lines(thresher("soft-errors", path, "--threshold", "2.01").out)} == {False}


def test_auto_chooses_the_threshold_by_the_error_words_of_the_log(thresher: Command, log: Callable[[bytes], Path]) -> None:
    ran = thresher("soft-errors", log(tsv(*to_error(12), *moves(30))), "--threshold", "auto")
    assert {row["target"]: row["soft_error"] for row in lines(ran.out)}["http://a.example/404"] is True
    assert sum(row["soft_error"] for row in lines(ran.out)) == 12
    assert "weights 1,1,1   threshold 2.158" in ran.err
    assert "AUC 1.0000" in ran.err
    assert "1.000      1.000                0.000  <- in use" in ran.err


def test_auto_without_error_words_says_so_and_stays_at_3(thresher: Command, log: Callable[[bytes], Path]) -> None:
    ran = thresher("soft-errors", log(tsv(*moves(30))), "--threshold", "auto", "--weights", "auto")
    assert "weights 1,1,1   threshold 3" in ran.err
    assert "too few to judge or to choose by" in ran.err


def test_the_summary_has_one_row_a_target_and_counts_its_hosts(thresher: Command, log: Callable[[bytes], Path]) -> None:
    """Thirty hosts that redirect to one page had thirty rows. Mutation: a row for each target and host."""
    farm = [(f"http://lapsed{i}.example/", "http://spam.example/p") for i in range(30)]
    path = log(tsv(*moves(60), *farm, *to_error(40), *[(f"http://b.example/{i}", "http://a.example/404") for i in range(35)]))
    ran = thresher("soft-errors", path, "--summary", "--top", "3")
    head, *rows = ran.out.splitlines()
    assert head.split()[:5] == ["score", "soft", "errors", "kind", "target"]
    assert rows[0].split() == ["3.48", "75", "soft_404", "http://a.example/404", "75", "2", "a.example", "40", "1", "1"]
    assert rows[1].split()[3:7] == ["http://spam.example/p", "30", "30", "lapsed0.example"]
    assert len(rows) == 3
    assert "--top 0 prints all" in ran.err
    every = thresher("soft-errors", path, "--summary", "--top", "0").out.splitlines()[1:]
    assert len(every) == len({row.split()[3] for row in every}) == 62


def test_an_original_with_two_targets_counts_once_and_that_is_said(thresher: Command, log: Callable[[bytes], Path]) -> None:
    ran = thresher("soft-errors", log(tsv(*to_error(3), ("http://a.example/0", "http://b.example/new"))))
    rows = lines(ran.out)
    assert [(row["original"], row["target"]) for row in rows][-1] == ("http://a.example/0", "http://b.example/new")
    assert [(row["n_to_target"], row["n_from_host"], row["n_targets"]) for row in rows] == [(2, 3, 2), (2, 3, 2), (1, 3, 2)]
    assert "1 original with several targets: each counts once, with the one that comes last" in ran.err


def test_the_figures_are_a_png(thresher: Command, log: Callable[[bytes], Path], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "roc.png"
    ran = thresher("soft-errors", log(tsv(*to_error(12), *moves(30))), "--roc", out)
    assert ran.code == 0
    assert out.read_bytes().startswith(b"\x89PNG")
    assert "AUC 1.0000" in ran.err


def test_without_matplotlib_the_figures_are_an_error_that_names_the_extra(
    thresher: Command, log: Callable[[bytes], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ran = thresher("soft-errors", log(tsv(*moves(3))), "--roc", tmp_path / "roc.png")
    assert (ran.code, ran.out) == (2, "")
    assert "needs matplotlib, of the extra `report`" in ran.err


@pytest.mark.parametrize(
    "words",
    [
        ["--weights", "1,2"],
        ["--weights", "1,-1,1"],
        ["--weights", "1,nan,1"],
        ["--threshold", "high"],
        ["--threshold", "inf"],
        ["--top", "3"],
        ["--roc", "missing/roc.png"],
    ],
)
def test_what_cannot_be_meant_is_refused(words: list[str], thresher: Command, log: Callable[[bytes], Path]) -> None:
    ran = thresher("soft-errors", log(tsv(*moves(3))), *words)
    assert (ran.code, ran.out) == (2, "")
    assert words[0].strip("-") in ran.err or words[1].partition("/")[0] in ran.err


def test_a_path_that_is_nowhere_and_a_directory_that_is_no_store_are_refused(thresher: Command, tmp_path: Path) -> None:
    assert "cannot be read: No such file" in thresher("soft-errors", tmp_path / "nowhere").err
    ran = thresher("soft-errors", tmp_path)
    assert ran.code != 0
    assert str(tmp_path) in ran.err


def test_a_line_that_spans_chunks_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    content = tsv(*to_error(5), ("http://a.example/" + "y" * 70_000, "http://b.example/"), *to_error(7, "b"))
    whole = read_file(io.BytesIO(content))
    monkeypatch.setattr("thresher.crawler.analysis.redirect_log._CHUNK", 7)
    pieces = read_file(io.BytesIO(content))
    assert (len(whole.log), whole.n_lines, whole.faults) == (12, 13, {"longer than 65,536 bytes": 1})
    assert (len(pieces.log), pieces.n_lines, pieces.faults) == (12, 13, whole.faults)


SPACE = URLSpace(bytes(16), URLRules(max_length=8192, max_path_segments=8192, ports=None))
piece = st.sampled_from(["/..", "/.", "%7e", "%41", "%2f", "//", "?", "#", "é", *"abz09AZ-_~!$()*,;:@=+./?&%#' \\^`{|}"])


@given(
    st.sampled_from(["a", "a.b", "0x7f", "1.2", "xn--a", "a-", "-a", "a_b", "A"]),
    st.sampled_from(["example", "co", "1", "0x1"]),
    st.lists(piece),
)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_whatever_is_read_is_in_canonical_form(host: str, suffix: str, path: list[str]) -> None:
    """Mutation: `_PLAIN_URL` allows a blank, a % or a capital letter in the host, or "/."."""
    text = f"http://{host}.{suffix}/{''.join(path)}"
    log = read_file(io.BytesIO(f"{text}\thttp://elsewhere.example/\n".encode())).log.finish()
    try:
        assert log.originals == [SPACE.canonical(text)]
    except BadURL:
        assert log.originals == []
