"""`thresher patterns`: what it prints of files and crawls, what a replay decides, what it says of bad input."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from command import Command
from small_store import HOSTILE, SmallStore

from thresher.config.settings import FilterSettings, NearReplicaSettings, PatternYieldSettings, Settings, SoftErrorSettings
from thresher.crawler.core.model import Reason, State, Verdict
from thresher.filters.evidence.opinion import Opinion
from thresher.filters.pattern_yield.evidence import YieldEvidence
from thresher.filters.pattern_yield.filter import holder
from thresher.filters.pattern_yield.records import Pattern, encode, pattern_key
from thresher.storage.tables.verdicts import verdict_records


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def answers(n: int = 300) -> list[dict[str, Any]]:
    """Return a crawl of pages and of login forms that return to them."""
    found: list[dict[str, Any]] = []
    for i in range(n):
        word = "".join(chr(97 + int(digit)) for digit in f"{i:04}")
        found.append({"url": f"http://a.example/wiki/{word}", "status": 200, "sketch": f"{i:x}", "note": i})
        found.append({"url": f"http://a.example/login?return={word}", "status": 200, "sketch": [1, 2]})
    return found


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_a_file_s_patterns_are_told_with_interval_and_standing(thresher: Command, tmp_path: Path) -> None:
    ran = thresher("patterns", write(tmp_path / "log", answers()))
    assert ran.code == 0
    by_pattern = {row["pattern"]: row for row in lines(ran.out)}
    login, wiki = by_pattern["a.example/login?return=<w>"], by_pattern["a.example/wiki/<w>"]
    assert (login["site"], login["worth"], login["standing"]) == ("a.example", 0, "barren")
    assert (login["low"], login["yield"]) == (0.0, 0.0)
    assert login["high"] < 0.05
    assert (wiki["standing"], wiki["yield"]) == ("open", 1.0)
    assert wiki["low"] > 0.9
    fetched = [row["fetched"] for row in lines(ran.out)]
    assert fetched == sorted(fetched, reverse=True)


def test_a_replay_prints_every_line_again_with_its_decision(thresher: Command, tmp_path: Path) -> None:
    given = answers()
    ran = thresher("patterns", write(tmp_path / "log", given), "--replay")
    told = lines(ran.out)
    assert ran.code == 0
    assert [{name: value for name, value in row.items() if name not in ("fetch", "pattern")} for row in told] == given
    held = [row for row in told if not row["fetch"]]
    assert len(held) > 150
    assert {row["pattern"] for row in held} == {"a.example/login?return=<w>"}
    audited = [row for row in told if row["fetch"] and row["pattern"]]
    assert 0 < len(audited) < 40
    assert f"600 answers, {600 - len(held)} fetched" in ran.err
    assert "301 texts, 0 of them late" in ran.err


def test_the_seed_chooses_the_audits_and_the_same_seed_the_same(thresher: Command, tmp_path: Path) -> None:
    log = write(tmp_path / "log", answers())
    first, again, other = (thresher("patterns", log, "--replay", "--seed", seed).out for seed in (1, 1, 2))
    assert first == again != other


def test_via_credits_what_leads_on(thresher: Command, tmp_path: Path) -> None:
    """Listings of one text, each of which links to a post first. Without the field `via` they count as showing nothing new."""
    rows = []
    for i in range(200):
        rows += [
            {"url": f"http://a.example/page/{i}", "status": 200, "sketch": "list"},
            {"url": f"http://a.example/post/p{i}x", "status": 200, "sketch": i, "via": f"http://a.example/page/{i}"},
        ]
    with_via = thresher("patterns", write(tmp_path / "with", rows), "--barren")
    without = thresher("patterns", write(tmp_path / "without", [{k: v for k, v in row.items() if k != "via"} for row in rows]), "--barren")
    assert lines(with_via.out) == []
    assert "a.example/page/<n>" in {row["pattern"] for row in lines(without.out)}


def test_standard_input_and_choices(thresher: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(json.dumps(row) + "\n" for row in [*answers(), {"url": "http://b.example/x", "status": 404}])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    ran = thresher("patterns", "-", "--site", "a.example", "--top", 1)
    assert [row["site"] for row in lines(ran.out)] == ["a.example"]
    log = tmp_path / "log"
    log.write_text(text)
    assert [row["standing"] for row in lines(thresher("patterns", log, "--barren").out)] == ["barren"]
    nothing = thresher("patterns", log, "--site", "c.example")
    assert (nothing.code, nothing.out) == (0, "")
    assert "--site c.example: nothing is known of it" in nothing.err
    strict = thresher("patterns", log, "--barren", "--set", "filters.pattern_yield.barren=1000")
    assert strict.out == "", "300 fetches are too few"


def test_torn_lines_are_counted_and_left_out(thresher: Command, tmp_path: Path) -> None:
    torn = ['{"url": "http://a.ex', "[]", "7", '{"url": "http://a.example/"}', '{"url": "ftp://x/", "status": 200}', "\xff", ""]
    torn += ['{"url": "http://a.example/x", "status": true}', '{"url": "http://a.example/x", "status": 200, "via": 7}']
    ran = thresher("patterns", write(tmp_path / "log", [{"url": "http://a.example/", "status": 200, "sketch": 1}, *torn]))
    assert ran.code == 0
    assert "8 lines are no answers and were left out, the first is line 2" in ran.err
    assert len(lines(ran.out)) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [("", "it is empty"), ("\n\n", "it is empty"), ("GET / HTTP/1.1\n" * 3, "none of its 3 lines is one")],
)
def test_a_file_without_answers_is_one_clear_error(thresher: Command, tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "log").write_text(content)
    ran = thresher("patterns", tmp_path / "log")
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert '"sketch"' in ran.err


def test_a_missing_file_and_wrong_options_are_clear_errors(thresher: Command, tmp_path: Path) -> None:
    missing = thresher("patterns", tmp_path / "none")
    assert missing.code == 2
    assert "cannot be read: No such file or directory" in missing.err
    assert thresher("patterns", write(tmp_path / "log", answers(2)), "--replay", "--barren").code == 2
    (tmp_path / "empty").mkdir()
    assert thresher("patterns", tmp_path / "empty").code == 2, "no crawl"


def test_a_crawl_tells_what_its_filter_learned_and_holds(thresher: Command, tmp_path: Path) -> None:
    small = SmallStore(tmp_path / "c")
    seed = small.url("https://a.example/", depth=0)
    small.known(seed, State.DONE)
    small.page(seed)
    form = f"a.example/login?return=<w>&x={HOSTILE}"
    site = small.space.site_key("a.example")
    memory = small.store.tables.memory("pattern_yield")
    memory.put(pattern_key(site, form), encode(Pattern(form, YieldEvidence(90, 1, Opinion(is_held=True, waits=True), 1))))
    memory.put(pattern_key(site, "a.example/<w>"), encode(Pattern("a.example/<w>", YieldEvidence())))
    for i in range(3):
        held = small.url(f"/login?return={i}")
        small.known(held, State.HELD)
        small.store.tables.held.hold(held.key, holder(form))
    small.store.end_visit()
    small.close()
    ran = thresher("patterns", tmp_path / "c")
    (row,) = lines(ran.out)
    assert (row["pattern"], row["fetched"], row["worth"], row["standing"], row["held"]) == (form, 90, 1, "barren", 3)
    assert ran.out.isascii()
    assert "\x1b" not in ran.out


def test_a_crawl_without_the_filter_is_learned_from_its_answers(thresher: Command, crawl: Path) -> None:
    ran = thresher("patterns", crawl)
    assert ran.code == 0
    assert "the crawl ran without pattern_yield" in ran.err
    assert {row["site"] for row in lines(ran.out)} == {"a.example"}
    replay = thresher("patterns", crawl, "--replay")
    told = {row["url"]: row for row in lines(replay.out)}
    assert told["https://a.example/old"]["status"] == 301, "redirects are answers"
    assert all(row["fetch"] for row in told.values())
    assert "0 of them late" in replay.err


def test_of_a_crawl_without_the_filter_only_exact_copies_and_what_two_filters_drop_are_worth_nothing(
    thresher: Command, tmp_path: Path
) -> None:
    """Mutation: every page that was not kept counted as worth nothing."""
    said = {
        "new": (),
        "doubt": (Verdict("near_replica", False, False, reason=Reason.NEAR_REPLICA),),
        "copy": (Verdict("exact_duplicate", False, False, reason=Reason.DUPLICATE_CONTENT),),
        "both": tuple(Verdict(name, False, False, reason=Reason.NEAR_REPLICA) for name in ("near_replica", "soft_error")),
    }
    judged = FilterSettings(near_replica=NearReplicaSettings(mode="enforce"), soft_error=SoftErrorSettings(mode="enforce"))
    small = SmallStore(tmp_path / "c", Settings(filters=judged))
    for i in range(20):
        for name, verdicts in said.items():
            url = small.url(f"/{name}/{i}")
            small.known(url, State.DONE)
            small.page(url, fingerprint=f"{name} {i}".encode(), keep=not verdicts, follow=not verdicts, verdicts=verdict_records(verdicts))
            small.store.end_visit()
    small.close()
    rows = {row["pattern"]: row for row in lines(thresher("patterns", tmp_path / "c").out)}
    assert {name: row["yield"] for name in said if (row := rows.get(f"a.example/{name}/<n>"))} == {"new": 1.0, "copy": 0.0, "both": 0.0}


def test_a_store_without_pages_is_a_clear_error(thresher: Command, tmp_path: Path) -> None:
    SmallStore(tmp_path / "c", Settings(filters=FilterSettings(pattern_yield=PatternYieldSettings(mode="off")))).close()
    ran = thresher("patterns", tmp_path / "c")
    assert ran.code == 2
    assert "no page has been fetched yet" in ran.err
