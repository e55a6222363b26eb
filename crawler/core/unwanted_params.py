"""Query parameters that the operator wants dropped from every URL (`url.strip_params`)."""

from __future__ import annotations

from collections.abc import Sequence


class UnwantedParams:
    """Names of parameters; one that ends with "*" is a prefix: "utm_*"."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(name for name in names if not name.endswith("*"))
        self._prefixes = tuple(name[:-1] for name in names if name.endswith("*"))

    def strip(self, url: str) -> str:
        """Return a URL that has a query without the unwanted parameters; without "?" if no other is left."""
        head, _, query = url.partition("?")
        params = query.split("&")
        kept = [param for param in params if not self._has(param.partition("=")[0])]
        if len(kept) == len(params):
            return url
        return f"{head}?{'&'.join(kept)}" if any(kept) else head

    def _has(self, name: str) -> bool:
        return name in self._names or name.startswith(self._prefixes)
