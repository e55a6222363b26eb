"""Seeds: read from the command line and from files, checked before the crawl starts, admitted when the agent opens its store.

A seed file has one URL a line; blank lines and lines that begin with "#" are skipped; a name without a scheme means http://. A line that
is no seed is reported with its number and left out; a file without any seed, or one that is no text, is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from crawler.admission import Admission
from crawler.committer import Committer
from crawler.core.errors import UsageError
from crawler.core.url import BadURL, URLRules, URLSpace
from storage.env import Store

MAX_FILE = 1 << 30  # bytes of a seed file
_GROUP = 2_000  # seeds per commit
_SHOWN = 5


@dataclass(slots=True)
class Seeds:
    """Canonical seeds without repeats, in order, and what was left out."""

    urls: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)  # one per bad line: where and why
    n_repeated: int = 0

    def warning(self) -> str:
        """Return what to tell the operator about lines left out, "" if nothing."""
        if not self.complaints:
            return ""
        more = len(self.complaints) - _SHOWN
        return "\n".join([*self.complaints[:_SHOWN], *([f"… and {more} more"] if more > 0 else [])])


def read_seeds(arguments: Iterable[str], files: Iterable[str], configured: Iterable[str], rules: URLRules) -> Seeds:
    """Collect and check the seeds; raises UsageError when there is none, or a file cannot be used."""
    space = URLSpace(bytes(16), rules)  # canonical forms do not depend on a crawl's secret
    seeds, known = Seeds(), set[str]()
    sources: list[tuple[str, str]] = [(f"seed {text!r}", text) for text in (*arguments, *configured)]
    for where, text in (*sources, *(line for file in files for line in _lines(file))):
        try:
            url = space.seed(text).text
        except BadURL as error:
            seeds.complaints.append(f"{where}: {error.reason}: {error.detail}. A seed is http://… or https://…, or a bare host name")
            continue
        if url in known:
            seeds.n_repeated += 1
            continue
        known.add(url)
        seeds.urls.append(url)
    if not seeds.urls:
        what = seeds.warning() or "no seeds: name URLs on the command line, with -f FILE, or as `seeds` in the configuration"
        raise UsageError(what)
    return seeds


def _lines(file: str) -> Iterator[tuple[str, str]]:
    """Yield (where, text) for each seed line of a file; "-" is standard input."""
    if file == "-":
        data, name = sys.stdin.buffer.read(MAX_FILE + 1), "standard input"
    else:
        data, name = _read(Path(file)), file
    if b"\0" in data[:65536]:
        raise UsageError(f"{name}: expected a text file with one URL a line, found binary data")
    if len(data) > MAX_FILE:
        raise UsageError(f"{name}: larger than {MAX_FILE >> 20} MiB; split it")
    found = False
    for number, line in enumerate(data.decode("utf-8-sig", "replace").splitlines(), 1):
        text = line.strip()
        if text and not text.startswith("#"):
            found = True
            yield f"{name}:{number}", text
    if not found:
        raise UsageError(f"{name}: expected one URL a line, found none")


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_FILE:
            raise UsageError(f"{path}: larger than {MAX_FILE >> 20} MiB; split it")
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error


class Seeder:
    """Admits the configured seeds that the store does not know yet; costs one seen test a seed on every opening."""

    def __init__(self, store: Store, admission: Admission, urls: URLSpace) -> None:
        self._store = store
        self._admission = admission
        self._urls = urls

    async def run(self, committer: Committer, seeds: Iterable[str], now: float, *, stopping: Callable[[], bool] = lambda: False) -> None:
        """Queue new seeds in groups that are committed one after another; once `stopping`, leave the rest to the next opening."""
        for n, text in enumerate(seeds, 1):
            url = self._urls.seed(text)
            if self._store.seen.row(url.key) is None:
                self._admission.seed(url, now)
                self._store.end_visit()
            if n % _GROUP == 0:
                await committer.drain()
                if stopping():
                    break
        await committer.drain()
