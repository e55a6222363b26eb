"""The native pass under AddressSanitizer and UndefinedBehaviorSanitizer: `python -m benchmarks.proofs.native_fuzz --seconds 3600`.

Builds crawler/native with both. A child process gives it pages that are mutated, cut anywhere, made of random markup or of random bytes,
and texts of every script; each page is read once with all links and once with few. At the first fault the benchmark ends with the
sanitizer's report, exit code 1 and the seed. Needs gcc and its sanitizers' libraries.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import random
import subprocess
import sys
import sysconfig
import tempfile
import time
from hashlib import sha256
from html.entities import html5
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.support.checkout import environment
from benchmarks.support.wild_markup import NAMES
from thresher.crawler.children import python

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "crawler/native"
FLAGS = (
    *("-std=c11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fno-omit-frame-pointer", "-shared", "-fPIC"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fstack-protector-strong"),
)
_NAMES = (*NAMES, "frameset")
_BITS: tuple[bytes, ...] = (
    *(f"<{name} href=x{n}>".encode() for n, name in enumerate(_NAMES)),
    *(f"</{name}>".encode() for name in _NAMES),
    *(b"<", b">", b'"', b"'", b"=", b"/", b"&", b"&#", b"&#x110000;", b"&#0", b"&amp", b"&NotEqualTilde;", b"&nGt;", b"&#x;"),
    *(b"<!--", b"-->", b"--!>", b"<!>", b"<!-", b"<?", b"</", b"</ ", b"<![CDATA[", b"]]>", b"<!doctype html", b"\r\n", b"\r"),
    *(
        b"\xff",
        b"\xe2\x82",
        b"\xf0\x9f\x98\x80",
        "中ຂກ".encode(),
        b"<script><!--<script>",
        b"</script",
        b" rel=nofollow",
        b" src='",
        b"\xc3",
    ),
    *(b"<textarea>", b"<input type=password>", b"ASSWORD", b"assw", b"exta"),
    *(b"<meta name=robots content='", b"<link rel=canonical href=", b"<base href='http://x/'>", b"a" * 300, b"<i>" * 300, b"&" * 70),
)
_SCRIPTS = ((0x20, 0x7F), (0x20, 0x250), (0xE01, 0xF00), (0x3041, 0x9FFF), (0xD800, 0xE000), (0x1F300, 0x1F700))


def built(folder: Path) -> Path:
    """Compile the module with both sanitizers."""
    library = folder / "_native.so"
    command = ["gcc", *FLAGS, f"-I{sysconfig.get_path('include')}", *map(str, sorted(SOURCES.glob("*.c"))), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


def loaded(library: Path) -> Any:
    """Import the module from this file."""
    spec = importlib.util.spec_from_file_location("_native", library)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pages() -> list[bytes]:
    """Return real pages that are installed here, up to 60 KB of each."""
    found = sorted(file for file in Path("/usr/share").rglob("*.html") if file.is_file())
    return [file.read_bytes()[:60_000] for file in found[:: max(1, len(found) // 200)]] or [b"<p>a page <a href=x>link</a></p>" * 50]


def mutated(real: list[bytes], rng: random.Random) -> bytes:
    """Return a page, changed at random."""
    kind = rng.random()
    if kind < 0.1:
        return rng.randbytes(rng.randrange(400))
    if kind < 0.4:
        return b"".join(rng.choice(_BITS) for _ in range(rng.randrange(200)))
    page = bytearray(rng.choice(real))
    for _ in range(rng.randrange(1, 30)):
        at, deed = rng.randrange(len(page) + 1), rng.random()
        if deed < 0.5:
            page[at:at] = rng.choice(_BITS)
        elif deed < 0.8:
            del page[at : at + rng.randrange(1, 300)]
        else:
            begin = rng.randrange(len(page) + 1)
            page[at:at] = page[begin : begin + rng.randrange(600)]
    return bytes(page[: rng.randrange(len(page) + 1)] if rng.random() < 0.3 else page)


def feed_sketches(native: Any, words: bytearray, rng: random.Random) -> None:
    """Call the functions that filters call with the words of a page."""
    n = len(words) // 8
    met = [int.from_bytes(words[8 * i : 8 * i + 8], sys.byteorder) for i in (rng.randrange(n) for _ in range(min(n, 12)))]
    wanted = [*met, *(rng.getrandbits(64) for _ in range(rng.randrange(9)))]
    sampled = native.sample(words, bytes(rng.random() < 0.9 for _ in range(1 << 14)), wanted)
    sampled = sampled if rng.random() < 0.7 else sampled[: rng.randrange(len(sampled) + 1)] or rng.randbytes(rng.randrange(400))
    with contextlib.suppress(ValueError):
        native.look(sampled, rng.choice([b"", bytes(2_048), rng.randbytes(2_048), b"x"]))
    native.least_pairs(words, rng.randrange(257))
    native.slots(words, rng.randrange(1, 9), rng.randrange(1, 11), rng.randrange(1, 40))
    native.project(words, rng.randbytes(4 * rng.randrange(1, 2_000)), rng.randbytes(4_096 * rng.randrange(9)))
    with contextlib.suppress(ValueError):
        native.common(rng.randbytes(rng.choice([0, 9, 256, 4_096])), rng.randrange(1, 300), rng.randrange(20))
    native.end_words(words, rng.randrange(1, 257))
    native.shared_words(words, rng.randrange(1, 40), rng.randbytes(4 * rng.randrange(200)))
    native.without_runs(words, [(wanted * rng.randrange(3), rng.randrange(4)) for _ in range(rng.randrange(4))])
    brief, fewest = bytes(rng.randrange(9)), rng.randrange(-1, 9)
    with contextlib.suppress(ValueError):
        native.near(bytes(words), rng.randbytes(4 * rng.randrange(6)), rng.randrange(-1, 30), rng.random(), brief, fewest)
        native.near(bytes(words[: 28 * (len(words) // 28)]), rng.randbytes(20), 8, rng.random(), brief, fewest)
    rows = [words[8 * at : 8 * (at + rng.randrange(20))] for at in (rng.randrange(n + 1) for _ in range(rng.randrange(5)))]
    native.without(words, [memoryview(bytes(row)).cast("Q") for row in rows])


def feed_cache(native: Any, rng: random.Random) -> None:
    """Write and read records, among them some that cannot be read."""

    def read(key: bytes) -> bytes | None:
        if rng.random() < 0.1:
            raise ValueError
        return rng.choice([key, None])

    def grow(_site: bytes, grown: int) -> int:
        if rng.random() < 0.1:
            raise ValueError
        return max(0, grown)

    visits, tag = SimpleNamespace(visit=rng.getrandbits(40)), rng.randbytes(rng.randrange(4))
    cache = native.RecordCache(read, rng.randrange(1, 9), rng.random() < 0.5, visits, grow, tag, rng.randrange(99))
    cache.note_in("f", {}, {})
    deeds = [
        cache.get,
        lambda key: cache.put(key, rng.choice([key, None])),
        lambda key: cache.write(key, key),
        lambda key: cache.write_noted(key, key),
    ]
    for _ in range(rng.randrange(200)):
        keys = [rng.choice([b"", b"site of "]) + b"%d" % rng.randrange(30) for _ in range(rng.randrange(5))]
        with contextlib.suppress(ValueError):
            cache.unread(keys)
            for key in keys:
                rng.choice(deeds)(key)
    with contextlib.suppress(ValueError):
        cache.write(b"site of a", rng.randbytes(rng.randrange(9)), weight=rng.random())
    with contextlib.suppress(ValueError):
        known = native.SeenCache(tuple, (0, 1, 2), (0, 1), tuple(range(rng.randrange(9))), rng.randrange(-1, 6), rng.randrange(10))
        keys = [rng.randbytes(16 if rng.random() < 0.98 else rng.randrange(40)) for _ in range(rng.randrange(99))]
        for key in keys:
            known.keep(key, bytes([rng.randrange(1 + rng.randrange(4)) for _ in range(24 if rng.random() < 0.98 else rng.randrange(40))]))
            known.rows(rng.choices(keys, k=rng.randrange(9)))
        known.add(keys)
        known.rows([*keys, *(rng.randbytes(rng.choice([16, 16, 15])) for _ in range(rng.randrange(9)))])
    rows = [(rng.randbytes(rng.randrange(40)), rng.randbytes(rng.randrange(200))) for _ in range(rng.randrange(9))]
    for (key, _), (_, stored) in zip(rows, native.sealed(rows, rng.getrandbits(32)), strict=True):
        native.opened(key, stored[: rng.randrange(len(stored) + 1)], rng.getrandbits(32))


def feed_known(known: Any, rng: random.Random) -> None:
    """Add to a filter of known URLs that lasts, so that all of its bitmaps come into use; it must have what was added."""
    block = rng.randbytes(16_000)
    keys = [block[at : at + 16] for at in range(0, len(block), 16)]
    known.add(keys)
    assert known.rows(keys)[1] == [*range(len(keys))], "a key that was added is taken for new"


def feed_urls(native: Any, text: str, rng: random.Random) -> None:
    """Call the functions that the crawl and its filters call with links and URLs."""
    cuts = [rng.randrange(len(text) + 1) for _ in range(rng.randrange(9))]
    for at in cuts:
        native.word(text[at : at + rng.randrange(40)])
    bits = [
        "/",
        "../" * rng.randrange(9),
        "HTTP://a/",
        "https://b.example:80/",
        "http:",
        "?",
        "#",
        "a.b/c",
        "x" * rng.randrange(400),
        *(text[at:] for at in cuts),
    ]
    hrefs = ["".join(rng.choices(bits, k=rng.randrange(5))) for _ in range(rng.randrange(12))]
    root = rng.choice(["http://a", "https://b.example:80", "x", ""])
    folder = root + "/" + rng.choice(["", "a/", "a/b/c/", "/" * 9, "%7e/", "a", "é/"])
    with contextlib.suppress(ValueError):
        native.join(
            hrefs,
            root,
            folder,
            dict.fromkeys(["http://a", "https://b.example:80"], root),
            rng.randrange(300),
            rng.randrange(9),
            rng.random() < 0.5,
        )
    urls = ["http://a/" + "".join(rng.choices([*bits, ".", "&", ".pdf"], k=rng.randrange(5))) for _ in range(rng.randrange(12))]
    urls = [url for url in urls if url.isascii() or rng.random() < 0.01]
    _feed_lists(native, urls, rng)


def _feed_lists(native: Any, urls: list[str], rng: random.Random) -> None:
    """Call the functions that take many URLs, or rows of them."""
    extensions = b"".join(sorted(rng.randbytes(8) for _ in range(rng.randrange(5))))
    with contextlib.suppress(ValueError):
        native.origins(urls)
        native.keys(urls, [bytes(8)] * len(urls), rng.randbytes(rng.randrange(67)), rng.randbytes(rng.randrange(18)))
    with contextlib.suppress(ValueError):
        native.crowded(urls, rng.randrange(5), rng.randrange(-1, 3))
        native.paths(urls)
        native.endings(urls, extensions)
    with contextlib.suppress(ValueError):
        keys, depths = [rng.randbytes(16) for _ in range(rng.randrange(4))], [rng.randrange(3) for _ in range(rng.randrange(4))]
        native.new_rows(keys, depths, {0: bytes(8), 1: bytes(8), 2: rng.randbytes(rng.choice([7, 8]))}, rng.randrange(1 << 64))
    bodies = [rng.randbytes(rng.choice([0, 55, 56, 63, 64, rng.randrange(400)])) for _ in range(rng.randrange(20))]
    assert native.digests(bodies) in (None, [sha256(body).digest() for body in bodies]), "a digest is not SHA-256"
    with contextlib.suppress(ValueError):  # a key that is too short or too long
        sites = [rng.randbytes(8) for _ in range(rng.choice([1, 3, 255, 258]))]
        native.packed_keys(
            [*(site + rng.randbytes(8) for site in sites), *(rng.randbytes(rng.choice([15, 16, 17])) for _ in range(rng.randrange(3)))]
        )
    with contextlib.suppress(ValueError, OverflowError):
        native.steps(sorted(rng.randrange(-1, 1 << rng.randrange(1, 70)) for _ in range(rng.randrange(5))))
    with contextlib.suppress(ValueError):  # a text that is no UTF-8, a row that is torn
        row = bytearray(native.front_coded(urls)) + rng.randbytes(rng.randrange(3))
        for _ in range(rng.randrange(3)):
            row[rng.randrange(len(row) or 1) : rng.randrange(len(row) + 1)] = rng.randbytes(rng.randrange(12))
        native.front_decoded(bytes(row), rng.randrange(-1, len(row) + 2), rng.choice([len(urls), rng.randrange(-1, 1 << 40)]))


def fuzz(library: Path, seconds: float, seed: int) -> None:
    """Give the module random input until the time is over; it aborts at the first fault."""
    native, real = loaded(library), pages()
    native.entities(html5)
    native.letters(bytes(n % 4 for n in range(1 << 16)), bytes(random.Random(1).randbytes(8 << 16)), 0x9E3779B97F4A7C15)
    until, n_pages, n_given_up, n_bytes = time.monotonic() + seconds, 0, 0, 0
    known = native.SeenCache(tuple, (), (), (), 0, 3)
    while time.monotonic() < until:
        rng = random.Random(seed + n_pages)
        page = mutated(real, rng)
        taken = native.page(bytes(page), 1 << 30, tuple)
        native.page(bytes(page), rng.randrange(5), tuple)
        native.asks(bytes(page))
        n_given_up += isinstance(taken, str)
        first, last = rng.choice(_SCRIPTS)
        text = "".join(map(chr, rng.choices(range(first, last), k=rng.randrange(300))))
        for words in (
            native.words(text, 1 << 18),
            native.words(text, rng.randrange(100)),
            native.words(page.decode("utf-8", "replace"), 1 << 18),
        ):
            if words is not None:
                native.least(words, rng.randrange(1, 9), rng.randrange(1, 17))
                feed_sketches(native, words, rng)
                feed_cache(native, rng)
        feed_urls(native, text, rng)
        feed_known(known, rng)
        native.least_links(
            [f"http://{rng.randrange(9)}/{text[at:]}".encode("utf-8", "replace").decode() for at in range(0, 300, 7)], rng.randrange(65)
        )
        n_pages, n_bytes = n_pages + 1, n_bytes + len(page)
    print(f"{n_pages:,} pages, {n_bytes >> 20:,} MiB, {n_given_up:,} given up to the tree, in {seconds:.0f} s from seed {seed}: no fault")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--library", type=Path, help=argparse.SUPPRESS)  # for the child process: the module to test
    chosen = parser.parse_args()
    if chosen.library is not None:
        fuzz(chosen.library, chosen.seconds, chosen.seed)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        library = built(Path(folder))
        sanitizer = subprocess.run(["gcc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True).stdout.strip()
        environ = {**environment(), "LD_PRELOAD": sanitizer, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}
        given = f"--library={library}", f"--seconds={chosen.seconds}", f"--seed={chosen.seed}"
        command = python.command("benchmarks.proofs.native_fuzz", *given)
        return subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode and 1


if __name__ == "__main__":
    sys.exit(main())
