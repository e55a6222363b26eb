"""The filter media: leaves out what is not a document, by the URL before the request and by the headers before the body is read.

A URL whose path ends in an extension of `skip_extensions` is not queued. A response whose declared type is not in `fetch.accept_types`,
or whose declared size is above `max_declared_size`, ends after its headers. A response without a declared type passes: the parser looks at
the body.

A link may announce a type, too (`<link rel="alternate" type="application/rss+xml">`, oEmbed, JSON: half of the links of a page of
WordPress). If that type is in `skip_announced` and would not be read, the link is not followed. This refuses the link, not the URL: if
another link to the same URL announces no type, or a type that is read, it is followed as usual. So a page that is announced wrongly is lost
only if no other link names it, and nothing has to be remembered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from thresher.config.settings import MediaSettings
from thresher.crawler.core.document_types import EXTENSIONS
from thresher.crawler.core.model import Head, Reason
from thresher.crawler.native import NATIVE, native
from thresher.filters.base import LinkColumns

NAME = "media"
_LONGEST_EXTENSION = 8
_TYPES_REMEMBERED = 1_000


class ExtensionFilter:
    """Static gate: the extension of the path's last segment."""

    name = NAME

    def __init__(self, settings: MediaSettings, *, documents: bool = False) -> None:
        """Create the extension filter.

        Args:
            documents: The setting `parse.documents`.
        """
        extensions = {extension.lower().lstrip(".") for extension in settings.skip_extensions}
        extensions -= EXTENSIONS if documents else frozenset()
        self._skipped = frozenset(extension for extension in extensions if len(extension) <= _LONGEST_EXTENSION and "/" not in extension)
        names = [name.encode() for name in self._skipped if name.isascii()]  # canonical URLs are ASCII
        self._numbers = np.sort(np.array([int.from_bytes(name.ljust(8, b"\0"), "big") for name in names], dtype=np.uint64))

    def refuses(self, links: LinkColumns, /) -> Mapping[int, Reason]:
        # a text after the last dot that contains "/" is not an extension, and is not in the set
        if NATIVE:
            return dict.fromkeys(native.endings(links.texts, self._numbers), Reason.BAD_TYPE)
        skipped = self._skipped
        return {i: Reason.BAD_TYPE for i, text in enumerate(links.texts) if text.partition("?")[0].rpartition(".")[2].lower() in skipped}


class AnnouncedTypes:
    """The announced types whose links are not followed. Answers are cached: pages use few types."""

    def __init__(self, settings: MediaSettings, accept_types: Sequence[str]) -> None:
        self._is_on = settings.mode == "enforce"
        names = "|".join(".*".join(map(re.escape, name.lower().split("*"))) for name in settings.skip_announced)
        self._skipped = re.compile(names or "(?!)")
        self._reads = _Accepted(accept_types)
        self._known: dict[str, bool] = {}

    def are_skipped(self, announced: str) -> bool:
        """Return whether a link that announces this type is not followed.

        Args:
            announced: The `type` attribute as the page contains it.
        """
        known = self._known.get(announced)
        if known is None:
            name = announced.partition(";")[0].strip().lower()
            known = self._is_on and bool(self._skipped.fullmatch(name)) and not self._reads.has(name)
            if len(self._known) < _TYPES_REMEMBERED:
                self._known[announced] = known
        return known


class _Accepted:
    """Media types whose bodies are read."""

    def __init__(self, accept_types: Sequence[str]) -> None:
        self._names = frozenset(accept_types)
        self._families = tuple(accepted[:-1] for accepted in accept_types if accepted.endswith("/*"))

    def has(self, name: str) -> bool:
        return name in self._names or "*/*" in self._names or name.startswith(self._families)


class TypeFilter:
    """Head gate: declared type and size."""

    name = NAME

    def __init__(self, settings: MediaSettings, accept_types: Sequence[str]) -> None:
        self._max_bytes = settings.max_declared_size
        self._reads = _Accepted(accept_types)

    def refuses(self, head: Head, /) -> Reason | None:
        declared = head.mime_type
        if declared and not self._reads.has(declared):
            return Reason.BAD_TYPE
        length = head.get(b"content-length")
        return Reason.TOO_LARGE if length.isdigit() and int(length) > self._max_bytes else None
