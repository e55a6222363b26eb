"""Install the other crawlers: `python -m benchmarks.peers.install DIR [NAME…]`.

NAME: python (Scrapy and Crawlee), colly, spider, bubing, heritrix, wget2; all without.

Each is installed into a folder of DIR by the ordinary client of its registry: pip, go, cargo, mvn, apt-get. If one fails, its last message
is printed, the others go on, and the exit code is 1. Some 1.5 GB while spider is compiled, 400 MB after.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.peers.contestants import SOURCES
from thresher.crawler.children import python

_PATIENCE_S = 1_800.0
_DEBIAN = ("wget2", "libwget0", "libgpgme11", "libassuan0")


class InstallError(Exception):
    """A client has failed; the text is its last message."""


def _do(folder: Path, *command: str) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE_S, check=False
        )
    except FileNotFoundError:
        raise InstallError(f"{command[0]}: no such program") from None
    except subprocess.TimeoutExpired:
        raise InstallError(f"{command[0]}: not done after {_PATIENCE_S:.0f} s") from None
    if done.returncode:
        words = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()][-3:]
        raise InstallError(f"{' '.join(command[:3])}: exit {done.returncode}: {' / '.join(words) or 'no word'}")


def _python(folder: Path) -> None:
    _do(folder, *python.command("venv", str(folder)))
    _do(folder, str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "scrapy", "crawlee[parsel]", "uvloop")


def _colly(folder: Path) -> None:
    shutil.copytree(SOURCES / "colly", folder, dirs_exist_ok=True)
    _do(folder, "go", "build", "-o", "peer", ".")


def _spider(folder: Path) -> None:
    shutil.copytree(SOURCES / "spider", folder, dirs_exist_ok=True)
    _do(folder, "cargo", "build", "--quiet", "--release")
    shutil.copy2(folder / "target/release/peer", folder / "peer")
    shutil.rmtree(folder / "target")


def _by_maven(name: str) -> Callable[[Path], None]:
    def done(folder: Path) -> None:
        shutil.copytree(SOURCES / name, folder, dirs_exist_ok=True)
        _do(folder, "mvn", "-B", "-q", "dependency:copy-dependencies", "-DoutputDirectory=lib")

    return done


def _wget2(folder: Path) -> None:
    _do(folder, "apt-get", "download", *_DEBIAN)
    for package in folder.glob("*.deb"):
        _do(folder, "dpkg", "-x", str(package), str(folder))


_INSTALLERS: dict[str, Callable[[Path], None]] = {
    "python": _python,
    "colly": _colly,
    "spider": _spider,
    "bubing": _by_maven("bubing"),
    "heritrix": _by_maven("heritrix"),
    "wget2": _wget2,
}


def install(directory: Path, names: list[str]) -> int:
    """Install the named peers; return how many failed."""
    n_failed = 0
    for name in names:
        (directory / name).mkdir(parents=True, exist_ok=True)
        try:
            _INSTALLERS[name](directory / name)
        except InstallError as error:
            n_failed += 1
            print(f"{name}: not installed. {error}", file=sys.stderr)
        else:
            print(f"{name}: installed")
    return n_failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.install", description="Install the other crawlers in a directory.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("names", nargs="*", choices=[*_INSTALLERS, []], metavar="NAME", help=f"of {', '.join(_INSTALLERS)}; all without")
    of = parser.parse_args()
    return int(install(of.directory.resolve(), of.names or list(_INSTALLERS)) > 0)


if __name__ == "__main__":
    sys.exit(main())
