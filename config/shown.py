"""How text of the user is shown in a message."""

from __future__ import annotations

import json


def shown(text: str, limit: int = 60) -> str:
    """Return `text` in quotes for a message: one line, nothing unprintable, cut to `limit` characters."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return '"' + "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in cut) + '"'
