"""Lets a forked command fork its agents and servers, too. This saves half a second of CPU for each of hundreds of them.

As always, the agent is a process of its own, started by `subprocess`, with its own streams, session, environment and signals; only the new
interpreter is missing. Its name is `forking.AGENT_NAME`, so that it is found among processes. An agent's real start is tested by all tests
that start the command itself (`subprocess`), and by those that start agents in other ways.

A test may fork agents, too, into which it plants code: `planted`.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import importlib
import logging
import os
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from forking import AGENT_NAME
from injecting import FOLDER, has_faults

import thresher.crawler.machines.reading
import thresher.crawler.process.agent_process
import thresher.storage.verify  # noqa: F401 - what is forked has it
from thresher.crawler.children import python
from thresher.crawler.cli.verify import CHECK
from thresher.crawler.process.supervisor import AGENT
from thresher.storage import directory

_PR_SET_NAME = 15
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # which a supervisor handles, and passes on to an agent as soon as it is forked
_execute: Callable[..., None] = subprocess.Popen.__init__
_ended: list[Any] = []  # objects that must not be finalised in this process: they would write what the parent has not written yet


SERVER = tuple(python.command("thresher.crawler.demo.server"))
_codes: dict[tuple[str, ...], str] = {}  # beginning of a forked command → code that runs in place of an agent's `main`


def fork_agents() -> None:
    """From now on, where `subprocess` would execute an agent, a demo server or a store's check, this process forks it."""
    for command in (AGENT, SERVER):
        fork(command, f"from {command[-1]} import main; main()")
    fork(tuple(python.code(CHECK)), CHECK)


@contextmanager
def forking_their_agents() -> Iterator[None]:
    """Inside the block this process forks agents, as `fork_agents` does, for a supervisor that runs in a test itself."""
    before = dict(_codes)
    fork_agents()
    try:
        yield
    finally:
        _codes.clear()
        _codes.update(before)


@contextmanager
def forking_commands() -> Iterator[None]:
    """Inside the block this process forks the `thresher` commands that it starts, and these fork their agents."""
    with forking_their_agents():
        fork(tuple(python.command("thresher")), "from thresher.crawler.cli import guarded; guarded()")
        yield


def planted(code: str) -> tuple[str, ...]:
    """Return the command of an agent in whose place `code` runs, which calls `main`. This process forks it, unless it has a loop of
    uvloop.
    """
    text = f"from {AGENT[-1]} import main\n{code}"
    command = (sys.executable, "-c", text)
    fork(command, text)
    return command


def forked_script(file: Path) -> list[str]:
    """Return the command of a script. This process forks it, with all modules that are imported by then."""
    command = [sys.executable, str(file)]
    fork(tuple(command), f"import runpy; runpy.run_path({str(file)!r}, run_name='__main__')")
    return command


def forked_code(code: str) -> list[str]:
    """Return the command of a program given as text. This process forks it, with all modules that are imported by then."""
    command = [sys.executable, "-c", code]
    fork(tuple(command), code)
    return command


def fork(command: tuple[str, ...], code: str) -> None:
    """From now on, where `subprocess` would execute a command with this beginning, this process forks and runs `code`."""
    _codes[command] = code
    subprocess.Popen.__init__ = _init  # type: ignore[assignment, method-assign]  # of all of them, as asyncio starts its processes by this class


def fork_nothing() -> None:
    """From now on this process executes what `subprocess` is to execute."""
    _codes.clear()
    subprocess.Popen.__init__ = _execute  # type: ignore[method-assign]  # as it was before `fork`


def _init(process: subprocess.Popen[Any], args: Any, *more: Any, env: dict[str, str] | None = None, **others: Any) -> None:
    words = tuple(args) if isinstance(args, list | tuple) else ()
    command = next((begins for begins in _codes if words[: len(begins)] == begins), None)
    if command is not None:
        files, mask = {*_open_files().values()}, signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
        program = partial(_become, _codes[command], words[len(command) :], dict(os.environ) if env is None else env)
        others["preexec_fn"] = partial(program, files, mask)
        try:
            _execute(process, args, *more, env=env, **others)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    else:
        _execute(process, args, *more, env=env, **others)


def _become(program: str, words: tuple[str, ...], env: dict[str, str], before: set[str], mask: set[signal.Signals]) -> NoReturn:
    """Drop the state of the parent, run a program, and end.

    Args:
        before: The files that the parent had open before the fork.
        mask: Signals that are blocked in the program. More are blocked before it, so that no handler of the parent takes one here.
    """
    code, is_here = 1, has_faults(os.environ)
    try:
        gc.freeze()  # the parent's garbage is never finalised here: a store among it would close files that belong to others by then
        directory._ONE = threading.Lock()  # another thread of the parent may have held it
        _close_inherited(before)
        _forget_signals()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        sys.excepthook, threading.excepthook, sys.unraisablehook = sys.__excepthook__, threading.__excepthook__, sys.__unraisablehook__
        warnings.simplefilter("ignore")
        asyncio.events._set_running_loop(None)
        _ended.extend((sys.stdin, sys.stdout, sys.stderr, *logging.root.handlers))
        logging.root.handlers.clear()
        sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115 - they last as long as the process
        sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115 - as above
        os.environ.clear()
        os.environ.update(env)
        sys.argv = ["", *words]
        if has_faults(env):
            sys.path.insert(0, str(FOLDER))
            faults = importlib.import_module("faults")
            faults.begin_anew() if is_here else faults.install()
        if AGENT[-1] in program:
            ctypes.CDLL(None).prctl(_PR_SET_NAME, AGENT_NAME.encode())
        exec(program, {"__name__": "__main__"})
        sys.stdout.flush()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - the edge of a process
        traceback.print_exc()
    finally:
        os._exit(code)


def _close_inherited(before: set[str]) -> None:
    """Close all files but the standard streams, and the pipe that libuv makes at a fork if the parent has had a loop of uvloop."""
    files = _open_files()
    n_ends = Counter(files.values())
    for descriptor, name in files.items():
        if descriptor > 2 and (name in before or n_ends[name] == 1):
            os.close(descriptor)


def _open_files() -> dict[int, str]:
    """Return the open files of this process by the names that the system gives them; two pipes never have the same name."""
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the descriptor of the listing itself
            found[int(entry.name)] = str(entry.readlink())
    return found


def _forget_signals() -> None:
    """Set signals that the parent handles to their defaults, as in a process that was executed; ignore those that the parent and Python
    ignore.
    """
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
