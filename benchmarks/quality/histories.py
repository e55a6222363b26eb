"""Histories of pages for `python -m benchmarks.quality.freshness`: when each page began, changed and ended. Times in seconds.

Planted: five processes of change, of which only the first is what the estimator assumes; and manuals whose pages change together.
Real: commits of a git repository to its files; the changelogs of Debian's packages, a page each, at the times of their entries; and the
files of a PyPI package over its released versions, at their times: of a folder of its wheels, or the HTML pages in its source archives.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import random
import re
import subprocess
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from thresher.crawler.children import python

HOUR_S, DAY_S = 3_600.0, 86_400.0
_CHANGES = 4  # changes that a web must have for each page of `n_pages`
_SIGNED = re.compile(r"^ -- .*>  ?(\w{3}, .*)$", re.MULTILINE)  # the last line of an entry of a Debian changelog


class History(NamedTuple):
    """When one page began, changed and ended."""

    url: str
    begins: float
    changes: list[float]  # in order, after `begins`
    ends: float  # inf: it is still there


class Web(NamedTuple):
    """The pages of one host, over a span of time that begins at 0."""

    name: str
    span_s: float
    pages: list[History]


def poisson(rng: random.Random, mean_s: float, span_s: float, start: float = 0.0) -> list[float]:
    """Return random times from `start` to `span_s`."""
    times, at = [], start
    while (at := at + rng.expovariate(1 / mean_s)) < span_s:
        times.append(at)
    return times


def planted(seed: int, n: int = 400, span_s: float = 120 * DAY_S) -> Web:
    """Return a web of which 35 % never changes, 30 % by Poisson processes, 15 % in bursts, 10 % on workdays, 10 % with every request."""
    rng = random.Random(seed)
    pages = []
    for i in range(n):
        lot, changes = rng.random(), list[float]()
        if lot < 0.35:
            kind = "never"
        elif lot < 0.65:
            kind, changes = "poisson", poisson(rng, math.exp(rng.uniform(math.log(6 * HOUR_S), math.log(60 * DAY_S))), span_s)
        elif lot < 0.8:
            kind = "bursts"
            for start in poisson(rng, 14 * DAY_S, span_s):
                changes += poisson(rng, 2 * HOUR_S, min(span_s, start + rng.uniform(0.5, 2) * DAY_S), start)
        elif lot < 0.9:
            kind, hour = "workdays", rng.uniform(0, DAY_S)
            changes = [day * DAY_S + hour + rng.gauss(0, HOUR_S / 2) for day in range(int(span_s / DAY_S)) if day % 7 < 5]
        else:
            kind, changes = "always", [at * 600.0 for at in range(1, int(span_s / 600))]
        pages.append(History(f"http://a.test/{kind}/{i}", 0.0, sorted(at for at in changes if 0 < at < span_s), math.inf))
    return Web(f"planted {seed}", span_s, pages)


def planted_together(seed: int, n: int = 400, span_s: float = 120 * DAY_S) -> Web:
    """Return a web of manuals: commits change some pages of a chapter or one page, releases a whole manual; a tenth of the pages change
    alone.
    """
    rng = random.Random(seed)
    changes: dict[str, set[float]] = {}
    per_chapter = max(2, round(0.9 * n / 12))
    for manual in ("a", "b", "c"):
        chapters = [[f"/{manual}/{chapter}/{i}.html" for i in range(per_chapter)] for chapter in ("one", "two", "three", "four")]
        releases = set(poisson(rng, 20 * DAY_S, span_s))
        changes |= {url: set(releases) for chapter in chapters for url in chapter}
        for chapter in chapters:
            for at in poisson(rng, 12 * DAY_S, span_s):
                for url in chapter if rng.random() < 0.4 else [rng.choice(chapter)]:
                    changes[url] |= {at} if rng.random() < 0.8 else set()
    changes |= {f"/blog/{i}": set(poisson(rng, 10 * DAY_S, span_s)) for i in range(n - len(changes))}
    return Web(f"together {seed}", span_s, [History(f"http://a.test{url}", 0.0, sorted(times), math.inf) for url, times in changes.items()])


def of_git(repository: Path) -> Web | None:
    """Return the files of a repository's history, None if there is none. A renamed file is a new one."""
    command = ["git", "-C", str(repository), "log", "--reverse", "--no-renames", "--name-status", "--format=@%ct", "--no-merges"]
    try:
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return None
    at, events = 0.0, list[tuple[float, str, bool]]()
    for line in lines:
        if line.startswith("@"):
            at = max(at, float(line[1:]))
        elif "\t" in line:
            status, path = line.split("\t", 1)
            events.append((at, path, status == "D"))
    return _web(f"git: {repository.resolve().name}", events) if events else None


def of_debian(folder: Path, span_s: float = 3_652 * DAY_S) -> Web | None:
    """Return the changelogs of the Debian packages that are documented below a folder, None if there are none.

    Packages of one source have one changelog. The span is the last one in which nearly all entries lie, as after a release few follow.
    """
    entries: dict[str, set[float]] = {}
    for path in sorted(folder.glob("*/changelog*.gz")):
        try:
            text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
        except (OSError, EOFError, zlib.error):
            continue
        source = re.match(r"([\w.+-]+) \(", text)
        times = {parsed.timestamp() for dated in _SIGNED.findall(text) if (parsed := _date(dated)) is not None}
        if source is not None and times:
            entries.setdefault(source[1], set()).update(times)
    every = sorted(at for times in entries.values() for at in times)
    if not every:
        return None
    end = every[int(0.98 * (len(every) - 1))]
    events = {(max(at, end - span_s), name, False) for name, times in entries.items() for at in times if at <= end}
    return _web(f"debian: {len(entries)} changelogs", sorted(events))


