"""Extracts texts from bodies in child processes, which are killed when a page takes too long. For exports: it blocks, so not for an event
loop.

Each child has a thread that waits for it. A few pages have one child; there is one more after every 32 pages. Texts come back in the order
in which bodies went in, with twice as many pages under way as there may be children, so that memory is bounded by their bodies. A page may
use `parse.timeout` of CPU time and `parse.memory` of address space. If it needs more, or gives no answer for much longer, its child is
killed and replaced, and the page gets a fault and no text.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final, Self, TypeVar

import msgspec

from thresher.config.settings import ParseSettings
from thresher.crawler.children import python
from thresher.crawler.children.parser_process import LENGTH, OUT_OF_MEMORY, OUT_OF_TIME
from thresher.crawler.children.text_process import ExtractedText, Made, TextRequest, TextSetup
from thresher.crawler.core.errors import UsageError

_START_S: Final = 120.0
_PATIENCE: Final = 30.0  # wall-clock limit as a multiple of the CPU time that a page may take
_STEP: Final = 1 << 20
_PER_CHILD: Final = 2  # pages under way for each child
_PAGES_PER_START: Final = 32  # starting a child (two thirds of a second with the libraries) takes as long as reading so many pages

T = TypeVar("T")


class TextExtractor:
    """Texts of pages, in their order. A context manager; one thread."""

    def __init__(
        self, settings: ParseSettings, *, is_main: bool, tells_language: bool, processes: int = 0, patience_s: float | None = None
    ) -> None:
        """Create the text extractor.

        Args:
            processes: Most children at once; 0 = one for each core. One more is started after every 32 pages, since a start takes as long
                as these.
            patience_s: Seconds to wait for a page; None = 30 times `parse.timeout`.
        """
        self._settings = settings
        self._setup = TextSetup(is_main, tells_language, settings.memory, settings.timeout)
        self._patience_s = _PATIENCE * settings.timeout if patience_s is None else patience_s
        self._n = processes or len(os.sched_getaffinity(0))
        self._idle: SimpleQueue[_Child | None] = SimpleQueue()  # None stands for a child that is started when it is needed
        self._places = 1
        self._threads = ThreadPoolExecutor(self._n, "texts")
        self.text_by = self.language_by = ""
        self.faults: Counter[str] = Counter()  # reason → pages without a text

    def each(self, pages: Iterable[tuple[T, tuple[bytes, str, str] | None]], /) -> Iterator[tuple[T, ExtractedText]]:
        """Yield the first value of each pair, and the text of its page.

        Args:
            pages: Pairs of any value and (body, Content-Type, media type); None in place of these: the body is not stored.
        """
        under_way: deque[tuple[T, Future[ExtractedText] | None]] = deque()
        for number, (given, source) in enumerate(pages, 1):
            if number % _PAGES_PER_START == 0 and self._places < self._n:
                self._places += 1
                self._idle.put(None)
            under_way.append((given, self._threads.submit(self._ask, TextRequest(*source)) if source is not None else None))
            if len(under_way) >= _PER_CHILD * self._n:
                yield self._next(under_way)
        while under_way:
            yield self._next(under_way)

    def _next(self, under_way: deque[tuple[T, Future[ExtractedText] | None]]) -> tuple[T, ExtractedText]:
        given, future = under_way.popleft()
        text = ExtractedText(fault="no body") if future is None else future.result()
        if text.fault:
            self.faults[text.fault] += 1
        return given, text

    def start(self) -> None:
        """Start a child, so that a missing library is reported before any page is read."""
        child = _Child(self._setup)
        self.text_by, self.language_by = child.made.by, child.made.language_by
        self._idle.put(child)

    def _ask(self, request: TextRequest) -> ExtractedText:
        child, is_in_step = self._idle.get(), False
        try:
            child = child or _Child(self._setup)
            text = child.ask(request, self._patience_s)
            is_in_step = True
        except TimeoutError:
            return ExtractedText(fault="no answer")
        except (EOFError, OSError):
            assert child is not None  # a child that did not start has raised UsageError
            code = child.end()
            return ExtractedText(fault="out of time" if code in OUT_OF_TIME else "out of memory" if code == OUT_OF_MEMORY else "crash")
        finally:
            is_kept = child is not None and is_in_step and child.n_answers < self._settings.recycle_after
            if child is not None and not is_kept:
                child.kill()
            self._idle.put(child if is_kept else None)
        return text

    def close(self) -> None:
        """End the children."""
        self._threads.shutdown(cancel_futures=True)
        with suppress(Empty):
            while True:
                if (child := self._idle.get_nowait()) is not None:
                    child.kill()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Child:
    """One child process. It takes one request at a time; after an unanswered request it can only be ended."""

    def __init__(self, setup: TextSetup) -> None:
        """Create the child.

        Raises:
            UsageError: If it cannot be started.
        """
        self._process = subprocess.Popen(  # noqa: S603 - our own code
            python.command("thresher.crawler.children.text_process"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=python.environment(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1"),
            start_new_session=True,  # Ctrl-C is for the export
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._input, False)
        self.n_answers = 0
        try:
            self.made = msgspec.msgpack.decode(self._exchange(msgspec.msgpack.encode(setup), _START_S), type=Made)
        except BaseException as error:
            self.kill()
            if isinstance(error, (EOFError, OSError)):
                raise UsageError("texts: the process that extracts them did not start; its message is above") from None
            raise

    def ask(self, request: TextRequest, patience_s: float) -> ExtractedText:
        """Return a page's text.

        Raises:
            EOFError: If the child dies while it reads the page; OSError if that is noticed while sending.
            TimeoutError: If it does not answer within `patience_s` seconds.
        """
        answer = msgspec.msgpack.decode(self._exchange(msgspec.msgpack.encode(request), patience_s), type=ExtractedText)
        self.n_answers += 1
        return answer

    def end(self) -> int:
        """Wait for a process that has closed its output; return its exit code, or minus the number of the signal that ended it."""
        return self._process.wait()

    def kill(self) -> None:
        """Kill the process and wait until it is gone."""
        self._process.kill()
        with self._process:  # leaving the context closes the pipes
            self._process.wait()

    def _exchange(self, message: bytes, patience_s: float) -> bytes:
        late = time.monotonic() + patience_s
        rest = memoryview(LENGTH.pack(len(message)) + message)
        while rest:
            self._wait(self._input, late, is_input=True)
            rest = rest[os.write(self._input, rest[:_STEP]) :]
        n_bytes = LENGTH.unpack(self._read(LENGTH.size, late))[0]
        return self._read(n_bytes, late)

    def _read(self, n_bytes: int, late: float) -> bytes:
        pieces = bytearray()
        while len(pieces) < n_bytes:
            self._wait(self._output, late, is_input=False)
            piece = os.read(self._output, min(_STEP, n_bytes - len(pieces)))
            if not piece:
                raise EOFError
            pieces += piece
        return bytes(pieces)

    def _wait(self, descriptor: int, late: float, *, is_input: bool) -> None:
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT if is_input else select.POLLIN)
        if not poll.poll(max(0.0, late - time.monotonic()) * 1000):
            raise TimeoutError
