"""Converts SURT prefixes, as archivists write them, to the two forms of overrides: a domain, or the beginning of a URL.

    org,example            org,example,           (org,example,            example.org, with its subdomains
    org,example)/docs      (org,example,)/docs                             //example.org/docs: http or https, with or without www
    https://(org,example,)/docs                                            https://example.org/docs

Source: the format of Heritrix and of CDXJ keys: host names from the right to the left, commas between labels, ")" behind the whole name.
"""

from __future__ import annotations

import re

_SURT = re.compile(
    r"(?P<scheme>https?://)?(?P<open>\()?(?P<labels>[a-z0-9_-]+(?:,[a-z0-9_-]+)*)(?P<more>,)?(?P<port>:[0-9]{1,5})?(?P<end>\)(?P<path>/[!-~]*)?)?"
)


def from_surt(text: str) -> str:
    """Return the domain or prefix of a URL that a SURT prefix means; any other text as it is."""
    found = _SURT.fullmatch(text)
    if found is None or not (found["open"] or found["end"] or found["more"] or "," in found["labels"]):
        return text
    name = ".".join(reversed(found["labels"].split(",")))
    if not found["end"]:
        return text if found["scheme"] or found["port"] else name
    return f"{found['scheme'] or '//'}{name}{found['port'] or ''}{found['path'] or '/'}"
