"""Media: what is not a document, told by its name before it is asked for, by its headers before its body is read.

A URL whose path ends in an extension of `skip_extensions` is not queued. A response whose declared type is not in `fetch.accept_types`,
or whose declared size passes `max_declared_size`, ends after its headers. An undeclared type passes: the parser sniffs the body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from thresher.config.settings import Media
from thresher.crawler.core.model import Head, Reason
from thresher.filters.base import Links

NAME = "media"
_LONGEST_EXTENSION = 8


class ExtensionFilter:
    """Static gate: the extension of the path's last segment."""

    name = NAME

    def __init__(self, settings: Media) -> None:
        extensions = {extension.lower().lstrip(".") for extension in settings.skip_extensions}
        self._skipped = frozenset(extension for extension in extensions if len(extension) <= _LONGEST_EXTENSION and "/" not in extension)

    def refuses(self, links: Links, /) -> Mapping[int, Reason]:
        # what follows the last dot before the query is no extension if a "/" stands in it, and then none of ours
        skipped = self._skipped
        return {i: Reason.BAD_TYPE for i, text in enumerate(links.texts) if text.partition("?")[0].rpartition(".")[2].lower() in skipped}


class TypeFilter:
    """Head gate: declared type and size."""

    name = NAME

    def __init__(self, settings: Media, accept_types: Sequence[str]) -> None:
        self._max_bytes = settings.max_declared_size
        self._accepted = frozenset(accept_types)
        self._families = tuple(accepted[:-1] for accepted in accept_types if accepted.endswith("/*"))

    def refuses(self, head: Head, /) -> Reason | None:
        declared = head.mime_type
        if declared and declared not in self._accepted and "*/*" not in self._accepted and not declared.startswith(self._families):
            return Reason.BAD_TYPE
        length = head.get(b"content-length")
        return Reason.TOO_LARGE if length.isdigit() and int(length) > self._max_bytes else None
