"""Seeds: read from the command line and from files, and checked before the crawl starts.

A seed file has one URL per line, which may be followed by a tab and a label. Blank lines and lines that begin with "#" are skipped; a name
without a scheme means https first. A line that is not a seed is reported with its number and left out; a file without any seed, or that is
not text, is an error. Files are read line by line: a huge file needs only the memory of its seeds.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from thresher.config.settings import Settings
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.governing import options_of
from thresher.crawler.core.model import Reason
from thresher.crawler.core.url import BadURL, URLRules, URLSpace, origin_of

MAX_FILE = 1 << 30  # most bytes of a seed file
MAX_LINE = 1 << 16  # most bytes of a line
MAX_LABEL = 200  # most characters of a label
_SHOWN = 5
_FILE_ENDINGS = (".txt", ".csv", ".tsv", ".yaml", ".yml", ".json", ".jsonl", ".lst")  # endings of file names; none is a top-level domain
_OWN = "A site of your own? --profile own-site lets the crawl reach the very addresses and ports of its seeds"
_EXPECTED = "expected one URL or host name a line, in UTF-8"


@dataclass(slots=True)
class Seeds:
    """Canonical seeds without repetitions, in order, and what was left out."""

    urls: list[str] = field(default_factory=list)
    bare: list[str] = field(default_factory=list)  # seeds that were given without a scheme
    labels: dict[str, str] = field(default_factory=dict)  # seed → the first label that it was given
    complaints: list[str] = field(default_factory=list)  # place and fault of the first bad lines
    n_bad: int = 0
    n_repeated: int = 0

    def leave_out(self, where: str, error: BadURL) -> None:
        """Record a line that is not a seed."""
        self.n_bad += 1
        if self.n_bad <= _SHOWN:
            governing = "" if error.reason is Reason.BAD_SCHEME else options_of(error.reason)  # no option allows ftp:
            options = f" ({governing})" if governing else ""
            form = "" if error.reason is Reason.BAD_PORT else ". A seed is http://… or https://…, or a bare host name"
            self.complaints.append(f"{where}: {error.reason}: {error.detail}{options}{form}")

    def warning(self) -> str:
        """Return the message for the operator about left-out lines, "" if there are none."""
        if not self.complaints:
            return ""
        more = self.n_bad - len(self.complaints)
        advice = [_OWN] if any(str(Reason.BAD_PORT) in complaint for complaint in self.complaints) else []
        return "\n".join([*self.complaints, *([f"… and {more:,} more"] if more else []), *advice])


def read_seeds(arguments: Iterable[str], files: Iterable[str], configured: Iterable[str], rules: URLRules) -> Seeds:
    """Collect and check the seeds.

    Raises:
        UsageError: If there is no seed, or a file cannot be used.
    """
    space = URLSpace(bytes(16), rules)  # the canonical form does not depend on a crawl's secret
    seeds, known = Seeds(), set[str]()
    arguments = list(arguments)
    if file := next((text for text in arguments if "://" not in text and Path(text).is_file()), None):
        raise UsageError(
            f"seed {file!r}: expected a URL or a host name, found the name of a file. Write -f {file} for seeds, -c for configuration"
        )
    if missing := next(filter(_looks_like_a_file, arguments), None):
        raise UsageError(
            f"seed {missing!r}: expected a URL or a host name, found what looks like the name of a file, and no such file. "
            f"Seeds of a file are given by -f FILE; if it is an address, write it with https:// before it"
        )
    named = ((f"seed {text!r}", text) for text in chain(arguments, configured))
    for where, line in chain(named, *map(_lines, files)):
        text, _, label = (part.strip() for part in line.partition("\t"))
        try:
            url = text if text in known else space.seed(text).text
        except BadURL as error:
            seeds.leave_out(where, error)
            continue
        if label:
            seeds.labels.setdefault(url, " ".join(label.split())[:MAX_LABEL])
        if url in known:
            seeds.n_repeated += 1
            continue
        known.add(url)
        seeds.urls.append(url)
        if "://" not in text and space.is_bare(text):
            seeds.bare.append(url)
    if not seeds.urls and seeds.n_bad:
        raise UsageError(f"no seed can be used:\n{seeds.warning()}")
    if not seeds.urls:
        raise UsageError("no seeds: name URLs on the command line, with -f FILE, or as `seeds` in the configuration")
    return seeds


def _looks_like_a_file(text: str) -> bool:
    """Return whether a seed is probably a mistyped file: it ends like one, and its host would not be a name of the public DNS."""
    host, slash, _ = text.partition("/")
    return text.lower().endswith(_FILE_ENDINGS) and (not slash or "." not in host.strip(".")) and ":" not in host


def _lines(file: str) -> Iterator[tuple[str, str]]:
    """Yield (where, text) for each seed line of a file; "-" is standard input."""
    name = "standard input" if file == "-" else file
    found = False
    try:
        with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as stream:
            for number, line in enumerate(_raw_lines(stream, name), 1):
                for part in line.decode("utf-8-sig" if number == 1 else "utf-8", "replace").splitlines():
                    text = part.strip()
                    if text and not text.startswith("#"):
                        found = True
                        yield f"{name}:{number}", text
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {error.strerror}. Name a file of seeds, or - for standard input") from error
    if not found:
        raise UsageError(f"{name}: {_EXPECTED}; found none. Add one, or leave the file out")


def _raw_lines(stream: BinaryIO, name: str) -> Iterator[bytes]:
    n_bytes = 0
    while line := stream.readline(MAX_LINE):
        n_bytes += len(line)
        if b"\0" in line:
            raise UsageError(f"{name}: {_EXPECTED}; found binary data, or UTF-16. Name another file, or save it as UTF-8")
        if n_bytes > MAX_FILE:
            raise UsageError(f"{name}: expected at most {MAX_FILE >> 20} MiB, found more. Split it: `resume` takes further seeds")
        if len(line) == MAX_LINE and not line.endswith(b"\n"):
            raise UsageError(f"{name}: {_EXPECTED}; found a line of more than {MAX_LINE >> 10} KiB. Name another file")
        yield line


def whole_hosts(settings: Settings, seeds: Iterable[str]) -> list[str]:
    """Return a warning for each of the first seeds that `scope.type: prefix` takes for a whole host though its path ends like a directory's
    name.
    """
    if settings.scope.type != "prefix":
        return []
    split = ((seed, origin_of(seed)) for seed in seeds)
    wide = [(seed, origin) for seed, origin in split if re.fullmatch(r"/[^/.?]+", seed[len(origin) :])]
    return [
        f"scope.type: prefix: {seed} covers all of {origin}/, as its path does not end with a slash. Write {seed}/ for what lies below it"
        for seed, origin in wide[:_SHOWN]
    ]
