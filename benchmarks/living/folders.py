"""Folders of HTML as sites: `python -m benchmarks.living folders DIR FOLDER[=PATH]… [--pages N] [--seed N]`.

Any folder judges the filters in this way: the manual of a package (Debian puts them under /usr/share/doc), or a site of one's own. Apache
serves it, with lists of files where there is no index page. It is crawled plainly from PATH (default: /) and recorded in DIR, as `python -m
benchmarks.living record` does it; then the recording is replayed with filters (replayed.py). A folder whose name has a recording is not
crawled again, so folders need names of their own. `--set` and `--filters` change the replays.

The lines are those of `python -m benchmarks.living anytime`. Exit 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.living.anytime import told
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.crawls import MAX_PAGES, add_settings, chosen_settings
from benchmarks.living.recordings import record, recorded
from benchmarks.living.replayed import measure
from benchmarks.living.site import Site
from benchmarks.living.sites import served

_SERVED = """
DocumentRoot "{folder}"
<Directory "{folder}">
  Options +Indexes +FollowSymLinks +MultiViews
  IndexOptions FancyIndexing HTMLTable
</Directory>
"""


def main(arguments: Sequence[str]) -> int:
    """Record what is not recorded yet, replay, print; return 1 if a goal is missed, 2 on a wrong option or if Apache is not installed."""
    options = _options(arguments)
    settings = chosen_settings(options)
    if settings is None:
        return 2
    sites = [site_of(*_parts(folder)) for folder in options.folders]
    options.directory.mkdir(parents=True, exist_ok=True)
    known = recorded(options.directory, [site.name for site in sites])
    if wrong := _obstacles(sites, known):
        print("\n".join(wrong), file=sys.stderr)
        return 2
    curves = []
    for site in sites:
        recording = known.get(site.name)
        if recording is None:
            with tempfile.TemporaryDirectory(prefix="thresher-folders-") as work, served(site, Path(work)) as place:
                recording = record(site, place, options.directory, n_pages=options.pages)
        curves.append(measure(site, recording, options.directory / site.name, settings, options.seed))
    return told(curves)


def _obstacles(sites: Sequence[Site], known: Collection[str]) -> list[str]:
    """Return why these sites cannot be judged, one line each: what is wrong with a folder, and how to install what is missing."""
    new = [site for site in sites if site.name not in known]
    times = Counter(site.name for site in sites)
    wrong = [f"{site.about}: not a folder; name one that holds HTML" for site in new if not Path(site.about).is_dir()]
    wrong += [f"{name}: {n} folders have this name; give them names of their own, by links" for name, n in times.items() if n > 1]
    return [*wrong, *sorted({command for site in new for command in site.missing_packages()})]


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.living folders", description="Judge the filters on folders of HTML.")
    parser.add_argument("directory", type=Path, metavar="DIR", help="where the recordings are kept")
    parser.add_argument("folders", nargs="+", metavar="FOLDER[=PATH]", help="a folder, and the path at which its crawl begins (/)")
    parser.add_argument("--pages", type=int, default=MAX_PAGES, metavar="N", help=f"requests after which a crawl is cut ({MAX_PAGES})")
    add_settings(parser, of="the replays")
    parser.add_argument("--seed", default="1", help="of the order in which URLs are drawn (1)")
    return parser.parse_args(arguments)


def _parts(folder: str) -> tuple[Path, str]:
    """Return the folder, and the path of the seed on its site."""
    name, _, path = folder.partition("=")
    return Path(name).absolute(), "/" + path.lstrip("/")


def site_of(folder: Path, seed: str) -> Site:
    """Return the site that serves a folder; its name is the folder's."""
    number = int.from_bytes(hashlib.sha256(str(folder).encode()).digest()[:2], "big")
    name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in folder.name.lower()).strip("-") or "folder"

    def build(_place: Place, /) -> str:
        return _SERVED.format(folder=folder)

    return Site(
        name=name,
        about=str(folder),
        address=f"127.1.{number >> 8}.{1 + number % 254}",
        hosts=(f"{name}.example",),
        seed=seed,
        needs={PROGRAM: PACKAGE},
        build=build,
        kind=kind,
        modules="autoindex",
    )


def kind(url: str) -> str:
    """Return the first two folders of a URL's path."""
    folders = urlsplit(url).path.split("/")[1:-1]
    return "/" + "/".join(folders[:2])
