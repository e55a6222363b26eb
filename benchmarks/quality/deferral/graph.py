"""Reads the graph of a site that record.py has written."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from thresher.crawler.analysis.recorded_graph import RecordedGraph


def read(file: Path) -> RecordedGraph:
    """Read a recording. URLs that were never requested are left out."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    graph = RecordedGraph(file.name.removesuffix(".jsonl.gz"))
    names = [rows[0]["u"], *(url for row in rows for url in row["n"])]
    number = {row["u"]: i for i, row in enumerate(rows)}
    for row in rows:
        named = dict.fromkeys(number[names[i]] for i in row["l"] if names[i] in number)
        graph.add(row["u"], row["t"] if row["s"] == 200 else "", tuple(named), status=row["s"])
    return graph
