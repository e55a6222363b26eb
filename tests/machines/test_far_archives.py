"""Archives, takedowns, rounds, quarantines and imported rules of a crawl whose shards lie on two machines; no engine."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from analyses import OF_BODIES, on_one_disk, read
from archive_oracle import archive_faults
from click.testing import CliRunner
from harness import demo
from judging import TOLERANCE_S
from returned_disk import copied
from server_log import shortest_gap
from two_machines import TABLE, WEB, Places, n_requests, nothing, settings_for, until

from thresher.crawler.analysis.dust_store import import_rules, set_disabled, stored_rules
from thresher.crawler.cli.export import export
from thresher.crawler.cli.forget import forget
from thresher.crawler.cli.quarantine import quarantine
from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.model import Reason, State
from thresher.crawler.core.url import origin_of, site_of
from thresher.crawler.demo.process import ServerProcess
from thresher.crawler.machines.losing import give_up
from thresher.crawler.machines.merging import merge
from thresher.crawler.process.supervisor import Supervisor
from thresher.crawler.start.rounds import begin_round
from thresher.filters.dust.rules import LearnedRule, Substitution
from thresher.storage.archive.cdxj import warc_files
from thresher.storage.export.reading import reading_shard
from thresher.storage.partitions import read_partitions, shard_path
from thresher.storage.records import QuarantineRecord
from thresher.storage.schema import CAPTURES
from thresher.storage.shards import open_view
from thresher.storage.store import Store
from thresher.storage.verify import verify

pytestmark = pytest.mark.usefixtures("short_leases", "interruptible", "forked_agents")

ARCHIVE: dict[str, Any] = {"archive": {"format": "warc"}}


def test_an_archive_lies_on_two_machines_and_what_the_head_changes_is_changed_on_both(tmp_path: Path) -> None:
    """Mutations: files of another machine count as none; a takedown, a round, a rule or an offer only reaches the head's shard."""
    with demo("kill", tmp_path, **WEB) as server:
        settings = settings_for(server, engine="ray", politeness={"min_delay": 0.0}, **ARCHIVE)
        places = Places(tmp_path, settings)
        code, status = asyncio.run(places.crawl(settings, nothing))
        assert code == 0, status.why
        head = places.disks["a"]
        _is_exported_as_on_one_disk(places, server, tmp_path / "one-disk" / "crawl")
        _file_that_is_gone_is_named(places, tmp_path)
        forgotten = _forgotten_on_both(places)
        _rules_are_imported(places)
        _quarantined_is_offered(places)
        n_before = len(server.read_log().requests)
        assert begin_round(head, older_than_s=0.0, where=()) == "round 2 begins"
        code, status = asyncio.run(places.crawl(settings, nothing))
        assert code == 0, status.why
        _every_page_was_visited_again(places, server, n_before, forgotten)
    one = on_one_disk(places.disks, tmp_path / "in-the-end" / "crawl")
    assert verify(head) == []
    assert _archive_faults(one, forgotten) == []


def _exported(path: Path, out: Path) -> tuple[str, bytes]:
    for words in (("cdxj", str(out.with_suffix(".cdxj"))), ("wacz", str(out.with_suffix(".wacz")))):
        found = CliRunner().invoke(export, [str(path), "--format", words[0], "-o", words[1]], standalone_mode=False)
        assert found.exception is None, found.exception
    return out.with_suffix(".cdxj").read_text(), out.with_suffix(".wacz").read_bytes()


def _is_exported_as_on_one_disk(places: Places, server: ServerProcess, place: Path) -> None:
    """Check index, package and bodies."""
    head, one = places.disks["a"], on_one_disk(places.disks, place)
    assert archive_faults(one) == []
    with open_view(head) as view, open_view(one) as here:
        files, same = warc_files(view), warc_files(here)
        assert [(file.name, b"".join(file.blocks())) for file in files] == [(file.name, b"".join(file.blocks())) for file in same]
        assert len(files) == 2
    index, package = _exported(head, place.parent / "far")
    assert (index, package) == _exported(one, place.parent / "one")
    assert index.count("\n") > 25
    seeds = server.web.seeds()[:1]
    assert read(head, seeds, OF_BODIES) == read(one, seeds, OF_BODIES)  # test_story_machines compares what the other commands print
    assert verify(head) == []


