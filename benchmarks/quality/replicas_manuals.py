"""Near-replicas with the default options, on manuals that were not used to choose these: `python -m benchmarks.quality.replicas_manuals
DIR`.

The manuals of libstdc++ 11 and 12, of LLVM 14 and 15 with Clang, and of GTK 2, 3 and 4 are served by nginx on loopback and crawled, with
the filter near_replica in observe mode. Then `thresher replicas` prints pairs, with the default resemblance of .8 and with .9. They are
compared with all pairs of pages, by the exact resemblance of five-word shingles without what most pages of a host share. Pairs within .02
of the threshold are left out. The filter is judged by its reports: a page of 50 words or more, and the kept page that it resembles.

Exit 1 if precision or recall of the command is below .95 anywhere. Needs nginx-light, and in DIR what `apt-get download` fetched, each
package unpacked by `dpkg -x FILE.deb DIR/PACKAGE`: libstdc++-11-doc, libstdc++-12-doc, llvm-14-doc, llvm-15-doc, clang-14-doc,
clang-15-doc, libgtk2.0-doc, libgtk-3-doc, libgtk-4-doc.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import ceil
from pathlib import Path

import numpy as np

from benchmarks.quality.replicas_real import crawl, tokens_of
from benchmarks.support.nginx import serving
from thresher.crawler.children import python
from thresher.crawler.core.minhash import shingles
from thresher.crawler.core.model import U64
from thresher.filters.near_replica.boilerplate import learn, strip
from thresher.filters.near_replica.resemblance import SHINGLE
from thresher.storage.export.judged import standing
from thresher.storage.export.pages import current_pages
from thresher.storage.export.reading import reading
from thresher.storage.view import View

Pair = tuple[str, str]
PORT = 8806
_GTK = ("usr/share/gtk-doc/html", "gtk{0}/index.html", "gdk{0}/index.html")
_GTK_4 = ("usr/share/doc/libgtk-4-doc", *(f"{name}/index.html" for name in ("gtk4", "gdk4", "gsk4", "gdk4-x11", "gdk4-wayland")))
PARTS: dict[str, dict[str, tuple[str, ...]]] = {  # part → package → root, pages to start from
    "libstdc++ 11, 12": {
        f"libstdc++-{n}-doc": (f"usr/share/doc/gcc-{n}-base/libstdc++", "index.html", "manual/index.html", "user/index.html")
        for n in (11, 12)
    },
    "LLVM 14, 15 with Clang": {
        **{f"llvm-{n}-doc": (f"usr/share/doc/llvm-{n}-doc/html", "index.html") for n in (14, 15)},
        **{f"clang-{n}-doc": (f"usr/share/doc/clang-{n}/html", "index.html") for n in (14, 15)},
    },
    "GTK 2, 3, 4": {
        "libgtk2.0-doc": tuple(part.format(2) for part in _GTK),
        "libgtk-3-doc": tuple(part.format(3) for part in _GTK),
        "libgtk-4-doc": _GTK_4,
    },
}
MARGIN = 0.02
BAR = 0.95
_TINY = 1e-9  # tolerance for rounding


def resembling(sets: Sequence[U64], least: float) -> dict[tuple[int, int], float]:
    """Return every pair of sets that resemble by `least` or more, with its resemblance [BMS07: prefix filter].

    sets: sorted, distinct; an empty one resembles none    Two such sets share one of the rarest ⌊(1 − least)·n⌋ + 1 members of each.
    """
    groups: dict[bytes, list[int]] = defaultdict(list)
    for number, one in enumerate(sets):
        if one.size:
            groups[one.tobytes()].append(number)
    found = {pair: 1.0 for group in groups.values() for pair in combinations(group, 2)}
    of = {group[0]: group for group in groups.values()}
    members, counts = np.unique(np.concatenate([np.empty(0, dtype=np.uint64), *(sets[first] for first in of)]), return_counts=True)
    rarity = np.argsort(np.argsort(counts, kind="stable"), kind="stable")
    index: dict[int, list[int]] = defaultdict(list)
    for first in sorted(of, key=lambda number: sets[number].size):
        own = sets[first]
        prefix = np.sort(rarity[np.searchsorted(members, own)])[: own.size - ceil(least * own.size - _TINY) + 1].tolist()
        near = {other for rank in prefix for other in index[rank] if sets[other].size >= least * own.size - _TINY}
        for rank in prefix:
            index[rank].append(first)
        for other in near:
            common = np.intersect1d(own, sets[other], assume_unique=True).size
            if (share := common / (own.size + sets[other].size - common)) >= least:
                found |= {(min(a, b), max(a, b)): share for a in of[first] for b in of[other]}
    return found


def truth(tokens: dict[str, U64], least: float) -> dict[Pair, float]:
    """Return every pair of pages that resemble by `least` or more, without their hosts' boilerplate.    tokens: URL → words"""
    by_host: dict[str, list[str]] = defaultdict(list)
    for url in tokens:
        by_host[url.split("/")[2]].append(url)
    urls, sets = [], []
    for of_host in by_host.values():
        distinct = {tokens[url].tobytes(): tokens[url] for url in of_host if tokens[url].size}
        boilerplate = learn(list(distinct.values()) if len(distinct) >= 8 else [], width=SHINGLE, share=0.5)
        urls += of_host
        sets += [np.unique(shingles(strip(tokens[url], boilerplate, width=SHINGLE), SHINGLE)) for url in of_host]
    return {_named(urls[one], urls[other]): share for (one, other), share in resembling(sets, least).items()}


