"""Completion in a real bash: keys are typed at a terminal, then the Tab key, and the line that bash shows is read."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

_PROMPT = "ready> "
_LONGEST_S = 600.0


class Terminal:
    """An interactive bash that knows the completion of `thresher`."""

    def __init__(self, directory: Path) -> None:
        command = directory / "thresher"
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m thresher "$@"\n')
        command.chmod(0o700)
        (directory / "inputrc").write_text("set bell-style none\nset enable-bracketed-paste off\nset show-all-if-ambiguous on\n")
        env = {"PATH": f"{directory}:{os.environ['PATH']}", "TERM": "dumb", "PS1": _PROMPT, "HOME": str(directory), "LC_ALL": "C.UTF-8"}
        env["INPUTRC"] = str(directory / "inputrc")
        self._fd, end = pty.openpty()
        self._bash = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-i"], cwd=directory, env=env, stdin=end, stdout=end, stderr=end, start_new_session=True
        )
        os.close(end)
        self.read_until(_PROMPT)
        self.type('eval "$(thresher completion bash)" && echo done\n')
        self.read_until("\r\ndone\r\n")

    def type(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def read_until(self, text: str) -> str:
        """Read what bash shows until it contains a text."""
        shown, deadline = "", time.monotonic() + _LONGEST_S
        while text not in shown:
            assert time.monotonic() < deadline, f"{text!r} was waited for in vain, found {shown!r}"
            if select.select([self._fd], [], [], 0.5)[0]:
                shown += os.read(self._fd, 4096).decode(errors="replace")
        return shown

    def close(self) -> None:
        self._bash.kill()
        self._bash.wait()
        os.close(self._fd)


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    opened = Terminal(tmp_path_factory.mktemp("bash"))
    with contextlib.closing(opened):
        yield opened


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("crawl --set politeness.min_d", "elay=2"),  # no blank behind the =
        ("crawl --set frontier.order=op", "ic 2"),
        ("crawl --set robots.obey=f", "alse 2"),
        ("crawl --max-pa", "ges 2"),
        ("quar", "antine 2"),
        ("check --scope dom", "ain 2"),
    ],
)
def test_what_is_typed_is_completed(terminal: Terminal, typed: str, completed: str) -> None:
    """Mutation: without `Bash.get_completion_args` the words behind = are not found; without `nospace` a blank follows it."""
    terminal.type(f"thresher {typed}\t2")  # the 2 shows where the cursor was left; the line is not run
    assert f"{typed}{completed}" in terminal.read_until(completed)
    terminal.type("\x15\n")  # control-U empties the line
    terminal.read_until("\r\n" + _PROMPT)


@pytest.mark.parametrize(
    ("words", "environ"), [(["--help"], {}), ([], {"_THRESHER_COMPLETE": "bash_complete", "COMP_WORDS": "thresher s", "COMP_CWORD": "1"})]
)
def test_the_list_of_commands_imports_none_of_them(words: list[str], environ: dict[str, str]) -> None:
    """Seen to fail: all files of commands were imported for the first sentences of their help, in .7 s of CPU instead of .06."""
    command = [sys.executable, "-X", "importtime", "-m", "thresher", *words]
    ran = subprocess.run(command, env=os.environ | environ, capture_output=True, text=True, check=True)
    assert "status" in ran.stdout
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in ran.stderr.splitlines() if line.startswith("import time:")}
    assert "click" in imported
    assert not imported & {"numpy", "lmdb", "aiohttp", "lxml", "uvloop", "rich"}
