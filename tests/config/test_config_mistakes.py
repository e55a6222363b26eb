"""A configuration's mistakes are named all at once, each where it was made."""

from __future__ import annotations

from pathlib import Path

import forking
import pytest

from thresher.config.errors import ConfigError
from thresher.config.load import examine, load

ROOT = Path(__file__).parents[2]
SIX = """\
identity: {contact: nobody}
politeness:
  min_delay: soon
  max_dely: 3
scope:
  include: ["(", ok, ")"]
overrides:
  - {match: a.example, politeness: {min_delay: no}, what: 1}
"""
NAMED = {
    "crawl.yaml:1:12: identity.contact",
    "crawl.yaml:3:14: politeness.min_delay",
    "crawl.yaml:4:3: politeness.max_dely: unknown key, did you mean politeness.max_delay?",
    "crawl.yaml:6:13: scope.include[0]",
    "crawl.yaml:6:22: scope.include[2]",
    "overrides[0].politeness.min_delay",
    "overrides[0].what: unknown key",
}


def write(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "crawl.yaml").write_text(text)
    return "crawl.yaml"


def test_every_mistake_of_a_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail: the first was named, and the next once it was mended."""
    with pytest.raises(ConfigError) as caught:
        load([write(tmp_path, SIX, monkeypatch)])
    assert len(caught.value.mistakes) == len(NAMED)
    assert str(caught.value).startswith(f"{len(NAMED)} mistakes:\n")
    for words in NAMED:
        assert sum(words in str(mistake) for mistake in caught.value.mistakes) == 1, words
    assert all("\n" not in str(mistake) for mistake in caught.value.mistakes)


def test_every_layer_tells_of_its_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, mistakes = examine(
        [write(tmp_path, "a: [", monkeypatch), "missing.yaml"],
        sets=["nonsense", "limits.max_pages=many", "limits.max_depth=7"],
        environ={"THRESHER_FETCH__CONCURRENCY": "-1", "THRESHER_DNS": "x", "PATH": "/"},
    )
    said = [str(mistake) for mistake in mistakes]
    assert [text.partition(":")[0] for text in said[:2]] == ["crawl.yaml", "missing.yaml"]
    assert sorted(text.partition(":")[0] for text in said[2:]) == [
        "--set limits.max_pages=many",
        "--set nonsense",
        "env THRESHER_DNS",
        "env THRESHER_FETCH__CONCURRENCY",
    ]
    assert loaded.settings.limits.max_depth == 7


def test_a_single_mistake_is_one_line_without_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError) as caught:
        load([write(tmp_path, "scope: {types: host}", monkeypatch)])
    assert str(caught.value) == "crawl.yaml:1:9: scope.types: unknown key, did you mean scope.type?"


def test_what_contradicts_a_value_that_was_not_read_is_no_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """max_delay is below the default of min_delay, and above what its author meant to write."""
    _, mistakes = examine([write(tmp_path, "politeness: {min_delay: 0,2, max_delay: 0.5}", monkeypatch)])
    assert len(mistakes) == 1
    _, mistakes = examine([write(tmp_path, "politeness: {max_delay: 0.5}", monkeypatch)])
    assert len(mistakes) == 1


def test_check_names_all_that_a_crawl_would_complain_about(tmp_path: Path) -> None:
    """From outside: configuration, contact, seeds, in one go."""
    (tmp_path / "crawl.yaml").write_text("politeness:\n  min_delay: soon\n  max_dely: 3\nfetch: {allow_ports: []}\n")
    ran = forking.run(["check", "-c", "crawl.yaml", "--set", "limits.max_pages=many", "ftp://x/"], cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    for words in ("min_delay", "max_dely", "allow_ports", "limits.max_pages", "identity.contact: expected", "no seed can be used"):
        assert ran.stderr.count(words) >= 1, words
    assert ran.stderr.endswith("thresher: 6 mistakes\n")
    assert "Traceback" not in ran.stderr
