"""Cookies of one chain of redirects: kept in memory from its first answer to its last [RFC 6265].

Sites that ask for a cookie before they show a page send the visitor in a circle: `/page` sets one and redirects to `/page`, or to
`/check?to=/page`, which redirects back. A crawl without cookies ends there. With `fetch.cookies: chain` each request of a chain carries
what the answers of that chain have set, for the hosts of each cookie. If a chain comes back to one of its URLs and has a new cookie, the
URL is requested again. Cookies never go to another chain or to a page's links, and nothing is stored: a chain that a stop or a kill
interrupts begins anew without cookies.

Of RFC 6265: names and values as 5.2 reads them, domains as 5.1.3 matches them (none that spans sites: 5.3, 5), paths as 5.1.4, `Secure`;
`Max-Age` and `Expires` only to delete a cookie, since a chain lasts seconds. Prefixes __Secure- and __Host- as 6265bis has them.

Memory: at most 1,000 chains of 50 cookies of 4 KiB. Time: 2 µs per cookie.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Final

from thresher.crawler.core.url import hostname_of, origin_of, path_of, site_of

_MOST_CHAINS: Final = 1_000
_MOST_COOKIES: Final = 50
_MOST_BYTES: Final = 4_096


@dataclass(frozen=True, slots=True)
class Cookie:
    """One cookie, and where it may be sent."""

    name: str
    value: str
    domain: str
    path: str
    is_host_only: bool
    is_secure: bool

    def belongs_to(self, url: str) -> bool:
        """Return whether the cookie is sent with a request for a canonical URL."""
        origin = origin_of(url)
        host = hostname_of(origin)
        if self.is_secure and not url.startswith("https://"):
            return False
        if host != self.domain and (self.is_host_only or not host.endswith("." + self.domain) or site_of(host) == host):
            return False
        return _covers(self.path, path_of(url))


@dataclass(slots=True)
class Chain:
    """The cookies of one chain, and the URLs it has passed."""

    cookies: dict[tuple[str, str, str], Cookie] = field(default_factory=dict)  # by domain, path and name
    passed: dict[str, int] = field(default_factory=dict)  # URL → number of changes of cookies when it was requested
    n_changes: int = 0
    n_hops: int = 0

    def header(self, url: str) -> str:
        """Return the Cookie header of a request, "" for none; longer paths first [RFC 6265, 5.4]."""
        sent = sorted((cookie for cookie in self.cookies.values() if cookie.belongs_to(url)), key=lambda cookie: -len(cookie.path))
        return "; ".join(f"{cookie.name}={cookie.value}" if cookie.name else cookie.value for cookie in sent)

    def take(self, url: str, lines: Iterable[str], now: float) -> None:
        """Add the cookies of an answer.

        Args:
            url: The URL that was requested.
            lines: The values of its Set-Cookie headers.

        Args:
            now: Seconds since the Unix epoch.
        """
        for line in lines:
            if (read := parse_cookie(line, url, now)) is not None:
                cookie, is_gone = read
                key = (cookie.domain, cookie.path, cookie.name)
                before = self.cookies.pop(key, None)
                if not is_gone and len(self.cookies) < _MOST_COOKIES:
                    self.cookies[key] = cookie
                self.n_changes += self.cookies.get(key) != before


class ChainCookies:
    """The chains under way, by the URL that is requested next."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, Chain] = OrderedDict()

    def header(self, url: str) -> str:
        """Return the Cookie header of the next request for a URL, "" for none."""
        chain = self._waiting.get(url)
        return chain.header(url) if chain is not None else ""

    def on_redirect(self, url: str, target: str, lines: Iterable[str], now: float, *, at_most: int) -> bool:
        """Continue the chain of a URL, which was answered by a redirect, at its target.

        Returns whether the target is to be asked for again although the chain has passed it: it has learned a cookie since.

        Args:
            at_most: Hops of a chain.
        """
        chain = self._waiting.pop(url, None) or Chain()
        asked_with = chain.n_changes
        chain.take(url, lines, now)
        chain.passed[url] = asked_with
        chain.n_hops += 1
        if not chain.cookies or chain.n_hops > at_most:
            return False
        self._waiting[target] = chain
        if len(self._waiting) > _MOST_CHAINS:
            self._waiting.popitem(last=False)
        return target in chain.passed and chain.passed[target] < chain.n_changes

    def on_end(self, url: str) -> None:
        """Forget the chain that a URL has ended."""
        self._waiting.pop(url, None)


def parse_cookie(line: str, url: str, now: float) -> tuple[Cookie, bool] | None:
    """Read a Set-Cookie header [RFC 6265, 5.2 and 5.3].

    Args:
        line: The value of the header.
        url: The URL that was requested.
        now: Seconds since the Unix epoch.

    Returns:
        The cookie, and whether the header deletes it. None if the header is not valid.
    """
    pair, *attributes = line[: 2 * _MOST_BYTES].split(";")
    name, equals, value = pair.partition("=")
    name, value = (name.strip(), value.strip()) if equals else ("", pair.strip())
    if not (name or value) or len(name) + len(value) > _MOST_BYTES or not _is_sendable(name + value):
        return None
    found: dict[str, str] = {}
    for attribute in attributes:
        key, _, said = attribute.partition("=")
        found[key.strip().lower()] = said.strip()
    host = hostname_of(origin_of(url))
    domain = found.get("domain", "").lower().lstrip(".")
    if domain and domain != host and not (host.endswith("." + domain) and _is_within_site(domain, host)):
        return None
    path = found.get("path", "")
    cookie = Cookie(name, value, domain or host, path if path.startswith("/") else _default_path(url), not domain, "secure" in found)
    if not _keeps_its_prefix(cookie, found, url):
        return None
    return cookie, _is_over(found, now)


def _is_sendable(text: str) -> bool:
    """Return whether text may be in a header unchanged: nothing that ends a line, and no byte beyond ASCII."""
    return text.isascii() and text.isprintable()


def _is_within_site(domain: str, host: str) -> bool:
    """Return whether a domain lies within one registrable domain: a public suffix spans many sites."""
    site = site_of(host)
    return domain == site or domain.endswith("." + site)


def _keeps_its_prefix(cookie: Cookie, found: dict[str, str], url: str) -> bool:
    is_secure = cookie.is_secure and url.startswith("https://")
    if cookie.name.lower().startswith("__secure-"):
        return is_secure
    if cookie.name.lower().startswith("__host-"):
        return is_secure and cookie.is_host_only and found.get("path") == "/"
    return not cookie.is_secure or is_secure  # a secure cookie cannot be set over plain http


def _is_over(found: dict[str, str], now: float) -> bool:
    age = found.get("max-age", "")
    if age[:1] == "-" or age.isdecimal():
        return age[:1] == "-" or int(age[:18]) == 0
    try:
        return "expires" in found and parsedate_to_datetime(found["expires"][:64].replace("-", " ")).timestamp() <= now
    except (ValueError, TypeError, OverflowError, IndexError):
        return False


def _default_path(url: str) -> str:
    path = path_of(url).rpartition("/")[0]
    return path or "/"


def _covers(path: str, asked: str) -> bool:
    """[RFC 6265, 5.1.4]"""
    return asked == path or (asked.startswith(path) and (path.endswith("/") or asked[len(path) : len(path) + 1] == "/"))
