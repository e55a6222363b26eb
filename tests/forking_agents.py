"""Lets a forked command fork its agents, too: Python's start and the imports are half a second of CPU, of hundreds of agents.

The agent is a process of its own as ever, started by `subprocess`, with its own streams, session, environment and signals; only the new
interpreter is left out. Its name is `forking.AGENT_NAME`, for who looks for agents among processes. What an agent's real start does is
tested by every test that starts the command itself (`subprocess`), and by those that start agents in other ways.

A test may fork agents, too, into which it plants code: `planted`.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from forking import AGENT_NAME

import thresher.crawler.process.agent_process  # noqa: F401 - what is forked has it
from thresher.crawler.process.supervisor import AGENT

_PR_SET_NAME = 15
_execute: Callable[..., None] = subprocess.Popen.__init__
_ended: list[Any] = []  # what a process no longer uses and must not end: it would write what its parent has not written yet


_codes: dict[tuple[str, ...], str] = {}  # by the beginnings of the commands that are forked: what runs in the place of an agent's `main`


def fork_agents() -> None:
    """From now on this process runs an agent in a process that it forks, where `subprocess` would execute one."""
    _fork(AGENT, f"from {AGENT[-1]} import main; main()")


def planted(code: str) -> tuple[str, ...]:
    """Return the command of an agent in which `code` runs first. This process forks it, unless its loop starts processes in its own way."""
    text = f"from {AGENT[-1]} import main\n{code}\nmain()"
    command = (sys.executable, "-c", text)
    _fork(command, text)
    return command


def _fork(command: tuple[str, ...], code: str) -> None:
    _codes[command] = code
    subprocess.Popen.__init__ = _init  # type: ignore[assignment, method-assign]  # of all of them, as asyncio starts its processes by this class


def _init(process: subprocess.Popen[Any], args: Any, *more: Any, env: dict[str, str] | None = None, **others: Any) -> None:
    words = tuple(args) if isinstance(args, list | tuple) else ()
    command = next((begins for begins in _codes if words[: len(begins)] == begins), None)
    if command is not None:
        others["preexec_fn"] = partial(_become_agent, _codes[command], words[len(command) :], dict(os.environ) if env is None else env)
    _execute(process, args, *more, env=env, **others)


def _become_agent(program: str, words: tuple[str, ...], env: dict[str, str]) -> NoReturn:
    """Forget what the parent was, run an agent, and end."""
    code = 1
    try:
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        _forget_signals()
        sys.excepthook, threading.excepthook, sys.unraisablehook = sys.__excepthook__, threading.__excepthook__, sys.__unraisablehook__
        warnings.simplefilter("ignore")
        asyncio.events._set_running_loop(None)
        _ended.extend((sys.stdin, sys.stdout, sys.stderr, *logging.root.handlers))
        logging.root.handlers.clear()
        sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115 - they last as long as the process
        sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115 - as above
        os.environ.clear()
        os.environ.update(env)
        sys.argv = [AGENT[-1], *words]
        if "faults" in sys.modules:
            sys.modules["faults"].begin_anew()
        ctypes.CDLL(None).prctl(_PR_SET_NAME, AGENT_NAME.encode())
        exec(program, {"__name__": "__main__"})
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - the edge of a process
        traceback.print_exc()
    finally:
        os._exit(code)


def _forget_signals() -> None:
    """Do by default what the parent handles, as a process does that was executed; ignore what the parent ignores, and what Python does."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
