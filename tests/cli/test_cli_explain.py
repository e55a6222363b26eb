"""explain answers for URLs of every kind, from a store or from the configuration alone, and changes nothing."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from command import Command
from small_store import NOW, SEED, SmallStore, build

from thresher.crawler.core.model import Reason, State, Verdict
from thresher.crawler.core.order.cash import HIGHEST
from thresher.storage.records import VerdictRecord

KINDS = {
    "seed": (SEED, "done", "fetched at"),
    "page": ("https://a.example/page", "done", "with status 200, and kept"),
    "redirected": ("https://a.example/old", "done", "redirected (301) to https://a.example/new, where the chain ends"),
    "404": ("https://a.example/gone", "done", "with status 404"),
    "failed without an answer": ("https://a.example/dead", "done", "could not be fetched, after 4 tries: conn_refused"),
    "failed with an answer": ("https://a.example/error", "done", "could not be fetched, after 4 tries: http_5xx"),
    "unwanted type": ("https://a.example/unwanted", "done", "its body refused: bad_type"),
    "copy": ("https://a.example/copy", "done", "not kept (exact_duplicate)"),
    "queued": ("https://a.example/wait2", "queued", "3 URLs of its host come first"),
    "to be tried again": ("https://a.example/retry", "queued", "one URL of its host comes first"),
    "audited": ("https://a.example/audited", "queued", "next of its host"),
    "of a parked host": ("https://parked.example/", "queued", "parked by host_dead (politeness.dead_after) until 2055"),
    "denied by robots.txt": ("https://a.example/private/x", "refused", "robots_denied (robots.obey) by robots"),
    "trap": ("https://a.example/calendar/2024/01", "refused", "path_trap (filters.path_trap.mode) by path_trap"),
    "held": ("https://a.example/held", "held", "held by dust:rule-7"),
    "alias": ("https://a.example/alias", "alias", "an alias of https://a.example/page (rule drop session ids)"),
    "out of scope": ("https://elsewhere.example/", "unknown", "found and not taken up: out_of_scope (scope.type, scope.include) by scope"),
    "skipped by type": (
        "https://a.example/pic.png",
        "unknown",
        "would be refused: bad_type (media; fetch.accept_types, filters.media.skip_extensions)",
    ),
    "never seen": ("https://a.example/never", "unknown", "not known to this crawl"),
    "bad scheme": ("ftp://a.example/", "bad_url", "no URL that this crawl may request: bad_scheme"),
    "bad port": ("https://a.example:81/", "bad_url", "bad_port"),
    "no URL": ("http://", "bad_url", "no URL"),
    "empty": ("", "bad_url", "empty"),
}


def told(thresher: Command, crawl: Path, url: str, *flags: str) -> dict[str, Any]:
    ran = thresher("explain", crawl, url, "--json", *flags)
    assert (ran.code, ran.err) == (0, "")
    (line,) = ran.out.splitlines()
    story: dict[str, Any] = json.loads(line)
    return story


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_of_url_has_an_answer(kind: str, thresher: Command, crawl: Path) -> None:
    url, state, said = KINDS[kind]
    story = told(thresher, crawl, url)
    assert story["state"] == state
    assert said in story["answer"]
    assert re.search(r"Found today( by a page outside its class)?, it would ", story["answer"])
    assert ("outside its class" in story["answer"]) is (kind == "held")
    shown = thresher("explain", crawl, url)
    assert shown.code == 0
    assert said in shown.out.splitlines()[-1]


def test_the_store_may_stand_before_the_url_or_after_o(thresher: Command, crawl: Path) -> None:
    assert thresher("explain", crawl, SEED).out == thresher("explain", SEED, "-o", crawl).out
    for words in ((crawl,), (crawl, SEED, "-o", crawl), (crawl, SEED, SEED), ()):
        assert thresher("explain", *words).code == 2


def test_explaining_changes_nothing(thresher: Command, tmp_path: Path) -> None:
    build(tmp_path / "c")

    def content() -> dict[str, bytes]:
        files = [Path(folder) / name for folder, _, names in os.walk(tmp_path) for name in names if name != "lock.mdb"]
        return {str(file): file.read_bytes() for file in files}

    before = content()
    for url, _, _ in KINDS.values():
        told(thresher, tmp_path / "c", url)
    assert content() == before


def test_the_way_back_to_a_seed_is_told_hop_by_hop(thresher: Command, crawl: Path) -> None:
    chain = told(thresher, crawl, "https://a.example/new")["chain"]
    assert [(hop["how"], hop["url"], hop["depth"]) for hop in chain] == [("redirect", "https://a.example/old", 1), ("link", SEED, 0)]
    assert told(thresher, crawl, SEED)["chain"] == []


def test_each_step_to_the_canonical_form_is_named(thresher: Command, crawl: Path) -> None:
    story = told(thresher, crawl, "HTTPS://me@A.Example.:443/./p%61ge#top")
    assert story["url"] == "https://a.example/page"
    assert [step["rule"].partition(" ")[0] for step in story["steps"]] == ["fragment", "user", "scheme", "dot", "default", "dot"]
    assert story["steps"][-1]["result"] == story["url"]
    assert story["state"] == "done"


def test_verdicts_are_told_with_both_times(thresher: Command, crawl: Path) -> None:
    (revised,) = told(thresher, crawl, "https://a.example/page")["verdicts"]
    assert revised["at"] == revised["revised_at"]
    (given,) = told(thresher, crawl, "https://a.example/copy")["verdicts"]
    assert given["evidence"] == {"copy_of": "https://a.example/page"}
    assert "revised_at" not in given


def test_what_is_told_agrees_with_what_was_done(thresher: Command, tmp_path: Path) -> None:
    """Seen to fail: "kept no" beside "body stored", "links followed no" of links that had been taken up, and a nofollow link that would
    be queued if it were found today.
    """
    small = SmallStore(tmp_path)
    url = small.url("/late")
    small.known(url, State.DONE)
    page = small.page(url)
    verdict = Verdict("soft_error", keep=False, follow=False, reason=Reason.SOFT_ERROR)
    small.store.tables.verdicts.revise(page.key, verdict, NOW + 50)
    small.store.tables.skips.add("https://a.example/no", Reason.NOFOLLOW, via=page.key, by="robots")
    small.close()
    late = thresher("explain", small.store.path, "https://a.example/late").out
    assert re.search(r"kept +no, by a later verdict; its body had been stored", late)
    assert re.search(r"links followed +no, by a later verdict; they had been taken up", late)
    assert "Found today by a link without nofollow, it would " in thresher("explain", small.store.path, "https://a.example/no").out


def test_what_is_held_is_governed_by_the_options_of_its_holder(thresher: Command, crawl: Path) -> None:
    assert told(thresher, crawl, "https://a.example/held")["option"] == "filters.dust.mode, filters.tail_yield, filters.tail_share"


def test_a_verdict_that_had_no_effect_is_said_to_be_only_observed(thresher: Command, tmp_path: Path) -> None:
    small = SmallStore(tmp_path / "c")
    seed = small.url(SEED, depth=0)
    small.known(seed, State.DONE)
    small.page(seed, verdicts=[VerdictRecord("near_replica", follow=False)])
    small.close()
    shown = thresher("explain", tmp_path / "c", SEED).out
    assert "keep, do not follow" in shown
    assert "only observed)" in shown


def test_a_redirect_is_told_from_both_ends(thresher: Command, crawl: Path) -> None:
    old, new = told(thresher, crawl, "https://a.example/old"), told(thresher, crawl, "https://a.example/new")
    assert (old["redirect"]["to"], old["redirect"]["state"]) == ("https://a.example/new", "done")
    assert old["end_of_chain"] == {"url": "https://a.example/new", "hops": 1, "status": 200, "end": "settled"}
    assert new["redirected_from"] == ["https://a.example/old"]


def test_a_waiting_url_is_told_with_its_place_and_its_hosts_clock(thresher: Command, crawl: Path) -> None:
    waiting = told(thresher, crawl, "https://a.example/wait1")["waiting"]
    assert (waiting["host"], waiting["lane"], waiting["rank"], waiting["ahead"]) == ("a.example", "fresh", 2 * (HIGHEST + 1) + HIGHEST, 2)
    assert waiting["crawl_delay"] == 3.0
    assert "no process is at work." in told(thresher, crawl, "https://a.example/wait1")["answer"]


@pytest.mark.parametrize(
    ("flags", "outcome"),
    [
        ((), "be queued and fetched if robots.txt"),
        (("--set", "limits.max_depth=1"), "be refused: depth_limit (limits.max_depth; 2 clicks from a seed)"),
        (("--set", "scope.exclude=[wait]"), "be refused: excluded (scope; scope.exclude, overrides)"),
        (("--set", "filters.path_trap.max_per_prefix=1", "--set", "robots.obey=false"), "be queued and fetched in its turn"),
        (("--set", "fetch.allow_ports=[81]"), "be refused: bad_port (port 443; fetch.allow_ports, profile)"),
    ],
)
def test_today_is_decided_under_the_configuration_that_is_given(
    flags: tuple[str, ...], outcome: str, thresher: Command, crawl: Path
) -> None:
    today = told(thresher, crawl, "https://a.example/wait1", *flags)["today"]
    assert today["outcome"].startswith(outcome)


def test_a_dangerous_link_is_explained_by_its_pattern_and_its_options(thresher: Command, crawl: Path) -> None:
    today = told(thresher, crawl, "https://a.example/post/7/vote?how=up")["today"]
    assert today["outcome"] == "be refused: unsafe (scope; /vote?how=*; scope.danger.links, scope.danger.harmless)"
    harmless = told(thresher, crawl, "https://a.example/vote?how=up", "--set", "scope.danger.harmless=[how=up]")["today"]
    assert harmless["outcome"].startswith("be queued and fetched")


def test_a_wider_configuration_admits_what_the_crawls_own_refused(thresher: Command, crawl: Path) -> None:
    assert (
        told(thresher, crawl, "https://elsewhere.example/")["today"]["outcome"]
        == "be refused: out_of_scope (scope; scope.type, scope.include)"
    )
    wide = told(thresher, crawl, "https://elsewhere.example/", "--seed", "https://elsewhere.example/")
    assert wide["today"]["outcome"].startswith("be queued and fetched")
    assert wide["state"] == "unknown"
    open_port = told(thresher, crawl, "https://a.example:81/", "--set", "fetch.allow_ports=any", "--set", "scope.type=domain")
    assert (open_port["state"], open_port["today"]["outcome"][:9]) == ("bad_url", "be queued")


def test_a_configuration_file_takes_the_place_of_the_crawls_own(thresher: Command, crawl: Path, tmp_path: Path) -> None:
    (tmp_path / "crawl.yaml").write_text("scope: {type: page}\n")
    today = told(thresher, crawl, "https://a.example/wait1", "-c", str(tmp_path / "crawl.yaml"))["today"]
    assert today["outcome"] == "be refused: out_of_scope (scope; scope.type, scope.include)"


def test_without_a_store_the_configuration_alone_decides(thresher: Command) -> None:
    def answer(*words: str) -> str:
        ran = thresher("explain", *words)
        assert ran.code == 0
        last: str = ran.out.splitlines()[-1]
        return last

    assert "out_of_scope" in answer("https://a.example/x", "--seed", "https://b.example/")
    assert "pass every gate" in answer("a.example/x", "--seed", "a.example")
    assert "bad_type (media; fetch.accept_types" in answer("a.example/x.png", "--seed", "a.example")
    assert "bad_scheme" in answer("javascript:x()", "--seed", "a.example")
