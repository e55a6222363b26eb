"""Stores with overwritten pages, and what every command does with them, in processes as an operator starts them.

    with Rot(directory) as rot:
        problems = rot.case(seed)      # [] if each command printed the truth, or an error that the store is damaged

Each case copies one store, overwrites one to three pages of one of its two files, and runs `verify`, `status`, `stats`, `hosts`, exports
and `resume`. A command may exit with 0 only if it prints exactly what it prints for the whole store; else it must exit with 6 and a
message. A traceback, a death by a signal or an endless loop is a fault. Damage to a page that no other page points to may stay unnoticed:
then the commands must print the same as for the whole store.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Self

from thresher.config.settings import DnsSettings, IdentitySettings, LimitSettings, PolitenessSettings, Settings

_TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(_TESTS / "cli")]

from small_store import SmallStore

from thresher.crawler.core.model import State

ROOT = _TESTS.parent
PAGE = 4096
_SETTINGS = Settings(  # every name has a loopback address, to which no request is allowed: nothing is sent
    identity=IdentitySettings(contact="https://example.org/bot"),
    dns=DnsSettings(static={".example": "127.0.0.1"}),
    limits=LimitSettings(max_time=0.6, min_free_disk=0, max_wait=0.5),
    politeness=PolitenessSettings(min_delay=0.0, delay_factor=0.0, address_delay=0.0),
)
READS: dict[str, tuple[str, ...]] = {
    "status": ("status", "DIR", "--json"),
    "stats": ("stats", "DIR", "--by", "status", "--json"),
    "hosts": ("hosts", "DIR", "--json", "--top", "0"),
    "pages": ("export", "DIR", "--what", "pages", "--fields", "url,status,title,headers,verdicts,text"),
    "urls": ("export", "DIR", "--what", "urls"),
    "links": ("export", "DIR", "--what", "links"),
}
_FORKER = """
import gc, json, os, sys
sys.path.insert(0, "tests")
from preloading import import_commands
from thresher.crawler.cli import guarded
import_commands(("status", "stats", "hosts", "export", "verify", "crawl"))
import thresher.storage.rot, thresher.crawler.cli.reader_guard, thresher.storage.verify
gc.freeze()
for line in sys.stdin:
    out, err, words = json.loads(line)
    if (pid := os.fork()) == 0:
        for number, name in ((0, "/dev/null"), (1, out), (2, err)):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), number)
        sys.argv = ["thresher", *words]
        code = 99
        try:
            guarded()
        except SystemExit as end:
            code = end.code or 0
        sys.stdout.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Said(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: bytes
    err: str


Damage = Callable[[random.Random, bytes, list[bytes]], bytes]  # random generator, a page, all pages → the damaged page


def _stale_copy(rng: random.Random, _page: bytes, pages: list[bytes]) -> bytes:
    return rng.choice(pages)


def _flipped(rng: random.Random, page: bytes, _pages: list[bytes]) -> bytes:
    changed = bytearray(page)
    for _ in range(rng.choice((1, 4, 64))):
        changed[rng.randrange(len(changed))] ^= rng.randrange(1, 256)
    return bytes(changed)


def _misheaded(rng: random.Random, page: bytes, _pages: list[bytes]) -> bytes:
    """Damage the page's number, flags, bounds or the places of its first rows."""
    at = rng.randrange(0, 40)
    return page[:at] + rng.randbytes(2) + page[at + 2 :]


DAMAGES: dict[str, Damage] = {
    "zeros": lambda _rng, page, _pages: bytes(len(page)),
    "noise": lambda rng, page, _pages: rng.randbytes(len(page)),
    "text": lambda rng, page, _pages: (b"%d log line of something else\n" % rng.randrange(10**6) * 200)[: len(page)],
    "another page": _stale_copy,
    "flipped bytes": _flipped,
    "header": _misheaded,
    "half": lambda rng, page, _pages: page[: len(page) // 2] + rng.randbytes(len(page) // 2),
}


def build(path: Path, n_urls: int = 600) -> None:
    """Write a crawl of three hosts: a third of the URLs are pages, the others are queued."""
    small = SmallStore(path, _SETTINGS)
    for n in range(n_urls):
        url = small.url(f"https://host{n % 3}.example/folder-{n % 7}/page-{n}")
        small.known(url, State.QUEUED if n % 3 else State.DONE)
        if not n % 3:
            small.page(url, links=tuple(range(max(1, n - 20), n + 1)), body=b"<p>Words of page %d" % n * 90, title=f"Page {n}")
    small.close()


class Rot:
    """One store, and a process that forks commands, so that nothing is imported twice."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._whole = directory / "whole"
        self.codes: dict[str, int] = {}  # exit codes of the last case
        build(self._whole)

    def __enter__(self) -> Self:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("THRESHER_", "CRAWL_", "PYTHON"))}
        self._forker = subprocess.Popen(
            [sys.executable, "-c", _FORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=environ,
        )
        self._told = {name: self._run(self._whole, words) for name, words in READS.items()}
        assert all(said.code == 0 and said.out for said in self._told.values()), self._told
        assert self._run(self._whole, ("verify", "DIR")).code == 0
        return self

    def __exit__(self, *_: object) -> None:
        self._forker.kill()
        self._forker.communicate()

    def _run(self, store: Path, words: tuple[str, ...]) -> Said:
        out, err = self._directory / "out", self._directory / "err"
        assert self._forker.stdin is not None
        assert self._forker.stdout is not None
        message = json.dumps([str(out), str(err), [str(store) if word == "DIR" else word for word in words]])
        self._forker.stdin.write(message.encode() + b"\n")
        self._forker.stdin.flush()
        code = int(self._forker.stdout.readline())
        return Said(code, out.read_bytes(), err.read_text())

    def case(self, seed: int, *, reads: bool = True, resumes: bool = True) -> list[str]:
        """Damage a copy of the store, run `verify`, all commands that read, and `resume`; return their faults in words."""
        store = self._directory / "store"
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(self._whole, store, ignore=shutil.ignore_patterns("lock.mdb"))
        where = f"seed {seed}: {damaged(store, random.Random(seed))}"
        verified = self._run(store, ("verify", "DIR"))
        problems = _manners("verify", verified, (0, 6))
        self.codes = {"verify": verified.code}
        for name, words in READS.items() if reads else ():
            said = self._run(store, words)
            self.codes[name] = said.code
            problems += _manners(name, said, (0, 6))
            if said.code == 0 and said.out != self._told[name].out:
                problems.append(f"{name}: exit 0, and says something else than of the whole store")
            if said.code == 6 and verified.code == 0:
                problems.append(f"{name}: exit 6, and verify calls the store sound: {said.err}")
        if resumes:
            said = self._run(store, ("resume", "DIR", "--progress", "none"))
            self.codes["resume"] = said.code
            problems += _manners("resume", said, (0, 3, 4, 6))
        return [f"{where}: {problem}" for problem in problems]


def _manners(name: str, said: Said, codes: tuple[int, ...]) -> list[str]:
    """Return what is wrong with the way in which a command ended, without regard to its output."""
    problems = []
    if said.code not in codes:
        problems.append(f"{name}: exit {said.code}, expected one of {codes}: {said.err[-600:]}")
    if "Traceback" in said.err or "Fatal Python error" in said.err or "Error:" in said.err:
        problems.append(f"{name}: a traceback on standard error: {said.err[-600:]}")
    words = said.err + said.out.decode("utf-8", "replace")
    if said.code == 6 and not any(word in words for word in ("damaged", "overwritten", "gone", "cannot")):
        problems.append(f"{name}: exit 6 without a word of what is damaged: {said.err}")
    return problems


def damaged(store: Path, rng: random.Random) -> str:
    """Overwrite some pages of one of the two files; return which and how."""
    env = rng.choice(("state", "state", "results"))
    file = store / env / "data.mdb"
    content = bytearray(file.read_bytes())
    pages = [bytes(content[at : at + PAGE]) for at in range(0, len(content), PAGE)]
    first = 0 if rng.random() < 0.1 else 2  # sometimes a meta page
    done = []
    for number in rng.sample(range(first, len(pages)), rng.choice((1, 1, 2, 3))):
        how = rng.choice(list(DAMAGES))
        content[number * PAGE : number * PAGE + PAGE] = DAMAGES[how](rng, pages[number], pages)
        done.append(f"page {number} {how}")
    file.write_bytes(content)
    return f"{env}: {', '.join(done)}"
