"""dokuwiki: pages of a manual imported as wiki text, with links to pages that nobody wrote; each missing page is answered 200.

As Debian configures it: URLs with queries, `send404` off; but everyone may read alone (an edit form that a crawler opens locks the page for
others, and what they see changes), and without `indexdelay`, which would keep robots from following links of pages younger than five days.
A page has views: its source, its revisions, what links to it, the index of its namespace, forms to log in and to register, recent changes;
the last show the page's id and nothing else of it. The truth about which pages exist is the data folder.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from benchmarks.living import text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place, php_module
from benchmarks.living.site import Judge, Site

ROOT = Path("/usr/share/dokuwiki")
N_PAGES = 240
N_MISSING = 120
_SCRIPT = "/doku.php"
_HEADING = {"h1": "======", "h2": "=====", "h3": "====", "h4": "==="}
_MARKUP = re.compile(r"([\[\](){}<>*/'_%=~^|\\-])\1+")  # these signs are wiki syntax when doubled
_SHOWS = ("show", "export_raw", "export_xhtml")
_FOLDERS = "pages attic meta media media_attic media_meta cache index locks log tmp"

_LOCAL = """<?php
$conf['title'] = 'Notes on PostgreSQL';
$conf['savedir'] = '{data}';
$conf['useacl'] = 1;
$conf['superuser'] = '@admin';
$conf['updatecheck'] = 0;
$conf['indexdelay'] = 0;
"""

_IMPORT = """<?php
define('NOSESSION', 1);
define('DOKU_CONF', $argv[1]);
define('DOKU_INC', '/usr/share/dokuwiki/');
$_SERVER['HTTP_HOST'] = 'wiki.example';
$_SERVER['SERVER_PORT'] = '80';
require_once DOKU_INC . 'inc/init.php';
while (($line = fgets(STDIN)) !== false) {
    [$id, $text] = json_decode($line, true);
    saveWikiText($id, $text, 'imported');
    idx_addPage($id);
}
"""

_SERVED = """
Alias / {root}/
php_admin_value auto_prepend_file {directory}/preload.php
php_admin_value session.save_path {directory}/sessions
php_admin_flag display_errors off
<FilesMatch "\\.php$">
  SetHandler application/x-httpd-php
</FilesMatch>
"""


def build(place: Place) -> str:
    """Write the configuration, import the pages, return Apache's directives."""
    conf, data = place.directory / "conf", place.directory / "data"
    for folder in (conf, place.directory / "sessions", *(data / name for name in _FOLDERS.split())):
        folder.mkdir(parents=True)
    (conf / "local.php").write_text(_LOCAL.format(data=data))
    (conf / "acl.auth.php").write_text("# <?php exit()?>\n*  @ALL  1\n")
    (conf / "users.auth.php").write_text("# <?php exit()?>\n")
    (place.directory / "preload.php").write_text(f"<?php if(!defined('DOKU_CONF')) define('DOKU_CONF', '{conf}/');\n")
    script = place.directory / "import.php"
    script.write_text(_IMPORT)
    lines = "".join(f"{json.dumps(page)}\n" for page in wiki_pages())
    subprocess.run(["php", str(script), f"{conf}/"], input=lines, text=True, check=True, stdout=subprocess.DEVNULL)
    return _SERVED.format(root=ROOT, directory=place.directory)


def wiki_pages() -> list[tuple[str, str]]:
    """Return (id, wiki text) of each imported page."""
    names = text.pages(N_PAGES)
    others = [to for name in names for to in text.links_of(name) if to not in set(names)]
    linked = dict.fromkeys([*names, *list(dict.fromkeys(others))[:N_MISSING]])
    ids = dict(zip(linked, _ids(list(linked)), strict=True))
    return [(ids[name], "\n".join(_wiki(block, ids) for block in text.blocks_of(name))) for name in names]


def _ids(names: list[str]) -> list[str]:
    """Return a wiki id for each page of the manual: a namespace for prefixes that several share."""
    prefixes = Counter(name.partition("-")[0] for name in names)
    ids = []
    for name in names:
        prefix, dash, rest = name.removesuffix(".html").partition("-")
        ids.append(f"{prefix}:{rest}" if dash and prefixes[prefix] >= 5 else name.removesuffix(".html"))
    return ["start" if id_ == "index" else id_ for id_ in ids]


def _wiki(block: text.Block, ids: dict[str, str]) -> str:
    if block.tag in _HEADING:
        return f"{_HEADING[block.tag]} {_plain(block.words)} {_HEADING[block.tag]}\n"
    if block.tag == "pre":
        return f"<code>\n{''.join(span.words for span in block.spans)}\n</code>\n"
    line = "".join(
        f"[[:{ids[span.to]}|{_plain(span.words)}]]" if span.to in ids else _plain(span.words) for span in block.spans if span.words
    )
    line = " ".join(line.split())
    return f"  * {line}" if block.tag in ("li", "dt", "dd") else f"{line}\n"


def _plain(words: str) -> str:
    return _MARKUP.sub(r"\1", words.replace("[", "(").replace("]", ")").replace("|", "/"))


def kind(url: str) -> str:
    """Return which view of a page a URL is."""
    parts = urlsplit(url)
    fields = parse_qs(parts.query)
    if parts.path not in (_SCRIPT, "/"):
        return parts.path.rpartition("/")[2]
    if "rev" in fields:
        return "rev"
    if "idx" in fields:
        return "idx"
    return fields.get("do", ["show"])[0]


def page_id(url: str) -> str:
    """Return the id of the page that a URL is a view of."""
    return parse_qs(urlsplit(url).query).get("id", ["start"])[0].strip(":")


def shown(url: str, text: str) -> str:
    """Return a view's text without the page's id at its top and its file at its end, so that all login forms are one document."""
    id_ = page_id(url)
    for name in (id_, id_.replace(":", "/"), id_.rpartition(":")[2]):
        text = re.sub(rf"(?<![\w:-]){re.escape(name)}(?![\w:-])", "", text, flags=re.IGNORECASE)
    return text


def missing(directory: Path) -> Judge:
    """Return whether a URL shows that a page does not exist, by the data folder; an export of such a page shows it, too."""
    is_empty = empty(directory)
    return lambda url: kind(url) in _SHOWS and is_empty(url)


def empty(directory: Path) -> Judge:
    """Return whether a URL is any view of a page that does not exist."""
    folder = directory / "data" / "pages"
    written = {file.relative_to(folder).as_posix().removesuffix(".txt").replace("/", ":") for file in folder.rglob("*.txt")}
    return lambda url: urlsplit(url).path in (_SCRIPT, "/") and page_id(url) not in written


WIKI = Site(
    name="wiki",
    about="dokuwiki, every missing page a 200",
    address="127.0.8.1",
    hosts=("wiki.example",),
    seed="/doku.php",
    needs={
        PROGRAM: PACKAGE,
        ROOT / "doku.php": "dokuwiki",
        Path("/usr/bin/php"): "php-cli",
        php_module(): "libapache2-mod-php",
        text.MANUAL: text.PACKAGE,
    },
    build=build,
    kind=kind,
    modules="php",
    settings=("robots.nofollow_links=true",),  # links to missing pages are marked nofollow
    shown=shown,
    missing=missing,
    empty=empty,
)
