"""Apache's own manual in eleven languages, as Debian's package serves it: a page without a translation shows the English text.

Two of three URLs show the same as another one: `/manual/da/caching.html` is `/manual/en/caching.html` word for word; only one of the 244
Danish pages is translated. In French all but 14 are. So the pages of some languages are aliases and of others are not; one rule for all
languages is wrong.
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
    """Return the language of a page, "" for a page outside the manual."""
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
