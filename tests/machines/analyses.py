"""What the commands that read a crawl print of one of two machines, to be compared."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import msgspec
from click.testing import CliRunner

from thresher.crawler.analysis.dust_lists import read_source
from thresher.crawler.cli.dust import dust
from thresher.crawler.cli.explain import explain
from thresher.crawler.cli.export import export
from thresher.crawler.cli.hosts import hosts
from thresher.crawler.cli.rank import rank
from thresher.crawler.cli.replicas import replicas
from thresher.crawler.cli.report import report
from thresher.crawler.cli.stats import stats
from thresher.storage.partitions import read_partitions, shard_path, write_partitions

_COMMANDS: dict[str, tuple[click.Command, list[str]]] = {
    "rank": (rank, ["DIR"]),
    "rank of hosts": (rank, ["DIR", "--by", "host"]),
    "rank of all pages": (rank, ["DIR", "--collapse", "--linked", "--hits"]),
    "measures": (rank, ["DIR", "--measures"]),
    "measures of pages": (rank, ["DIR", "--measures", "--collapse", "--linked", "--links", "remote"]),
    "dust": (dust, ["mine", "DIR"]),
    "replicas": (replicas, ["DIR"]),
    "mirrors": (replicas, ["DIR", "--mirrors"]),
}
_READERS: dict[str, tuple[click.Command, list[str]]] = {
    "stats": (stats, ["DIR", "--json"]),
    "stats by host": (stats, ["DIR", "--by", "host", "--json"]),
    "stats by filter": (stats, ["DIR", "--by", "filter", "--json"]),
    "hosts": (hosts, ["DIR", "--json"]),
    "pages": (export, ["DIR"]),
    "bodies": (export, ["DIR", "--fields", "url,text,html"]),
    "links": (export, ["DIR", "--what", "links", "--format", "tsv"]),
    "urls": (export, ["DIR", "--what", "urls"]),
    "redirects": (export, ["DIR", "--what", "redirects"]),
    "report": (report, ["DIR"]),
}
OF_BODIES = ("pages", "bodies")  # readers that look into the archive


def read(path: Path, urls: Iterable[str], readers: Iterable[str] = tuple(_READERS)) -> dict[str, str]:
    """Return what commands that read a crawl print, whatever its directory; `explain` tells of the URLs."""
    explained = {f"explain {url}": (explain, ["DIR", url]) for url in urls}
    commands = {name: _READERS[name] for name in readers}
    return {name: text.replace(str(path), "DIR") for name, text in _printed(path, {**commands, **explained}).items()}


def said(path: Path) -> dict[str, str]:
    """Return what each command that computes over all pages prints of a crawl."""
    return _printed(path, _COMMANDS) | {"seen by dust": "\n".join(_seen(path))}


def _printed(path: Path, commands: dict[str, tuple[click.Command, list[str]]]) -> dict[str, str]:
    found = {}
    for name, (command, words) in commands.items():
        result = CliRunner().invoke(command, [str(path) if word == "DIR" else word for word in words], standalone_mode=False)
        assert result.exception is None, result.exception
        found[name] = result.stdout
    return found


def _seen(path: Path) -> Iterator[str]:
    """Yield what is mined for rules: pages with their sketches."""
    for site, pages in sorted(read_source(str(path), "").of.items()):
        for page in pages:
            sketch = "" if page.sketch is None else page.sketch.tobytes().hex()
            yield f"{site} {page.url} {page.status} {page.size} {page.fingerprint!r} {sketch}"


def without_order(found: dict[str, str]) -> dict[str, object]:
    """Return what is the same for two crawls that met the same pages in another order: ranks to seven digits, groups without a first."""
    lines = {name: [msgspec.json.decode(line) for line in text.splitlines()] for name, text in found.items() if name in _COMMANDS}
    return {
        "rank": {row["url"]: (f"{row['pagerank']:.7g}", row["in"], row["out"]) for row in lines["rank"]},
        "rank of hosts": {row["host"]: (f"{row['pagerank']:.7g}", row["pages"]) for row in lines["rank of hosts"]},
        "dust": {(row["site"], row["rule"], row["standing"]) for row in lines["dust"]},
        "seen by dust": {*found["seen by dust"].splitlines()},
        "replicas": {frozenset((row["representative"], *(one["url"] for one in row["members"]))) for row in lines["replicas"]},
        "mirrors": {frozenset((row["mirror"], row["of"])) for row in lines["mirrors"]},
    }


def on_one_disk(disks: dict[str, Path], place: Path) -> Path:
    """Return a copy of a crawl of several machines on one disk, as a crawl of several agents.

    Args:
        disks: The crawl's directory on the disk of each machine, the head's first.
    """
    head = next(iter(disks.values()))
    table = read_partitions(head)
    assert table is not None
    shutil.copytree(head, place, ignore=shutil.ignore_patterns("channels", "agent-*"))
    for agent, machine in enumerate(table.machines):
        if agent:
            shutil.copytree(shard_path(disks[machine], agent), shard_path(place, agent))
    write_partitions(place, msgspec.structs.replace(table, machines=[]))
    return place
