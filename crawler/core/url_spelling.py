"""Two rules of the canonical form that need no URL around them: one spelling of escapes, and what a host name may be.

Escapes are upper-case and stand only for what needs one (RFC 3986 6.2.2). A host name is what DNS can hold; labels that begin with "xn--"
are valid Punycode and their own IDNA form.
"""

from __future__ import annotations

import re

import ada_url

# What makes an escape not canonical: not two upper-case digits, or an unreserved character's code.
_NOT_CANONICAL = re.compile(r"%(?:(?![0-9A-F]{2})|2[DE]|3[0-9]|[46][1-9A-F]|5[0-9AF]|7[0-9AE])")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_HOST = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")


def host_fault(host: str) -> str:
    """Return why a host name cannot be requested, "" if it can."""
    if len(host) > 253:
        return f"host of {len(host)} characters, at most 253"
    if not _HOST.fullmatch(host):
        return "host has an empty label, one over 63 characters, or a character that no host name has"
    if "xn--" not in host:
        return ""
    if ada_url.idna_to_ascii(ada_url.idna_to_unicode(host)) != host.encode():
        return "host is not its own IDNA form"
    if any(label.startswith("xn--") and ada_url.idna_to_unicode(label) == label for label in host.split(".")):
        return "host has a label of invalid Punycode"
    return ""


def respell_escapes(url: str) -> str:
    """Return `url` with its escapes in the one spelling."""
    if not _NOT_CANONICAL.search(url):
        return url
    respelt, n_escapes = _ESCAPE.subn(_undo_escape, url)
    if n_escapes == url.count("%"):
        return respelt
    return _ESCAPE.sub(lambda match: match[0].upper(), url)


def _undo_escape(match: re.Match[str]) -> str:
    escape = match[0].upper()
    character = chr(int(escape[1:], 16))
    return character if character in _UNRESERVED else escape
