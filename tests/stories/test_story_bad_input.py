"""Bad input on the real command line: one clear message says where the mistake is, what was found, what was expected and what to do.

Each case is a process of its own, forked from one that has imported the program: else forty interpreters would have to start. Crawls start
new processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import resource
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import forking
import pytest
from harness import Life, wait_until
from hostile import DnsAnswer, Zone, name_server

from thresher.config.load import load
from thresher.config.settings import Settings
from thresher.crawler.start.opening import create_store
from thresher.storage.packing import pack_u64
from thresher.storage.schema import META, Meta
from thresher.storage.store import Store

CONTACT = ("--set", "identity.contact=me@example.org")
QUICK = ("--progress", "none", *("--set", "limits.min_free_disk=0"), *("--set", "limits.max_wait=3"), *("--set", "retry.scale=1e-6"))


@dataclass
class Said:
    """How a command ended, and what it printed."""

    code: int
    stdout: str
    stderr: str


@dataclass
class Case:
    """A command line, and how it must end. `prepare` makes its files in an empty directory, where it runs."""

    arguments: tuple[str, ...]
    code: int
    says: tuple[str, ...]  # patterns, all found in standard error
    prepare: Callable[[Path], object] = lambda _: None
    n_lines: int = 1  # of standard error at most
    environ: dict[str, str] = field(default_factory=dict)


def crawl(*arguments: str) -> tuple[str, ...]:
    return ("crawl", *CONTACT, "-o", "store", *arguments)


def file(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda directory: (directory / name).write_bytes(content)


def a_store(version: int | None = None) -> Callable[[Path], object]:
    """Return what makes a store, of another version if one is given."""

    def make(directory: Path) -> None:
        with Store.create(directory / "store", Settings(), 0.0) as store:
            if version is not None:
                store.put(META, Meta.VERSION, pack_u64(version))

    return make


def a_crawl_of_two(directory: Path) -> None:
    """Make a store of two agents."""
    create_store(directory / "store", load([], sets=[CONTACT[1], "agents=2"]).settings)


BOMB = b"a: &a [x,x,x,x,x,x,x,x]\n" + b"".join(b"%c: &%c [*%c,*%c,*%c,*%c]\n" % (x + 1, x + 1, x, x, x, x) for x in b"abcdef")


def seeds(content: bytes, *says: str, n_lines: int = 1) -> Case:
    """Return the case of a seed file."""
    return Case(crawl("-f", "s.txt"), 2, says, file("s.txt", content), n_lines=n_lines)


def yaml(content: bytes, *says: str) -> Case:
    """Return the case of a configuration file."""
    return Case(crawl("a.example", "-c", "c.yaml"), 2, says, file("c.yaml", content))


def option(text: str, *says: str) -> Case:
    """Return the case of a single option."""
    return Case(crawl("a.example", "--set", text), 2, says)


SEEDS = {
    "no seeds": Case(crawl(), 2, ("no seeds: name URLs on the command line, with -f FILE, or as `seeds`",)),
    "empty seed file": seeds(b"", r"s\.txt: expected one URL .* a line.*found none\. Add one"),
    "seed file of comments": seeds(b"# a\n\n  \n", r"s\.txt: .*found none"),
    "empty standard input": Case(crawl("-f", "-"), 2, ("standard input: .*found none",)),
    "binary seed file": seeds(bytes(range(256)) * 50, r"s\.txt: expected .* found binary data.*Name another file"),
    "seed file in UTF-16": seeds("http://a.example/\n".encode("utf-16"), r"UTF-16.*save it as UTF-8"),
    "noise in a seed file": seeds(b"\xff\xfe\x80 \x81\n\x90\x91\n", r"no seed can be used:\n", r"s\.txt:1: ", n_lines=3),
    "endless line": seeds(b"x" * 1_000_000, r"s\.txt: .*found a line of more than 64 KiB"),
    "seed file that is not there": Case(crawl("-f", "s.txt"), 2, (r"s\.txt: cannot be read: No such file.*Name a file",)),
    "seed file that is a directory": Case(crawl("-f", "."), 2, (r"\.: cannot be read: Is a directory",)),
    "seeds of wrong schemes": Case(
        crawl("ftp://a.example/", "mailto:x@a.example", "javascript:alert(1)"),
        2,
        (r"no seed can be used:\n", r"'ftp://a\.example/': bad_scheme: scheme ftp\. A seed is http", "'mailto:x@", "'javascript:alert"),
        n_lines=4,
    ),
    "many bad seeds": seeds(b"ftp://x/\n" * 100_000, r"s\.txt:5: ", "… and 99,995 more", n_lines=7),
    "a seed that would own the terminal": seeds(b"\x1b]0;owned\x07://x/\n", r"\\x1b\]0;owned\\x07", n_lines=2),
    "every seed refused": Case(
        crawl("a.example", "http://b.example/x.pdf", "--set", r"scope.exclude=['^https?://a\.']"),
        2,
        (
            "refuses every seed, expected at least one",
            r"https://a\.example/: excluded \(scope\.exclude, overrides\), by scope",
            r"x\.pdf: bad_type \(.*\), by media",
            "Change scope",
        ),
        n_lines=3,
    ),
}
CONFIGURATION = {
    "no contact": Case(("crawl", "a.example", "-o", "store"), 2, (r"identity\.contact: expected a URL or.*found nothing.*--set",)),
    "no contact to check": Case(("check", "a.example"), 2, (r"identity\.contact: expected",)),
    "YAML that is none": yaml(b"seeds: [a\n", r"c\.yaml:2:1: not YAML"),
    "binary YAML": yaml(b"\xff\xfe\x00", r"c\.yaml:1:1: expected UTF-8 text, got byte 0xff\. Save"),
    "a YAML bomb": yaml(BOMB, r"c\.yaml:\d+:\d+: "),
    "YAML that is not there": Case(crawl("a.example", "-c", "c.yaml"), 2, (r"c\.yaml: cannot be read: No such file",)),
    "an unknown section": yaml(b"politness: {min_delay: 2}\n", r"c\.yaml:1:1: politness: unknown key, did you mean politeness\?"),
    "an unknown key": yaml(
        b"politeness:\n  min_dely: 2\n", r"c\.yaml:2:3: politeness\.min_dely: unknown key, did you mean politeness\.min_delay\?"
    ),
    "a value of another kind": yaml(b"limits: {max_pages: many}\n", r"c\.yaml:1:21: limits\.max_pages: expected .*got \"many\"\. Write"),
    "a key that is unknown to --set": option("limits.max_page=1", r"--set limits\.max_page=1: .*did you mean limits\.max_pages\?"),
    "a pattern that RE2 does not know": option("scope.exclude=['(?=x)']", r"scope\.exclude\[0\]: expected an RE2 pattern.*look-around"),
    "no agents": option("agents=0", 'agents: expected a whole number ≥ 1 or auto, got "0"'),
    "a wrong value in the environment": Case(
        crawl("a.example"), 2, ("THRESHER_LIMITS__MAX_PAGES.*expected",), environ={"THRESHER_LIMITS__MAX_PAGES": "many"}
    ),
}
COMMANDS = {
    "an unknown command": Case(("crwal",), 2, ("No such command 'crwal'. Did you mean 'crawl'", "thresher --help"), n_lines=4),
    "an unknown option": Case(crawl("--outptu", "x"), 2, ("No such option '?--outptu", "thresher crawl --help"), n_lines=4),
    "no DIR": Case(
        ("crawl", *CONTACT, "a.example"),
        2,
        ("Missing option '-o' / '--output'. Give --output DIR: Directory for the new crawl",),
        n_lines=4,
    ),
    "nothing at all": Case((), 2, (r"Usage: thresher \[OPTIONS\] COMMAND", "resume"), n_lines=45),
}
STORES = {
    "DIR is a file": Case(crawl("a.example"), 2, ("store: expected a directory .*store is a file. Name another",), file("store", b"")),
    "DIR lies in a file": Case(
        ("crawl", *CONTACT, "a.example", "-o", "f/store"),
        2,
        ("f/store: expected a directory .* f is a file. Name",),
        file("f", b""),
    ),
    "DIR holds a crawl": Case(crawl("a.example"), 2, ("holds a crawl already. Go on with `thresher resume store`, or",), a_store()),
    "DIR holds other files": Case(
        ("crawl", *CONTACT, "a.example", "-o", "."), 2, (r"\.: expected a new or empty directory, found other files",), file("x", b"")
    ),
    "DIR cannot be made": Case(
        ("crawl", *CONTACT, "a.example", "-o", "/proc/store"),
        74,
        ("/proc/store: cannot be used for the new crawl: .*Name another",),
    ),
    "resume of nothing": Case(("resume", "store"), 2, ("store: no crawl here: expected .*Start one with `crawl",)),
    "resume of a file": Case(("resume", "store"), 2, ("store: no crawl here",), file("store", b"")),
    "resume of another version": Case(
        ("resume", "store"), 6, (r"store: schema version 99, expected \d+\. Use the thresher that wrote it, or start a new",), a_store(99)
    ),
    "a look at another version": Case(("stats", "store"), 6, ("store: schema version 99",), a_store(99)),
    "resume without a contact": Case(("resume", "store"), 2, (r"identity\.contact: expected",), a_store()),
    **{
        f"{arguments[0]} of a shard": Case(
            arguments, 2, (r"store/agent-\d: expected a crawl, found a shard .*/store\. Name /.*/store",), a_crawl_of_two
        )
        for arguments in (
            ("resume", "store/agent-1", *CONTACT),
            ("crawl", *CONTACT, "a.example", "-o", "store/agent-1"),
            ("verify", "store/agent-1"),
            ("status", "store/agent-1/."),
        )
    },
    "a crawl in the place of a shard": Case(
        ("crawl", *CONTACT, "a.example", "-o", "store/agent-7"), 2, ("store/agent-7: expected a crawl",), a_crawl_of_two
    ),
    "resume with bad seeds": Case(
        ("resume", "store", *CONTACT, "ftp://x/"), 2, ("no seed can be used:", "scheme ftp"), a_store(), n_lines=2
    ),
}
CASES = SEEDS | CONFIGURATION | COMMANDS | STORES


def thresher(directory: Path, *arguments: str, **environ: str) -> Said:
    """Run a command in a directory."""
    done = forking.run(arguments, cwd=directory, env={**forking.clean_environment(), **environ})
    return Said(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("name", CASES)
def test_bad_input_gets_one_clear_message_and_its_exit_code(name: str, tmp_path: Path) -> None:
    """S23, S33, S37 among them."""
    case = CASES[name]
    case.prepare(tmp_path)
    said = thresher(tmp_path, *case.arguments, **case.environ)
    assert "Traceback" not in said.stderr
    assert said.code == case.code, said.stderr
    for pattern in case.says:
        assert re.search(pattern, said.stderr), f"{pattern!r} is not said:\n{said.stderr}"
    assert len(said.stderr.splitlines()) <= case.n_lines, said.stderr
    assert not said.stdout
    assert "\x1b" not in said.stderr


# -- input that a crawl can use, or whose mistake shows only while it runs


@pytest.mark.long
def test_a_million_lines_of_seeds_are_read_and_repeats_told(tmp_path: Path) -> None:
    lines = b"".join(b"http://h%d.example/%d\n" % (i % 1000, i) for i in range(20_000))
    (tmp_path / "s.txt").write_bytes(lines + b"http://h.example/\n" * 980_000)
    said = thresher(tmp_path, "check", *CONTACT, "-f", "s.txt")
    assert (said.code, said.stderr) == (0, "seeds: 20,001, repeated: 979,999, left out: 0\nthe configuration is usable\n")


def test_a_store_in_use_is_named_with_who_uses_it(tmp_path: Path) -> None:
    with Store.create(tmp_path / "store", Settings(), 0.0):
        forgotten = thresher(tmp_path, "forget", "store", "a.example")
        for said in (thresher(tmp_path, "resume", "store", *CONTACT), thresher(tmp_path, *crawl("a.example")), forgotten):
            assert said.code == 5
            advice = rf"Wait for it, or stop it \(kill -INT {os.getpid()}\)"
            assert re.fullmatch(rf"thresher: store: in use by process {os.getpid()}\. {advice}\n", said.stderr)


async def run(directory: Path, zone: Zone, *arguments: str, timeout_s: float = 60.0) -> Said:
    """Crawl while a name server of ours answers.    timeout_s: of a question"""
    async with name_server(zone) as server:
        options = (
            "--set",
            f"dns.servers=[{server.address}]",
            "--set",
            f"dns.timeout={timeout_s}",
            "--set",
            "fetch.allow_addresses=[127.0.0.0/8]",
        )
        return await asyncio.to_thread(thresher, directory, *crawl(*QUICK, *options, *arguments))


@pytest.mark.parametrize(
    ("zone", "cause"),
    [(lambda _: DnsAnswer(rcode=3), "dns_nxdomain"), (lambda _: None, "dns_timeout"), (lambda _: DnsAnswer(rcode=2), "dns_fail")],
)
async def test_a_crawl_without_a_network_ends_and_says_why(tmp_path: Path, zone: Zone, cause: str) -> None:
    timeout_s = 0.1 if cause == "dns_timeout" else 60.0
    said = await run(tmp_path, zone, "a.example", "b.example", "ftp://c.example/", timeout_s=timeout_s)
    assert said.code == 4
    assert re.search(
        rf"^Crawl done: nothing is left to do; 100% of the URLs failed, most by {cause} \(\d+ attempts(?:; dns\.[a-z]+)?\)$",
        said.stderr,
        re.MULTILINE,
    )
    assert re.search(r"^thresher: left out:\nseed 'ftp://c\.example/': bad_scheme", said.stderr, re.MULTILINE)
    assert "Traceback" not in said.stderr
    assert ("thresher: running as root" in said.stderr) == (os.geteuid() == 0)


async def test_a_crawl_that_reaches_nobody_s_robots_txt_ends_and_says_why(tmp_path: Path) -> None:
    """No server listens at the port. A robots.txt that cannot be requested is no permission; `resume` requests it again."""
    said = await run(
        tmp_path,
        lambda _: DnsAnswer(),
        "--set",
        "dns.static={a.example: 127.0.0.1}",
        "--set",
        "fetch.allow_ports=[1]",
        "http://a.example:1",
    )
    assert said.code == 4
    said_why = (
        r"^Crawl done: nothing is due within 3 s .*; robots\.txt unreachable: 1 host; nothing was fetched: conn_refused \(\d+ attempts?\)$"
    )
    assert re.search(said_why, said.stderr, re.MULTILINE)
    assert "1 known, 1 still queued" in said.stderr


def allow_cores() -> None:
    with contextlib.suppress(ValueError, OSError):  # an ordinary user cannot raise a limit again
        resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))


async def test_an_agent_leaves_no_core_and_root_is_warned(tmp_path: Path) -> None:
    """S45, S46."""
    async with name_server(lambda _: None) as server:
        options = ("--set", f"dns.servers=[{server.address}]", "--set", "dns.timeout=30", "--progress", "none")
        with Life(tmp_path / "store", "crawl", *CONTACT, *options, "-o", tmp_path / "store", "a.example", before=allow_cores) as life:
            agent = await asyncio.to_thread(life.wait_for_agent)
            await asyncio.to_thread(wait_until, lambda: resource.prlimit(agent, resource.RLIMIT_CORE) == (0, 0))
            life.signal(signal.SIGINT)
            assert await asyncio.to_thread(life.end) == 3
            assert ("thresher: running as root" in life.said) == (os.geteuid() == 0)
