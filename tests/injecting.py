"""Environments for processes with a fault: a kill at a step, a broken design, another constant. injected/faults.py lists the faults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).with_name("injected")


def crash_at(point: str, *, once: Path | None = None, design: str = "") -> dict[str, str]:
    """Return variables for the environment of a process.

    Args:
        point: `name:count`; "" for none.
        once: A file that the process creates before it dies; no process dies if the file exists.
        design: The broken design to run.
    """
    if not point and not design:
        return {}
    where = f"{point}:{once}" if once is not None else point
    return {**_injected(), "CRAWL_CRASH_AT": where if point else "", "CRAWL_BROKEN_DESIGN": design}


def with_constant(module: str, name: str, seconds: float) -> dict[str, str]:
    """Return variables for the environment of processes in which a module's constant has another value."""
    return {**_injected(), "CRAWL_CONSTANT": f"{module}:{name}:{seconds}"}


def without_faults(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the variables that put faults into a new process."""
    own = [entry for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry not in ("", str(FOLDER))]
    others = {name: value for name, value in environ.items() if name != "PYTHONPATH"}
    return others | ({"PYTHONPATH": os.pathsep.join(own)} if own else {})


def has_faults(environ: Mapping[str, str]) -> bool:
    """Return whether an environment puts faults into processes."""
    return bool(environ.get("CRAWL_CRASH_AT") or environ.get("CRAWL_BROKEN_DESIGN"))


def has_constant(environ: Mapping[str, str]) -> bool:
    """Return whether a constant shall have another value; modules that were imported earlier may have the old one."""
    return bool(environ.get("CRAWL_CONSTANT"))


def _injected() -> dict[str, str]:
    others = [entry for entry in (os.environ.get("PYTHONPATH", ""),) if entry]
    return {"PYTHONPATH": os.pathsep.join([str(FOLDER), *others])}
