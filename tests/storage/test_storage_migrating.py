"""A crawl of an earlier schema is carried over whole, or stays as it was."""

from __future__ import annotations

import shutil
from pathlib import Path

import forking
import lmdb
import pytest
from half_crawled import known
from test_storage_moving import crawled

from thresher.crawler.cluster.resharding import reshard
from thresher.crawler.core.errors import StoreError
from thresher.storage.migrating import migrate
from thresher.storage.packing import pack_queue_key, pack_u64, pack_waiting
from thresher.storage.partitions import shard_paths
from thresher.storage.records import Codec, UrlRecord
from thresher.storage.schema import META, QUEUE, URLS, VERSION, Meta
from thresher.storage.seal import sealed
from thresher.storage.verify import verify
from thresher.storage.view import View

__all__ = ["crawled"]

BEFORE = 5


def as_before(shard: Path) -> None:
    """Write a shard as schema 5 had it: a row for each URL, and for each that waits."""
    with View(shard) as view:
        rows = {
            URLS: [(pack_u64(seq), Codec(UrlRecord).encode(url)) for seq, url in view.numbered_urls()],
            QUEUE: [(pack_queue_key(*at), pack_waiting(*url)[4:]) for at, url in view.tables.queues.waiting(b"")],
        }
    with lmdb.open(str(shard / "state"), max_dbs=80, map_size=1 << 30, lib_version=0) as env, env.begin(write=True) as txn:
        for table, written in rows.items():
            db = env.open_db(table.encode(), txn=txn)
            txn.drop(db, delete=False)
            with txn.cursor(db) as cursor:
                cursor.putmulti(sealed(table, written))
        txn.put(Meta.VERSION, pack_u64(BEFORE), db=env.open_db(META.encode(), txn=txn))


def test_a_crawl_of_schema_5_is_carried_over(crawled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one agent and with three.

    If the migration is killed when the files are swapped, or finds a damaged row, the old crawl is unchanged.
    """
    for n in (1, 3):
        store = shutil.copytree(crawled, tmp_path / str(n))
        if n > 1:
            reshard(store, n)
        before = known(store)
        for shard in shard_paths(store):
            as_before(shard)
        refused = forking.run(["stats", store], cwd=tmp_path, env=forking.clean_environment())
        assert (refused.returncode, "`thresher migrate" in refused.stderr) == (6, True)
        states = [(shard / "state/data.mdb").read_bytes() for shard in shard_paths(store)]
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(5, "cut short")))
            with pytest.raises(Exception, match="cut short"):
                migrate(store, print)
        assert [(shard / "state/data.mdb").read_bytes() for shard in shard_paths(store)] == states
        ran = forking.run(["migrate", store], cwd=tmp_path, env=forking.clean_environment())
        assert ran.returncode == 0, ran.stderr
        assert ran.stderr.count(f"carried over from schema {BEFORE} to {VERSION}") == n
        assert (verify(store), known(store)) == ([], before)
        assert not (store / "state/migrating.mdb").exists()
        assert (store / "state/data.mdb").stat().st_mode & 0o777 == 0o600
        again = forking.run(["migrate", store], cwd=tmp_path, env=forking.clean_environment())
        assert (again.returncode, "nothing to do" in again.stderr) == (0, True)


def test_what_is_damaged_or_of_another_schema_is_left_alone(crawled: Path, tmp_path: Path) -> None:
    store = shutil.copytree(crawled, tmp_path / "store")
    as_before(store)
    with lmdb.open(str(store / "state"), max_dbs=80, lib_version=0) as env, env.begin(write=True) as txn:
        txn.put(pack_u64(2), b"rot", db=env.open_db(URLS.encode(), txn=txn))
    state = (store / "state/data.mdb").read_bytes()
    with pytest.raises(StoreError, match=r"`urls` the row .* is not what was written"):
        migrate(store, print)
    assert (store / "state/data.mdb").read_bytes() == state
    with lmdb.open(str(store / "state"), max_dbs=80, lib_version=0) as env, env.begin(write=True) as txn:
        txn.put(Meta.VERSION, pack_u64(BEFORE - 1), db=env.open_db(META.encode(), txn=txn))
    with pytest.raises(StoreError, match=f"schema version {BEFORE - 1}, expected 5 or 6 or {VERSION}: it cannot be carried over. Use"):
        migrate(store, print)
