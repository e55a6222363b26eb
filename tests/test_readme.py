"""The README is true today: its commands run, its options exist, its map is the tree."""

import re
import shlex
import sys
from pathlib import Path

import click
import msgspec
import pytest
from harness import demo, options

import thresher as api
from thresher.crawler.cli import COMMANDS, main, thresher

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def section(title: str) -> str:
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)", README, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


def console_commands() -> list[list[str]]:
    return [
        shlex.split(line[2:]) for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL) for line in block.splitlines() if line
    ]


def parameters(command: str) -> set[str]:
    """Return the options of a command and its sub-commands."""
    found = thresher.get_command(click.Context(thresher), command)
    assert found, command
    children = list(found.commands.values()) if isinstance(found, click.Group) else []
    return {option for each in (found, *children) for parameter in each.params for option in parameter.opts} | {"--help", "-h"}


def test_start_holds_exactly_two_sh_blocks_of_one_line() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", section("Start"), re.DOTALL)
    assert [len(block.splitlines()) for block in blocks] == [1, 1]
    assert "thresher demo" in blocks[0]
    assert "pytest" in blocks[1]


def test_every_command_of_the_console_blocks_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config").symlink_to(ROOT / "config")
    monkeypatch.chdir(tmp_path)
    for command in console_commands():
        assert command[0] == "thresher"
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as ended:
            main()
        said = capfd.readouterr().err
        assert ended.value.code == 0, f"{shlex.join(command)}: {said}"
        assert "Traceback" not in said
    assert (tmp_path / "pages.csv").read_text().startswith("url,status,depth,title")
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")


def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As it stands there, but for the site: a web on loopback, which the environment leads to."""
    (source,) = re.findall(r"```python\n(.*?)```", section("Use it from Python"), re.DOTALL)
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


def test_every_command_is_in_the_readme_and_every_one_of_the_readme_is_a_command() -> None:
    named = set(re.findall(r"`(?:thresher )?([\w-]+)(?: [^`]*)?`", section("Commands"))) & set(COMMANDS)
    assert named == set(COMMANDS)
    assert set(re.findall(r"thresher ([a-z]+(?:-[a-z]+)*)\b", README)) <= set(COMMANDS) | {"thresher"}


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_option_that_the_readme_names_for_a_command_exists(command: str) -> None:
    for line in re.findall(rf"thresher {command}\b([^`\n]*)", README):
        named = re.findall(r"(?<!\S)\[?(--?[a-z][a-z-]*)", line)
        assert set(named) <= parameters(command), line


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help_with_an_example(command: str) -> None:
    found = thresher.get_command(click.Context(thresher), command)
    assert found is not None
    assert found.help
    examples = [found, *(found.commands.values() if isinstance(found, click.Group) else [])]
    assert any("Example: " in (each.epilog or "") for each in examples)


def test_the_code_map_is_the_tree() -> None:
    places = re.findall(r"^\| `([\w/]+/)` \|", section("Code map"), re.MULTILINE)
    packages = {
        f"{path.parent.relative_to(ROOT)}/"
        for top in ("config", "crawler", "filters", "storage")
        for path in (ROOT / top).rglob("__init__.py")
    }
    assert set(places) <= packages | {"tests/", "benchmarks/"}
    assert packages <= set(places)
    for file in re.findall(r"`(\w+\.(?:py|yaml))`", section("Code map")):
        assert list(ROOT.glob(f"**/{file}")), file


def test_every_image_of_the_readme_is_there_and_small() -> None:
    images = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert images
    assert all(0 < (ROOT / image).stat().st_size < 300_000 for image in images)


def test_every_benchmark_that_the_readme_names_is_there() -> None:
    for module in re.findall(r"python -m (benchmarks(?:\.\w+)+)", README):
        place = ROOT / module.replace(".", "/")
        assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file(), module


CORPUS = re.findall(r"```python\n(.*?)```", section("Build a corpus"), re.DOTALL)


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
    """Each where its library is installed; `dev` brings duckdb."""
    pytest.importorskip(library, reason=f"{library} is not installed: the example of the README that uses it is not run")
    (source,) = [block for block in CORPUS if f"import {library}" in block]
    monkeypatch.chdir(exported)
    exec(compile(source, "README.md", "exec"), {})
