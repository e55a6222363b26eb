"""Rules of the canonical form that need no URL around them: one spelling of escapes, what a host name may be, which links are clean.

Escapes are upper-case and stand only for what needs one (RFC 3986 6.2.2). A host name is what DNS can hold; labels that begin with "xn--"
are valid Punycode and their own IDNA form. A clean link has nothing that the URL standard would change but the place it is relative to.
"""

from __future__ import annotations

import re

import ada_url

# What makes an escape not canonical: not two upper-case digits, or an unreserved character's code.
_NOT_CANONICAL = re.compile(r"%(?:(?![0-9A-F]{2})|2[DE]|3[0-9]|[46][1-9A-F]|5[0-9AF]|7[0-9AE])")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_CHARACTERS = r"\-A-Za-z0-9_~$&()*+,;=@!"
_SEGMENT = rf"[{_CHARACTERS}][{_CHARACTERS}.]*+"  # no dot in front: none of "." and ".."
# A link that the URL standard would only put behind its base; groups: its scheme and authority or None, "/" or "".
clean = re.compile(
    rf"(?:(https?://[a-z0-9.-]++(?::[0-9]++)?)(?=/))?(/?)(?:{_SEGMENT}(?:/{_SEGMENT})*+/?)?(?:\?[{_CHARACTERS}./:?]*+)?"
).fullmatch
ABSOLUTE = ("http://", "https://")
_HOST = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")


def root_and_folder(base: str) -> tuple[str, str]:
    """Return what path-absolute and what plain relative links of a base depend on: its scheme and authority, its folder ("" if odd)."""
    cut = base.find("/", 8)
    if not base.startswith(ABSOLUTE) or cut < 0:
        return base, ""
    path_end = base.find("?", cut)
    path = base if path_end < 0 else base[:path_end]
    return base[:cut], path[: path.rindex("/") + 1]


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
