"""The child process that parses pages that are too dangerous to parse in the crawler: large ones, and possible bombs.

It reads requests from its standard input and answers on its standard output, one at a time, until the input ends. Memory, processor time,
files and core dumps are limited, and it dies with its parent. It may be killed at any moment: it holds nothing.

    message = length (4 bytes, big-endian), msgpack
    parent → child: ParserSetup, Request, Request ...        child → parent: empty message when ready, Parsed | Needs ...
"""

from __future__ import annotations

import ctypes
import math
import resource
import signal
import struct
import sys
import time
from typing import BinaryIO, Final

import msgspec
from msgspec.structs import replace
from selectolax.lexbor import SelectolaxError

from thresher.crawler.core import html
from thresher.crawler.core.model import Flag
from thresher.crawler.core.parsed import Link, Parsed
from thresher.crawler.core.requisites import Needs, needs
from thresher.crawler.documents.reading import is_document, read_document

LENGTH: Final = struct.Struct(">I")
OUT_OF_MEMORY: Final = 3  # exit code
OUT_OF_TIME: Final = (-signal.SIGPROF, -signal.SIGXCPU)  # exit codes as the parent gets them
_MAX_FILES: Final = 16
_LARGE: Final = 1 << 20  # bytes; the memory of a larger page is given back to the system at once
_PR_SET_PDEATHSIG: Final = 1


class ParserSetup(msgspec.Struct, array_like=True, frozen=True):
    """The settings of the child for its whole life."""

    agent: str
    memory: int  # bytes of address space
    timeout: float  # seconds of processor time for one page


class ParseRequest(msgspec.Struct, array_like=True, frozen=True):
    """A page as it was received."""

    body: bytes
    content_type: str
    mime_type: str
    headers: list[str]  # X-Robots-Tag
    max_links: int = 0
    n_needs: int = 0  # not 0: return its requisites (images, style sheets, scripts), at most so many, and not its text and links


def main() -> None:
    """Answer requests until the input ends."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    setup = msgspec.msgpack.decode(receive(source), type=ParserSetup)
    limit(setup.memory)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    send(sink, b"")
    requests = msgspec.msgpack.Decoder(ParseRequest)
    encode = msgspec.msgpack.Encoder().encode
    while message := receive(source):
        request, is_large = requests.decode(message), len(message) > _LARGE
        del message  # a large page leaves little free memory
        allow_seconds(setup.timeout)
        try:
            reply = encode(_parse(request, setup))
        except (MemoryError, SelectolaxError):
            sys.exit(OUT_OF_MEMORY)
        send(sink, reply)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        del request, reply
        if is_large and hasattr(libc, "malloc_trim"):
            libc.malloc_trim(0)


def _parse(request: ParseRequest, setup: ParserSetup) -> Parsed | Needs | None:
    if request.n_needs:
        return needs(request.body, request.content_type, request.mime_type, request.n_needs)
    if is_document(request.mime_type):
        return _document(request, setup)
    return html.read(
        request.body,
        request.content_type,
        request.mime_type,
        agent=setup.agent,
        max_links=request.max_links,
        headers=request.headers,
        is_isolated=True,
    )


def _document(request: ParseRequest, setup: ParserSetup) -> Parsed:
    """Read a PDF or an office document; one that cannot be read has no text."""
    try:
        found = read_document(request.body, request.mime_type, max_links=request.max_links, seconds=setup.timeout)
    except ValueError:
        return replace(html.plain(b"", "", agent=setup.agent, headers=request.headers), flags=frozenset({Flag.NOT_HTML}))
    parsed = html.plain(found.text.encode("utf-8", "replace"), "utf-8", agent=setup.agent, headers=request.headers)
    flags = {Flag.DOCUMENT_CUT} if found.is_cut else set()
    if found.n_links > len(found.links):
        flags.add(Flag.LINKS_TRUNCATED)
    links = tuple(Link(address, "", "a") for address in found.links)
    return replace(parsed, title=found.title, links=links, n_links=found.n_links, flags=frozenset(flags))


def limit(memory: int) -> None:
    """Limit what the process may take; call it once everything is imported.

    Args:
        memory: Bytes of address space.
    """
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_MAX_FILES, _MAX_FILES))


def allow_seconds(timeout: float) -> None:
    """Limit the CPU time that the process may use from now on, by a timer and by a limit in whole seconds; then the system kills it.

    Args:
        timeout: Seconds of CPU time.
    """
    signal.setitimer(signal.ITIMER_PROF, timeout)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = math.ceil(time.process_time() + timeout) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def receive(source: BinaryIO) -> bytes:
    """Return the next message, b"" at the end of the input."""
    prefix = source.read(LENGTH.size)
    return source.read(LENGTH.unpack(prefix)[0]) if len(prefix) == LENGTH.size else b""


def send(sink: BinaryIO, message: bytes) -> None:
    """Write one message."""
    sink.write(LENGTH.pack(len(message)))
    sink.write(message)
    sink.flush()


if __name__ == "__main__":
    main()