def _file_that_is_gone_is_named(places: Places, tmp_path: Path) -> None:
    """Check that nothing is exported without the files of a machine."""
    (file,) = (shard_path(places.disks["b"], 1) / "archive").iterdir()
    file.rename(tmp_path / "gone")
    with pytest.raises(StoreError, match=f"{file.name} is gone"):
        CliRunner().invoke(export, [str(places.disks["a"]), "--format", "cdxj"], standalone_mode=False, catch_exceptions=False)
    with pytest.raises(AssertionError, match=f"{file.name}: gone, and bodies of pages lie in it"):
        read(places.disks["a"], [])
    (tmp_path / "gone").rename(file)


def _of_b(places: Places) -> list[str]:
    """Return the URLs of pages that machine b has."""
    with reading_shard(shard_path(places.disks["b"], 1)) as view:
        return [page.url for _, page in view.all_pages() if page.status == 200 and page.has_body]


def _forgotten_on_both(places: Places) -> str:
    """Take a page of machine b down; return its URL."""
    url = _of_b(places)[3]
    found = CliRunner().invoke(forget, [str(places.disks["a"]), url], standalone_mode=False)
    assert found.exception is None, found.exception
    assert f'"{url}"' not in _exported(places.disks["a"], places.disks["a"].parent / "without")[0]
    for agent, name in enumerate(TABLE.machines):
        with reading_shard(shard_path(places.disks[name], agent)) as view:
            assert [(record.text, record.is_done) for _, record in view.tables.forgotten.all()] == [(url, True)]
            assert [row.reason for record, row in view.all_urls(State.REFUSED) if record.text == url] == [Reason.FORGOTTEN] * agent
    assert verify(places.disks["a"]) == []
    return url


def _rules_are_imported(places: Places) -> None:
    head, sites = places.disks["a"], {site_of(url.split("/")[2].partition(":")[0]) for url in _of_b(places)}
    rule = LearnedRule(rule=Substitution(source="story?id=", target="story_"), standing="valid")
    import_rules(head, {site: [rule] for site in sites})
    assert [(site, learned) for site, learned in stored_rules(head)] == [(site, rule) for site in sorted(sites)]
    assert set_disabled(head, ["none of that name"], disabled=True) == ["none of that name"]
    assert set_disabled(head, [rule.rule.name], disabled=True) == []
    assert all(learned.disabled for _, learned in stored_rules(head))


def _quarantined_is_offered(places: Places) -> None:
    shard = shard_path(places.disks["b"], 1)
    with Store.open(shard, None, 0.0) as store:
        store.tables.quarantine.add(1, QuarantineRecord("finding", "news of near_replica", 0.0, who="nobody", site=b"no sites"))
        store.end_visit()
    found = CliRunner().invoke(quarantine, [str(places.disks["a"]), "--again"], standalone_mode=False)
    assert found.exception is None, found.exception
    with Store.open(shard, None, 0.0) as store:
        ((key, record),) = store.tables.quarantine.all()
        assert record.offered
        store.tables.quarantine.take(key, record)
        store.end_visit()


def _every_page_was_visited_again(places: Places, server: ServerProcess, n_before: int, forgotten: str) -> None:
    asked = {f"{origin_of(f'http://{one.host}/')}{one.path}" for one in server.read_log().requests[n_before:]}
    assert forgotten not in asked
    for agent, name in enumerate(TABLE.machines):
        with reading_shard(shard_path(places.disks[name], agent)) as view:
            last = view.tables.rounds.last()
            assert last is not None
            assert (last.number, last.stage) == (2, "done")
            assert last.n_settled == last.n_queued > 12
            assert {page.url for _, page in view.all_pages() if page.status == 200} <= asked


def _archive_faults(one: Path, forgotten: str) -> list[str]:
    """Return the faults of an archive, but for what a takedown leaves: a tombstone without a digest."""
    found = [fault for fault in archive_faults(one) if forgotten not in fault]
    (tombstone,) = [fault for fault in found if fault.endswith("a record that is not what was written")]
    return [fault for fault in found if fault != tombstone]


