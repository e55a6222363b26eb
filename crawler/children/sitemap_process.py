"""The child that reads one large sitemap and ends: memory and processor time are limited, and it dies with its parent.

parent → child: Job        child → parent: Reading        (messages as in parser_process.py)
"""

from __future__ import annotations

import ctypes
import resource
import signal
import sys
from typing import Final

import msgspec

from thresher.crawler.children.parser_process import allow_seconds, receive, send
from thresher.crawler.core.sitemap import Limits, read

_PR_SET_PDEATHSIG: Final = 1


class Job(msgspec.Struct, array_like=True, frozen=True):
    """A sitemap as it came, and what may be spent on it."""

    body: bytes
    limits: Limits
    memory: int  # bytes of address space
    timeout: float  # seconds of processor time


def main() -> None:
    """Read one sitemap."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    job = msgspec.msgpack.decode(receive(sys.stdin.buffer), type=Job)
    resource.setrlimit(resource.RLIMIT_AS, (job.memory, job.memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    allow_seconds(job.timeout)
    send(sys.stdout.buffer, msgspec.msgpack.encode(read(job.body, job.limits)))


if __name__ == "__main__":
    main()
