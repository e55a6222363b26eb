"""Fossil: a repository, a wiki with its versions and tickets in one program, where each is also an entry of one timeline.

A check-in's page leads to its files as they were then, by name and by hash, to their differences, to their history and to the lists that
begin there. The timeline has an address for each moment, person, branch and kind of entry; a ticket and a wiki page have their history,
and each version of them is an artifact with a page of its own. As Fossil configures it, but that everybody may follow links.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from benchmarks.living import text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.repository import history
from benchmarks.living.site import Site

FOSSIL = Path("/usr/bin/fossil")
N_CHECKINS = 60
N_TICKETS = 60
N_WIKI = 40
_SKIPPED = 340
_RIGHTS = "hjor"  # of everybody: follow links; read the wiki, the files, the tickets
_SERVED = """
SetEnv HOME {directory}
ScriptAlias / {directory}/forge.cgi/
"""


def build(place: Place) -> str:
    """Make the repository, its wiki and its tickets; return Apache's directives."""
    repository = place.directory / "forge.fossil"
    _fossil(place.directory, "import", "--git", str(repository), words=history(N_CHECKINS))
    _fossil(place.directory, "user", "capabilities", "nobody", _RIGHTS, "-R", str(repository))
    for name in text.pages(_SKIPPED + N_WIKI)[_SKIPPED:]:
        blocks = text.blocks_of(name)
        for n, end in enumerate(sorted({len(blocks) // 2, len(blocks)} - {0})):
            page = place.directory / "page.md"
            page.write_text(f"{'-' * n}\n\n" + "\n\n".join(_marked(block) for block in blocks[:end]), "utf-8")
            arguments = ("wiki", "commit" if n else "create", name.removesuffix(".html"), str(page))
            _fossil(place.directory, *arguments, "--mimetype", "text/x-markdown", "-R", str(repository))
    for n, name in enumerate(text.pages(_SKIPPED + N_WIKI + N_TICKETS)[_SKIPPED + N_WIKI :]):
        words = [block.words for block in text.blocks_of(name)]
        kind, status = ("Code_Defect", "Feature_Request", "Documentation")[n % 3], ("Open", "Closed", "Verified")[n % 3]
        fields = ("title", words[0][:80], "comment", "\n\n".join(words[1:20]), "type", kind, "status", status, "severity", "Minor")
        _fossil(place.directory, "ticket", "add", *fields, "-R", str(repository))
    program = place.directory / "forge.cgi"
    program.write_text(f"#!{FOSSIL}\nrepository: {repository}\n")
    program.chmod(0o755)
    return _SERVED.format(directory=place.directory)


def _marked(block: text.Block) -> str:
    """Return a block in Markdown, with its links to other pages of the wiki."""
    words = "".join(f"[{span.words}](/wiki?name={span.to.removesuffix('.html')})" if span.to else span.words for span in block.spans)
    return f"{'## ' if block.tag[0] == 'h' else ''}{' '.join(words.split())}"


def _fossil(directory: Path, *arguments: str, words: str = "") -> None:
    variables = os.environ | {"HOME": str(directory), "USER": "ada"}
    subprocess.run([str(FOSSIL), *arguments], cwd=directory, env=variables, input=words.encode(), check=True, capture_output=True)


def kind(url: str) -> str:
    """Return the view and the query fields that choose what it shows."""
    parts = urlsplit(url)
    view = [re.sub(r"^[0-9a-f]{8,64}$", "N", step) for step in parts.path.strip("/").split("/")[:2]]
    return f"{'/'.join(view)} {'&'.join(sorted(parse_qs(parts.query, keep_blank_values=True)))}"


FORGE = Site(
    name="forge",
    about=f"Fossil with {N_CHECKINS} check-ins, {N_WIKI} wiki pages in two versions and {N_TICKETS} tickets",
    address="127.0.8.14",
    hosts=("forge.example",),
    seed="/timeline",
    needs={PROGRAM: PACKAGE, FOSSIL: "fossil", text.MANUAL: text.PACKAGE},
    build=build,
    kind=kind,
    settings=("robots.meta=false", "robots.nofollow_links=true", "limits.max_depth=3"),
)
