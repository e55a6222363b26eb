"""A page in one pass, by C of ours where a compiler was there when Thresher was installed: markup to links, title and text, text to words,
links to canonical URLs and their keys.

`page`, `words`, `word`, `least`, `slots` and `least_links` do what core's html.py, sketch.py and minhash.py do in Python and numpy, and
say the same; `bag` does so for filters/near_replica/random_projection.py.
`join`, `origins` and `keys` do what url.py does, which gets the links that are not clean. `crowded`, `endings` and `paths` are what
filters/path_trap.py, media.py and dust/shown.py ask of many URLs; `sample`, `look`, `least_pairs`, `end_words`, `shared_words`,
`without`, `without_runs` and `without_url` are what filters ask of a page's words (filters/depth_cutoff/novelty.py,
filters/soft_error/looks.py, filters/canary/vocabulary.py, core/echo.py).
`front_coded` and `front_decoded` pack the URLs of a row (storage/url_rows.py), `steps` and `new_rows` a page's links and new URLs
(storage/packing.py); `sealed` and `opened` are storage/seal.py's, `RecordCache` is storage/tables/record_cache.py, `SeenCache` is
seen_cache.py beside it, `near` compares signatures (filters/near_replica/collide.py), `digests` are those of storage/tables/bodies.py.
They are not called where the extension was not built, nor with THRESHER_NATIVE=0 in the environment: then everything runs in Python.

The pass is a tokeniser and a stack of open elements, by the HTML Standard, and no tree: its time is linear in the page, so that no page
need be scanned for what would hold up a parser. Where the tree would change what is found, the pass gives the page up, and says why; such a
page goes to bomb scan and tree, as all do without the extension. So both ways find the same, link for link and word for word; only white
space between words may differ in `Parsed.raw_text`. Given up are pages with

    text, or elements but those of a table, right inside a table       elements in a select, but options and scripts
    text on both sides of a tag that does nothing ("a</x>b")           a link that closes with another element, and is opened again
    other formatting that is closed so and ended later                 parts of a table inside an element of a template
    a frameset, font in svg, annotation-xml, a zero byte               more than 256 open elements
    a table in an open paragraph under an old doctype                  a title in the body after formatting that was not closed

Memory safety: no recursion, at most 256 open elements, every length checked, buffers grow or the page is given up
(`python -m benchmarks.proofs.native_fuzz`).
"""

from __future__ import annotations

import os
from html.entities import html5
from typing import Final

__all__ = ["IMPLEMENTATION", "NATIVE", "native"]

_INTERFACE: Final = 23  # of the C code that fits this file: an editable installation may have an older one

try:
    from thresher.crawler.native import _native as native
except ImportError:
    native = None  # type: ignore[assignment]  # nothing of it is called where NATIVE is False
    _is_there = False
else:
    _is_there = native.INTERFACE == _INTERFACE

NATIVE: Final = _is_there and os.environ.get("THRESHER_NATIVE", "1") != "0"
IMPLEMENTATION: Final = "native" if NATIVE else "Python"

if NATIVE:
    native.entities(html5)
