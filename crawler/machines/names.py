"""Our names in the engine (Ray)."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

DIRECTORY: Final = "the directory"
RESOURCE: Final = "thresher disk of "


def resource(machine: str) -> str:
    """Return the name of the resource that only this machine has: its disk."""
    return RESOURCE + machine


def namespace(run: str) -> str:
    """Return the namespace in which the actors of a run have their names."""
    return f"thresher {run}"


def directory_namespace(secret: bytes) -> str:
    """Return the namespace of a crawl's directory, which is the same in every run.

    Args:
        secret: The crawl's, which is not told.
    """
    return f"thresher directory {sha256(b'directory' + secret).hexdigest()[:32]}"
