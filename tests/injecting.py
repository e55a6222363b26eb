"""Environments for processes with a fault: a kill at a step, a broken design, another constant. injected/faults.py lists the faults."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).with_name("injected")


def crash_at(point: str, *, once: Path | None = None, design: str = "") -> dict[str, str]:
    """Return variables for the environment of a process.

    Args:
        point: `name:count`; "" for none.
        once: A file that the process creates before it dies; no process dies if the file exists.
        design: the broken one to run.
    """
    if not point and not design:
        return {}
    where = f"{point}:{once}" if once is not None else point
    return {**_injected(), "CRAWL_CRASH_AT": where if point else "", "CRAWL_BROKEN_DESIGN": design}


def with_constant(module: str, name: str, seconds: float) -> dict[str, str]:
    """Return variables for the environment of processes in which a module's constant has another value."""
    return {**_injected(), "CRAWL_CONSTANT": f"{module}:{name}:{seconds}"}


def _injected() -> dict[str, str]:
    others = [entry for entry in (os.environ.get("PYTHONPATH", ""),) if entry]
    return {"PYTHONPATH": os.pathsep.join([str(FOLDER), *others])}
