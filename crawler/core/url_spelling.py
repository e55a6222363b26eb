"""Rules of the canonical form that need no URL around them: one spelling of escapes, what a host name may be, which links are clean.

Escapes are in upper case, and only for characters that need one (RFC 3986 6.2.2). A host name must be valid in DNS; labels that begin with
"xn--" must be valid Punycode and equal to their IDNA form. In a clean link the URL standard would change nothing except to resolve it
against its base.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress

import ada_url

from thresher.crawler.core.model import Reason

_SURROGATE = re.compile("[\ud800-\udfff]")
_AUTHORITY_END = re.compile(r"[/?#\\]")
_SCHEMES = {"80": "http", "443": "https"}  # scheme by the port in a seed
# Escapes that are not canonical: not two upper-case digits, or the code of an unreserved character.
_NOT_CANONICAL = re.compile(r"%(?:(?![0-9A-F]{2})|2[DE]|3[0-9]|[46][1-9A-F]|5[0-9AF]|7[0-9AE])")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_CHARACTERS = r"\-A-Za-z0-9_~$&()*+,;=@!"
_SEGMENT = rf"[{_CHARACTERS}][{_CHARACTERS}.]*+"  # no dot at the beginning, so neither "." nor ".."
# A link that the URL standard would only append to its base. Groups: its scheme and authority or None; then "/", "../" some times, or "".
_clean = re.compile(
    rf"(?:([Hh][Tt][Tt][Pp][Ss]?://[A-Za-z0-9.-]++(?::[0-9]++)?)(?=/))?((?:\.\./)++|/?)(?:{_SEGMENT}(?:/{_SEGMENT})*+/?)?(?:\?[{_CHARACTERS}./:?]*+)?"
).fullmatch
NO_PAGES = frozenset(("data", "javascript", "mailto", "sms", "tel"))  # schemes in links that would look like a host and its port
no_page = re.compile(rf"({'|'.join(sorted(NO_PAGES))}):[^/\s]").match  # certainly a URL, and certainly not one that is fetched
# Depends only on the base's folder: no scheme, no query, nothing odd.
plain_relative = re.compile(r"[A-Za-z0-9._~-][^:\\\s]*").fullmatch
ABSOLUTE = ("http://", "https://")
_HOST = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")


def latin1_href(value: bytes) -> str:
    """Return a header's raw bytes as an href: bytes beyond ASCII percent-encoded, so that what is requested is what was sent."""
    if value.isascii():
        return value.decode("ascii")
    return "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in value)


def root_and_folder(base: str) -> tuple[str, str]:
    """Return (scheme and authority of a base, its folder or "" if it is odd): path-absolute links depend on the former, relative links on
    the latter.
    """
    cut = base.find("/", 8)
    if not base.startswith(ABSOLUTE) or cut < 0:
        return base, ""
    path_end = base.find("?", cut)
    path = base if path_end < 0 else base[:path_end]
    return base[:cut], path[: path.rindex("/") + 1]


def join_clean(href: str, root: str, folder: str, known: Mapping[str, str]) -> str | None:
    """Return the URL of a clean link of a page in `folder` at `root`: canonical except for checks of its length and parameters.

    Args:
        href: The link as the page writes it.
        root: Origin of the page.
        folder: Path of the page up to its last slash.
        known: Origin → its canonical form.

    Returns:
        The canonical URL. None: the link is not clean, or its origin is not known to be canonical.
    """
    match = _clean(href)
    if match is None:
        return None
    origin, ahead = match.groups()
    if origin is not None:
        lowered = origin.lower()
        return lowered + href[len(lowered) :] if known.get(lowered) == lowered else None  # as the parser writes it
    if href[0] == "?" or known.get(root) != root:
        return None
    if len(ahead) > 1:
        parts = folder[len(root) + 1 :].split("/")[: -1 - len(ahead) // 3]
        return "/".join([root, *parts, href[len(ahead) :]])
    return (root if ahead else folder) + href


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


def bare_fault(bare: str) -> tuple[Reason, str] | None:
    """Return why a seed without a scheme cannot be a host; None if it can."""
    authority = _authority_of(bare)
    host, colon, port = authority.rpartition(":")
    if "@" in authority:
        return Reason.BAD_URL, "an e-mail address or a user name, expected a URL or a host name"
    if colon and not authority.endswith("]") and not (host and port.isascii() and port.isdigit()):
        return Reason.BAD_SCHEME, f"scheme {host[:32]}"
    return None if authority else (Reason.BAD_URL, "no host name")


def with_scheme(bare: str, scheme: str) -> str:
    """Return a seed without a scheme as a URL, with the scheme of its port, or else `scheme`."""
    return f"{scheme_of_port(bare) or scheme}://{bare.removeprefix('//')}"


def scheme_of_port(bare: str) -> str | None:
    """Return the scheme of the port in a seed without a scheme; None if the port may belong to both."""
    return _SCHEMES.get(_authority_of(bare).rpartition(":")[2])


def _authority_of(bare: str) -> str:
    return _AUTHORITY_END.split(bare.removeprefix("//"), maxsplit=1)[0]


def join_mended(base: str, text: str) -> str:
    """Parse once more a link that ada refused, with lone surrogates replaced (the URL standard's strings have none); return "" if it is not
    a URL.
    """
    if _SURROGATE.search(text) or _SURROGATE.search(base):
        text, base = (part.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for part in (text, base))
        with suppress(ValueError):
            return ada_url.join_url(base, text) if base else ada_url.normalize_url(text)
    return ""
