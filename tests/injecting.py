"""The environment of a process that shall die at a step, or that runs a broken design; injected/faults.py has the points and designs."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).with_name("injected")


def crash_at(point: str, *, once: Path | None = None, design: str = "") -> dict[str, str]:
    """Return variables for the environment of a process.

    Args:
        point: `name:count`; "" for none.
        once: a file that is made by the one that dies; where it stands, nobody does.
        design: the broken one to run.
    """
    if not point and not design:
        return {}
    others = [entry for entry in (os.environ.get("PYTHONPATH", ""),) if entry]
    where = f"{point}:{once}" if once is not None else point
    return {"PYTHONPATH": os.pathsep.join([str(FOLDER), *others]), "CRAWL_CRASH_AT": where if point else "", "CRAWL_BROKEN_DESIGN": design}
