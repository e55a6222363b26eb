"""`thresher replicas` as a user meets it."""

from __future__ import annotations

import io
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from command import Command
from small_store import SmallStore

from thresher.crawler.core.model import State

N = 12


def _text(number: int) -> str:
    rng = random.Random(number)
    return " ".join(f"w{rng.randrange(2000)}" for _ in range(200))


def _page(host: str, number: int) -> dict[str, Any]:
    return {"url": f"http://{host}/{number}", "text": _text(number), "links": [f"/{2 * number + 1}", f"/{2 * number + 2}#part"]}


def _web() -> list[dict[str, Any]]:
    """Return two hosts with the same pages, and one with pages of its own."""
    return [_page(host, number) for host in ("a.test", "b.test") for number in range(N)] + [_page("c.test", 100 + n) for n in range(N)]


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(json.dumps(page) + "\n" for page in _web()))
    return path


def _lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_clusters_name_a_representative_and_its_members_with_distances(thresher: Command, pages: Path) -> None:
    ran = thresher("replicas", pages)
    assert ran.code == 0
    same = {"resemblance": 1.0, "random_projection": 0.0, "hyperlink_map": 0.0, "confirmed": True}
    expected = [{"representative": f"http://a.test/{n}", "members": [{"url": f"http://b.test/{n}", **same}]} for n in range(N)]
    assert _lines(ran.out) == expected
    assert "36 pages, 12 clusters" in ran.err


def test_pairs_are_those_within_both_tolerances(thresher: Command, pages: Path) -> None:
    found = _lines(thresher("replicas", pages, "--pairs", "--candidates", "grid").out)
    assert {(pair["a"], pair["b"]) for pair in found} == {(f"http://a.test/{n}", f"http://b.test/{n}") for n in range(N)}
    assert all(pair["random_projection"] < 0.03 and pair["hyperlink_map"] < 0.03 for pair in found)


def test_a_mirror_is_named(thresher: Command, pages: Path) -> None:
    found = _lines(thresher("replicas", pages, "--mirrors").out)
    assert found == [{"mirror": "http://b.test", "of": "http://a.test", "pages": N, "replicas": N, "share": 1.0}]


def test_indexes_of_the_same_pages_are_named(thresher: Command, tmp_path: Path) -> None:
    links = [f"/m{n}" for n in range(8)]
    web = [{"url": f"http://l.test/by-{n}", "text": _text(n), "links": links} for n in range(3)]
    path = tmp_path / "l.jsonl"
    path.write_text("".join(json.dumps(page) + "\n" for page in web))
    found = _lines(thresher("replicas", path, "--indexes").out)
    assert found == [{"representative": "http://l.test/by-0", "same_children": ["http://l.test/by-1", "http://l.test/by-2"]}]


def test_every_option_of_the_algorithm_is_taken(thresher: Command, pages: Path) -> None:
    for options in (
        ("--D", "0.01", "--C", "1", "--K", "10", "--gamma", "0.1", "--iterations", "3"),
        ("--sum", "--gamma", "0.001", "--counting", "raw", "--whole-text"),
        ("--resemblance", "0.9", "--candidates", "bands"),
    ):
        assert len(_lines(thresher("replicas", pages, *options).out)) == N, options


