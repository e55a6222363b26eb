"""The place of this checkout. Benchmarks are in no wheel, so a process that runs one of their modules is given their place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from thresher.crawler.children import python

ROOT: Final = Path(__file__).resolve().parents[2]


def environment() -> dict[str, str]:
    """Return the environment of a process that imports benchmarks from this checkout."""
    given = python.environment()
    return given | {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), given.get("PYTHONPATH"))))}
