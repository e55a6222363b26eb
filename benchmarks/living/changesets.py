"""hgweb: Mercurial's own web view of a repository of some sixty changesets.

Each changeset has its page, its files, each file as it was then, who wrote its lines, its history and its differences, all under the short
hash. The logs go back and forth by steps of several sizes (`revcount`), from each changeset; the graph shows the same.
"""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from benchmarks.living import children
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.repository import blocks_of_modules
from benchmarks.living.site import Site

N_CHANGESETS = 60
_BEGAN = 1_400_000_000  # seconds since the epoch
_DAY = 86_400
_APPLICATION = """
from mercurial.hgweb import hgweb

def make():
    return hgweb(rb"DIRECTORY/hgweb.conf")
"""
_CONFIG = """[web]
descend = true
contact = Nobody
allow-archive =
[paths]
/ = {directory}/repositories/*
"""


def build(place: Place) -> str:
    """Make the repository; return Apache's directives."""
    repository = place.directory / "repositories" / "library"
    repository.mkdir(parents=True)
    _hg(repository, "init")
    blocks = blocks_of_modules()
    grown = dict.fromkeys(blocks, 0)
    for n in range(N_CHANGESETS):
        name = sorted(name for name in blocks if grown[name] < len(blocks[name]))[n % len(blocks)]
        grown[name] += 1
        path = repository / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n\n\n".join(blocks[name][: grown[name]]) + "\n", "ascii")
        subject = f"{name}: {blocks[name][grown[name] - 1].strip().splitlines()[0][:60]}"
        author = f"{('Ada', 'Grace', 'Alan')[n % 3]} <nobody@example.org>"
        _hg(repository, "commit", "--addremove", "--message", subject, "--user", author, "--date", f"{_BEGAN + n * _DAY} 0")
        if n % 20 == 19:
            _hg(repository, "tag", f"v0.{n // 20 + 1}", "--user", author, "--date", f"{_BEGAN + n * _DAY + 60} 0")
    (place.directory / "hgweb.conf").write_text(_CONFIG.format(directory=place.directory))
    (place.directory / "changes.py").write_text(_APPLICATION.replace("DIRECTORY", str(place.directory)))
    return children.proxied(place.directory)


def _hg(repository: Path, *arguments: str) -> None:
    program = children.python_of(CHANGESETS.name).parent / "hg"
    variables = os.environ | {"HGRCPATH": "", "HGPLAIN": "1"}
    subprocess.run([str(program), "--quiet", *arguments], cwd=repository, env=variables, check=True, capture_output=True)


def behind(place: Place) -> AbstractContextManager[None]:
    """Serve the application."""
    return children.application(CHANGESETS.name, "changes:make", place.directory, {"HGRCPATH": ""})


def kind(url: str) -> str:
    """Return the view and the query fields that choose what it shows."""
    parts = urlsplit(url)
    steps = [re.sub(r"^[0-9a-f]{6,40}$|^\d+$", "N", step) for step in parts.path.strip("/").split("/")[1:3]]
    return f"{'/'.join(steps) or 'summary'} {'&'.join(sorted(parse_qs(parts.query)))}"


CHANGESETS = Site(
    name="changesets",
    about=f"hgweb with a repository of {N_CHANGESETS} changesets",
    address="127.0.8.13",
    hosts=("changes.example",),
    seed="/library/",
    needs={PROGRAM: PACKAGE},
    pip=("mercurial", children.SERVER),
    build=build,
    behind=behind,
    kind=kind,
    modules="proxy proxy_http",
    settings=("robots.meta=false", "robots.nofollow_links=true", "limits.max_depth=3"),
)
