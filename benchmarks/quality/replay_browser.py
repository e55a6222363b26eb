"""Does a browser see the same in an archive as live?

`python -m benchmarks.quality.replay_browser [FOLDER…] [--pages 20] [--wayback PATH]`. Each FOLDER, by default Debian's python3-doc, is
served on loopback, so is the gallery of benchmarks/quality/replay.py, and so is WordPress as Debian packages it, with its theme's
paintings in every post, in the sizes that WordPress makes of them. Some pages of each are archived with their requisites, and opened in
headless Chromium, which has no cache. Then the servers end; pywb (`wayback`, of the package pywb, in any environment) is the browser's
proxy, and each page is opened again at its own URL. pywb rewrites nothing, so a page is compared with itself. Only loopback is reached: the
browser has the address of no other name.

Prints for each: pages, live requests that were answered, how many of them the replay answers, those that are missing, and how many
screenshots are equal in every pixel. Requests to other hosts are counted and left out. Exits with 1 below 99 % of the requests, or if a
page that has all of them looks different. If Chromium, pywb or what WordPress needs is missing, one line says so, and the exit code is 0.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from benchmarks.living import blog
from benchmarks.living.apache import Place
from benchmarks.living.sites import served as site_served
from benchmarks.quality.replay import archive, gallery, replayed, served
from benchmarks.support import chromium
from benchmarks.support.chromium import Shown

_FOLDERS: Final = ("/usr/share/doc/python3-doc/html",)
_SHARE: Final = 0.99
_PROXY: Final = "proxy: {coll: c, enable_banner: false, enable_wombat: false, enable_content_rewrite: false}\n"
_WORDPRESS: Final = "wordpress"
_PAINTINGS: Final = blog.ROOT / "wp-content" / "themes" / blog.THEME / "assets" / "images"
_HANG: Final = """<?php
$_SERVER['HTTP_HOST'] = $argv[2]; $_SERVER['REQUEST_METHOD'] = 'GET'; $_SERVER['SERVER_PROTOCOL'] = 'HTTP/1.1';
require $argv[1] . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/image.php';
$paintings = [];
foreach (glob($argv[3] . '/*.jpg') as $path) {
    $file = wp_upload_bits(basename($path), null, file_get_contents($path))['file'];
    $id = wp_insert_attachment(['post_mime_type' => 'image/jpeg', 'post_title' => basename($path), 'post_status' => 'inherit'], $file);
    wp_update_attachment_metadata($id, wp_generate_attachment_metadata($id, $file));
    $paintings[] = $id;
}
foreach (get_posts(['numberposts' => -1]) as $n => $post) {
    $shown = [];
    foreach ([0, 1, 2] as $m) {
        $id = $paintings[($n + $m) % count($paintings)];
        $shown[] = '<figure>' . wp_get_attachment_image($id, ['medium', 'large', 'thumbnail'][$m]) . '</figure>';
    }
    set_post_thumbnail($post->ID, $paintings[($n + 3) % count($paintings)]);
    wp_update_post(['ID' => $post->ID, 'post_content' => implode("\\n", $shown) . $post->post_content]);
}
"""


def main() -> None:
    """Run the comparison."""
    about = "Archive, replay in a browser, compare."
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.replay_browser", description=about)
    parser.add_argument("folders", nargs="*", default=[each for each in _FOLDERS if Path(each).is_dir()])
    parser.add_argument("--pages", type=int, default=20, help="of each site")
    parser.add_argument("--wayback", default=shutil.which("wayback") or "", help="pywb's command; default: the one on the path")
    options = parser.parse_args()
    if lacks := missing(options.wayback):
        print(f"skipped: {lacks}")
        return
    with tempfile.TemporaryDirectory(prefix="replay-browser-", ignore_cleanup_errors=True) as name:
        is_sound = run([Path(each) for each in options.folders], options.pages, options.wayback, Path(name))
    sys.exit(0 if is_sound else 1)


def missing(wayback: str) -> str:
    """Return what is missing and how to get it, or "" if nothing is."""
    if chromium.found() is None:
        return "no chromium on the path: apt-get install --no-install-recommends chromium"
    if not wayback:
        return "no `wayback` on the path: install pywb into some environment, and name its command with --wayback"
    return ""


def run(folders: list[Path], pages: int, wayback: str, work: Path) -> bool:
    """Archive every site, and open all pages live and replayed; print the figures, and return whether they are the same."""
    for name in ("gallery", "replay"):
        (work / name).mkdir()
    live: dict[str, dict[str, Shown]] = {}
    stores: list[Path] = []
    hosts: dict[str, str] = {}
    with ExitStack() as servers:
        gallery(work / "gallery", servers.enter_context(served(work / "gallery", "127.0.0.3")))
        seeds = {folder.name: f"{servers.enter_context(served(folder, '127.0.0.2'))}/" for folder in [work / "gallery"]}
        seeds |= {str(folder): f"{servers.enter_context(served(folder, '127.0.0.2'))}/" for folder in folders}
        if lacks := blog.BLOG.missing_packages():
            print(f"{_WORDPRESS}: skipped, it needs: {'; '.join(lacks)}")
        else:
            place = servers.enter_context(site_served(dataclasses.replace(blog.BLOG, build=with_paintings), work))
            hosts[blog.BLOG.hosts[0]] = place.address
            seeds[_WORDPRESS] = place.url(blog.BLOG.hosts[0])
        for n, (what, seed) in enumerate(seeds.items()):
            stores.append(work / f"store{n}")
            taken = archive(seed, stores[-1], pages, {"dns.static": json.dumps(hosts)} if hosts else {})
            live[what] = asyncio.run(look(taken, work / f"live{n}", hosts=hosts))
            print(f"{what}: {len(taken)} pages archived, and looked at", flush=True)
    (work / "replay" / "config.yaml").write_text(_PROXY)
    with replayed(stores, wayback, work / "replay") as pywb:
        found = {what: asyncio.run(look(list(taken), work / f"replay of {n}", pywb)) for n, (what, taken) in enumerate(live.items())}
    judged = [told(what, taken, found[what]) for what, taken in live.items()]
    return all(judged)


def with_paintings(place: Place) -> str:
    """Build WordPress, and add three paintings and a thumbnail to every post, in the sizes that WordPress makes."""
    directives = blog.build(place)
    script, root = place.directory / "hang.php", place.directory / "root"
    script.write_text(_HANG)
    with blog.behind(place):
        words = ["php", str(script), str(root), f"{blog.BLOG.hosts[0]}:{place.port}", str(_PAINTINGS)]
        subprocess.run(words, check=True, capture_output=True)
    return directives


async def look(urls: list[str], folder: Path, proxy: str = "", *, hosts: dict[str, str] | None = None) -> dict[str, Shown]:
    """Open pages one after another in a new browser."""
    async with chromium.browser(folder, proxy.removeprefix("http://"), hosts) as browser:
        return {url: await browser.show(url) for url in urls}


def told(what: str, live: dict[str, Shown], replay: dict[str, Shown]) -> bool:
    """Print the figures of a replay; return whether it is sound."""
    n, missing, other, elsewhere = 0, list[str](), list[str](), set[str]()
    for page, shown in live.items():
        elsewhere |= {url for url, status in shown.status.items() if not status}
        wanted = {url: status for url, status in shown.status.items() if 200 <= status < 400}
        again = replay[page].status
        lost = [f"{again.get(url, 0)} {url}, of {page}" for url, status in wanted.items() if again.get(url) != status]
        n += len(wanted)
        missing += lost
        if not lost and shown.screenshot != replay[page].screenshot:
            other.append(page)
    share, same = 1 - len(missing) / max(1, n), sum(live[page].screenshot == replay[page].screenshot for page in live)
    print(
        f"{what}: {len(live)} pages, {n} requests answered live, {len(missing)} not so in the replay ({share:.1%} found), "
        f"{same} screenshots the same; {len(elsewhere)} URLs without an answer live left out",
        flush=True,
    )
    for line in (*missing[:20], *(f"looks different: {page}" for page in other[:20])):
        print(f"     {line}", flush=True)
    return share >= _SHARE and not other and len(live) > 1


if __name__ == "__main__":
    main()
