"""MediaWiki over SQLite: pages of a manual with three revisions each, categories, redirects, and links to pages that nobody wrote.

Installed as by Debian: pages at `/index.php/TITLE`, everything else at `/index.php?title=TITLE&…`: history, single revisions, differences,
source, what links here, related changes, information, a printable view. A missing page is answered with 404, its edit form with 200.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

from benchmarks.living import text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place, php_module
from benchmarks.living.site import Site

ROOT = Path("/usr/share/mediawiki")
N_PAGES = 60
_SKIPPED = 240  # pages of the manual that another wiki shows
_REVISIONS = 3
_HEADING = {"h1": "==", "h2": "==", "h3": "===", "h4": "===="}
_PEOPLE = ("Ada", "Grace", "Alan")
_SETTINGS = """
$wgCacheDirectory = "{directory}/cache";
$wgJobRunRate = 0;
$wgMainCacheType = CACHE_NONE;
$wgDisableCounters = true;
"""
_SERVED = """
SetEnv MW_CONFIG_FILE {directory}/LocalSettings.php
Alias / {root}/
php_admin_flag display_errors off
<FilesMatch "\\.php$">
  SetHandler application/x-httpd-php
</FilesMatch>
"""


def build(place: Place) -> str:
    """Install the wiki and import the pages; return Apache's directives."""
    (place.directory / "cache").mkdir()
    server = place.url(MEDIAWIKI.hosts[0]).rstrip("/")
    install = ["--dbtype", "sqlite", "--dbname", "notes", "--dbpath", str(place.directory / "data"), "--confpath", str(place.directory)]
    own = ["--server", server, "--scriptpath", "", "--pass", "not-for-the-network", "Notes", "Keeper"]
    _maintain(place, "install.php", *install, *own)
    with (place.directory / "LocalSettings.php").open("a") as settings:
        settings.write(_SETTINGS.format(directory=place.directory))
    dump = place.directory / "dump.xml"
    dump.write_text(_dump(), "utf-8")
    _maintain(place, "importDump.php", "--no-updates", "--username-prefix=", str(dump))
    _maintain(place, "rebuildrecentchanges.php")
    _maintain(place, "refreshLinks.php")
    _maintain(place, "initSiteStats.php", "--update")
    return _SERVED.format(directory=place.directory, root=ROOT)


def _maintain(place: Place, script: str, *arguments: str) -> None:
    settings = place.directory / "LocalSettings.php"
    environment = os.environ | ({"MW_CONFIG_FILE": str(settings)} if settings.exists() else {})
    command = ["php", str(ROOT / "maintenance" / script), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"mediawiki's {script} failed: {(done.stderr or done.stdout).strip()[-500:]}")


def _dump() -> str:
    """Return the pages in MediaWiki's export format."""
    names = text.pages(_SKIPPED + N_PAGES)[_SKIPPED:]
    titles = {name: _title(name) for name in text.pages(_SKIPPED + 2 * N_PAGES)[_SKIPPED:]}
    pages = [_page(titles[name], list(_versions(name, titles)), at) for at, name in enumerate(names)]
    start = "\n".join(f"* [[{titles[name]}]]" for name in names)  # links to all pages, so that Special:Random leads to no other page
    pages.append(_page("Contents", [f"Notes on a database, by those who use it.\n\n{start}"], 0))
    pages += [_page(f"{titles[name]} (old)", [f"#REDIRECT [[{titles[name]}]]"], at) for at, name in enumerate(names[::7])]
    head = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">'
    return f"{head}{''.join(pages)}</mediawiki>"


def _page(title: str, versions: list[str], at: int) -> str:
    revisions = "".join(
        f"<revision><timestamp>20{10 + n}-0{1 + at % 9}-{10 + at % 18}T08:00:00Z</timestamp>"
        f"<contributor><username>{_PEOPLE[(at + n) % len(_PEOPLE)]}</username><id>0</id></contributor><comment>part {n + 1}</comment>"
        f'<model>wikitext</model><format>text/x-wiki</format><text xml:space="preserve">{escape(version)}</text></revision>'
        for n, version in enumerate(versions)
    )
    return f"<page><title>{escape(title)}</title><ns>0</ns>{revisions}</page>"


def _versions(name: str, titles: dict[str, str]) -> list[str]:
    """Return the revisions of a page, each longer than the one before."""
    blocks = [_wiki(block, titles) for block in text.blocks_of(name)]
    prefix = name.partition("-")[0].removesuffix(".html").capitalize()
    tail = f"\n\n[[Category:{prefix}]]\n"
    return ["\n\n".join(blocks[: max(1, len(blocks) * n // _REVISIONS)]) + tail for n in range(1, _REVISIONS + 1)]


def _title(name: str) -> str:
    return name.removesuffix(".html").replace("-", " ").capitalize()


def _wiki(block: text.Block, titles: dict[str, str]) -> str:
    if block.tag in _HEADING:
        return f"{_HEADING[block.tag]} {block.words} {_HEADING[block.tag]}"
    if block.tag == "pre":
        return f"<pre><nowiki>{''.join(span.words for span in block.spans)}</nowiki></pre>"
    words = (
        f"[[{titles[span.to]}|{_plain(span.words)}]]" if span.to in titles else _plain(span.words) for span in block.spans if span.words
    )
    return ("* " if block.tag in ("li", "dt", "dd") else "") + " ".join("".join(words).split())


def _plain(words: str) -> str:
    return words.translate(str.maketrans("[]{}|<>", "()()/()")).replace("''", '"')


def kind(url: str) -> str:
    """Return the view and the kind of page of a URL."""
    parts = urlsplit(url)
    fields = parse_qs(parts.query)
    title = fields.pop("title", [parts.path.partition("/index.php/")[2]])[0]
    space, _, name = title.partition(":")
    page = f"{space}:{name.partition('/')[0] if space == 'Special' else ''}" if name else "page"
    return f"{page} {'&'.join(sorted(f'action={fields[key][0]}' if key == 'action' else key for key in fields))}"


MEDIAWIKI = Site(
    name="mediawiki",
    about="MediaWiki with pages of three revisions, histories, differences, special pages",
    address="127.0.8.7",
    hosts=("notes.example",),
    seed="/index.php/Contents",
    needs={
        PROGRAM: PACKAGE,
        ROOT / "index.php": "mediawiki",
        Path("/usr/bin/php"): "php-cli",
        Path("/usr/share/php8.2-sqlite3/sqlite3/pdo_sqlite.ini"): "php-sqlite3",
        php_module(): "libapache2-mod-php",
        text.MANUAL: text.PACKAGE,
    },
    build=build,
    kind=kind,
    modules="php",
    settings=("limits.max_depth=5", "robots.nofollow_links=true"),
)
