"""Writes a WARC file for a crawl without an archive: `resource` records of the bodies in its store.

The bytes of the wire are not stored: there are no heads and no requests, and bodies are decoded. A `resource` record means just that. A
`metadata` record beside it has the status, the headers as they were parsed, and the label of the page's seed.
"""

from __future__ import annotations

import uuid
from typing import BinaryIO, Final

from thresher.storage.archive.member import member
from thresher.storage.archive.record import FIELDS, ArchiveRecord, fields, stamp, urn
from thresher.storage.export.labels import with_labels
from thresher.storage.records import PageRecord
from thresher.storage.view import View

_UNKNOWN: Final = "application/octet-stream"
_SAID: Final = "made from a store without the bytes of the wire: resource records of decoded bodies, no requests, no heads"


def write_resources(view: View, out: BinaryIO, *, software: str) -> int:
    """Write every body that is kept; return how many there were."""
    info = fields([("software", software), ("format", "WARC File Format 1.1"), ("description", _SAID)])
    out.write(member(ArchiveRecord("warcinfo", str(uuid.uuid4()), stamp(view.clock), FIELDS, info, [])))
    n = 0
    for visit, page, label in with_labels(view, view.all_pages()):
        if page.has_body and (body := view.tables.bodies.get(visit)) is not None:
            n += 1
            out.writelines(map(member, _records(visit, page, label, body)))
    return n


def _records(visit: int, page: PageRecord, label: str, body: bytes) -> tuple[ArchiveRecord, ArchiveRecord]:
    date, target = stamp(page.fetched_at), [("WARC-Target-URI", page.url)]
    where = [("WARC-IP-Address", page.address)] if page.address else []
    kind = page.mime_type if page.mime_type.isascii() and page.mime_type.isprintable() else ""
    content_type = f"{kind or _UNKNOWN}; charset={page.charset}" if page.charset else kind or _UNKNOWN
    resource = ArchiveRecord("resource", str(uuid.uuid4()), date, content_type, body, [*target, *where])
    headers = [("header", f"{name.decode('latin-1')}: {value.decode('latin-1')}") for name, value in page.headers]
    about = [(name, value) for name, value in (("label", label), ("title", page.title)) if value]
    said = [("visit", str(visit)), ("status", str(page.status)), *about, *headers]
    beside = [*target, ("WARC-Concurrent-To", urn(resource.id))]
    return resource, ArchiveRecord("metadata", str(uuid.uuid4()), date, FIELDS, fields(said), beside)
