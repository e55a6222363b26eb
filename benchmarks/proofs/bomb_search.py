"""Search for a page that the bomb scan lets through and that holds the loop: `python -m benchmarks.proofs.bomb_search --seconds 3600`.

Recipes of the grammar (nestings.py) are drawn at random, and the slowest ones are changed again and again. Each recipe is grown to the
longest page under 512 KiB that the scan lets through. The batch reader's own stages, from the scan to the filters, read that page with the
default settings, and the processor time of the thread is measured. The reader goes on in a next round of the loop after 5 ms, so what
counts is the longest round: the stages that fall into one. A page or a scan above --limit-ms is measured up to eight times, with a pause
between two tries, and the shortest time counts: on a machine that others use, the same page can take four times as long for some seconds.

For each minute there is a process of its own, which first measures the slowest pages of the minutes before again. A page that kills this
process is a find, too. Prints the slowest pages and the number of finds; exits 1 if there are any. --keep DIR writes the finds there.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import json
import os
import random
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.support.ending import exit_with
from benchmarks.support.nestings import KNOWN, Recipe, Unit, changed, drawn, page
from thresher.config.settings import Settings
from thresher.crawler.agent.wiring import assemble
from thresher.crawler.clock import Clock
from thresher.crawler.core.bomb import bomb
from thresher.crawler.core.model import Fetched, Head
from thresher.crawler.core.url import URLRules, URLSpace
from thresher.crawler.page.batch_reader import BatchReader, _Ticket
from thresher.storage.store import Store

_LARGEST: Final = (512 << 10) - 1
_ROUND_S: Final = 0.005
_LIFE_S: Final = 60.0
_BEST: Final = 40
_LAST_LIVES: Final = 3
_NEW: Final = 0.3  # share of recipes that are drawn anew
_HALVINGS: Final = 7
_TRIES: Final = 8
_APART_S: Final = 0.2  # pause between the first two tries; each later pause is longer by as much
_PR_SET_PDEATHSIG: Final = 1


@contextmanager
def reading() -> Iterator[BatchReader]:
    """Open a batch reader as an agent's, with a store of its own."""
    loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory() as directory, Store.create(Path(directory) / "crawl", Settings(), 0.0) as store:

        async def made() -> BatchReader:
            return assemble(Path(directory) / "crawl", store, Settings(), Clock(store.clock)).batch_reader

        yield loop.run_until_complete(made())
    loop.close()


def longest_page(recipe: Recipe) -> bytes:
    """Return the longest page of the recipe that the scan lets through, b"" if it lets none through."""
    most = page(recipe, _LARGEST - 2_000)[:_LARGEST]
    if not bomb(most):
        return most
    found, low, high = b"", 0, _LARGEST
    for _ in range(_HALVINGS):
        middle = (low + high) // 2
        tried = page(recipe, middle)[:_LARGEST]
        if bomb(tried):
            high = middle
        else:
            found, low = tried, middle
    return found


def scan_rounds(body: bytes) -> list[float]:
    """Scan a page that the scan refuses; return the processor time of that one round of the loop in seconds."""
    began = time.thread_time()
    bomb(body)
    return [time.thread_time() - began]


def rounds(batch_reader: BatchReader, body: bytes) -> list[float]:
    """Read a page; return the processor time of the loop's rounds in seconds."""
    urls = URLSpace(bytes(32), URLRules())
    url = urls.url("http://a.test/folder/page")
    outcome = Fetched(url, Head(url, 200, ((b"Content-Type", b"text/html; charset=utf-8"),), "", 0.0), body, len(body), 0.0)
    loop = asyncio.new_event_loop()
    ticket = _Ticket(outcome, loop.create_future())
    took, round_s = [], 0.0
    for stage in batch_reader._stages:  # noqa: SLF001 - what the reader itself works through
        began = time.thread_time()
        stage(ticket)
        round_s += time.thread_time() - began
        if ticket.read.done():
            break
        if round_s > _ROUND_S:
            took.append(round_s)
            round_s = 0.0
    loop.close()
    return [*took, round_s]


def measured(once: Callable[[], list[float]], limit_s: float) -> tuple[float, float]:
    """Return the longest round and all rounds, in seconds. If the first try is above the limit, these are of the quickest of some tries."""
    times = [once()]
    while max(min(times, key=max)) > limit_s and len(times) < _TRIES:
        time.sleep(_APART_S * (len(times) - 1))
        times.append(once())
    best = min(times, key=max)
    return max(best), sum(best)


