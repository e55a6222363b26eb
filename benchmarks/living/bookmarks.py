"""Shaarli: bookmarks with a remark each, in a list of all, in the lists of their tags and in those of their day, week and month.

Each is alone at an address of its own, too, and a day leads to it by another, which redirects. So does a tag's link, to the list of what
has it; how long lists are, and what they hide, is kept in a session. Days, weeks and months are chained, each with what came. As Shaarli
configures it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from benchmarks.living import text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place, php_module
from benchmarks.living.site import Site

ROOT = Path("/usr/share/shaarli")
N_BOOKMARKS = 240
_SKIPPED = 300
_LETTERS = "abcdefghijklm"
_PLACES = ("index.php", "init.php", "application/config/ConfigManager.php")  # name the package's folders
_FILL = """<?php
chdir($argv[1]);
require '/usr/share/shaarli/autoload.php';
require 'application/bookmark/LinkUtils.php';
use Shaarli\\Bookmark\\Bookmark;
use Shaarli\\Bookmark\\BookmarkArray;
$all = new BookmarkArray();
foreach (json_decode(stream_get_contents(STDIN), true) as $n => $given) {
    $one = new Bookmark();
    $one->fromArray($given + ['id' => $n, 'created' => new DateTime($given['at']), 'shorturl' => sprintf('b%05d', $n * 7919 % 99991)]);
    $all[$n] = $one;
}
file_put_contents($argv[2] . '/datastore.php', '<?php /* ' . base64_encode(gzdeflate(serialize($all))) . ' */ ?>');
"""
_SERVED = """
DocumentRoot {directory}/root
<Directory {directory}/root>
  FallbackResource /index.php
</Directory>
php_admin_flag display_errors off
php_admin_value session.save_path {directory}
php_admin_value date.timezone UTC
<FilesMatch "\\.php$">
  SetHandler application/x-httpd-php
</FilesMatch>
"""


def build(place: Place) -> str:
    """Copy the program, write its settings and the bookmarks; return Apache's directives."""
    root, data = place.directory / "root", place.directory / "data"
    shutil.copytree(ROOT, root, symlinks=True)
    for folder in (data, *(place.directory / "cache" / name for name in ("tmp", "cache", "pagecache"))):
        folder.mkdir(parents=True)
    for name in _PLACES:
        changed = (root / name).read_text().replace("/var/lib/shaarli/data", str(data)).replace(str(ROOT), str(root))
        (root / name).write_text(changed.replace("/var/cache/shaarli", str(place.directory / "cache")))
    account = {"login": "keeper", "hash": "0" * 40, "salt": "0" * 40}
    general = {"title": "Bookmarks", "timezone": "UTC", "header_link": "/"}
    settings = {"credentials": account, "general": general, "updates": {"check_updates": False}, "thumbnails": {"mode": "none"}}
    (data / "config.json.php").write_text(f"<?php /*{json.dumps(settings)}*/ ?>")
    script = place.directory / "fill.php"
    script.write_text(_FILL)
    subprocess.run(["php", str(script), str(root), str(data)], input=json.dumps(_bookmarks()), text=True, check=True)
    return _SERVED.format(directory=place.directory)


def _bookmarks() -> list[dict[str, str]]:
    """Return the bookmarks: a page of the manual each, with what it says first."""
    found = []
    for n, name in enumerate(text.pages(_SKIPPED + N_BOOKMARKS)[_SKIPPED:]):
        words = [re.sub(r"[<>*_`\[\]#]", " ", block.words) for block in text.blocks_of(name)]
        tags = f"{_LETTERS[n % 9]}-topic {_LETTERS[n // 40]}-release {_LETTERS[n * 7 % 13]}-task"
        at = f"{2015 + n // 96}-{1 + n // 8 % 12:02}-{1 + n % 8 // 2 * 7:02} {9 + n % 2}:00:00"
        about = {"url": f"https://manual.example/{name}", "title": words[0], "description": "\n\n".join(words[1:6])}
        found.append(about | {"tags": tags, "at": at})
    return found


def kind(url: str) -> str:
    """Return the view, and the query fields that choose what it shows."""
    parts = urlsplit(url)
    return f"{parts.path.strip('/').split('/')[0] or 'list'} {'&'.join(sorted(parse_qs(parts.query, keep_blank_values=True)))}"


BOOKMARKS = Site(
    name="bookmarks",
    about=f"Shaarli with {N_BOOKMARKS} bookmarks",
    address="127.0.8.36",
    hosts=("bookmarks.example",),
    seed="/",
    needs={
        PROGRAM: PACKAGE,
        ROOT / "index.php": "shaarli",
        Path("/usr/bin/php"): "php-cli",
        php_module(): "libapache2-mod-php",
        text.MANUAL: text.PACKAGE,
    },
    build=build,
    kind=kind,
    modules="php",
)
