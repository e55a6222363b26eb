"""Datasette: three tables of a database, shown by rows, in the order of each column, narrowed by facets, and as a query to be edited.

A table's page leads to itself in both orders of every column, with every suggested facet, and narrowed to each value of a facet; these
combine without an end. A row has a page of its own, with those of the rows that it refers to. Every page is also there as JSON and as CSV.
As Datasette configures it.
"""

from __future__ import annotations

import sqlite3
from contextlib import AbstractContextManager
from urllib.parse import parse_qs, urlsplit

from benchmarks.living import children, text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

N_PAGES = 240
N_NOTES = 240
_SKIPPED = 120
_PEOPLE = ("ada", "grace", "alan", "edsger", "barbara")
_SCHEMA = """
create table people (id integer primary key, name text);
create table pages (id integer primary key, title text, author integer references people(id), part text, year integer, body text);
create table notes (id integer primary key, page integer references pages(id), author integer references people(id), words text);
"""


def build(place: Place) -> str:
    """Fill the database; return Apache's directives."""
    with sqlite3.connect(place.directory / "library.db") as database:
        database.executescript(_SCHEMA)
        database.executemany("insert into people values (?, ?)", enumerate(_PEOPLE, 1))
        for n, name in enumerate(text.pages(_SKIPPED + N_PAGES)[_SKIPPED:], 1):
            words = [block.words for block in text.blocks_of(name)]
            part, body = f"part {1 + n % 7}", "\n\n".join(words[1:16])
            row = n, words[0][:90], 1 + n % len(_PEOPLE), part, 2001 + n % 11, body
            database.execute("insert into pages values (?, ?, ?, ?, ?, ?)", row)
        for n, name in enumerate(text.pages(_SKIPPED + N_NOTES)[_SKIPPED:], 1):
            words = [block.words for block in text.blocks_of(name)]
            note = n, 1 + n * 7 % N_PAGES, 1 + n % 3, "\n\n".join(words[16:22]) or words[-1]
            database.execute("insert into notes values (?, ?, ?, ?)", note)
    database.close()
    return children.proxied(place.directory)


def behind(place: Place) -> AbstractContextManager[None]:
    """Serve the application."""
    socket = place.directory / "wsgi.sock"
    command = [str(children.python_of(TABLES.name)), "-m", "datasette", "serve", str(place.directory / "library.db"), f"--uds={socket}"]
    return children.running(command, socket, place.directory / "application.log", {"HOME": str(place.directory)})


def kind(url: str) -> str:
    """Return the view and the query fields that choose what it shows."""
    parts = urlsplit(url)
    view = "/".join("N" if step.isdigit() else step for step in parts.path.strip("/").split("/")[:3])
    return f"{view or 'home'} {'&'.join(sorted(parse_qs(parts.query, keep_blank_values=True)))}"


TABLES = Site(
    name="tables",
    about=f"Datasette with {N_PAGES} pages, {N_NOTES} notes on them and their {len(_PEOPLE)} authors",
    address="127.0.8.16",
    hosts=("tables.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, text.MANUAL: text.PACKAGE},
    pip=("datasette", "setuptools<81"),
    build=build,
    behind=behind,
    kind=kind,
    modules="proxy proxy_http",
    settings=("robots.meta=false", "robots.nofollow_links=true", "limits.max_depth=4"),
)