def test_labels_are_judged_over_smaller_tolerances_and_drawn(thresher: Command, pages: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    labels, figure = tmp_path / "labels.tsv", tmp_path / "curves.png"
    labels.write_text("".join(f"http://a.test/{n}\thttp://b.test/{n}\n" for n in range(N)) + "torn\nhttp://a.test/1\thttp://x.test/1\n")
    ran = thresher("replicas", pages, "--evaluate", labels, "--figure", figure)
    assert ran.code == 0
    points = _lines(ran.out)
    assert points[-1] == {"D": 0.3, "C": 1.0, "precision": 1.0, "recall": 1.0, "f1": 1.0, "returned": N}
    assert len({(point["D"], point["C"]) for point in points}) == len(points)
    assert "1 lines are no pair" in ran.err
    assert "1 pairs name a page that is not there" in ran.err
    assert "break-even of RP alone 1.0000" in ran.err
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_pairs_marked_as_none_leave_the_unmarked_out(thresher: Command, pages: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.tsv"
    labels.write_text("http://a.test/0\thttp://b.test/0\t1\nhttp://a.test/1\thttp://b.test/1\t0\n")
    assert _lines(thresher("replicas", pages, "--evaluate", labels).out)[-1]["precision"] == 0.5


def test_torn_lines_are_counted_and_skipped(thresher: Command, pages: Path) -> None:
    text = pages.read_text()
    pages.write_bytes(
        text.encode() + b'{"url": "http://a.test/x", "te\n\xff\xfe\n{"url": "mailto:x", "text": ""}\n' + text.splitlines()[0].encode()
    )
    ran = thresher("replicas", pages)
    assert ran.code == 0
    assert len(_lines(ran.out)) == N
    assert "2 no JSON object" in ran.err
    assert "1 no URL of the web" in ran.err
    assert "1 a URL that was there before" in ran.err


@pytest.mark.parametrize("content", [b"not a page\n", b"\x00\xff\n", b"[1, 2]\n"])
def test_a_file_without_any_page_is_one_message(thresher: Command, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_bytes(content)
    ran = thresher("replicas", path)
    assert (ran.code, ran.out) == (2, "")
    assert "nothing in it is a page" in ran.err


def test_options_that_exclude_one_another_are_refused(thresher: Command, pages: Path) -> None:
    for options in (
        ("--pairs", "--mirrors"),
        ("--figure", "x.png"),
        ("--evaluate", "/nowhere"),
        ("--D", "0"),
        ("--C", "nan"),
        ("--gamma", "inf"),
    ):
        assert thresher("replicas", pages, *options).code == 2, options
    assert thresher("replicas", "/nowhere").code == 2
    ran = thresher("replicas", pages, "--evaluate", pages, "--figure", "/nowhere/x.png")
    assert (ran.code, ran.out, "there is no directory /nowhere" in ran.err) == (2, "", True), "said before anything is computed"


def test_standard_input_is_read_and_an_empty_one_has_no_clusters(thresher: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    ran = thresher("replicas", "-")
    assert (ran.code, ran.out) == (0, "")


def _body(number: int) -> bytes:
    return f"<!doctype html><title>t</title><p>{_text(number)}</p>".encode()


def test_a_store_is_read_with_its_redirects_and_copies(thresher: Command, tmp_path: Path) -> None:
    """The second host replicates the first. Its links lead there by a redirect; a copy without a body has the text of its original."""
    from thresher.crawler.core.sketch import fingerprint, token_hashes

    small = SmallStore(tmp_path / "store")
    seqs = {}
    for host in ("https://a.example", "https://b.example"):
        for n in range(6):
            seqs[host, n] = small.known(small.url(f"{host}/{n}"), State.DONE)
        seqs[host, -1] = small.known(small.url(f"{host}/old"), State.DONE)
        small.store.tables.redirects.put(small.url(f"{host}/old").key, small.url(f"{host}/1").key, f"{host}/1", 301, 1_700_000_000.0)
    for host in ("https://a.example", "https://b.example"):
        for n in range(6):
            is_copy = host == "https://b.example" and n == 3
            links = (seqs[host, -1 if host == "https://b.example" else 1],) if n == 0 else ()
            text = fingerprint(token_hashes(f"t {_text(n)}")) if n == 3 else b""
            small.page(small.url(f"{host}/{n}"), body=None if is_copy else _body(n), links=links, fingerprint=text)
    small.close()
    ran = thresher("replicas", tmp_path / "store", "--D", "0.001", "--C", "0.001")
    assert ran.code == 0
    found = {(line["representative"], member["url"]) for line in _lines(ran.out) for member in line["members"]}
    assert found == {(f"https://a.example/{n}", f"https://b.example/{n}") for n in range(6)}
    assert "without text" not in ran.err
