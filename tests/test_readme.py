"""The READMEs are true today: their commands run, their options exist, their links lead somewhere, the code map is the tree."""

from __future__ import annotations

import functools
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import click
import forking
import msgspec
import pytest
import yaml
from harness import demo, free_port, options
from test_story_import import foreign

import thresher as api
from benchmarks.support.handler_server import serving
from thresher.crawler.cli import COMMANDS, main, thresher

ROOT = Path(__file__).parents[1]
TOPS = ("config", "crawler", "filters", "storage")
# in the order in which their commands need each other
FILES = [ROOT / place / "README.md" for place in (".", "storage", "config", "crawler", "filters", "benchmarks")]
TEXTS = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in FILES}
ALL = "\n".join(TEXTS.values())
N_DEMO_PAGES = 15  # pages of a demo: it need not last all its seconds
OWN_SITE = "http://localhost:8000/"  # the README's; the tests' site has a port of its own
OPTIONS = yaml.safe_load((ROOT / "config/default.yaml").read_text("utf-8"))


def section(file: str, title: str) -> str:
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)", TEXTS[file], re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


def blocks(language: str, text: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def console_commands() -> list[list[str]]:
    return [shlex.split(line[2:]) for block in blocks("console", ALL) for line in block.splitlines() if line]


def parameters(command: str) -> set[str]:
    """Return the options of a command and its sub-commands."""
    found = thresher.get_command(click.Context(thresher), command)
    assert found, command
    children = list(found.commands.values()) if isinstance(found, click.Group) else []
    return {option for each in (found, *children) for parameter in each.params for option in parameter.opts} | {"--help", "-h"}


@pytest.fixture
def own_site(tmp_path: Path) -> Iterator[str]:
    """Serve a site of three pages, one of them twice, as `python3 -m http.server` does; yield its URL."""
    folder = tmp_path / "site"
    folder.mkdir()
    page = "<title>{0}</title><a href='/a.html'>a</a> <a href='/b.html'>b</a> <a href='/missing.html'>c</a><p>" + "words of page {0} " * 30
    for name in ("index", "a", "b"):
        (folder / f"{name}.html").write_text(page.format(name))

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with serving(functools.partial(Quiet, directory=str(folder)), "127.0.0.1") as port:
        yield f"http://localhost:{port}/"


def test_start_holds_exactly_two_sh_blocks_of_one_line() -> None:
    found = blocks("sh", section("README.md", "Start"))
    assert [len(block.splitlines()) for block in found] == [1, 1]
    assert "thresher demo" in found[0]
    assert "pytest" in found[1]


def test_a_newcomer_has_crawled_a_site_of_their_own_within_60_lines() -> None:
    lines = TEXTS["README.md"].splitlines()
    assert next(i for i, line in enumerate(lines) if line.startswith("$ thresher report")) <= 60
    assert len(lines) <= 100


def test_every_command_of_the_console_blocks_runs(own_site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of FILES; then what storage/README.md reads with pandas."""
    (tmp_path / "config").symlink_to(ROOT / "config")
    (tmp_path / "CC-MAIN-example.warc.gz").write_bytes(foreign())
    for command in console_commands():
        assert command[0] == "thresher"
        words = [part.replace(OWN_SITE, own_site) for part in command]
        if command[1] == "demo":  # ended by a number of pages, since the pages in a time depend on the machine
            words[words.index("--seconds") + 1] = "600"
            words += ["--set", f"limits.max_pages={N_DEMO_PAGES}"]
        ran = forking.run(words[1:], cwd=tmp_path)
        assert ran.returncode == 0, f"{shlex.join(command)}: {ran.stderr}"
        assert "Traceback" not in ran.stderr
    monkeypatch.chdir(tmp_path)
    assert (tmp_path / "my-pages.csv").read_text().startswith(f"url,status,depth,title\n{own_site},200,0,index\n")
    assert (tmp_path / "my-report.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "links.csv").read_text().startswith("source,target\n")
    (example,) = blocks("python", section("storage/README.md", "From Python"))
    namespace: dict[str, Any] = {}
    exec(compile(example, "storage/README.md", "exec"), namespace)
    assert set(namespace["links"].columns) <= {"source", "target"}
    assert len(namespace["pages"]) > 0


@pytest.mark.skipif(shutil.which("wayback") is None, reason="pywb is not on the path: its commands in config/README.md are not run")
def test_the_commands_that_replay_an_archive_show_its_pages(own_site: str, tmp_path: Path) -> None:
    """pywb needs an environment of its own, since it uses another brotli than we do."""
    (block,) = blocks("sh", section("config/README.md", "Archive a site"))
    *before, last = block.splitlines()
    crawled = f"crawl {own_site} --profile own-site --contact me@example.org --max-pages 1 --set archive.format=warc -o my-archive".split()
    assert forking.run(crawled, cwd=tmp_path).returncode == 0
    for command in before:
        subprocess.run(command, shell=True, cwd=tmp_path, check=True, capture_output=True)
    port = free_port()
    with subprocess.Popen([*shlex.split(last), "--port", str(port)], cwd=tmp_path, stderr=subprocess.PIPE) as player:
        try:
            assert player.stderr is not None
            next(line for line in player.stderr if b"Starting Gevent Server" in line)
            with urlopen(f"http://localhost:{port}/site/mp_/{own_site}", timeout=600) as answer:
                assert b"words of page index" in answer.read()
        finally:
            player.kill()


def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As it stands there, but with another site: a web on loopback, set by the environment."""
    (source,) = blocks("python", section("crawler/README.md", "Use it from Python"))
    monkeypatch.chdir(tmp_path)
    with demo("story", tmp_path) as server:
        for name, options_ in options(server, limits={"max_pages": 10}).items():
            section_ = (
                {f"{name}__{option}": value for option, value in options_.items()} if isinstance(options_, dict) else {name: options_}
            )
            for option, value in section_.items():
                monkeypatch.setenv(f"THRESHER_{option}".upper(), msgspec.json.encode(value).decode())
        seed = server.web.seeds()[0]
        exec(compile(source.replace("https://example.org/", seed).replace('"max_pages": 100', '"max_pages": 10'), "README.md", "exec"), {})
    said = capsys.readouterr().out.splitlines()
    assert f"200 {seed}" in "\n".join(said)
    assert "0 limits.max_pages reached" in said


def test_every_block_of_code_is_one_that_a_test_reads() -> None:
    """Blocks that a test runs are marked as console, python, toml or sh; others (output, drawings, commands of other programs) are not."""
    languages = {file: set(re.findall(r"^```(\w+)$", text, re.MULTILINE)) for file, text in TEXTS.items()}
    assert languages.pop("README.md") == {"sh", "console"}
    assert languages.pop("filters/README.md") == {"toml", "python"}
    assert languages.pop("config/README.md") == {"sh", "console"}
    assert all(found <= {"console", "python"} for found in languages.values())
    assert all("\n$ " not in block for text in TEXTS.values() for block in blocks("", text))


def test_every_command_is_in_the_readme_and_every_one_of_the_readme_is_a_command() -> None:
    named = set(re.findall(r"`(?:thresher )?([\w-]+)(?: [^`]*)?`", section("crawler/README.md", "Commands"))) & set(COMMANDS)
    assert named == set(COMMANDS)
    assert set(re.findall(r"thresher ([a-z]+(?:-[a-z]+)*)\b", ALL)) <= set(COMMANDS) | {"thresher"}


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_option_that_a_readme_names_for_a_command_exists(command: str) -> None:
    for line in re.findall(rf"thresher {command}\b([^`\n]*)", ALL):
        named = re.findall(r"(?<!\S)\[?(--?[a-z][a-z-]*)", line)
        assert set(named) <= parameters(command), line


def test_every_option_that_stands_by_itself_belongs_to_a_command() -> None:
    """Such as `--profile own-site`. Options of benchmarks stand in the rows of their modules."""
    ours = set().union(*map(parameters, COMMANDS))
    for line in ALL.splitlines():
        if "python -m benchmarks" not in line:
            assert set(re.findall(r"`(--[a-z][a-z-]*)", line)) <= ours, line


def test_every_setting_that_a_readme_names_exists() -> None:
    for name in sorted(set(re.findall(r"(?:`|--set )([a-z_]+(?:\.[a-z_]+)+)(?==|`|:)", ALL))):
        first, *rest = name.split(".")
        if first not in OPTIONS or rest == ["py"] or rest[0] in ("NAME", "thin"):  # a user's own filter
            continue
        place = OPTIONS
        for part in (first, *rest):
            assert isinstance(place, dict), name
            assert part in place, name
            place = place[part]


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_short_help_with_an_example(command: str) -> None:
    found = thresher.get_command(click.Context(thresher), command)
    assert found is not None
    assert found.help
    assert COMMANDS[command][1] == found.get_short_help_str(200), "the list of commands says the same"
    all_of_it = [found, *(found.commands.values() if isinstance(found, click.Group) else [])]
    assert any("Example: " in (each.epilog or "") for each in all_of_it)
    for each in all_of_it:
        shown = each.get_help(click.Context(each, info_name=f"thresher {command}", terminal_width=80)).splitlines()
        assert (len(shown) <= 45, max(map(len, shown)) <= 80) == (True, True), each.name
        assert not each.get_short_help_str(63).endswith("..."), "the line of the list of commands is whole"


def test_the_code_map_is_the_tree() -> None:
    code_map = section("crawler/README.md", "Code map")
    places = re.findall(r"^\| `([\w/]+/)` \|", code_map, re.MULTILINE)
    packages = {f"{path.parent.relative_to(ROOT)}/" for top in TOPS for path in (ROOT / top).rglob("__init__.py")}
    assert set(places) <= packages | {"tests/", "benchmarks/"}
    assert packages <= set(places)
    files = {path.name for top in TOPS for path in (ROOT / top).rglob("*") if path.suffix in (".py", ".yaml")}
    assert set(re.findall(r"`(\w+\.(?:py|yaml))`", code_map)) <= files


def test_every_file_that_a_newcomer_is_sent_to_is_there() -> None:
    for file in re.findall(r"`([\w/]+(?:\.py|/))`", section("crawler/README.md", "Where to look")):
        assert any((ROOT / place / file).exists() for place in ("crawler", ".")) or "COMMAND" in file, file


def test_every_filter_has_its_section() -> None:
    named = set(re.findall(r"^### (\w+)$", TEXTS["filters/README.md"], re.MULTILINE))
    assert named == {name for name, value in OPTIONS["filters"].items() if isinstance(value, dict)} | {"scope"}
    for name, value in OPTIONS["filters"].items():
        if isinstance(value, dict):
            row = re.search(rf"^\| \[{name}\]\(#{name}\) \| (\w+) \|", TEXTS["filters/README.md"], re.MULTILINE)
            assert row, name
            assert row[1] == ({False: "off"}.get(value["mode"], value["mode"])), name


def test_every_link_leads_somewhere() -> None:
    for file, text in TEXTS.items():
        here = (ROOT / file).parent
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if target.startswith("http"):
                continue
            path, _, anchor = target.partition("#")
            found = here / path if path else ROOT / file
            assert found.exists(), f"{file}: {target}"
            if anchor:
                titles = re.findall(r"^#+ (.*)$", found.read_text("utf-8"), re.MULTILINE)
                assert anchor in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}, f"{file}: {target}"


def test_every_image_of_the_readme_is_there_and_small() -> None:
    images = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", TEXTS["README.md"])
    assert images
    assert all(0 < (ROOT / image).stat().st_size < 300_000 for image in images)


def test_every_benchmark_that_a_readme_names_is_there_and_has_the_options() -> None:
    for module, rest in re.findall(r"python -m (benchmarks(?:\.\w+)*)([^`\n]*)", ALL):
        place = ROOT / module.replace(".", "/")
        files = [file for file in (place.with_suffix(".py"), place / "__main__.py") if file.is_file()]
        assert files, module
        code = "\n".join(path.read_text("utf-8") for path in (files[0], *(files[0].parent.glob("*.py") if place.is_dir() else ())))
        for option in re.findall(r"(?<!\S)\[?(--[a-z][a-z-]*)", rest):
            assert f'"{option}"' in code, f"{module} {option}"


def test_every_longer_proof_has_a_row() -> None:
    rows = section("benchmarks/README.md", "Longer proofs and measurements")
    for folder in ("proofs", "quality", "speed"):
        for path in (ROOT / "benchmarks" / folder).glob("[a-z]*.py"):
            if '__name__ == "__main__"' in path.read_text("utf-8"):
                assert path.stem in rows, path


CORPUS = blocks("python", section("storage/README.md", "Build a corpus"))


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the section has exported."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("trafilatura")
    folder = tmp_path_factory.mktemp("corpus")
    with demo("story", folder) as server, pytest.MonkeyPatch.context() as patch:
        api.crawl(server.web.seeds(), folder / "first-crawl", **options(server, limits={"max_pages": 20}))
        for what in ("texts", "pages"):
            patch.setattr(sys, "argv", ["thresher", "export", str(folder / "first-crawl"), *f"--what {what} -o {folder / what}".split()])
            patch.setattr(sys, "argv", [*sys.argv, "--format", "parquet"])
            with pytest.raises(SystemExit) as ended:
                main()
            assert ended.value.code == 0
    return folder


@pytest.mark.parametrize("library", ["duckdb", "polars", "pandas"])
def test_the_examples_of_the_corpus_run(library: str, exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each runs if its library is installed; `dev` brings all three."""
    pytest.importorskip(library, reason=f"{library} is not installed: the example of the README that uses it is not run")
    (source,) = [block for block in CORPUS if f"import {library}" in block]
    monkeypatch.chdir(exported)
    exec(compile(source, "README.md", "exec"), {})
