"""Tries quarantined work once more when an agent starts, after the operator has asked for it (`thresher quarantine DIR --again`).

Each piece of work is a visit, and leaves the quarantine in the commit of that visit. If it kills the agent again, the next process of the
agent puts it back. A message about a site that has moved to another agent is sent on. The answer to a filter's request is fetched anew.
"""

from __future__ import annotations

from msgspec.structs import replace

from thresher.crawler.children.crash_suspects import offered_work, words_of
from thresher.crawler.cluster.inbox import Inbox, unreadable
from thresher.crawler.core.effects import Request
from thresher.crawler.core.model import Purpose
from thresher.crawler.settlement.settler import Settler
from thresher.crawler.visit import VisitContext
from thresher.storage.records import QuarantineRecord
from thresher.storage.store import Store
from thresher.storage.tables.requests import Requester


class OfferedAgain:
    """Tries quarantined work again."""

    def __init__(self, store: Store, context: VisitContext, settler: Settler, inbox: Inbox) -> None:
        self._store = store
        self._context = context
        self._settler = settler
        self._inbox = inbox

    def carry_out(self, now: float) -> None:
        """Do all work that is offered again, in the order in which it was quarantined."""
        for key, record in self._store.tables.quarantine.all():
            if record.offered:
                self._try(key, record, now)
                self._store.end_visit()

    def _try(self, key: bytes, record: QuarantineRecord, now: float) -> None:
        work, suspects = offered_work(key), self._context.suspects
        if (trial := suspects.guilty(work)) is not None:
            self._store.tables.quarantine.change(key, replace(record, offered=False, at=now, why=words_of(trial)))
        else:
            with suspects.trying(work):
                self._do(key, record, now)
        suspects.done(work)

    def _do(self, key: bytes, record: QuarantineRecord, now: float) -> None:
        match record.kind:
            case "finding":
                self._settler.on_finding(record.who, record.site, record.payload, now)
            case "answer":
                self._settler.on_request(Requester.read(record.who), Request(record.url, Purpose(record.purpose)), now)
                self._settler.learning.write(now)
            case _:
                try:
                    deed = None if self._inbox.send_on(record.payload) else self._inbox.read(record.payload)
                except Exception as error:  # noqa: BLE001 - nothing has been done: it stays
                    self._store.tables.quarantine.change(key, replace(record, offered=False, at=now, why=unreadable(error)))
                    return
                if deed is not None:
                    self._inbox.do(deed, now)
        self._store.tables.quarantine.take(key, record)
