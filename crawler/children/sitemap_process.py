"""The child process that reads one large sitemap and ends. Its memory and CPU time are limited, and it dies with its parent.

parent → child: the file as standard input, `Job` as JSON in the command line        child → parent: Reading, msgpack
"""

from __future__ import annotations

import ctypes
import resource
import signal
import sys
from collections.abc import Iterator
from typing import IO, Final

import msgspec

from thresher.crawler.children.parser_process import allow_seconds
from thresher.crawler.core.sitemap import SitemapLimits, read

_STEP: Final = 64 << 10
_PR_SET_PDEATHSIG: Final = 1


class Job(msgspec.Struct, array_like=True, frozen=True):
    """The memory and time that one sitemap may take."""

    limits: SitemapLimits
    memory: int  # bytes of address space
    timeout: float  # seconds of processor time


def pieces_of(file: IO[bytes]) -> Iterator[bytes]:
    """Yield a file from its beginning."""
    file.seek(0)
    while piece := file.read(_STEP):
        yield piece


def main() -> None:
    """Read one sitemap."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    job = msgspec.json.decode(sys.argv[1], type=Job)
    resource.setrlimit(resource.RLIMIT_AS, (job.memory, job.memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    allow_seconds(job.timeout)
    sys.stdout.buffer.write(msgspec.msgpack.encode(read(lambda: pieces_of(sys.stdin.buffer), job.limits)))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
