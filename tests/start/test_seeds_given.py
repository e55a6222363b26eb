"""Seeds as they are given on the command line: what is a mistyped file is told, what is an address is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.url import URLRules
from thresher.crawler.start.seeds import read_seeds


@pytest.mark.parametrize("given", ["missing.txt", "Seeds.CSV", "lists/missing.txt", "./missing.yaml", "../a/seeds.lst", "/tmp/none.txt"])
def test_a_missing_file_is_no_host_name(given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"no such file.*-f FILE"):
        read_seeds([given], [], [], URLRules())


def test_a_file_that_is_there_asks_for_its_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seeds.txt").write_text("https://a.example/\n")
    with pytest.raises(UsageError, match=r"Write -f seeds\.txt"):
        read_seeds(["seeds.txt"], [], [], URLRules())


@pytest.mark.parametrize(
    "given", ["example.org/list.txt", "https://intranet/list.txt", "localhost:8000/seeds.txt", "example.org", "txt.example"]
)
def test_an_address_that_ends_like_a_file_is_an_address(given: str) -> None:
    found = read_seeds([given], [], [], URLRules(ports=None))
    assert len(found.urls) == 1


def test_a_line_of_a_file_is_always_an_address(tmp_path: Path) -> None:
    (tmp_path / "seeds").write_text("hosts.txt\n")
    assert read_seeds([], [str(tmp_path / "seeds")], [], URLRules()).urls == ["https://hosts.txt/"]
