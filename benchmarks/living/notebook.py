"""ikiwiki: a notebook of static pages under tags and dates, with a program behind them to edit, to comment and to create what is missing.

Each month since the first note has a page with its calendar, most of which name a note or two, and each tag one. A note is shown by itself,
and whole in the lists that inline it. Each note leads to a form to comment on it; whoever is not logged in gets the same form to log in at
each of these addresses. To edit, and to create what a note names and nobody wrote, are links, too. As ikiwiki configures a blog.
"""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from benchmarks.living import text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

IKIWIKI = Path("/usr/bin/ikiwiki")
N_NOTES = 160
_SKIPPED = 240
_BEGAN = datetime(2015, 1, 5, 9, tzinfo=UTC)
_TAGS = ("query", "index", "backup", "client", "server", "types", "locks", "plans")
_PEOPLE = ("Ada", "Grace", "Alan", "Edsger")
_SETTINGS = """# IkiWiki::Setup::Yaml - YAML formatted setup file
wikiname: notes
srcdir: DIRECTORY/source
destdir: DIRECTORY/root
url: ADDRESS
cgiurl: ADDRESS/ikiwiki.cgi
cgi_wrapper: DIRECTORY/ikiwiki.cgi
cgi_wrappermode: '0755'
rcs: ''
syslog: 0
rss: 1
atom: 1
add_plugins: [goodstuff, comments, calendar, pagestats, brokenlinks, orphans, map]
tagbase: tags
archivebase: archives
archive_pagespec: page(posts/*) and !*/Discussion
comments_pagespec: page(posts/*) and !*/Discussion
"""
_INDEX = """[[!inline pages="page(posts/*) and !*/Discussion" show=10]]

[[!pagestats pages="tags/*"]]

[[All notes|all]], [[archives]], [[tags]], [[what is missing|missing]]
"""
_PAGES = {
    "index": _INDEX,
    "all": '[[!map pages="page(posts/*) and !*/Discussion" show=title]]\n',
    "tags": '[[!map pages="tags/*"]]\n',
    "missing": '[[!brokenlinks pages="*"]]\n\n[[!orphans pages="*"]]\n',
    "archives": '[[!map pages="archives/*"]]\n',
}
_SERVED = """
DocumentRoot {directory}/root
ScriptAlias /ikiwiki.cgi {directory}/ikiwiki.cgi
"""


def build(place: Place) -> str:
    """Write the notes and let ikiwiki make the pages; return Apache's directives."""
    source = place.directory / "source"
    for folder in ("posts", "tags"):
        (source / folder).mkdir(parents=True)
    for name, written in _PAGES.items():
        (source / f"{name}.mdwn").write_text(written, "utf-8")
    names = text.pages(_SKIPPED + N_NOTES)[_SKIPPED:]
    for n, name in enumerate(names):
        _write(source / "posts", n, name, {other: f"posts/note{m}" for m, other in enumerate(names)})
    settings = place.directory / "notes.setup"
    address = place.url(NOTEBOOK.hosts[0], "")
    settings.write_text(_SETTINGS.replace("DIRECTORY", str(place.directory)).replace("ADDRESS", address))
    subprocess.run([str(IKIWIKI), "--setup", str(settings)], cwd=place.directory, check=True, capture_output=True)
    return _SERVED.format(directory=place.directory)


def _write(folder: Path, n: int, name: str, notes: dict[str, str]) -> None:
    """Write a note of a page of the manual, which links to notes and to what nobody wrote, and up to two comments."""
    at = (_BEGAN + timedelta(days=11 * n)).strftime("%Y-%m-%d %H:%M:%S")
    blocks = [_plain(block.words) for block in text.blocks_of(name)]
    named = [f"[[{notes.get(to, to.removesuffix('.html'))}]]" for to in dict.fromkeys(text.links_of(name))][:6]
    tags = " ".join({_TAGS[n % 8], _TAGS[n // 8 % 8]})
    about = f'[[!meta title="{blocks[0][:70]}"]]\n[[!meta date="{at}"]]\n[[!tag {tags}]]\n\n'
    (folder / f"note{n}.mdwn").write_text(about + "\n\n".join([*blocks[1:10], ", ".join(named)]) + "\n", "utf-8")
    for m, words in enumerate(blocks[10 : 10 + n % 3], 1):
        (folder / f"note{n}").mkdir(exist_ok=True)
        comment = f'[[!comment format=mdwn username="{_PEOPLE[(n + m) % 4]}" subject="{words[:30]}" date="{at}" content="""{words}"""]]\n'
        (folder / f"note{n}" / f"comment_{m}._comment").write_text(comment, "utf-8")


def _plain(words: str) -> str:
    """Return words without the signs that Markdown and ikiwiki read."""
    return " ".join(re.sub(r"[\\`*_{}\[\]<>#|&\"]", " ", words).split()) or "-"


def kind(url: str) -> str:
    """Return which list it is, that it is a note, or what the program is asked to do."""
    parts = urlsplit(url)
    if parts.query:
        return f"do={'/'.join(parse_qs(parts.query).get('do', ['']))}"
    return re.sub(r"\d+", "N", "/".join(parts.path.strip("/").split("/")[:3])) or "home"


NOTEBOOK = Site(
    name="notebook",
    about=f"ikiwiki with {N_NOTES} notes under eight tags and some sixty months",
    address="127.0.8.23",
    hosts=("notebook.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, text.MANUAL: text.PACKAGE, IKIWIKI: "ikiwiki"},
    build=build,
    kind=kind,
    settings=("robots.meta=false", "robots.nofollow_links=true"),
)
