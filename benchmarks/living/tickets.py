"""Trac: tickets, a wiki with its versions, a timeline without an end, and queries that sort the same tickets in every order.

A ticket is also shown as text and as two feeds. A wiki page has its history, the differences of its versions and each version. The timeline
leads one period further back for ever, and most of its periods are empty. A query's table sorts and groups by each of its columns, and each
order has an address. As Trac configures it: whoever is not logged in may read.
"""

from __future__ import annotations

import json
import re
from contextlib import AbstractContextManager
from urllib.parse import parse_qs, urlsplit

from benchmarks.living import children, text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

N_TICKETS = 120
N_WIKI = 40
_SKIPPED = 300
_MADE = "made"  # folder of the project below the site's directory
_APPLICATION = """
from trac.web.main import dispatch_request

def application(environ, start_response):
    environ["trac.env_path"] = r"DIRECTORY"
    return dispatch_request(environ, start_response)

def make():
    return application
"""
_FILL = """
import datetime, json, sys
from trac.env import open_environment
from trac.ticket.model import Ticket
from trac.util.datefmt import utc
from trac.wiki.model import WikiPage
project = open_environment(sys.argv[1])
given = json.load(sys.stdin)
people = ("ada", "grace", "alan", "edsger")
begin = datetime.datetime(2015, 1, 5, 9, tzinfo=utc)
for n, (title, paragraphs) in enumerate(given["tickets"]):
    at = begin + datetime.timedelta(hours=31 * n)
    ticket = Ticket(project)
    ticket.populate({"summary": title, "description": paragraphs[0], "reporter": people[n % 4], "owner": people[(n + 1) % 4],
                     "type": ("defect", "enhancement", "task")[n % 3], "priority": ("major", "minor", "critical")[n % 3],
                     "component": f"component{1 + n % 2}", "milestone": f"milestone{1 + n % 4}", "keywords": title.split()[-1]})
    ticket["status"] = "new"
    ticket.insert(when=at)
    for m, words in enumerate(paragraphs[1:]):
        if m == 2 and n % 2:
            ticket["status"], ticket["resolution"] = "closed", "fixed"
        ticket.save_changes(people[(n + m) % 4], words, when=at + datetime.timedelta(hours=m + 1))
for n, (title, paragraphs, links) in enumerate(given["wiki"]):
    for m in range(1, min(4, len(paragraphs)) + 1):
        page = WikiPage(project, title)
        page.text = "= " + title + " =\\n\\n" + "\\n\\n".join(paragraphs[: m * len(paragraphs) // min(4, len(paragraphs))])
        page.text += "\\n\\n" + "".join(f" * [wiki:{name}]\\n" for name in links)
        page.save(people[(n + m) % 4], "a part more", t=begin + datetime.timedelta(days=n, hours=m))
start = WikiPage(project, "WikiStart")
start.text = "= Notes on a database =\\n\\n" + "".join(f" * [wiki:{title}]\\n" for title, *_ in given["wiki"])
start.save("ada", "begun", t=begin)
"""


def build(place: Place) -> str:
    """Make the project with its wiki pages and tickets; return Apache's directives."""
    made = place.directory / _MADE
    children.run(TICKETS.name, place.directory, {}, "-m", "trac.admin.console", str(made), "initenv", "Notes", "sqlite:db/trac.db")
    (place.directory / "tracker.py").write_text(_APPLICATION.replace("DIRECTORY", str(made)))
    children.run(TICKETS.name, place.directory, {}, "-c", _FILL, str(made), words=json.dumps({"tickets": _tickets(), "wiki": _wiki()}))
    return children.proxied(place.directory)


def behind(place: Place) -> AbstractContextManager[None]:
    """Serve the application."""
    return children.application(TICKETS.name, "tracker:make", place.directory, {})


def _tickets() -> list[tuple[str, list[str]]]:
    """Return (summary, description and comments) of each ticket: blocks of a page of the manual."""
    found = []
    for name in text.pages(_SKIPPED + N_TICKETS)[_SKIPPED:]:
        blocks = [block.words for block in text.blocks_of(name)]
        found.append((blocks[0][:80], ["\n\n".join(blocks[at : at + 3]) for at in range(1, min(len(blocks), 16), 3)] or blocks))
    return found


def _wiki() -> list[tuple[str, list[str], list[str]]]:
    """Return (name, paragraphs, names of the pages that it links to) of each wiki page."""
    names = text.pages(_SKIPPED)[_SKIPPED - N_WIKI :]
    titles = {name: "".join(word.capitalize() for word in re.findall(r"[a-z]+", name.removesuffix(".html"))) for name in names}
    return [
        (titles[name], [block.words for block in text.blocks_of(name)], sorted({titles[to] for to in text.links_of(name) if to in titles}))
        for name in names
    ]


def kind(url: str) -> str:
    """Return the view and the query fields that choose what it shows."""
    parts = urlsplit(url)
    return f"{parts.path.strip('/').split('/')[0] or 'start'} {'&'.join(sorted(parse_qs(parts.query)))}"


TICKETS = Site(
    name="tickets",
    about=f"Trac with {N_TICKETS} tickets and {N_WIKI} wiki pages of up to four versions",
    address="127.0.8.12",
    hosts=("tickets.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, text.MANUAL: text.PACKAGE},
    pip=("Trac", "setuptools<81", children.SERVER),
    build=build,
    behind=behind,
    kind=kind,
    modules="proxy proxy_http",
    settings=("robots.meta=false", "robots.nofollow_links=true", "limits.max_depth=5"),
)
