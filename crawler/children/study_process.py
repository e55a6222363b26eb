"""The child process in which filters study what they gathered: it may take minutes of CPU time while the crawl goes on.

It reads requests from its standard input and answers on its standard output, one at a time, until the input ends. It has no state and may
be killed at any moment. It dies with its parent, and when a study takes more than `LONGEST_S` of CPU time; waiting for the CPU on a loaded
machine does not count.

    message = length (4 bytes, big-endian), bytes
    parent → child: place of the study, material, place, material ...        child → parent: finding, finding ...
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from typing import Final

from thresher.crawler.children.parser_process import allow_seconds, receive, send
from thresher.filters.capabilities import study_at

LONGEST_S: Final = 300.0  # CPU seconds of one study
_MEMORY: Final = 2 << 30  # bytes of address space
_NICENESS: Final = 5  # the crawl has priority
_PR_SET_PDEATHSIG: Final = 1


def main() -> None:
    """Answer requests until the input ends."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.nice(_NICENESS)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    while name := receive(source):
        material = receive(source)
        allow_seconds(LONGEST_S)
        send(sink, study_at(name.decode())(material))
        signal.setitimer(signal.ITIMER_PROF, 0.0)


if __name__ == "__main__":
    main()