def test_a_lost_disks_archive_is_that_of_its_snapshot_and_what_was_taken_down_since_stays_so(tmp_path: Path) -> None:
    """The round that has begun since goes on, too. Mutations: archives are not in snapshots; a restored shard is told of no takedown, or of
    no round; what is merged has no records, or those of another visit.
    """
    with demo("kill", tmp_path, **WEB) as server:
        settings = settings_for(server, engine="ray", snapshots={"target": str(tmp_path / "kept"), "every": 3600}, **ARCHIVE)
        places = Places(tmp_path, settings)
        places.is_granting = False  # until there are snapshots

        async def some(_supervisor: Supervisor) -> None:
            """Stop once there is a further snapshot, and machine b has more pages than are in it."""
            n_asked, snapshots = n_requests(server), tmp_path / "kept" / "b" / "snapshots"
            before = len([*snapshots.glob("*")])
            places.is_granting = False
            await until(lambda: len([*snapshots.glob("*")]) > before)
            places.is_granting = True
            await until(lambda: n_requests(server) > n_asked + 25)
            os.kill(os.getpid(), signal.SIGINT)

        assert asyncio.run(places.crawl(settings, some))[0] == 3
        n_kept = len(_of_b(places))
        assert asyncio.run(places.crawl(settings, some))[0] == 3
        assert 4 < n_kept < len(_of_b(places))
        head, forgotten = places.disks["a"], _of_b(places)[2]
        found = CliRunner().invoke(forget, [str(head), forgotten], standalone_mode=False)
        assert found.exception is None, found.exception
        begin_round(head, older_than_s=0.0, where=())
        lost = tmp_path / "lost" / "crawl"
        lost.parent.mkdir()
        places.disks["b"].rename(lost)
        assert give_up(head, places.table, "b", settings, places) == [1]
        assert verify(head) == []
        _restored_shard_was_told(shard_path(head, 1), forgotten)
        with_b = copied(head, "with-b")
        n_before = len(server.read_log().requests)
        code, status = asyncio.run(places.crawl(settings, nothing))
        assert code == 0, status.why
        asked = {f"http://{one.host}{one.path}" for one in server.read_log().requests[n_before:]}
    assert forgotten not in asked
    assert verify(head) == []
    assert _archive_faults(on_one_disk({"a": head}, tmp_path / "one-disk" / "crawl"), forgotten) == []
    assert f'"{forgotten}"' not in _exported(head, tmp_path / "end")[0]
    _records_are_merged(with_b, lost, places, forgotten)


def _restored_shard_was_told(shard: Path, forgotten: str) -> None:
    with reading_shard(shard) as view:
        (record,) = [record for _, record in view.tables.forgotten.all()]
        last = view.tables.rounds.last()
    assert (record.text, record.is_done, record.n_pages, record.n_captures) == (forgotten, True, 1, 1)
    assert last is not None
    assert last.number == 2


def _records_are_merged(head: Path, lost: Path, places: Places, forgotten: str) -> None:
    """Check that what the lost disk brings back comes with its records."""
    before = _n_captures(shard_path(head, 1))
    places.disks["a"], places.disks["b"] = head, lost
    table = read_partitions(head)
    assert table is not None
    found = merge(head, table, "b", places)
    n_merged = found.counts["pages merged"] + found.counts.get("redirects merged", 0)
    assert n_merged > 4
    assert _n_captures(shard_path(head, 1)) == before + n_merged
    assert verify(head) == []
    assert _archive_faults(on_one_disk({"a": head}, head.parent / "one-disk" / "crawl"), forgotten) == []
    assert not any("payload" in what for what in found.counts)


def _n_captures(shard: Path) -> int:
    with reading_shard(shard) as view:
        return sum(1 for _ in view.rows(CAPTURES))


def test_pages_are_visited_again_by_a_schedule_on_both_machines(tmp_path: Path) -> None:
    """Mutation: only the head's agent keeps the schedule."""
    with demo("kill", tmp_path, **WEB | {"pages_per_host": [3, 4]}) as server:
        settings = settings_for(server, engine="ray", schedule="continuous", recrawl={"min_interval": 1.0, "max_interval": 2.0})
        places = Places(tmp_path, settings)

        async def until_all_are_visited_again(_supervisor: Supervisor) -> None:
            await until(lambda: min(_times_asked(server).values()) > 2)
            os.kill(os.getpid(), signal.SIGINT)

        assert asyncio.run(places.crawl(settings, until_all_are_visited_again))[0] == 3
        log = server.read_log()
    assert min(_n_visited_again(places, agent) for agent in (0, 1)) > 0
    assert verify(places.disks["a"]) == []
    assert shortest_gap(log) >= 0.25 - TOLERANCE_S


def _times_asked(server: ServerProcess) -> dict[str, int]:
    """Return how often each seed was requested."""
    asked = Counter(f"http://{one.host}{one.path}" for one in server.read_log().requests) if n_requests(server) else Counter[str]()
    return {seed: asked[seed] for seed in server.web.seeds()}


def _n_visited_again(places: Places, agent: int) -> int:
    """Return how many revisits an agent has settled."""
    with reading_shard(shard_path(places.disks[TABLE.machines[agent]], agent)) as view:
        last = view.tables.rounds.last()
        return 0 if last is None else last.n_settled