def search(rng: random.Random, seconds: float, limit_s: float, seeds: list[Recipe], current: Path) -> dict[str, Any]:
    """Search for some seconds, starting from the slowest recipes so far; return the slowest recipes with their times, and how many were
    tried.
    """
    best: list[tuple[float, float, int, Recipe]] = []
    ends, n_tried, n_read = time.monotonic() + seconds, 0, 0
    with reading() as batch_reader:
        rounds(batch_reader, b"<p>warm")
        while n_tried < max(1, len(seeds)) or time.monotonic() < ends:
            if n_tried < len(seeds):
                recipe = seeds[n_tried]
            elif rng.random() < _NEW or not best:
                recipe = drawn(rng)
            else:
                recipe = changed(rng.choice(best)[3], rng.choice(best)[3], rng)
            n_tried += 1
            body = longest_page(recipe)
            if recipe in [found[3] for found in best]:
                continue
            most = page(recipe, _LARGEST - 2_000)[:_LARGEST]
            current.write_bytes(most)
            scan = measured(partial(scan_rounds, most), limit_s)[0] if body != most else 0.0
            longest, total = 0.0, 0.0
            if body:
                n_read += 1
                current.write_bytes(body)
                longest, total = measured(partial(rounds, batch_reader, body), limit_s)
            best = sorted([*best, (max(longest, scan), total, len(body), recipe)], reverse=True)[:_BEST]
    return {"tried": n_tried, "read": n_read, "best": best}


def one_life(rng: random.Random, seconds: float, limit_s: float, seeds: list[Recipe], current: Path) -> dict[str, Any] | int:
    """Search in a child process; return what it found, or how it died."""
    answer = current.with_suffix(".json")
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        try:
            answer.write_text(json.dumps(search(rng, seconds, limit_s, seeds, current)))
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the end of a process of its own: whatever it was is shown
            traceback.print_exc()
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(answer.read_text()) if code == 0 else code


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--limit-ms", type=float, default=100.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a directory for the pages that were found")
    options = parser.parse_args()
    ends, seeds, n_tried, n_read, n_deaths = time.monotonic() + options.seconds, list(KNOWN), 0, 0, 0
    n_again, best = _LAST_LIVES, list[Any]()
    with tempfile.TemporaryDirectory() as directory:
        for life in range(1_000_000):
            left = ends - time.monotonic()
            if left <= 0 and not (n_again and _finds(best, options.limit_ms)):
                break
            n_again -= left <= 0  # what was found in this life is measured again in the next one, too
            current = Path(directory) / "current.html"
            found = one_life(random.Random(f"{options.seed} {life}"), min(_LIFE_S, left), options.limit_ms / 1e3, seeds, current)
            if isinstance(found, int):
                n_deaths += 1
                print(f"life {life}: the process died with {found}", flush=True)
                _keep(options.keep, f"death-{life}.html", current.read_bytes())
                seeds = list(KNOWN)
                continue
            best = _merged(best, found["best"])
            seeds = [tuple(Unit(tuple(pieces), share) for pieces, share in recipe) for _, _, _, recipe in best]
            n_tried, n_read = n_tried + found["tried"], n_read + found["read"]
            print(f"{n_tried:,} recipes, {n_read:,} pages read; longest round {max(each[0] for each in best) * 1e3:.1f} ms", flush=True)
    for longest, total, n_bytes, recipe in best[:12]:
        print(f"{longest * 1e3:6.1f} ms of {total * 1e3:6.1f} ms, {n_bytes:7,} bytes: {recipe}"[:400])
    finds = _finds(best, options.limit_ms)
    for i, (_, _, _, recipe) in enumerate(finds):
        _keep(options.keep, f"find-{i}.html", longest_page(tuple(Unit(tuple(pieces), share) for pieces, share in recipe)))
    print(f"{len(finds)} pages above {options.limit_ms:g} ms, {n_deaths} deaths")
    return 1 if finds or n_deaths else 0


def _merged(before: list[Any], found: list[Any]) -> list[Any]:
    """Return the slowest pages, the slowest first. If a page was measured again, its shortest time counts."""
    times = sorted([*before, *found], key=lambda each: each[0])
    return [each for i, each in enumerate(times) if each[3] not in [other[3] for other in times[:i]]][-_BEST:][::-1]


def _finds(best: list[Any], limit_ms: float) -> list[Any]:
    return [each for each in best if each[0] * 1e3 > limit_ms]


def _keep(directory: Path | None, name: str, body: bytes) -> None:
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(body)


if __name__ == "__main__":
    exit_with(main)
