"""What became of a requisite (an image, style sheet or script of a page), for its story."""

from __future__ import annotations

import msgspec

from thresher.storage.export.fields import iso
from thresher.storage.view import View

_WORDS = {
    "waiting": "It waits to be fetched",
    "fetched": "It was fetched",
    "redirected": "It was fetched and redirected",
    "failed": "It could not be fetched",
    "refused": "It was found and not fetched",
    "page": "It was fetched as a page",
}


class RequisiteStory(msgspec.Struct, kw_only=True):
    """A requisite of some page."""

    state: str
    hop: int  # steps from the page
    via: str | None  # the page, style sheet or redirect that named it first
    status: int | None
    why: str | None
    at: str | None

    @property
    def words(self) -> str:
        """Return what became of it, as a sentence."""
        status = f" with status {self.status}" if self.status else ""
        why = f" ({self.why})" if self.why else ""
        return f"{_WORDS[self.state]}{status}, since {self.via or 'a page'} needs it to be shown{why}: it is no page."


def needed(view: View, key: bytes) -> RequisiteStory | None:
    """Return what is known about a URL as a requisite; None if it is none."""
    record = view.tables.requisites.get(key)
    if record is None:
        return None
    row, other = view.tables.seen.row(record.via), view.tables.requisites.get(record.via)
    via = view.tables.seen.record(row.seq).text if row is not None else other.text if other is not None else None
    return RequisiteStory(
        state=record.state, hop=record.hop, via=via, status=record.status or None, why=record.why or None, at=iso(record.at)
    )
