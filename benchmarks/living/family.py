"""Gramps: a family tree of some two thousand persons, as its narrated web site, made from Gramps' own example.

A person has a page of dates, places and relatives; so has each place, each source, and each surname with a list of its persons. Thousands
of short pages of one form name each other in every direction, and hardly one of them exists twice. As Gramps configures it.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

GRAMPS = Path("/usr/bin/gramps")
EXAMPLE = Path("/usr/share/doc/gramps/example/gramps/example.gramps")
_KINDS = {"ppl": "person", "plc": "place", "src": "source", "srn": "surname", "img": "picture"}


def build(place: Place) -> str:
    """Read the tree and write its pages; return Apache's directives."""
    _gramps(place.directory, "-C", "tree", "-i", str(EXAMPLE))
    _gramps(place.directory, "-O", "tree", "-a", "report", "-p", f"name=navwebpage,target={place.directory}/root")
    return f"DocumentRoot {place.directory}/root"


def _gramps(directory: Path, *arguments: str) -> None:
    variables = os.environ | {"GRAMPSHOME": str(directory), "LANG": "C.UTF-8"}
    subprocess.run([str(GRAMPS), "-y", *arguments], cwd=directory, env=variables, check=True, capture_output=True)


def kind(url: str) -> str:
    """Return what a page is of: a person, a place, a source, a surname, a picture, or a list."""
    return _KINDS.get(urlsplit(url).path.strip("/").partition("/")[0], "list")


FAMILY = Site(
    name="family",
    about="Gramps' narrated web of its example, a family tree",
    address="127.0.8.19",
    hosts=("family.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, GRAMPS: "gramps"},
    build=build,
    kind=kind,
)
