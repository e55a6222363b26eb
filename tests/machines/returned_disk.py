"""What a returned disk has is merged, killed halfway and merged again; how it is seen from outside."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from injecting import FOLDER

from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.model import State
from thresher.crawler.machines.merging import MergedDisk, merge, require_merged
from thresher.crawler.machines.moving import Asks
from thresher.storage.export.reading import reading_shard
from thresher.storage.partitions import Partitions
from thresher.storage.store import Store

Answers = dict[str, tuple[int, bytes]]  # URL → (status, body's digest) of a page; (0, target) of a redirect


def answers(shard: Path) -> Answers:
    """Return the answers that a shard has for the URLs of its own sites."""
    with reading_shard(shard) as view:
        done = {url.key: (url.text, row.visit) for url, row in view.all_urls(State.DONE)}
        found: Answers = {}
        for key, (text, visit) in done.items():
            page, edge = view.tables.pages.read(visit), view.tables.redirects.edge(key)
            if page is not None and not page.failed_cause:
                found[text] = page.status, page.sha256
            elif page is None and edge is not None:
                found[text] = 0, edge.to_text.encode()
        return found


def states(shard: Path) -> dict[str, str]:
    """Return the state of each URL of a shard's own sites."""
    with reading_shard(shard) as view:
        return {url.text: row.state.name for url, row in view.all_urls() if row.state is not State.OUTBOX}


def merge_killed(disk: Path, table: Partitions, asks: Asks) -> None:
    """Begin to merge in a process that is killed after some commits."""
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_killed_halfway, args=(disk, table, asks))
    process.start()
    process.join(600)
    assert process.exitcode == -signal.SIGKILL, process.exitcode


def _killed_halfway(disk: Path, table: Partitions, asks: Asks) -> None:
    os.environ["CRAWL_CONSTANT"] = "thresher.crawler.agent.merging:_AT_ONCE:2"  # answers of a commit
    os.environ["CRAWL_CRASH_AT"] = "merging:5"
    sys.path.append(str(FOLDER))
    importlib.import_module("faults").install()
    merge(disk, table, "b", asks)


def returned_is_merged(disk: Path, there: Path, table: Partitions, asks: Asks, verify: Callable[[Path], list[str]]) -> set[str]:
    """Merge the shard `there` into that of agent 1 on `disk`, and check all that can be seen; return the URLs that were taken."""
    here = disk / "agent-1"
    before, brought, was = answers(here), answers(there), states(there)
    taken = brought.keys() - before.keys()
    assert len(taken) > 4, "it has found something since its snapshot"
    with Store.open(there, None, time.time()), pytest.raises(AssertionError, match=f"process {os.getpid()} of an earlier run"):
        merge(disk, table, "b", asks)
    _no_resume(disk, table, asks)
    merge_killed(disk, table, asks)
    _no_resume(disk, table, asks)
    half = answers(here).keys() & taken
    assert half
    assert half != taken, "it was killed in the middle"
    found = merge(disk, table, "b", asks)
    require_merged(disk, table, ["a", "b"], asks)
    assert verify(disk) == []
    assert _merged(found) == len(taken - half)
    assert found.others == []
    after = answers(here)
    assert after == before | {url: brought[url] for url in taken}
    known = states(here)
    assert {url for url, state in was.items() if state != "REFUSED"} <= known.keys()
    assert _merged(merge(disk, table, "b", asks)) == 0
    assert (answers(here), states(here)) == (after, known)
    assert verify(disk) == []
    with Store.open(there, None, time.time()) as store:  # it goes on, by an order of an earlier run that came late
        store.end_visit()
        store.flush(time.time()).result()
    _no_resume(disk, table, asks)
    merge(disk, table, "b", asks)
    require_merged(disk, table, ["a", "b"], asks)
    return taken


def _no_resume(disk: Path, table: Partitions, asks: Asks) -> None:
    """Check that the crawl does not go on with the returned disk, and that it says what to do; with the others it does."""
    with pytest.raises(UsageError, match=f"`thresher cluster merge {disk} b`"):
        require_merged(disk, table, ["a", "b"], asks)
    require_merged(disk, table, ["a"], asks)


def nothing_to_merge(disk: Path, table: Partitions, asks: Asks) -> None:
    """Check that a disk on which nothing has returned is refused with a reason, and so is a crawl whose partitions are on their way."""
    with pytest.raises(UsageError, match="found none: nothing to merge"):
        merge(disk, table, "a", asks)
    with pytest.raises(UsageError, match="its partitions are being moved"):
        merge(disk, Partitions(table.shards, table.owners, table.owners, table.machines), "b", asks)


def copied(disk: Path, name: str) -> Path:
    """Return a copy of a disk."""
    place = disk.parent.parent / name / disk.name
    shutil.copytree(disk, place, ignore=shutil.ignore_patterns("channels"))
    return place


def _merged(found: MergedDisk) -> int:
    assert found.shards == [1]
    return found.counts.get("pages merged", 0) + found.counts.get("redirects merged", 0)
