"""Our names in the engine (Ray)."""

from __future__ import annotations

from typing import Final

DIRECTORY: Final = "the directory"
RESOURCE: Final = "thresher disk of "


def resource(machine: str) -> str:
    """Return the name of the resource that only this machine has: its disk."""
    return RESOURCE + machine


def namespace(run: str) -> str:
    """Return the namespace in which the actors of a run have their names."""
    return f"thresher {run}"
