"""The webs that `thresher bench` crawls, apart from the code that crawls them: a command's --help imports none of that."""

from __future__ import annotations

WEBS: dict[str, tuple[str, dict[str, object]]] = {  # name → profile of the demo web, and the settings that differ from it
    "median": ("bench_median", {}),
    "small": ("bench_small", {}),
    "gzip": ("bench_median", {"gzip_share": 1.0}),
    "tls": ("bench_median", {"tls": True}),
    "sites": ("bench_sites", {}),
}
MOST_OF_SITES = 80_000  # most pages of `sites`: it has 92,018 documents, and working filters leave little more to fetch
