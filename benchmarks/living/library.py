"""Calibre-Web: the catalogue of a library. A book stands in lists by author, series, category, publisher, language, rating and format.

Every list has ten buttons, each of which leads to the same list in another order; so most addresses of lists show books that others
show, too. A guest who asks for what he may not see is sent to one form, whose address names where he came from, and which names itself in
the next one. As Calibre-Web configures it, with twelve books a page and all lists open to guests.
"""

from __future__ import annotations

import json
import re
from contextlib import AbstractContextManager
from urllib.parse import urlsplit

from benchmarks.living import children, text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

N_BOOKS = 240
_SKIPPED = 180
_APPLICATION = """
import sys

def make():
    import calibreweb
    sys.argv = ["cps", "-p", r"DIRECTORY/app.db", "-o", r"DIRECTORY/library.log"]
    from cps import app, main, web_server
    web_server.start = lambda: True
    try:
        main.main()
    except SystemExit:
        return app
"""
_FILL = """
import datetime, json, sys, uuid
from pathlib import Path
import calibreweb
from cps import config_sql, constants, db, ub
from sqlalchemy import Float, create_engine
from sqlalchemy.orm import Session
made = Path(sys.argv[1])
(made / "books").mkdir()
engine = create_engine(f"sqlite:///{made}/books/metadata.db", execution_options={"schema_translate_map": {"calibre": None}})
db.Books.__table__.c.series_index.type = Float()  # as Calibre makes it
db.Base.metadata.create_all(engine)
given = json.load(sys.stdin)
firsts, lasts = ("Ada", "Grace", "Alan", "Edsger", "Tony"), ("North", "East", "South", "West", "Gray", "Hill")
names = [f"{first} {last}" for first in firsts for last in lasts]
begin = datetime.datetime(2015, 1, 5, 9)
with Session(engine) as session:
    authors = [db.Authors(name, ", ".join(reversed(name.split()))) for name in names]
    tags = [db.Tags(name) for name in ("Queries", "Indexes", "Backups", "Clients", "Servers", "Types", "Locks", "Plans")]
    series = [db.Series(f"Volumes on {name}", name) for name in ("planning", "storage", "programs", "data", "rights", "tests")]
    publishers = [db.Publishers(f"{name} Press", name) for name in ("North", "Harbour", "Garden", "Lantern")]
    languages = [db.Languages(code) for code in ("eng", "deu", "fra")]
    ratings = [db.Ratings(number) for number in (4, 6, 8, 10)]
    session.add_all([*authors, *tags, *series, *publishers, *languages, *ratings, db.Library_Id(uuid=str(uuid.UUID(int=7)))])
    for n, (title, words) in enumerate(given, 1):
        author, at = authors[n * 7 % 30], begin + datetime.timedelta(days=n * 37 % 211)
        book = db.Books(title, title, author.sort, at, at - datetime.timedelta(days=n * 11 % 97), 1.0 + n % 9, at, f"{n}", 0, [author], [])
        book.uuid = str(uuid.UUID(int=1000 + n))
        session.add(book)
        session.flush()
        session.execute(db.books_authors_link.insert().values(book=book.id, author=author.id))
        session.add(db.Comments(words, book.id))
        for kind in ("EPUB", "PDF")[: 1 + n % 2]:
            session.add(db.Data(book.id, kind, 9000 + n, f"{n}"))
        book.tags = [tags[m] for m in sorted({n % 8, (n // 8 + 3) % 8})]
        book.publishers, book.languages = [publishers[n % 4]], [languages[n * 5 % 3]]
        book.ratings = [ratings[n % 4]] if n % 3 else []
        book.series = [series[n // 3 % 6]] if n % 3 == 0 else []
    session.commit()
ub.init_db(f"{made}/app.db")
config_sql._Settings.__table__.create(ub.session.bind, checkfirst=True)
shown = {"config_anonbrowse": 1, "config_books_per_page": 12, "config_random_books": 0}
ub.session.add(config_sql._Settings(config_calibre_dir=f"{made}/books", **shown))
guest = ub.session.query(ub.User).filter(ub.User.name == "Guest").one()
guest.role = constants.ROLE_ANONYMOUS | constants.ROLE_VIEWER | constants.ROLE_DOWNLOAD
guest.sidebar_view = constants.ADMIN_USER_SIDEBAR & ~constants.SIDEBAR_RANDOM
ub.session.commit()
"""


def build(place: Place) -> str:
    """Fill the catalogue; return Apache's directives."""
    (place.directory / "library.py").write_text(_APPLICATION.replace("DIRECTORY", str(place.directory)))
    children.run(LIBRARY.name, place.directory, {}, "-c", _FILL, str(place.directory), words=json.dumps(_books()))
    return children.proxied(place.directory)


def _books() -> list[tuple[str, str]]:
    """Return (title, description as HTML) of each book: blocks of a page of the manual."""
    found = []
    for name in text.pages(_SKIPPED + N_BOOKS)[_SKIPPED:]:
        words = [re.sub("[<>&]", " ", block.words) for block in text.blocks_of(name)]
        found.append((words[0][:80], "".join(f"<p>{each}</p>" for each in words[1:8])))
    return found


def behind(place: Place) -> AbstractContextManager[None]:
    """Serve the application."""
    return children.application(LIBRARY.name, "library:make", place.directory, {"CALIBRE_DBPATH": str(place.directory)})


def kind(url: str) -> str:
    """Return the list and its order, or that it is a book."""
    steps = ["N" if step.isdigit() else step for step in urlsplit(url).path.strip("/").split("/")[:3]]
    return "/".join(steps) or "home"


LIBRARY = Site(
    name="library",
    about=f"Calibre-Web with {N_BOOKS} books, all lists in ten orders",
    address="127.0.8.22",
    hosts=("library.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, text.MANUAL: text.PACKAGE},
    pip=("calibreweb", children.SERVER),
    build=build,
    behind=behind,
    kind=kind,
    modules="proxy proxy_http",
)
