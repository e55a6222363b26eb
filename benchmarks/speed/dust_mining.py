"""The cost of mining: CPU seconds and peak memory of a process that mines one list, and how they grow.

    python -m benchmarks.speed.dust_mining [--urls N …] [--kinds aliases,listing]

Lists of five kinds (benchmarks/support/dust_lists.py) with 1,500 and 15,000 URLs, or --urls: with texts, with sizes, with URLs alone.

Bars: 15,000 URLs in under 5 CPU seconds and 300 MB; in a longer list, a URL costs at most one and a half times as much. Exits with 1 if a
bar is missed. While others use the cores, CPU seconds can double.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

import xxhash

from benchmarks.support.checkout import environment
from benchmarks.support.dust_lists import KINDS, shown
from thresher.crawler.children import python
from thresher.filters.dust.mine import mine
from thresher.filters.dust.urllist import Sighting, UrlList

_SIZES = (1_500, 15_000)
_KNOWN = ("texts", "sizes", "urls")
_BAR_URLS, _MOST_S, _MOST_MB, _MOST_GROWTH = 15_000, 5.0, 300.0, 1.5
_SECTIONS = ("forum", "wiki", "shop", "blog", "docs", "news", "archive", "people")


def site(n: int, *, with_texts: bool) -> Iterator[Sighting]:
    """Yield a site's URLs: 15 to 30 tokens each; half of them are copies by five rules, and others look alike but are no copies."""
    rng = random.Random(n)
    words = [f"w{rng.randrange(10**6)}" for _ in range(2_000)]
    for i in range(n // 2):
        section, slug = rng.choice(_SECTIONS), f"{rng.choice(words)}-{rng.choice(words)}-{rng.choice(words)}"
        base = f"http://www.big.example/{section}/{rng.choice(words[:40])}"
        forms = (
            (f"{base}/story_{i}", f"{base}/story?id={i}"),
            (f"{base}/{slug}/{i}/", f"{base}/{slug}/{i}/index.html"),
            (f"{base}/{slug}?page={i}", f"{base}/{slug}?page={i}&sid={rng.randrange(16**8):x}"),
            (f"{base}/view?cat={i % 9}&item={i}", f"{base}/view?item={i}&cat={i % 9}"),
            (f"{base}/{slug}.{i}.html", f"http://m.big.example{base[22:]}/{slug}.{i}.html"),
        )
        size = rng.randrange(2_000, 60_000)
        for url in rng.choice(forms):
            yield Sighting(url, 200, None if with_texts else (size, size + rng.randrange(30)), f"text {i}" if with_texts else "")


def listed(kind: str, n: int, known: str) -> list[Sighting]:
    """Return a list of URLs of a kind. known: "texts", "sizes" or "urls": what is known of the pages."""
    if kind == "aliases":
        seen = list(site(n, with_texts=known == "texts"))
        return seen if known != "urls" else [Sighting(page.url) for page in seen]
    found = []
    for url, text in shown(kind, n).items():
        size = 2000 + xxhash.xxh3_64_intdigest(text.encode()) % 40_000
        found.append(Sighting(url, 200, (size, size) if known == "sizes" else None, text if known == "texts" else ""))
    return found


def measure(kind: str, n: int, known: str) -> None:
    """Mine one list; print CPU seconds, peak MB and the number of rules as JSON."""
    seen = listed(kind, n, known)
    started = time.process_time()
    found = mine(UrlList.of(seen))
    cpu_s = time.process_time() - started
    print(json.dumps({"cpu_s": cpu_s, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "rules": len(found)}))


def main() -> int:
    """Measure each list in a process of its own; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, nargs="*", default=list(_SIZES))
    parser.add_argument("--kinds", default=",".join(("aliases", *KINDS)))
    parser.add_argument("--one", choices=_KNOWN, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        measure(args.kinds, args.urls[0], args.one)
        return 0
    missed = [f"{kind} {known}" for kind in args.kinds.split(",") for known in _KNOWN if not _is_within(kind, known, sorted(args.urls))]
    if missed:
        print(f"beyond a bar: {', '.join(missed)}")
    return int(bool(missed))


def _is_within(kind: str, known: str, sizes: list[int]) -> bool:
    """Measure one list at several sizes; return whether it meets the bars."""
    per_url = []
    is_within = True
    for n in sizes:
        command = python.command("benchmarks.speed.dust_mining", "--urls", str(n), "--kinds", kind, "--one", known)
        found = json.loads(subprocess.run(command, env=environment(), check=True, capture_output=True, text=True).stdout)
        per_url += [found["cpu_s"] / n] if n >= _BAR_URLS else []
        cost = f"{found['cpu_s']:6.2f} CPU s, {1e6 * found['cpu_s'] / n:6.0f} µs a URL"
        said = f"{cost}, peak {found['peak_mb']:4.0f} MB, {found['rules']:3} rules"
        print(f"{kind:>9} {known:>5} {n:>7,} URLs: {said}", flush=True)
        if n == _BAR_URLS:
            is_within = found["cpu_s"] < _MOST_S and found["peak_mb"] < _MOST_MB
    return is_within and (not per_url or per_url[-1] <= _MOST_GROWTH * per_url[0])


if __name__ == "__main__":
    sys.exit(main())
