"""Directory listings: the folders of a system's documentation as Apache lists them, each in four columns and two orders.

The eight orders of a listing are one document with its lines in different order. The files are copyrights, changelogs and pages; some exist
a second time under another name, through a link.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

_DOCS = Path("/usr/share/doc")
_LISTED = 40  # folders


def build(place: Place) -> str:
    """Link every n-th folder of the documentation; return Apache's directives."""
    root = place.directory / "root"
    root.mkdir()
    folders = sorted(path for path in _DOCS.iterdir() if path.is_dir() and not path.is_symlink())
    for folder in folders[:: max(1, len(folders) // _LISTED)][:_LISTED]:
        (root / folder.name).symlink_to(folder)
    return f"""DocumentRoot {root}
<Directory {_DOCS}>
  Options +Indexes +FollowSymLinks
</Directory>
<Directory {root}>
  Options +Indexes +FollowSymLinks
  IndexOptions FancyIndexing
</Directory>"""


def kind(url: str) -> str:
    """Return whether a URL is a listing, one in another order, or a file."""
    parts = urlsplit(url)
    return "listing?C=" if parts.query.startswith("C=") else "listing" if parts.path.endswith("/") else "file"


LISTINGS = Site(
    name="listings",
    about="folders as Apache lists them, each in eight orders",
    address="127.0.8.6",
    hosts=("files.example",),
    seed="/",
    needs={PROGRAM: PACKAGE},
    build=build,
    kind=kind,
    modules="autoindex",
)
