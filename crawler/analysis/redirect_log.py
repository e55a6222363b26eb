"""Reads a redirect log from a file of `original<TAB>target` lines, or from the pairs of a store. For commands.

A line that is no pair is counted by its fault, and the first line with each fault is remembered for the message: torn lines (not two
fields), bytes that are no UTF-8, lines beyond `MAX_LINE`, texts that are no http or https URL. URLs are put in canonical form as a crawl
does; a line of two plain URLs (`_PLAIN`) is in it already, as one test per line shows.

Time: 5 µs a line, 14 where a URL is not plain. Memory: the log (filters/soft_error/log.py) and one chunk of 1 MiB.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import BinaryIO

from thresher.crawler.core.url import BadURL, URLRules, URLSpace
from thresher.filters.soft_error.log import RedirectLog
from thresher.storage.export.texts import TextLookup
from thresher.storage.records import PAIR
from thresher.storage.schema import PAIRS
from thresher.storage.view import View

MAX_LINE = 65_536  # bytes
_MAX_URL = 8192
_CHUNK = 1 << 20
_ROWS = 1000
_PLAIN_URL = r"https?://(?:[a-z0-9-]{1,63}\.){1,3}[a-z]{2,24}/[A-Za-z0-9_~!$()*,;:@=+./-]*(?:\?[A-Za-z0-9_~!$()*,;:@=+./?&-]*)?"
_PLAIN = re.compile(rf"({_PLAIN_URL})\t({_PLAIN_URL})")
# A plain URL also has no "/." (it may have to be resolved) and no "xn--" (it may be invalid).


@dataclass(slots=True)
class RedirectsRead:
    """A log as it was read."""

    log: RedirectLog = field(default_factory=RedirectLog)
    n_lines: int = 0
    faults: Counter[str] = field(default_factory=Counter)  # what is wrong → lines
    first: dict[str, str] = field(default_factory=dict)  # what is wrong → where it was met first
    loops: list[str] = field(default_factory=list)  # originals whose chain of redirects comes back to itself

    def fault(self, what: str, where: str) -> None:
        self.faults[what] += 1
        self.first.setdefault(what, where)


def read_file(file: BinaryIO) -> RedirectsRead:
    """Read a log of `original<TAB>target` lines."""
    reading = RedirectsRead()
    space = URLSpace(bytes(16), URLRules(max_length=_MAX_URL, max_path_segments=_MAX_URL, ports=None))
    for raw in _lines(file):
        reading.n_lines += 1
        if raw is None:
            reading.fault(f"longer than {MAX_LINE:,} bytes", f"line {reading.n_lines:,}")
            continue
        try:
            line = (raw.removeprefix(BOM_UTF8) if reading.n_lines == 1 else raw).decode()
        except UnicodeDecodeError:
            reading.fault("not UTF-8", f"line {reading.n_lines:,}")
            continue
        plain = _PLAIN.fullmatch(line)
        if plain and len(line) <= _MAX_URL and "/." not in line and "xn--" not in line:
            reading.log.add(*plain.groups())
        elif line.strip(" "):
            _add_line(reading, space, line)
    return reading


def _add_line(reading: RedirectsRead, space: URLSpace, line: str) -> None:
    fields = line.split("\t")
    where = f"line {reading.n_lines:,}"
    if len(fields) != 2:
        reading.fault("not two fields with a tab between", where)
        return
    try:
        original, target = map(space.canonical, fields)
    except BadURL as error:
        reading.fault(f"no URL to request ({error.reason})", f"{where}: {error.detail}")
        return
    reading.log.add(original, target)


def _lines(file: BinaryIO) -> Iterator[bytes | None]:
    """Yield lines without their ends, None for one beyond `MAX_LINE`. Memory: a chunk and a line, whatever the file."""
    rest = b""
    is_beyond = False
    while chunk := file.read(_CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield None if is_beyond or len(line) > MAX_LINE else line.removesuffix(b"\r")
            is_beyond = False
        if len(rest) > MAX_LINE:
            rest, is_beyond = b"", True
    if rest or is_beyond:
        yield None if is_beyond else rest.removesuffix(b"\r")


def read_store(view: View) -> RedirectsRead:
    """Read the pairs of a crawl: every original whose chain ends within five hops. Loops have no end: they are in `loops`."""
    reading = RedirectsRead()
    texts = TextLookup(view)
    _find_loops(reading, view, texts)
    rows = view.rows(PAIRS)
    while chunk := list(islice(rows, _ROWS)):
        found = texts.of_keys(key for key, _ in chunk)
        reading.n_lines += len(chunk)
        _add_rows(reading, ((found.get(key), PAIR.decode(value).target_text) for key, value in chunk))
    return reading


def _find_loops(reading: RedirectsRead, view: View, texts: TextLookup) -> None:
    """Find the originals without a pair whose chain loops."""
    edges = (key for key, _ in view.all_edges())
    while chunk := list(islice(edges, _ROWS)):
        without = [key for key, pair in zip(chunk, view.get_many(PAIRS, chunk), strict=True) if pair is None]
        looping = [key for key in without if view.tables.redirects.chain_end(key)[0] == "loop"]
        found = texts.of_keys(looping)
        reading.loops += [found.get(key, "a URL that is not known") for key in looping]


def _add_rows(reading: RedirectsRead, pairs: Iterable[tuple[str | None, str]]) -> None:
    for original, target in pairs:
        if original is None:
            reading.fault("its original is not known", f"pair {reading.n_lines:,}")
        else:
            reading.log.add(original, target)
