"""The fields of a URL's query: `name=value`, with `&` or `;` between them.

HTML 4 recommended that servers also accept `;` (appendix B.2.2), and some forums, trackers and repository browsers use it in their links.
If it is split only at `&`, such a query is one field with a long value.
"""

from __future__ import annotations


def fields_of(query: str) -> list[str]:
    """Return the fields of a query, in order. A `;` separates them if a field with `=` follows any."""
    if ";" not in query or not any("=" in field for field in query.split(";")[1:]):
        return query.split("&")
    return query.replace(";", "&").split("&")
