"""WordPress over MariaDB: posts with categories, tags, authors, comments and archives by day; each with feeds and two JSON views announced.

The Debian package, with dated addresses. A post is found under its name, under its number (`?p=`), in five kinds of archives, and under
`?replytocom=` for each comment. Its head announces an oEmbed answer in two formats, and its record of the REST API.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from benchmarks.living import children, text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place, php_module
from benchmarks.living.site import Site

ROOT = Path("/usr/share/wordpress")
THEME = "twentytwentyone"
MARIADB = Path("/usr/sbin/mariadbd")
N_POSTS = 90
_SKIPPED = 190
_CONFIG = """<?php
define('DB_NAME', 'blog'); define('DB_USER', 'root'); define('DB_PASSWORD', ''); define('DB_HOST', 'localhost:{directory}/db.sock');
define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', '');
define('WP_HTTP_BLOCK_EXTERNAL', true); define('DISABLE_WP_CRON', true); define('AUTOMATIC_UPDATER_DISABLED', true);
define('WP_SITEURL', '{url}'); define('WP_HOME', '{url}');
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $name) {{ define($name . '_KEY', $name); define($name . '_SALT', $name . 's'); }}
$table_prefix = 'wp_';
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"""
_FILL = """<?php
define('WP_INSTALLING', true);
$_SERVER['HTTP_HOST'] = $argv[2]; $_SERVER['REQUEST_METHOD'] = 'GET'; $_SERVER['SERVER_PROTOCOL'] = 'HTTP/1.1';
require $argv[1] . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
function wp_new_blog_notification() {}
wp_install('Notes on a database', 'keeper', 'keeper@example.org', true, '', 'not-for-the-network');
switch_theme('THEME');
update_option('permalink_structure', '/%year%/%monthnum%/%day%/%postname%/');
update_option('posts_per_page', 10);
$authors = [1];
foreach (['ada', 'grace', 'alan'] as $name) $authors[] = wp_create_user($name, 'not-for-the-network', "$name@example.org");
foreach (json_decode(stream_get_contents(STDIN), true) as $n => $post) {
    $id = wp_insert_post(['post_title' => $post['title'], 'post_content' => $post['words'], 'post_status' => 'publish',
        'post_author' => $authors[$n % 4], 'post_date' => $post['at'], 'post_date_gmt' => $post['at'], 'tags_input' => $post['tags'],
        'post_category' => [wp_create_category($post['category'])]], true);
    if (is_wp_error($id)) { fwrite(STDERR, $id->get_error_message()); exit(1); }
    foreach ($post['comments'] as $m => $words)
        wp_insert_comment(['comment_post_ID' => $id, 'comment_content' => $words, 'comment_author' => ['Ada', 'Tony'][$m % 2],
            'comment_date' => $post['at'], 'comment_date_gmt' => $post['at'], 'comment_approved' => 1]);
}
$wp_rewrite->init();
$wp_rewrite->flush_rules(false);
"""
_SERVED = """
DocumentRoot {directory}/root
<Directory {directory}/root>
  FallbackResource /index.php
</Directory>
php_admin_flag display_errors off
<FilesMatch "\\.php$">
  SetHandler application/x-httpd-php
</FilesMatch>
"""


def build(place: Place) -> str:
    """Copy the program, make the database and write the posts; return Apache's directives."""
    root, data = place.directory / "root", place.directory / "db"
    shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns("languages"), ignore_dangling_symlinks=True)
    host = f"{BLOG.hosts[0]}:{place.port}"
    (root / "wp-config.php").write_text(_CONFIG.format(directory=place.directory, url=f"http://{host}"))
    make = ["mariadb-install-db", f"--datadir={data}", "--user=root", "--auth-root-authentication-method=normal", "--skip-test-db"]
    subprocess.run(make, check=True, capture_output=True)
    script = place.directory / "fill.php"
    script.write_text(_FILL.replace("THEME", THEME))
    with behind(place):
        connect = f"$db = new mysqli('localhost', 'root', '', '', 0, '{place.directory}/db.sock'); $db->query('CREATE DATABASE blog');"
        subprocess.run(["php", "-r", connect], check=True, stdout=subprocess.DEVNULL)
        filled = subprocess.run(
            ["php", str(script), str(root), host], input=json.dumps(_posts()), text=True, capture_output=True, check=False
        )
    if filled.returncode:
        raise RuntimeError(f"wordpress: {(filled.stderr or filled.stdout).strip()[-800:]}")
    return _SERVED.format(directory=place.directory)


@contextmanager
def behind(place: Place) -> Iterator[None]:
    """Serve the database."""
    socket = place.directory / "db.sock"
    socket.unlink(missing_ok=True)
    options = ["--no-defaults", "--skip-networking", "--user=root", f"--datadir={place.directory}/db", f"--socket={socket}"]
    small = [f"--pid-file={place.directory}/db.pid", "--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=0"]
    with children.running([str(MARIADB), *options, *small], socket, place.directory / "db.log"):
        yield


def _posts() -> list[dict[str, object]]:
    """Return the pages of the manual as posts, two a week. The prefix of a page's name is its category, words of its title are its tags."""
    found: list[dict[str, object]] = []
    for n, name in enumerate(text.pages(_SKIPPED + N_POSTS)[_SKIPPED:]):
        blocks = text.blocks_of(name)
        words = "\n".join(f"<p>{html.escape(block.words)}</p>" for block in blocks[1:])
        title = blocks[0].words if blocks else name
        tags = sorted({word.lower() for word in re.findall(r"[A-Za-z]{5,}", title)})[:3]
        at = f"20{18 + n // 60}-{1 + n % 60 // 5:02}-{1 + n % 5 * 6:02} 09:00:00"
        comments = [block.words for block in blocks[2:4]] if n % 3 == 0 else []
        found.append({"title": title, "words": words, "category": name.partition("-")[0], "tags": tags, "at": at, "comments": comments})
    return found


def kind(url: str) -> str:
    """Return the view: a post, an archive, a feed, a JSON answer."""
    parts = urlsplit(url)
    view = "/".join(re.sub(r"\d+", "N", part) for part in parts.path.strip("/").split("/") if "-" not in part)
    return f"{'/'.join(view.split('/')[:5])} {'&'.join(sorted(parse_qs(parts.query)))}"


BLOG = Site(
    name="blog",
    about="WordPress with 90 posts, their archives, feeds and announced JSON",
    address="127.0.8.11",
    hosts=("blog.example",),
    seed="/",
    needs={
        PROGRAM: PACKAGE,
        ROOT / "wp-load.php": "wordpress",
        ROOT / "wp-content" / "themes" / THEME / "style.css": f"wordpress-theme-{THEME}",
        MARIADB: "mariadb-server-core",
        Path("/usr/bin/php"): "php-cli",
        Path("/usr/share/php8.2-mysql/mysql/mysqli.ini"): "php-mysql",
        php_module(): "libapache2-mod-php",
        text.MANUAL: text.PACKAGE,
    },
    build=build,
    behind=behind,
    kind=kind,
    modules="php",
    settings=("robots.nofollow_links=true",),
)
