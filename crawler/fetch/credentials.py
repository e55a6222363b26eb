"""Credentials by origin, from a file that only its owner may read.

    # one origin per line; the text after the kind is the secret
    https://wiki.example           basic   reader:correct horse battery staple
    https://api.example:8443       bearer  eyJhbGciOi…
    http://intranet.example        header  X-Api-Key: 0123456789

An origin is scheme, host and port, compared as a whole: credentials for https are never sent over http, to another port, another host or a
subdomain, and not after a redirect to another origin, since each request looks up its own origin. A secret is in no message, no `repr` and
no setting: the configuration has only the name of the file. Archives write `REDACTED` in its place (crawler/fetch/lean_client.py).

Sources: RFC 7617 (basic, in UTF-8), RFC 6750 (bearer), RFC 9110, 5.5 (what a header's value may hold).
"""

from __future__ import annotations

import base64
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from thresher.config.check import RESERVED_HEADERS
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.url import BadURL, URLRules, URLSpace

REDACTED: Final = "[redacted]"
_MAX_BYTES: Final = 1 << 20
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_ORIGIN: Final = re.compile(r"https?://[^/?#@\s]+/?", re.IGNORECASE)
_OWN: Final = ("authorization", "cookie")  # the reserved headers that may be given here
_KINDS: Final = "basic USER:PASSWORD, bearer TOKEN or header NAME: VALUE"


class RequestHeader(NamedTuple):
    """A header of one request, beside those that all requests have."""

    name: str
    value: str
    is_secret: bool = False

    def line(self, *, shows_secrets: bool = True) -> str:
        """Return the header's line."""
        return f"{self.name}: {self.value if shows_secrets or not self.is_secret else REDACTED}\r\n"


class Credentials:
    """Request headers by origin."""

    def __init__(self, by_origin: Mapping[str, tuple[str, str]]) -> None:
        """Create the credentials.

        Args:
            by_origin: Origin → (name, value) of a header.
        """
        self._by_origin = dict(by_origin)

    def of(self, origin: str) -> RequestHeader | None:
        """Return the header for requests to a canonical origin; None if there is none."""
        found = self._by_origin.get(origin)
        return RequestHeader(*found, is_secret=True) if found is not None else None

    def headers(self, origin: str, cookie: str = "") -> tuple[RequestHeader, ...]:
        """Return the headers of a request to an origin, beside those that all requests have.

        Args:
            cookie: The cookie of the request's chain of redirects; "" for none.
        """
        own = self.of(origin)
        if not cookie:
            return (own,) if own is not None else ()
        if own is not None and own.name.lower() == "cookie":
            return (own._replace(value=f"{own.value}; {cookie}"),)
        return (own, RequestHeader("Cookie", cookie)) if own is not None else (RequestHeader("Cookie", cookie),)

    def __len__(self) -> int:
        return len(self._by_origin)

    def __repr__(self) -> str:
        return f"<credentials for {len(self)} origins>"


NO_CREDENTIALS: Final = Credentials({})


def read_credentials(path: str) -> Credentials:
    """Read a file of credentials; "" means there is none.

    Raises:
        UsageError: If it cannot be read or used; its text contains no part of a secret.
    """
    if not path:
        return NO_CREDENTIALS
    lines = _content(Path(path)).split("\n")
    found: dict[str, tuple[str, str]] = {}
    for number, line in enumerate(lines, start=1):
        if not (text := line.strip()) or text.startswith("#"):
            continue
        try:
            origin, header = _entry(text)
        except _BadLineError as error:
            raise UsageError(f"fetch.credentials: {path}:{number}: {error}") from None
        if origin in found:
            raise UsageError(f"fetch.credentials: {path}:{number}: expected each origin once, found {origin} again. Remove one")
        found[origin] = header
    return Credentials(found)


class _BadLineError(ValueError):
    """A fault of a line; the message does not contain the secret."""


def _content(path: Path) -> str:
    """Return the file's text if only its owner may read and write it. The open file is checked, not its name."""
    where = f"fetch.credentials: {path}"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        raise UsageError(f"{where}: cannot be read: {getattr(error, 'strerror', None) or error}. Name a file, or leave it out") from None
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise UsageError(f"{where}: expected a file, found something else. Name a file")
        if about.st_uid not in (os.geteuid(), 0):
            raise UsageError(f"{where}: expected a file of your own, found one of user {about.st_uid}. Copy it, with mode 0600")
        if about.st_mode & 0o077:
            mode = stat.S_IMODE(about.st_mode)
            raise UsageError(f"{where}: expected mode 0600, found {mode:04o}: others may read its secrets. Run `chmod 600 {path}`")
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise UsageError(f"{where}: expected at most {_MAX_BYTES >> 20} MiB, found more. Is it the right file?")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{where}: expected text in UTF-8, found other bytes. Save it as UTF-8") from None


def _entry(text: str) -> tuple[str, tuple[str, str]]:
    """Return (origin of a line, (name, value) of its header)."""
    origin, kind, secret = _words(text)
    match kind:
        case "basic":
            if ":" not in secret or not secret.isprintable():
                raise _BadLineError("expected basic USER:PASSWORD, found no colon, or characters that cannot be printed")
            return origin, ("Authorization", "Basic " + base64.b64encode(secret.encode()).decode())
        case "bearer":
            if not re.fullmatch(r"[A-Za-z0-9._~+/-]+=*", secret):
                raise _BadLineError("expected bearer TOKEN of letters, digits and -._~+/, found other characters")
            return origin, ("Authorization", f"Bearer {secret}")
        case "header":
            return origin, _header(secret)
        case _:
            raise _BadLineError(f"expected {_KINDS} after {origin}, found another word")


def _words(text: str) -> tuple[str, str, str]:
    """Return origin, kind and secret of a line."""
    parts = text.split(None, 2)
    if not _ORIGIN.fullmatch(parts[0]):
        raise _BadLineError("expected an origin such as https://a.example at the beginning, without path or password, found something else")
    try:
        origin = _SPACE.canonical(parts[0]).rstrip("/")
    except BadURL as error:
        raise _BadLineError(f"expected an origin such as https://a.example at the beginning, found none ({error.reason})") from None
    if len(parts) < 3:
        raise _BadLineError(f"expected {_KINDS} after {origin}, found {'nothing' if len(parts) == 1 else 'no secret'}")
    return origin, parts[1].lower(), parts[2]


def _header(secret: str) -> tuple[str, str]:
    name, colon, value = secret.partition(":")
    name, value = name.strip(), value.strip()
    if not (colon and _TOKEN.fullmatch(name)):
        raise _BadLineError("expected header NAME: VALUE, found no name of letters, digits and hyphens before a colon")
    if name.lower() in RESERVED_HEADERS and name.lower() not in _OWN:
        raise _BadLineError(f"header {name}: expected one that may be given, found that {RESERVED_HEADERS[name.lower()]}")
    if not _VALUE.fullmatch(value):
        raise _BadLineError(f"header {name}: expected a value of visible ASCII, found nothing, or other characters")
    return name, value


_SPACE: Final = URLSpace(bytes(16), URLRules(ports=None))
