"""Collects what is found in a document while it is read, within bounds."""

from __future__ import annotations

import time
from typing import Final

MAX_TEXT: Final = 16 << 20  # characters
MAX_LINK: Final = 1 << 16  # characters
_MAX_TITLE: Final = 2_048


class Document:
    """Title, paragraphs of text, and links as they are written in the document."""

    def __init__(self, max_links: int, seconds: float) -> None:
        """Create the document.

        Args:
            seconds: Seconds of CPU time, from now on, after which reading stops.
        """
        self.title = ""
        self.links: list[str] = []
        self.n_links = 0
        self.is_cut = False
        self._max_links = max_links
        self._late = time.process_time() + seconds
        self._paragraphs: list[str] = []
        self._n_characters = 0

    @property
    def text(self) -> str:
        """The text, one paragraph a line."""
        return "\n".join(self._paragraphs)

    def is_over(self) -> bool:
        """Return whether reading must stop."""
        self.is_cut = self.is_cut or self._n_characters >= MAX_TEXT or time.process_time() >= self._late
        return self.is_cut

    def name(self, title: str) -> None:
        """Keep the first title that is not empty."""
        self.title = self.title or " ".join(title[: 4 * _MAX_TITLE].split())[:_MAX_TITLE]

    def say(self, paragraph: str) -> None:
        """Add a paragraph, unless it is empty."""
        if words := " ".join(paragraph.replace("\0", "").split()):
            self._paragraphs.append(words[: MAX_TEXT - self._n_characters])
            self._n_characters += len(self._paragraphs[-1]) + 1

    def link(self, address: str) -> None:
        """Add a link that leads out of the document."""
        address = address.strip()
        if not address or address.startswith("#") or len(address) > MAX_LINK:
            return
        self.n_links += 1
        if len(self.links) < self._max_links:
            self.links.append(address)
