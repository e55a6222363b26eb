"""Roundup: a bug tracker. A bug's page shows its messages in full, and each message has a page, too; so has each file and each person.

The same list is linked with other columns, orders and groups, and goes on by steps; each list is also offered as CSV. A page for whoever is
not logged in says so in place of what was asked. Links with `@template` open forms: to search, to register, to pick a value. As Roundup's
classic template has it; whoever is not logged in may read.
"""

from __future__ import annotations

import json
import re
import subprocess
from contextlib import AbstractContextManager
from urllib.parse import parse_qs, urlsplit

from benchmarks.living import children, text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

N_BUGS = 200
_SKIPPED = 220
_MADE = "tracker"  # folder of the tracker below the site's directory
_APPLICATION = """
from roundup.cgi.wsgi_handler import RequestDispatcher

def make():
    return RequestDispatcher(r"DIRECTORY")
"""
_FILL = """
import datetime, json, sys
from roundup import date, instance
tracker = instance.open(sys.argv[1])
db = tracker.open("admin")
names = ("ada", "grace", "alan", "edsger", "barbara", "donald", "tony")
people = [db.user.create(username=name, realname=name.title(), address=f"{name}@example.org", roles="User") for name in names]
words = ("query", "index", "backup", "client", "server", "types", "locks")
keywords = [db.keyword.create(name=word) for word in words]
begin = datetime.datetime(2015, 1, 5, 9)
bugs = []
db.commit()
for n, (title, messages, listing) in enumerate(json.load(sys.stdin)):
    written = []
    for m, body in enumerate(messages):
        at = date.Date(begin + datetime.timedelta(hours=31 * n + 5 * m))
        author = people[(n + m) % 7]
        written.append(db.msg.create(author=author, date=at, summary=body[:60], content=body, messageid=f"<{n}.{m}@example.org>"))
    files = [db.file.create(name=f"listing-{n}.txt", type="text/plain", content=listing)] if listing else []
    at = begin + datetime.timedelta(hours=31 * n)
    bugs.append(db.issue.create(title=title, messages=written, files=files, priority=str(1 + n % 5), status=str(1 + n * 3 % 8),
                                assignedto=people[n * 5 % 7], keyword=[keywords[n % 7], keywords[n // 7 % 7]][: 1 + n % 2],
                                nosy=people[n % 5 : n % 5 + 2], superseder=bugs[-9:-8] if n % 11 == 10 else []))
    if n % 3 == 2:
        db.issue.set(bugs[-1], title=title + " again", status=str(1 + n % 8))
db.commit()
for table in ("_issue", "_msg", "_file"):  # lists tell how long ago a bug was touched: in years, which no crawl sees pass
    db.sql(f"update {table} set _creation = ?, _activity = ?", (date.Date(begin).serialise(),) * 2)
db.commit()
"""


def build(place: Place) -> str:
    """Make the tracker with its bugs; return Apache's directives."""
    made = place.directory / _MADE
    address = place.url(BUGS.hosts[0])
    settings = f"tracker_web={address},mail_domain=example.org,mail_host=localhost,tracker_email=bugs@example.org,admin_email=a@example.org"
    _admin(made, "install", "classic", "sqlite", settings)
    for detector in ("nosyreaction", "messagesummary"):  # they would write letters
        (made / "detectors" / f"{detector}.py").unlink()
    _admin(made, "initialise", "not for the network")
    (place.directory / "bugs.py").write_text(_APPLICATION.replace("DIRECTORY", str(made)))
    children.run(BUGS.name, place.directory, {}, "-c", _FILL, str(made), words=json.dumps(_bugs()))
    return children.proxied(place.directory)


def _admin(made: object, *arguments: str) -> None:
    program = children.python_of(BUGS.name).parent / "roundup-admin"
    subprocess.run([str(program), "-i", str(made), *arguments], check=True, capture_output=True)


def _bugs() -> list[tuple[str, list[str], str]]:
    """Return (title, messages, listing or "") of each bug: blocks of a page of the manual."""
    found = []
    for name in text.pages(_SKIPPED + N_BUGS)[_SKIPPED:]:
        blocks = text.blocks_of(name)
        words = [block.words for block in blocks if block.tag != "pre"]
        listing = "\n".join("".join(span.words for span in block.spans) for block in blocks if block.tag == "pre")
        found.append((words[0][:80], ["\n\n".join(words[at : at + 3]) for at in range(1, min(len(words), 14), 3)] or words, listing))
    return found


def behind(place: Place) -> AbstractContextManager[None]:
    """Serve the application."""
    return children.application(BUGS.name, "bugs:make", place.directory, {})


def kind(url: str) -> str:
    """Return the class of what is shown, and the query fields that choose what it shows."""
    parts = urlsplit(url)
    shown = re.sub(r"\d+.*", "N", parts.path.strip("/")) or "home"
    return f"{shown} {'&'.join(sorted(parse_qs(parts.query, keep_blank_values=True)))}"


BUGS = Site(
    name="bugs",
    about=f"Roundup with {N_BUGS} bugs and their messages and files",
    address="127.0.8.20",
    hosts=("bugs.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, text.MANUAL: text.PACKAGE},
    pip=("roundup", children.SERVER),
    build=build,
    behind=behind,
    kind=kind,
    modules="proxy proxy_http",
)
