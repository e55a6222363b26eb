"""Installed, everything has one import name; the list of packages, the links that types are checked through and the tree agree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
TOPS = ("config", "crawler", "filters", "storage")
NEIGHBOURS = ("config", "crawler", "filters", "storage")


def packages() -> set[str]:
    """Return the name of every package of the tree."""
    found = {path.parent.relative_to(ROOT) for top in TOPS for path in (ROOT / top).rglob("*.py")} - {Path("crawler/api")}
    return {"thresher"} | {f"thresher.{path.as_posix().replace('/', '.')}" for path in found}


def test_every_folder_with_code_is_installed() -> None:
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == packages()


def test_every_package_says_what_it_is() -> None:
    assert [name for name in packages() if name != "thresher" and not (ROOT / name[9:].replace(".", "/") / "__init__.py").is_file()] == []


def test_types_are_checked_in_the_tree_as_it_is() -> None:
    """The links lead to every folder and to every file of the facade, and nowhere else."""
    links = {link.name: link.resolve() for link in (ROOT / ".typing/thresher").iterdir()}
    facade = {file.name: file for file in (ROOT / "crawler/api").iterdir() if file.name != "__pycache__"}
    assert links == {top: ROOT / top for top in TOPS} | facade


def test_the_metadata_is_complete() -> None:
    found = metadata("thresher")
    assert found["Author"]
    assert found["Keywords"]
    assert {"Typing :: Typed", "Development Status :: 4 - Beta"} <= set(found.get_all("Classifier", ()))
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in range(11, 15)} <= set(found.get_all("Classifier", ()))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel by the installed build backend, from a copy: nothing is fetched, and nothing is left in the tree.

    Without a compiler, which takes half of the time: `pip install` of the tree, which the tests run in, has built the native code.
    """
    copy, made = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in TOPS:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(made), str(copy)]
    subprocess.run(command, env={**os.environ, "CC": "false"}, check=True, capture_output=True)
    return next(made.glob("*.whl"))


def test_the_wheel_has_one_name_and_its_data(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == {"thresher"}
    assert {"thresher/py.typed", "thresher/config/default.yaml", "thresher/config/examples/gentle.yaml", "thresher/__main__.py"} <= names
    assert not any("/api/" in name for name in names)


def test_no_library_brings_ray_but_its_extra(wheel: Path) -> None:
    """Nor do the libraries' own libraries. Mutation: it stands among the dependencies."""
    with zipfile.ZipFile(wheel) as opened:
        said = opened.read(next(name for name in opened.namelist() if name.endswith("/METADATA"))).decode()
    asked = [line.removeprefix("Requires-Dist: ") for line in said.splitlines() if line.startswith("Requires-Dist: ")]
    of_extras = [line for line in asked if re.search('extra == "(ray|metrics)"', line)]
    assert [line for line in asked if line.startswith("ray")] == of_extras != []
    names, met = _without_extras(asked), set[str]()
    while names:
        met.add(name := names.pop())
        with suppress(PackageNotFoundError):  # not for this Python
            names |= _without_extras(requires(name) or []) - met
    assert len(met) > 20
    assert "ray" not in met


def _without_extras(lines: Iterable[str]) -> set[str]:
    return {re.split(r"[^A-Za-z0-9._-]", line)[0].lower() for line in lines if "extra ==" not in line}


def test_it_works_beside_a_project_that_has_our_folders_names(wheel: Path, tmp_path: Path) -> None:
    """Seen to fail: the wheel installed packages called `config` and `storage`. Now each process finds its own. None imports Ray."""
    home, project = tmp_path / "venv", tmp_path / "project"
    venv.create(home, with_pip=False, symlinks=True)
    site = next(home.glob("lib/python*/site-packages"))
    zipfile.ZipFile(wheel).extractall(site)
    ours = Path(next(path for path in sys.path if path.endswith("site-packages")))
    (site / "dependencies.pth").write_text(f"{ours}\n")  # the libraries, and not this checkout: its finder is a .pth file there, too
    project.mkdir()
    (project / "config.py").write_text("MINE = 1\n")
    for name in NEIGHBOURS[1:]:
        (project / name).mkdir()
        (project / name / "__init__.py").write_text(f"MINE = {name!r}\n")
    (project / "job.py").write_text(
        "import config, crawler, filters, storage, thresher, thresher.storage\n"
        "assert (config.MINE, crawler.MINE, filters.MINE, storage.MINE) == (1, 'crawler', 'filters', 'storage')\n"
        "print(thresher.__file__)\n"
    )
    (site / "ray.py").write_text("raise SystemExit('a crawl on one machine imports Ray')\n")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    python = str(home / "bin/python")
    said = subprocess.run([python, "job.py"], cwd=project, env=environ, capture_output=True, text=True, check=True).stdout
    assert Path(said.strip()) == site / "thresher/__init__.py"
    environ["PYTHONPATH"] = str(project)  # as a project may set it: its own folder, which comes first for our processes, too
    crawl = [python, "-P", "-m", "thresher", "demo", "--seconds", "600", "--set", "limits.max_pages=5", "-o", "x", "--progress", "none"]
    done = subprocess.run(crawl, cwd=project, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
