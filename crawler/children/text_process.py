"""The child process that extracts texts from pages for an export: it has no state, and may be killed at any moment.

Like the parser's children it reads requests from its standard input and answers on its standard output, one at a time, until the input
ends; memory, processor time, files and core dumps are limited, and it dies with its parent.

    parent → child: TextSetup, Request, Request ...        child → parent: Made when ready, then Text, Text ...
"""

from __future__ import annotations

import ctypes
import gc
import signal
import sys
from itertools import islice
from typing import Final

import msgspec
from selectolax.lexbor import SelectolaxError

from thresher.crawler.children.parser_process import OUT_OF_MEMORY, allow_seconds, limit, receive, send
from thresher.crawler.core import html
from thresher.crawler.documents.reading import is_document, read_document

_PR_SET_PDEATHSIG: Final = 1
_PLAIN: Final = "text/plain"
LANGUAGE_CHARACTERS: Final = 1_000  # characters of a text from which its language is identified: more gains nothing
_YOUNG_OBJECTS: Final = 50_000  # garbage collection waits for so many objects: a page makes thousands, nearly all without reference cycles
_LEAST_LETTERS: Final = 20  # fewest letters of a text whose language is identified


class TextSetup(msgspec.Struct, array_like=True, frozen=True):
    """The settings of the child for its whole life."""

    is_main: bool  # the main text, by trafilatura; else all that is visible
    tells_language: bool
    memory: int  # bytes of address space
    timeout: float  # seconds of processor time for one page


class Made(msgspec.Struct, array_like=True, frozen=True):
    """The libraries, with versions, that make the texts."""

    by: str
    language_by: str


class TextRequest(msgspec.Struct, array_like=True, frozen=True):
    """A page as it was stored."""

    body: bytes
    content_type: str
    mime_type: str


class ExtractedText(msgspec.Struct, array_like=True, frozen=True):
    """The text of a page, one paragraph a line."""

    text: str | None = None  # None: see `fault`
    language: str | None = None  # ISO 639-1; None: too little text
    confidence: float | None = None  # 0 to 1
    fault: str = ""  # why there is no text: out of time, out of memory, crash, no answer, unreadable


def main() -> None:
    """Answer requests until the input ends."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    setup = msgspec.msgpack.decode(receive(source), type=TextSetup)
    reader = _Reader(setup)
    limit(setup.memory)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    gc.freeze()  # libraries and models stay: the garbage collector need not look at them
    gc.set_threshold(_YOUNG_OBJECTS, 20, 20)
    send(sink, msgspec.msgpack.encode(reader.made))
    requests = msgspec.msgpack.Decoder(TextRequest)
    while message := receive(source):
        allow_seconds(setup.timeout)
        try:
            reply = msgspec.msgpack.encode(reader.read(requests.decode(message)))
        except (MemoryError, SelectolaxError):
            sys.exit(OUT_OF_MEMORY)
        send(sink, reply)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        del message, reply


class _Reader:
    """Reads pages. Its libraries are imported before memory is limited."""

    def __init__(self, setup: TextSetup) -> None:
        self._main = self._tell = None
        self._timeout = setup.timeout
        by = language_by = ""
        if setup.is_main:
            from thresher.crawler.children import main_text

            self._main, by = main_text.main_text, main_text.VERSION
        if setup.tells_language:
            from thresher.crawler.children import languages

            self._tell, language_by = languages.language_of, languages.VERSION
        self.made = Made(by or "visible", language_by)

    def read(self, request: TextRequest) -> ExtractedText:
        """Return the text of a page.

        Raises:
            MemoryError: If the page needs more than the limit.
        """
        try:
            text = self._text(request)
        except (ValueError, RecursionError) as error:  # errors of libraries on data that are no page
            return ExtractedText(fault=f"unreadable: {type(error).__name__}")
        if text is None:
            return ExtractedText(fault="unreadable")
        text = text.encode("utf-8", "replace").decode()
        start = text[:LANGUAGE_CHARACTERS]
        if self._tell is None or len(list(islice(filter(str.isalpha, start), _LEAST_LETTERS))) < _LEAST_LETTERS:
            return ExtractedText(text)
        return ExtractedText(text, *self._tell(start))

    def _text(self, request: TextRequest) -> str | None:
        if is_document(request.mime_type):
            return read_document(request.body, request.mime_type, max_links=0, seconds=self._timeout).text
        if html.is_binary(request.body, request.content_type):
            return None
        if self._main is not None and request.mime_type != _PLAIN:
            return self._main(html.decode(request.body, request.content_type)[0])
        parsed = html.read(request.body, request.content_type, request.mime_type, agent="", max_links=1, is_isolated=True)
        return None if parsed is None else parsed.text


if __name__ == "__main__":
    main()
