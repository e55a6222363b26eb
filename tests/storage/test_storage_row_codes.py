"""What is packed into a row comes back as it was; and the log of skipped URLs, which has no rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.config.settings import Settings, StoreSettings
from thresher.crawler.core.model import Purpose, Reason, State
from thresher.crawler.core.ports import SeenRow
from thresher.storage.packing import (
    REASONS,
    new_rows_in_python,
    pack_links,
    pack_links_in_python,
    pack_new,
    pack_seen,
    unpack_few_links,
    unpack_links,
    unpack_seen,
)
from thresher.storage.store import Store
from thresher.storage.view import View


def test_every_reason_has_a_code_of_its_own() -> None:
    assert sorted(REASONS) == sorted(Reason)


@given(st.lists(st.sets(st.integers(1, 2**31 - 1) | st.integers(1, 300), max_size=20)))
def test_links_are_what_they_were_packed_from(pages: list[set[int]]) -> None:
    packed = [pack_links(sorted(page)) for page in pages]
    assert packed == [pack_links_in_python(sorted(page)) for page in pages], "C says the same"
    assert [unpack_few_links(one) for one in packed] == [sorted(page) for page in pages]
    counts, seqs = unpack_links(packed)
    assert counts.tolist() == [len(page) for page in pages]
    assert seqs.tolist() == [seq for page in pages for seq in sorted(page)]


@pytest.mark.parametrize("unpack", [unpack_few_links, lambda row: unpack_links([row])])
def test_links_that_end_within_a_number_are_no_row(unpack: Callable[[bytes], object]) -> None:
    with pytest.raises(ValueError, match="ends within a number"):
        unpack(pack_links([1, 300])[:-1])


ROWS = st.builds(
    SeenRow,
    state=st.sampled_from(State),
    reason=st.none() | st.sampled_from(Reason),
    site_depth=st.integers(0, 65_535),
    seed_distance=st.integers(0, 65_535),
    hops=st.integers(0, 255),
    purpose=st.sampled_from([purpose for purpose in Purpose if purpose < Purpose.REQUISITE]),  # those have no row there
    seq=st.integers(0, 2**64 - 1),
    visit=st.integers(0, 2**64 - 1),
    worth=st.integers(0, 31),
)


@given(ROWS)
@settings(max_examples=50)
def test_a_seen_row_comes_back_as_it_was(row: SeenRow) -> None:
    assert len(pack_seen(row)) == 24
    assert unpack_seen(pack_seen(row)) == row


@given(st.lists(st.tuples(st.binary(min_size=16, max_size=16), st.integers(0, 70_000)), unique_by=lambda new: new[0], max_size=9), ROWS)
@settings(max_examples=50)
def test_new_urls_are_packed_as_each_alone_would_be(new: list[tuple[bytes, int]], row: SeenRow) -> None:
    """Mutations: all rows get the number of the first URL; each row gets the visit of the row `like`."""
    like, keys, depths = row._replace(seq=row.seq >> 1), [key for key, _ in new], [depth for _, depth in new]
    alone = {key: pack_seen(like._replace(seq=like.seq + i, site_depth=depth, visit=0)) for i, (key, depth) in enumerate(new)}
    assert pack_new(keys, depths, like) == alone
    heads = {depth: pack_seen(like._replace(site_depth=depth))[:8] for depth in depths}
    assert new_rows_in_python(keys, depths, heads, like.seq) == alone, "C says the same"


def test_a_depth_too_great_for_its_field_stays_great() -> None:
    row = SeenRow(State.QUEUED, None, 70_000, 10**6, 300, Purpose.PAGE, 1, 0)
    assert unpack_seen(pack_seen(row))[2:5] == (65_535, 65_535, 255)


def test_skips_are_written_until_sampling_sets_in(tmp_path: Path) -> None:
    with Store.create(tmp_path, Settings(store=StoreSettings(skip_sample=3)), 0.0) as store:
        for n in range(1, 251):
            store.tables.skips.add(f"https://a.example/{n}", Reason.PATH_TRAP, via=b"\x01" * 16, by="path_trap")
            if n % 100 == 0:
                store.flush().result()
        store.tables.skips.add("https://b.example/\ud800", Reason.BAD_URL)
    with Store.open(tmp_path, None, 0.0) as store:
        store.tables.skips.add("javascript:alert(1)", Reason.BAD_SCHEME)
    with View(tmp_path) as view:
        lines = list(view.all_skipped())
    assert [line.n for line in lines] == [1, 2, 3, 100, 200, 1, 1]
    assert (lines[0].by, lines[0].via, lines[-2].url, lines[-1].url) == (
        "path_trap",
        "01" * 16,
        "https://b.example/?",
        "javascript:alert(1)",
    )


def test_the_log_of_skips_goes_on_in_a_new_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresher.storage.segments._SEGMENT_BYTES", 200)
    with Store.create(tmp_path, Settings(), 0.0) as store:
        for n in range(20):
            store.tables.skips.add(f"https://{n}.example/", Reason.EXCLUDED)
            store.flush().result()
    assert len(list((tmp_path / "skipped").iterdir())) > 3
    newest = max((tmp_path / "skipped").iterdir())
    with newest.open("ab") as file:
        file.write(b"cut off by a kill")
    (tmp_path / "skipped" / "000999.jsonl.zst").write_bytes(b"never committed")
    with View(tmp_path) as view:
        assert len(list(view.all_skipped())) == 20
    Store.open(tmp_path, None, 0.0).close()
    assert not (tmp_path / "skipped" / "000999.jsonl.zst").exists()
    assert not newest.read_bytes().endswith(b"kill")
