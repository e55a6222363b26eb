"""Apache's own manual in eleven languages, as Debian's package serves it: what is not translated is the English page again.

Two of three URLs show what another one shows: `/manual/da/caching.html` is `/manual/en/caching.html` word for word, and one of Danish's
244 pages is not. French differs in all but 14. So a language's pages are aliases, or are not, and one rule for all languages is wrong.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

MANUAL = Path("/usr/share/doc/apache2-doc/manual")


def build(place: Place) -> str:
    """Return the directives of Debian's own configuration for the manual."""
    return f"Alias /manual {MANUAL}\n<Directory {MANUAL}>\n  Options +Indexes\n</Directory>\nAddDefaultCharset off"


def kind(url: str) -> str:
    """Return the language of a page, "" for what is none of the manual's."""
    return ([*urlsplit(url).path.split("/"), "", ""])[2]


LANGUAGES = Site(
    name="languages",
    about="Apache's manual in eleven languages, most of it untranslated and therefore in English under each",
    address="127.0.8.5",
    hosts=("manual.example",),
    seed="/manual/en/index.html",
    needs={PROGRAM: PACKAGE, MANUAL / "en" / "index.html": "apache2-doc"},
    build=build,
    kind=kind,
)
