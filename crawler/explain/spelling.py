"""Explains how a URL as written became its canonical form, step by step: which rule changed what.

The canonical form comes from `URLSpace.canonical` alone. Here each rule is applied to the text in turn, and named if it changes the text;
if the result still differs from the canonical form, the last step is named as the parsing rules of the URL standard.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

_BLANKS = "".join(map(chr, range(0x21)))
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?=//|\\\\)|https?:", re.IGNORECASE)
_PARTS = re.compile(r"([^:]*://)([^/?]*)(.*)", re.DOTALL)
_DEFAULT_PORT = {"http://": ":80", "https://": ":443"}


class SpellingStep(msgspec.Struct, frozen=True):
    """One rule that changed the text."""

    rule: str
    result: str


def steps(text: str, canonical: str) -> list[SpellingStep]:
    """Return the rules that lead from `text` to its canonical form, in order, each with its result."""
    found: list[SpellingStep] = []
    for rule, apply in _RULES:
        changed = apply(text, canonical)
        if changed != text:
            found.append(SpellingStep(rule, changed))
            text = changed
    return found


def _unblank(text: str, _: str) -> str:
    return text.strip(_BLANKS).replace("\t", "").replace("\n", "").replace("\r", "")


def _with_scheme(text: str, canonical: str) -> str:
    if _SCHEME.match(text):
        return text
    return canonical.partition("//")[0] + "//" + text.removeprefix("//")


def _slashes(text: str, _: str) -> str:
    scheme, colon, rest = text.partition(":")
    path, mark, query = rest.partition("?")
    return scheme + colon + "//" + path.replace("\\", "/").lstrip("/") + mark + query


def _without_user(text: str, _: str) -> str:
    scheme, authority, rest = _split(text)
    return scheme + authority.rpartition("@")[2] + rest


def _lower(text: str, _: str) -> str:
    scheme, authority, rest = _split(text)
    return scheme.lower() + "".join(char.lower() if char.isascii() else char for char in authority) + rest


def _host(text: str, canonical: str) -> str:
    """Replace the host by the canonical one: names in the ASCII form of IDNA, addresses in their usual form."""
    scheme, authority, rest = _split(text)
    host, port = _port(authority)
    if _port(_split(canonical)[1])[0] in (host, host.removesuffix(".")):
        return text
    return scheme + _port(_split(canonical)[1])[0] + port + rest


def _without_dot(text: str, _: str) -> str:
    scheme, authority, rest = _split(text)
    host, port = _port(authority)
    return scheme + host.removesuffix(".") + port + rest


def _without_default_port(text: str, _: str) -> str:
    scheme, authority, rest = _split(text)
    return scheme + authority.removesuffix(_DEFAULT_PORT.get(scheme, "\0")) + rest


def _with_path(text: str, _: str) -> str:
    scheme, authority, rest = _split(text)
    return text if rest.startswith("/") else f"{scheme}{authority}/{rest}"


def _path(text: str, canonical: str) -> str:
    """Replace the path before the query by the canonical one: dot segments resolved."""
    if "/." not in text and "/%2e" not in text.lower():
        return text
    head, mark, query = text.partition("?")
    return _origin(head) + _split(canonical.partition("?")[0])[2] + mark + query


def _spelling(text: str, canonical: str) -> str:
    """Replace the text by the canonical one, except for the parameters of the query if some were dropped."""
    n_written, n_kept = text.partition("?")[2].count("&"), canonical.partition("?")[2].count("&")
    if n_written == n_kept and ("?" in text) == ("?" in canonical):
        return canonical
    return canonical.partition("?")[0] + "?" + text.partition("?")[2]


def _split(text: str) -> tuple[str, str, str]:
    """Return (scheme with "://", authority, the rest from path or query on)."""
    match = _PARTS.match(text)
    return (match[1], match[2], match[3]) if match else ("", "", text)


def _origin(text: str) -> str:
    scheme, authority, _ = _split(text)
    return scheme + authority


def _port(authority: str) -> tuple[str, str]:
    """Return (host, ":port" or "")."""
    match = re.fullmatch(r"(.*?)(:\d*)?", authority, re.DOTALL)
    assert match is not None
    return match[1], match[2] or ""


_RULES: tuple[tuple[str, Callable[[str, str], str]], ...] = (
    ("blanks, tabs and line ends dropped", _unblank),
    ("no scheme means https, or http where no connection by https can be made", _with_scheme),
    ("fragment dropped", lambda text, _: text.partition("#")[0]),
    ("slashes as browsers read them", _slashes),
    ("user name and password dropped", _without_user),
    ("scheme and host in lower case", _lower),
    ("host in its ASCII form", _host),
    ("dot at the end of the host dropped", _without_dot),
    ("default port dropped", _without_default_port),
    ("path of the home page", _with_path),
    ("dot segments resolved", _path),
    ("escapes in one spelling", _spelling),
    ("query parameters dropped (url.strip_params)", lambda _, canonical: canonical),
)
