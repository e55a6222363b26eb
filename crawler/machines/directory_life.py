"""The life of one process of the directory (directory.py): from when it holds the lock of its file until its command is gone.

No command owns it: the engine lets it run on when a command is killed. So it ends itself once its command has been silent for longer than
a lease. Nothing is granted afterwards; and since the lives of machines are on disk, whoever holds the lock next waits until what this one
may have granted is over. A command that goes on after all, since it was only stopped, begins another one.

Silence counts only while this process runs itself. If all of a machine was suspended, its command may speak first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Final

from thresher.crawler.cluster.lease import LEASE_S, boot_s
from thresher.crawler.machines import directory_file
from thresher.crawler.machines.directory import Directory, DirectoryAnswer

LOOK_S: Final = 1.0  # between two looks at whether the command is gone
_GONE: Final = "the crawl's command is gone, and so is its directory"


class DirectoryLife:
    """A directory on disk. Any thread may call it."""

    def __init__(self, path: Path, now: Callable[[], float] = boot_s) -> None:
        """Take the lock and the state up; waits for a process that is about to end.

        Args:
            path: The crawl's directory.
            now: A clock that counts suspensions, in seconds.

        Raises:
            StoreError: If another process has the lock, or the state is damaged.
        """
        self._now = now
        self._one_at_a_time = Lock()
        self._held = directory_file.hold(path)
        self._directory = Directory(directory_file.read(path), lambda state: directory_file.write(path, state), now())
        self._silent_s = 0.0
        self._is_over = False

    def order(self, what: str, run: str, machines: Sequence[str] = ()) -> bool:
        """Carry out an order of a run's supervisor: begin (with these machines), keep or stop; return whether the run counts."""
        with self._one_at_a_time:
            if self._is_over:
                raise LookupError(_GONE)
            if what == "begin":
                self._directory.begin(run, machines, self._now())
            elif what == "stop":
                self._directory.stop(run)
            counts = self._directory.keep(run, self._now())
            self._silent_s = 0.0 if counts else self._silent_s
            return counts

    def ask(self, what: str, machine: str, life: str, run: str) -> DirectoryAnswer:
        """Answer a machine: join, renew or leave."""
        with self._one_at_a_time:
            if self._is_over:
                return DirectoryAnswer(why=_GONE)
            match what:
                case "join":
                    return self._directory.join(machine, life, run)
                case "renew":
                    return self._directory.renew(machine, life, run, self._now())
                case _:
                    self._directory.leave(machine, life)
                    return DirectoryAnswer()

    def look(self, ran_s: float = LOOK_S) -> bool:
        """Count this process's own time without a word of its command; return whether it is over. Then the lock is free.

        Args:
            ran_s: Seconds that it has run since the last look.
        """
        with self._one_at_a_time:
            self._silent_s += ran_s
            if self._silent_s > LEASE_S and not self._is_over:
                self._is_over = True
                os.close(self._held)
            return self._is_over
