"""Processes start others with their own code: nothing in the working directory is ever imported."""

import ast
import asyncio
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from thresher.config.settings import ParseSettings, Settings
from thresher.crawler.children import python
from thresher.crawler.children.crash_suspects import Suspects
from thresher.crawler.children.studies import Studies
from thresher.crawler.page.parser import Parser
from thresher.filters.dust.filter import Miner
from thresher.filters.dust.study import KnownSite, written
from thresher.storage.store import Store

ROOT = Path(__file__).parents[2]
MODULES = ("thresher", "config", "filters", "storage", "json", "asyncio", "msgspec", "uvloop", "numpy", "sitecustomize", "usercustomize")
MARK = "was-imported"


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder whose modules have the names of ours and of libraries, and leave a mark when one is imported.

    An empty entry of PYTHONPATH, such as after a trailing colon, also means the working directory: no process may pass it on.
    """
    folder = tmp_path / "hostile"
    folder.mkdir()
    trap = f"open({str(folder / MARK)!r}, 'a').write(__name__ + ' ')\nraise SystemExit('a module of the working directory was imported')\n"
    for name in MODULES:
        (folder / f"{name}.py").write_text(trap)
    for room in ("crawler", "crawler/process", "crawler/children"):
        package = folder / room
        package.mkdir()
        for name in ("__init__", "agent_process", "parser_process", "study_process"):
            (package / f"{name}.py").write_text(trap)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    monkeypatch.setenv("PYTHONPATH", os.pathsep)
    return folder


def mark(folder: Path) -> str:
    """Return the names of the modules that were imported from the folder."""
    file = folder / MARK
    return file.read_text() if file.exists() else ""


def thresher(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command as its script does, which does not import from the working directory."""
    command = [sys.executable, "-P", "-m", "thresher", *arguments]
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=600, check=False)


def test_a_crawl_in_a_folder_of_look_alikes_is_not_touched_by_them(hostile: Path) -> None:
    """The demo's server, the agent, and the child of the check of a store. Mutation: one of them is started without `-P`."""
    crawled = thresher("demo", "--seconds", "1", "-o", "x")
    assert (crawled.returncode, mark(hostile)) == (0, ""), crawled.stderr
    checked = thresher("verify", "x")
    assert (checked.returncode, mark(hostile)) == (0, ""), checked.stderr


async def test_the_parser_process_imports_nothing_from_the_working_directory(hostile: Path) -> None:
    parser = Parser(ParseSettings(), "thresher")
    parsed = await parser.apart(b"<title>whole</title>", "text/html", "text/html", [], max_links=100)
    await parser.close()
    assert (parsed.title, mark(hostile)) == ("whole", "")


async def test_the_study_process_imports_nothing_from_the_working_directory(hostile: Path, tmp_path: Path) -> None:
    said: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    with Store.create(tmp_path / "store", Settings(), now=0.0) as store:
        suspects = Suspects(tmp_path / "store", store.tables)
        studies = Studies(_Curious(), suspects, store.tables.quarantine)  # type: ignore[arg-type]  # the questions that studies ask
        studies.ask("dust", b"12345678")
        running = asyncio.create_task(studies.run(lambda _who, _site, finding: said.set_result(finding)))
        async with asyncio.timeout(600):
            found = await said
        running.cancel()
        await asyncio.wait((running,))
        suspects.close()
    assert (type(msgspec.msgpack.decode(found)), mark(hostile)) == (list, "")


class _Curious:
    """Asks for a study of a site of which it knows no URL."""

    study_of = staticmethod(lambda _who: Miner.study)
    check_finding = staticmethod(lambda _who, _finding: None)
    gather = staticmethod(lambda _who, _site: iter((written(KnownSite([], {}, mines=False, max_rules=1)),)))


def test_an_empty_entry_of_the_path_is_not_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(("", "/a", ".", "b", "/a", "")))
    assert python.environment(X="y")["PYTHONPATH"].split(os.pathsep) == ["/a", "b"]
    assert python.environment(X="y")["X"] == "y"


def test_one_place_starts_python() -> None:
    """Every start of a process takes its command from `crawler/children/python.py`."""
    naming = {
        file.relative_to(ROOT).as_posix()
        for package in ("config", "crawler", "filters", "storage", "benchmarks")
        for file in (ROOT / package).rglob("*.py")
        if "executable" in (text := file.read_text())  # few files have the word, and parsing all of them takes a second
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr == "executable"
    }
    others = {"crawler/cli/cluster.py", "crawler/terminal/extras.py"}  # they look for Ray beside it, and tell a user what to run
    assert naming == {"crawler/children/python.py", *others}
