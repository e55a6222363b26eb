"""A crawl that was stopped half way, and everything that it knows. Code that moves the crawl must not change this."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import crawl, demo, options, write_config

from thresher.crawler.core.model import State
from thresher.storage.export.labels import LabelLookup
from thresher.storage.export.scans import hosts
from thresher.storage.partitions import shard_paths
from thresher.storage.schema import FAILURES, HELD, MEMORY, PAIRS, ROBOTS, SITE_LINKS, SITES
from thresher.storage.shards import open_view
from thresher.storage.view import View

_SAME = (PAIRS, FAILURES, HELD, MEMORY, ROBOTS, SITE_LINKS, SITES)


def half_a_crawl(directory: Path) -> Path:
    """Crawl half of a web with one agent; return the store."""
    with demo("kill", directory, n_sites=6, pages_per_host=[8, 12]) as server:
        filters = {"near_replica": {"mode": "observe", "min_tokens": 10}}  # its memory has records of no site
        seeds = server.web.seeds()
        labels = {seed: f"seed {n}" for n, seed in enumerate(seeds[1:])}
        config = write_config(directory, {**options(server, filters=filters), "labels": labels}, seeds)
        with crawl(directory / "store", config, "--set", "limits.max_pages=60") as life:
            assert life.end() == 0, life.said
    return directory / "store"


def known(path: Path, shards: Sequence[Path] = ()) -> dict[str, Any]:
    """Return the contents of a crawl's stores together, without numbers that depend on the store.

    Args:
        shards: The folders of the shards, if not all are below `path`.
    """
    labelled = {key: label for shard in shards or shard_paths(path) for key, label in labels(shard).items()}
    with open_view(path) as view:
        texts = {row.seq: url.text for url, row in view.all_urls()}
        sources = {row.visit: url.text for url, row in view.all_urls()}
        return {
            "urls": {(url.text, url.via, row._replace(seq=0, visit=0)) for url, row in view.all_urls()},
            "states": {state: view.tables.seen.count(state) for state in State},
            "waiting": Counter((at[:3], view.tables.seen.url_of(at.seq), url[1:]) for at, url in view.tables.queues.waiting(b"")),
            "hosts": dict(hosts(view)),
            "pages": {(page.url, view.tables.bodies.get(visit)) for visit, page in view.all_pages()},
            "visits": {sources[visit] for visit, page in view.all_pages() if sources[visit] == page.url},
            "links": {(sources[visit], texts[target]) for visit, targets in view.all_links() for target in targets},
            "edges": dict(view.all_edges()),
            "rows": {table: dict(view.rows(table)) for table in _SAME},
            "labels": labelled,
        }


def labels(shard: Path) -> dict[bytes, str]:
    """Return the labels of a shard's own URLs, as its agent knows them."""
    with View(shard) as view:
        return LabelLookup.of_view(view).of(url.key for url, row in view.all_urls() if row.state is not State.OUTBOX)
