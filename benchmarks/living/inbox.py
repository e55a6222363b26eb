"""public-inbox: the archive of a mailing list, where each letter is found by itself, in its thread as a tree, and in its thread as a list.

So a thread of eight letters has eight addresses of one tree and eight of one list, beside its eight letters, their raw texts and a feed for
each. The list of threads goes back by the time of any letter (`?t=20150105090000`), so every letter begins a list of its own. The letters
announce releases: they are entries of changelogs, by whoever wrote them. As public-inbox configures it.
"""

from __future__ import annotations

import gzip
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime, parsedate_to_datetime
from itertools import islice
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from benchmarks.living import children
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

SERVER = Path("/usr/bin/public-inbox-httpd")
N_THREADS = 75
_LONGEST = 8
_SHORTEST = 3
_NAME = "releases"
_DOCS = Path("/usr/share/doc")
_ENTRY = re.compile(r"^(\S+) \(([^)]+)\)[^\n]*\n(.*?)^ -- ([^\n]*>)  ([^\n]+)$", re.DOTALL | re.MULTILINE)
_FILL = """
use strict; use PublicInbox::Config; use PublicInbox::InboxWritable; use PublicInbox::Eml;
my $inbox = PublicInbox::InboxWritable->new(PublicInbox::Config->new->lookup_name($ARGV[0]));
$inbox->import_mbox(*STDIN, "mboxrd");
"""


def build(place: Place) -> str:
    """Make the archive and put the letters into it; return Apache's directives."""
    archive, variables = place.directory / _NAME, os.environ | _variables(place)
    address = place.url(INBOX.hosts[0], f"/{_NAME}")
    mailbox = "".join(f"From mboxrd@z Mon Jan  5 09:00:00 2015\n{letter.as_string()}\n\n" for letter in letters())
    init = ["public-inbox-init", "-V1", "-L", "full", _NAME, str(archive), address, f"{_NAME}@mail.example"]
    subprocess.run(init, env=variables, check=True, capture_output=True)
    subprocess.run(["perl", "-e", _FILL, _NAME], env=variables, input=mailbox.encode(), check=True, capture_output=True)
    subprocess.run(["public-inbox-index", str(archive)], env=variables, check=True, capture_output=True)
    return children.proxied(place.directory)


def behind(place: Place) -> AbstractContextManager[None]:
    """Serve the archive."""
    socket = place.directory / "wsgi.sock"
    command = [str(SERVER), "-W0", "-l", str(socket)]
    return children.running(command, socket, place.directory / "application.log", _variables(place))


def _variables(place: Place) -> dict[str, str]:
    """Return where the configuration is, and that git may read what belongs to Apache's user."""
    git = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    return {"PI_CONFIG": str(place.directory / "inbox.config"), "HOME": str(place.directory), **git}


def letters() -> list[EmailMessage]:
    """Return the letters by time: of each package up to eight releases, each of which answers the one before."""
    written: list[tuple[datetime, EmailMessage]] = []
    for thread in islice(_threads(), N_THREADS):
        for n, (package, version, words, author, at) in enumerate(thread):
            letter = EmailMessage()
            letter["From"] = author.encode("ascii", "replace").decode()
            letter["To"] = f"{_NAME}@mail.example"
            letter["Message-ID"] = _identity(package, version)
            letter["Date"] = format_datetime(at)
            letter["Subject"] = f"{'Re: ' if n else ''}{package} {thread[0][1]}{f' and now {version}' if n else ''}"
            if n:
                letter["In-Reply-To"] = _identity(package, thread[(n - 1) // 2][1])
            letter.set_content(words.encode("ascii", "replace").decode())
            written.append((at, letter))
    return [letter for _at, letter in sorted(written, key=lambda pair: pair[0])]


def _identity(package: str, version: str) -> str:
    return f"<{re.sub('[^A-Za-z0-9.-]', '-', f'{package}-{version}')}@mail.example>"


def _threads() -> Iterator[list[tuple[str, str, str, str, datetime]]]:
    """Yield (package, version, words, author, time) of the newest releases of a package, oldest first; each changelog once."""
    seen: set[str] = set()
    for file in sorted(_DOCS.glob("*/changelog.Debian.gz")):
        releases: list[tuple[str, str, str, str, datetime]] = []
        for entry in islice(_ENTRY.finditer(gzip.decompress(file.read_bytes()).decode("utf-8", "replace")), _LONGEST):
            try:
                releases.append((entry[1], entry[2], entry[3].strip("\n"), entry[4].strip(), parsedate_to_datetime(entry[5])))
            except ValueError:
                break
        if len(releases) >= _SHORTEST and releases[0][0] not in seen:
            seen.add(releases[0][0])
            yield releases[::-1]


def kind(url: str) -> str:
    """Return the view, and the query fields that choose what it shows."""
    parts = urlsplit(url)
    steps = parts.path.strip("/").split("/")
    view = "list" if len(steps) == 1 else "/".join(steps[1:2] if "@" not in steps[1] else ["letter", *steps[2:3]])
    return f"{view} {'&'.join(sorted(parse_qs(parts.query, keep_blank_values=True)))}"


INBOX = Site(
    name="inbox",
    about=f"public-inbox with {N_THREADS} threads of up to {_LONGEST} letters, each in three views of its thread",
    address="127.0.8.24",
    hosts=("mail.example",),
    seed=f"/{_NAME}/",
    needs={PROGRAM: PACKAGE, SERVER: "public-inbox"},
    build=build,
    behind=behind,
    kind=kind,
    modules="proxy proxy_http",
)
