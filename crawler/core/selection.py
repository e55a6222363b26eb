"""`--where`: which pages a round of revisits visits, as conditions that all must hold.

    host=*.example.org   site=example.org   url=https://a.example/docs/*   type=text/html   status=2xx   depth=3   gone=yes

A value may contain * and ?; several values are separated by commas. `status` also accepts classes like 4xx; `gone=yes` selects pages that
are gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from thresher.crawler.core.errors import UsageError

FIELDS = ("url", "host", "site", "type", "status", "depth", "gone")


class Selection:
    """Conditions, each with a field and its values."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Parse conditions.

        Args:
            texts: "FIELD=VALUES" each.

        Raises:
            UsageError: If one cannot be parsed.
        """
        self.texts = list(texts)
        self._conditions = [_parsed(text) for text in self.texts]

    @property
    def names(self) -> frozenset[str]:
        """The fields in the conditions."""
        return frozenset(field for field, _ in self._conditions)

    def has(self, values: Mapping[str, str]) -> bool:
        """Return whether all conditions hold.

        Args:
            values: Field → value of a page.
        """
        return all(any(fnmatchcase(values[field], glob) for glob in globs) for field, globs in self._conditions)


def _parsed(text: str) -> tuple[str, tuple[str, ...]]:
    field, equals, value = text.partition("=")
    field = field.strip().lower()
    globs = tuple(filter(None, (part.strip() for part in value.split(","))))
    if not equals or field not in FIELDS or not globs:
        raise UsageError(
            f"--where {text}: expected FIELD=VALUE with one of the fields {', '.join(FIELDS)}. Write --where host=www.example.org"
        )
    if field == "status":
        globs = tuple(glob.lower().replace("x", "?") for glob in globs)
    if field in ("host", "site", "type"):
        globs = tuple(glob.lower() for glob in globs)
    return field, globs