def _date(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text)
    except ValueError:
        return None


def sampled(web: Web, n_pages: int) -> Web:
    """Return a web of some of the pages, the same ones each time: whole directories, since pages of one may change together.

    Args:
        n_pages: At most; of a web whose pages hardly change more, until they have four changes for each of `n_pages`, or chance decides.
    """
    directories: dict[str, list[History]] = {}
    for page in web.pages:
        directories.setdefault(page.url.rpartition("/")[0], []).append(page)
    chosen: list[History] = []
    n_left, n_changes = n_pages, 0
    for _, pages in sorted(directories.items(), key=lambda item: hashlib.sha256(item[0].encode()).digest()):
        taken = pages[:n_left] if n_left > 0 else pages if n_changes < _CHANGES * n_pages else []
        n_left -= len(taken)
        n_changes += sum(len(page.changes) for page in taken)
        chosen += taken
    return web._replace(pages=sorted(chosen, key=lambda page: page.begins))


def of_pypi(package: str, folder: str, n_versions: int, cache: Path, *, is_source: bool = False) -> Web | None:
    """Return the files below a folder of a package, in versions evenly spread over its history; None if they cannot be downloaded.

    pip downloads what the cache lacks. The time of a version is that of its metadata.

    Args:
        is_source: Whether the folder is in the source archive, not in the wheel.
    """
    cache.mkdir(parents=True, exist_ok=True)
    try:
        listed = cache / f"{package}.versions"
        if not listed.exists():
            listed.write_text(_pip("index", "versions", package))
        found = re.search(r"versions: (.*)", listed.read_text())
        stable = [version for version in (found[1].split(", ") if found else []) if version.replace(".", "").isdecimal()][::-1]
        versions = [stable[i * (len(stable) - 1) // (n_versions - 1)] for i in range(n_versions)] if len(stable) >= n_versions else stable
        archives = [_archive(package, version, cache, is_source=is_source) for version in dict.fromkeys(versions)]
        unpacked = _untarred if is_source else _unzipped
        states = sorted(unpacked(archive, folder) for archive in archives if archive is not None)
    except (OSError, subprocess.SubprocessError, ValueError, zipfile.BadZipFile, tarfile.TarError):
        return None
    return _of_states(f"pypi: {package}, {len(states)} versions", states)


def _pip(*arguments: str) -> str:
    return subprocess.run(python.command("pip", *arguments), check=True, capture_output=True, text=True, timeout=300).stdout


def _archive(package: str, version: str, cache: Path, *, is_source: bool) -> Path | None:
    """Return a version's wheel or source archive, None if it has none."""
    pattern, none = f"{package}-{version}{'.tar.gz' if is_source else '-*.whl'}".lower(), cache / f"{package}-{version}.none"
    kind = ("--no-binary", ":all:", "--no-build-isolation") if is_source else ("--only-binary", ":all:")
    if not none.exists() and _cached(cache, pattern) is None:
        try:
            _pip("download", "--quiet", "--no-deps", *kind, "--dest", str(cache), f"{package}=={version}")
        except subprocess.CalledProcessError:
            none.touch()
    return _cached(cache, pattern)


def _cached(cache: Path, pattern: str) -> Path | None:
    """Return a file of the cache by its name in lower case, since an index spells one package in several ways."""
    return next((path for path in sorted(cache.iterdir()) if fnmatchcase(path.name.lower(), pattern)), None)


def _untarred(archive: Path, folder: str) -> tuple[float, dict[str, str]]:
    """Return when a source archive was made, and the digests of its files below a folder."""
    files, made = dict[str, str](), 0.0
    with tarfile.open(archive) as packed:
        for member in packed:
            name = member.name.partition("/")[2]
            if name == "PKG-INFO":
                made = float(member.mtime)
            elif member.isfile() and name.startswith(folder) and name.endswith(".html") and (body := packed.extractfile(member)):
                files[name] = hashlib.sha256(body.read()).hexdigest()
    return made, files


def _unzipped(wheel: Path, folder: str) -> tuple[float, dict[str, str]]:
    """Return when a wheel was made, and the digests of its files below a folder."""
    with zipfile.ZipFile(wheel) as packed:
        files = {file.filename: f"{file.CRC:08x} {file.file_size}" for file in packed.infolist() if file.filename.startswith(folder)}
        made = max(file.date_time for file in packed.infolist() if file.filename.endswith("/METADATA"))
    return datetime(*made, tzinfo=UTC).timestamp(), files


def _of_states(name: str, states: Iterable[tuple[float, dict[str, str]]]) -> Web | None:
    """Return the history of files from the digests of each version."""
    events: list[tuple[float, str, bool]] = []
    before: dict[str, str] = {}
    for at, state in states:
        events += [(at, path, False) for path, known in state.items() if before.get(path) != known]
        events += [(at, path, True) for path in before.keys() - state.keys()]
        before = state
    return _web(name, events) if events else None


def _web(name: str, events: list[tuple[float, str, bool]]) -> Web:
    """Make pages from events of files: (time, path, whether it was deleted), in order."""
    start, pages, lives, n_lives = events[0][0], list[History](), dict[str, History](), Counter[str]()
    for at, path, is_deleted in events:
        life = lives.get(path)
        if is_deleted:
            if life is not None:
                pages.append(lives.pop(path)._replace(ends=at - start))
        elif life is None:
            n_lives[path] += 1  # a file that comes back is another page
            again = f"?{n_lives[path]}" if n_lives[path] > 1 else ""
            lives[path] = History(f"http://a.test/{path}{again}", at - start, [], math.inf)
        else:
            life.changes.append(at - start)
    return Web(name, events[-1][0] - start, [*pages, *lives.values()])
