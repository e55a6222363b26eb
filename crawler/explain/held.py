"""What the journal says about a held URL: when it was held, when its class closed, when it was drawn, and why.

Time: 3 µs for each visit since the page that named the URL; none for a URL that was never held.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from thresher.crawler.analysis.tail_replay import notes
from thresher.crawler.core.model import Purpose, State
from thresher.crawler.core.ports import SeenRow
from thresher.filters.tail.history import Closed, HeldStep, Left, Passed, Reopened, Served, SettledStep, Step, Unasked
from thresher.storage.export.fields import iso
from thresher.storage.view import View


class HeldEvent(msgspec.Struct, kw_only=True):
    """One event of a URL, or of its class."""

    at: str | None
    what: str


def history(view: View, key: bytes, row: SeenRow) -> list[HeldEvent]:
    """Return the events of a URL since it was held; [] if it never was."""
    if row.state is not State.HELD and row.purpose != Purpose.AUDIT:
        return []
    via = view.tables.seen.row(view.tables.seen.record(row.seq).via)
    story = _Story(key)
    return [
        HeldEvent(at=iso(note.at), what=what)
        for note in notes(view, via.visit if via is not None else 0)
        for step in note.steps
        for what in story.words(step)
    ]


class _Story:
    """Selects the events of one URL."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._queue = b""
        self._holder = ""  # holder of the class in which it waits

    def words(self, step: Step) -> Iterator[str]:
        match step:
            case HeldStep() if self._key in step.keys:
                self._queue, self._holder = step.queue, step.holder
                why = "only pages of it name it" if step.is_inherited else "held by it"
                yield f"waits in the class {step.holder}: {why}"
                if self._key in step.audited:
                    yield "drawn at once, as an audit"
            case HeldStep() if self._key in step.audited:
                yield "drawn as an audit"
            case Served() if self._key in step.keys:
                yield "drawn, since its host had nothing else"
            case Closed() if step.queue == self._queue and self._holder in step.holders:
                proof = f": at most {step.n_good:,} of them are new, as was proved" if step.n_good >= 0 else ""
                yield f"left alone with {step.n - 1:,} others of its host{proof}"
            case Reopened() if self._holder:
                yield "judged anew: the threshold has changed"
            case SettledStep() | Unasked() | Passed() | Left() if step.key == self._key:
                yield _ended(step)
                self._holder = ""


def _ended(step: SettledStep | Unasked | Passed | Left) -> str:
    match step:
        case SettledStep():
            return "fetched: it gave something new" if step.is_good else "fetched: it gave nothing new"
        case Unasked():
            return "needs no fetch any more"
        case Passed():
            return "redirects to another URL, which was drawn in its place"
        case _:
            return "waits no longer: its class was released, it was refused, or a page outside the class names it"
