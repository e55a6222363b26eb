"""Escapes bare ampersands in XML: libxml2 would stop at one, or continue with a wrong URL."""

from __future__ import annotations

import re
from typing import Final

_AMPERSAND: Final = re.compile(rb"<!\[CDATA\[|\]\]>|&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)")


class Ampersands:
    """Escapes ampersands that begin no reference, outside of CDATA. A reference that may continue in the next piece waits for it."""

    def __init__(self) -> None:
        self._rest = b""
        self._is_cdata = False

    def feed(self, piece: bytes) -> bytes:
        whole = self._rest + piece
        cut = max(0, len(whole) - 16)
        marks = [at for at in (whole.rfind(mark, cut) for mark in (b"&", b"<", b"]")) if at >= 0]
        end = min(marks, default=len(whole))
        self._rest = whole[end:]
        return self._mended(whole[:end])

    def rest(self) -> bytes:
        return self._mended(self._rest)

    def _mended(self, data: bytes) -> bytes:
        return _AMPERSAND.sub(self._replaced, data)

    def _replaced(self, match: re.Match[bytes]) -> bytes:
        mark = match[0]
        if mark == b"&":
            return b"&" if self._is_cdata else b"&amp;"
        self._is_cdata = mark.startswith(b"<")
        return mark
