"""pywb: an archive of a site's states. Each page is there at the times at which it was visited; its links lead to the others at that time.

What was not visited then is shown as it was at the nearest visit, so that a state of a page has an address for each time at which another
page leads to it. A page that did not change has as many states as visits. The pages are the manual's, growing from visit to visit. As pywb
configures it, but without frames, and with a list of the visits as the first page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.living import children, text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site
from benchmarks.support.ports import free_port

N_PAGES = 220
VISITS = ("20140110090000", "20150210090000", "20160310090000", "20170410090000", "20180510090000")
_MISSED = 4  # of 4 pages, one is missed by each visit
_CHANGES = 3  # each 3rd page changes from a visit to the next
_CONFIGURATION = """
collections:
  web:
    archive_paths: {directory}/archive/
    index_paths: {directory}/archive/index.cdxj
framed_replay: false
"""
_FILL = """
import io, json, sys
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter
with open("archive/all.warc.gz", "wb") as out:
    writer = WARCWriter(out, gzip=True)
    for at, name, words in json.load(sys.stdin):
        date = f"{at[:4]}-{at[4:6]}-{at[6:8]}T{at[8:10]}:{at[10:12]}:{at[12:]}Z"
        head = StatusAndHeaders("200 OK", [("Content-Type", "text/html; charset=utf-8")], protocol="HTTP/1.1")
        record = writer.create_warc_record(f"http://manual.example/{name}", "response", payload=io.BytesIO(words.encode()),
                                           http_headers=head, warc_headers_dict={"WARC-Date": date})
        writer.write_record(record)
"""


def build(place: Place) -> str:
    """Write the archive and its index; return Apache's directives."""
    (place.directory / "archive").mkdir()
    (place.directory / "first").mkdir()
    children.run(SNAPSHOTS.name, place.directory, {}, "-c", _FILL, words=json.dumps(list(_states())))
    index = ["-c", "from pywb.indexer.cdxindexer import main; main()", "-j", "-s", "-o", "archive/index.cdxj", "archive/all.warc.gz"]
    children.run(SNAPSHOTS.name, place.directory, {}, *index)
    (place.directory / "config.yaml").write_text(_CONFIGURATION.format(directory=place.directory))
    lines = "".join(f'<li><a href="/web/{at}/http://manual.example/index.html">{at}</a></li>' for at in VISITS)
    (place.directory / "first" / "index.html").write_text(f"<html><title>Visits</title><h1>Visits</h1><ul>{lines}</ul></html>")
    (place.directory / "port").write_text(str(free_port(place.address)))
    return f"""
DocumentRoot {place.directory}/first
ProxyPreserveHost On
ProxyPassMatch ^/(web/.*|static/.*)$ http://{place.address}:{_port(place)}/$1
AllowEncodedSlashes NoDecode
"""


def _states() -> Iterator[tuple[str, str, str]]:
    """Yield (time, name, HTML) of each page at each visit that met it: a page has one part more at a later visit, if it changes."""
    for n, name in enumerate(text.pages(N_PAGES)):
        parts = (text.MANUAL / name).read_text("utf-8", "replace").split("</p>")
        version = 0
        for visit, at in enumerate(VISITS):
            version += (n + visit) % _CHANGES == 0
            shown = parts[: max(1, len(parts) - 1 - len(VISITS) // 2 + version)]
            if (n + visit) % _MISSED or n == 0:
                yield at, name, "</p>".join([*shown, parts[-1]])


@contextmanager
def behind(place: Place) -> Iterator[None]:
    """Serve the archive."""
    command = [str(children.python_of(SNAPSHOTS.name)), "-c", "from pywb.apps.cli import wayback; wayback()"]
    where = ["-d", str(place.directory), "-b", place.address, "-p", str(_port(place))]
    with children.running([*command, *where], (place.address, _port(place)), place.directory / "application.log"):
        yield


def _port(place: Place) -> int:
    return int((place.directory / "port").read_text())


def kind(url: str) -> str:
    """Return the time that was asked for, and what."""
    steps = urlsplit(url).path.strip("/").split("/", 2)
    return f"{steps[1] if len(steps) > 1 else 'first'} {Path(steps[-1]).suffix}"


SNAPSHOTS = Site(
    name="snapshots",
    about=f"pywb with {N_PAGES} pages, as they were at {len(VISITS)} visits",
    address="127.0.8.37",
    hosts=("archive.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, text.MANUAL: text.PACKAGE},
    pip=("pywb", "setuptools<81"),
    build=build,
    behind=behind,
    kind=kind,
    modules="proxy proxy_http",
)
