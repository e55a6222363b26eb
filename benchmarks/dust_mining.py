"""What mining costs: CPU seconds and peak memory on generated sites of 5,000, 20,000 and 80,000 URLs.

python -m benchmarks.dust_mining               with texts known, half of the URLs copies, and with sizes alone
python -m benchmarks.dust_mining --urls 20000  one size

Bars: 20,000 URLs in under 10 CPU seconds and 500 MB; cost near linear in the list. Each case runs in a process of its own.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import time
from collections.abc import Iterator

from crawler import children
from filters.dust.mine import mine
from filters.dust.urllist import Sighting, UrlList

_SIZES = (5_000, 20_000, 80_000)
_SECTIONS = ("forum", "wiki", "shop", "blog", "docs", "news", "archive", "people")


def site(n: int, *, with_texts: bool) -> Iterator[Sighting]:
    """Yield a site's URLs: 15 to 30 tokens each, half of them copies by five rules, numbers and words that are none."""
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


def measure(n: int, *, with_texts: bool) -> None:
    """Mine one site and print what it cost."""
    seen = list(site(n, with_texts=with_texts))
    started = time.process_time()
    known = UrlList.of(seen)
    found = mine(known)
    cpu_s = time.process_time() - started
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    kind = "texts" if with_texts else "sizes"
    print(
        f"{n:>7,} URLs, {kind}: {cpu_s:6.2f} CPU s, {cpu_s / n * 1e6:6.1f} µs a URL, peak {peak_mb:5.0f} MB, {len(found)} rules", flush=True
    )
    for learned in found[:6]:
        print(f"          {learned.rule.readable}  {learned.support:,}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, nargs="*", default=list(_SIZES))
    parser.add_argument("--one", choices=("texts", "sizes"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        measure(args.urls[0], with_texts=args.one == "texts")
        return
    for n in args.urls:
        for kind in ("texts", "sizes"):
            command = children.command("benchmarks.dust_mining", "--urls", str(n), "--one", kind)
            subprocess.run(command, env=children.environment(), check=True)


if __name__ == "__main__":
    main()
