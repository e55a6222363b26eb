"""Commands that read a store run in a child process: a damaged file can kill its reader, because lmdb reads pages without checking them.

If the child is killed, the parent checks the bytes of the store without following them (storage/rot.py), and prints what is wrong. The
parent passes its signals on to the child. Time: 2 ms.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import msgspec

from thresher.crawler.cli.common import complain
from thresher.crawler.core.errors import ConfigError, StoreError, ThresherError
from thresher.storage.partitions import local_shard_paths

_BY_DAMAGE = frozenset((signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL))
_PASSED_ON = frozenset((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
_PR_SET_PDEATHSIG = 1
_LOOK_S = 0.2  # seconds between two looks: a thread of a library may have taken the signal that the child has ended
_FROM_A_PROCESS = 0  # si_code of a signal sent by kill(); a terminal sends Ctrl-C to the child, too


def guarded(run: Callable[[], None], words: list[str]) -> None:
    """Call `run` in a child process and exit with its code; if a damaged store has killed the child, exit with 6 and one line.

    Args:
        run: The command.
        words: The words of the command line; among them are directories of stores.
    """
    heard = _PASSED_ON | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if os.getppid() != parent:
            os._exit(1)
        run()
        return
    _end_as(_wait(child, heard), words)


def _wait(child: int, heard: frozenset[signal.Signals]) -> int:
    """Pass signals on until the child has ended; return its exit code, negative for a signal."""
    while True:
        info = signal.sigtimedwait(heard, _LOOK_S)
        if info is not None and info.si_signo != signal.SIGCHLD and info.si_code == _FROM_A_PROCESS:
            os.kill(child, info.si_signo)
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)


def _end_as(code: int, words: list[str]) -> NoReturn:
    """End this process as the child ended."""
    if -code in _BY_DAMAGE:
        text, code = _damage_in_words(signal.Signals(-code).name, words)
        complain(f"thresher: {text}")
        sys.exit(code)
    if code < 0:
        with suppress(OSError):  # SIGKILL is never handled
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
        os.kill(os.getpid(), -code)
    sys.exit(code)


class _ToldError(ThresherError):
    """One of our errors, raised in a child process, with its message."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def apart(directory: Path, do: Callable[[], str]) -> str:
    """Call `do` in a child process and return its result.

    Raises:
        ThresherError: Raised by `do`, or because the store in `directory` is damaged and has killed the child.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _tell(writer, do)
    os.close(writer)
    with os.fdopen(reader, "rb") as answers:
        answer = answers.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if -code in _BY_DAMAGE:
        raise _ToldError(*_damage_in_words(signal.Signals(-code).name, [str(directory)]))
    if not answer and code < 0:
        by = signal.Signals(-code).name
        raise _ToldError(f"{directory}: the process that prepares the crawl was ended by {by}; the state is safe: try again", 128 - code)
    if not answer:
        sys.exit(code)
    text, exit_code = msgspec.json.decode(answer, type=tuple[str, int])
    if exit_code:
        raise _ToldError(text, exit_code)
    return text


def _tell(writer: int, do: Callable[[], str]) -> NoReturn:
    """Call `do`, write its result or its error into a pipe, and end this process."""
    try:
        answer = (do(), 0)
    except (ThresherError, ConfigError) as error:
        answer = (str(error), error.exit_code)
    except KeyboardInterrupt:
        os._exit(128 + signal.SIGINT)
    except BaseException:  # noqa: BLE001 - the end of a process of its own: whatever it was is shown
        traceback.print_exc()
        os._exit(1)
    with os.fdopen(writer, "wb") as out:
        out.write(msgspec.json.encode(answer))
    sys.stderr.flush()
    os._exit(0)


def _damage_in_words(by: str, words: list[str]) -> tuple[str, int]:
    """Return (what is wrong with the stores that `words` name, exit code), after the signal `by` has killed their reader."""
    from thresher.storage.rot import damage

    for word in words:
        if not (Path(word) / "state").is_dir():
            continue
        try:
            found = [problem for shard in local_shard_paths(Path(word)) for problem in damage(shard)]
        except ThresherError as error:
            found = [str(error)]
        if found:
            return f"{found[0]} (reading it ended by {by})", StoreError.exit_code
    return f"ended by {by}, and no store among {' '.join(words)} is damaged: a fault of ours. What is stored is safe", 1