def score(found: Iterable[Pair], true: dict[Pair, float], threshold: float) -> dict[str, float]:
    """Return precision and recall, without the pairs within `MARGIN` of the threshold."""
    left_out = {pair for pair, share in true.items() if abs(share - threshold) < MARGIN - _TINY}
    wanted = {pair for pair, share in true.items() if share >= threshold} - left_out
    taken = {_named(*pair) for pair in found} - left_out
    right = len(taken & wanted)
    return {
        "precision": round(right / len(taken), 4) if taken else 1.0,
        "recall": round(right / len(wanted), 4) if wanted else 1.0,
        "replicas": len(wanted),
        "left_out": len(left_out),
    }


def _named(one: str, other: str) -> Pair:
    return min(one, other), max(one, other)


def _hosts() -> dict[str, str]:
    """Return package → host."""
    packages = [package for part in PARTS.values() for package in part]
    return {package: f"127.0.0.{place + 41}:{PORT}" for place, package in enumerate(packages)}


def _command(directory: Path, *options: str) -> tuple[list[Pair], float]:
    """Return the pairs that `thresher replicas` prints, and the seconds that it takes."""
    began = time.monotonic()
    command = python.command("thresher", "replicas", str(directory), "--pairs", *options)
    ran = subprocess.run(command, env=python.environment(), check=True, capture_output=True, text=True)
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    return [(line["a"], line["b"]) for line in lines], time.monotonic() - began


def _reported(view: View) -> dict[str, tuple[str, bool]]:
    """Return page → the kept page that it resembles, by the filter, and whether the filter would have dropped it."""
    texts = {row.key.hex(): row.text for row, _ in view.all_urls()}
    found = {}
    for _, page in current_pages(view):
        for said in standing(page, view.tables.verdicts.revisions(page.key)):
            evidence = said.verdict.evidence
            if said.verdict.filter == "near_replica" and (key := evidence.get("replica_of", evidence.get("looks_like"))):
                found[page.url] = texts[str(key)], "replica_of" in evidence
    return found


def _tell_filter(part: str, reported: dict[str, tuple[str, bool]], tokens: dict[str, U64], true: dict[Pair, float]) -> None:
    """Print how many of the pages that resemble an earlier one were reported, and how many of the reported ones do resemble it."""
    place = {url: number for number, url in enumerate(tokens)}
    long = {url for url, words in tokens.items() if words.size >= 50}
    later = {max(pair, key=place.__getitem__) for pair, share in true.items() if share >= 0.8 + MARGIN and long.issuperset(pair)}
    shares = [(true.get(_named(page, kept), 0.0), is_dropped) for page, (kept, is_dropped) in reported.items() if page in tokens]
    told = [share for share, _ in shares if abs(share - 0.8) >= MARGIN]
    dropped = [share for share, is_dropped in shares if is_dropped and abs(share - 0.9) >= MARGIN]
    line = {
        "part": part,
        "by": "filter",
        "threshold": 0.8,
        "precision": round(sum(share >= 0.8 for share in told) / max(len(told), 1), 4),
        "recall": round(len(later & reported.keys()) / max(len(later), 1), 4),
        "pages_that_resemble": len(later),
        "dropped": len(dropped),
        "precision_of_dropped_at_0.9": round(sum(share >= 0.9 for share in dropped) / max(len(dropped), 1), 4),
    }
    print(json.dumps(line), flush=True)


def _tell(directory: Path) -> int:
    with reading(directory) as view:
        tokens, reported = tokens_of(view), _reported(view)
    hosts, failures = _hosts(), 0
    runs = {threshold: _command(directory, *options) for threshold, options in ((0.8, ()), (0.9, ("--resemblance", "0.9")))}
    for part, packages in PARTS.items():
        own = {hosts[package] for package in packages}
        of_part = {url: words for url, words in tokens.items() if url.split("/")[2] in own}
        true = truth(of_part, 0.7)
        for threshold, (pairs, seconds) in runs.items():
            found = [pair for pair in pairs if own.issuperset(url.split("/")[2] for url in pair)]
            scored = score(found, true, threshold)
            failures += min(scored["precision"], scored["recall"]) < BAR
            line = {"part": part, "by": "command", "threshold": threshold, "pages": len(of_part), **scored, "of_all_s": round(seconds, 1)}
            print(json.dumps(line), flush=True)
        _tell_filter(part, reported, of_part, true)
    return 1 if failures else 0


def main() -> int:
    """Serve, crawl, print; return 2 if the manuals are missing."""
    base = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    hosts = _hosts()
    manuals = {package: of for part in PARTS.values() for package, of in part.items()}
    roots = {package: (base / package / of[0]).resolve() for package, of in manuals.items()}
    if missing := [str(root) for root in roots.values() if not root.is_dir()]:
        print(f"not there: {', '.join(missing)}\n{__doc__}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="thresher-manuals-") as temporary:
        servers = [f"listen {hosts[package]}; root {root};" for package, root in roots.items()]
        seeds = [f"http://{hosts[package]}/{start}" for package, of in manuals.items() for start in of[1:]]
        with serving(Path(temporary), servers, [f"http://{host}" for host in hosts.values()]):
            crawl(Path(temporary) / "crawl", seeds, "filters.near_replica.mode=observe")
        return _tell(Path(temporary) / "crawl")


if __name__ == "__main__":
    sys.exit(main())
