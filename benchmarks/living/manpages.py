"""man2html: the manual pages of this machine, made into HTML as they are asked for.

A page is asked for by section and name (`man2html?1+ls`), by its name alone or by its file (`man2html/man1/ls.1.gz`); some pages are there
under many names; many that are named by others are not there at all, and a page with an address of its own says so. Lists of a section's
pages, by name and with what each is for, lead to all of them. As Debian configures it.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

CGI = Path("/usr/lib/cgi-bin/man")
_SERVED = """
ScriptAlias /cgi-bin/man/ {cgi}/
RedirectMatch ^/$ /cgi-bin/man/man2html
"""


def build(place: Place) -> str:
    """Return Apache's directives; the pages are there."""
    return _SERVED.format(cgi=CGI)


def kind(url: str) -> str:
    """Return the program, and how it was asked for a page."""
    parts = urlsplit(url)
    program = parts.path.removeprefix("/cgi-bin/man/").partition("/")
    query = "section and name" if re.match(r"\w+\+", parts.query) else "name" if parts.query else ""
    return f"{program[0]} {'file' if program[2] else ''} {query}"


MANPAGES = Site(
    name="manpages",
    about="man2html with the manual pages of this machine",
    address="127.0.8.31",
    hosts=("man.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, CGI / "man2html": "man2html"},
    build=build,
    kind=kind,
    settings=("limits.max_depth=3",),
)
