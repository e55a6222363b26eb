"""The one canonical form of a URL, and the keys derived from it.

WHATWG parsing by ada decides what a link means, as in browsers; then come rules that the URL standard does not have, because they are a
crawler's: no fragment, no user name or password, no dot at the end of the host, escapes in one spelling (RFC 3986 6.2.2: upper case,
unreserved characters unescaped), http and https only, bounded length, path depth and ports, host names that DNS can hold. If there is a
stray "%", escapes are only put in upper case: decoding "%%34%31" would make a new escape. Queries keep their order, index files and session
ids stay: whether those matter is a judgement (filters).

A canonical URL is ASCII, a fixed point (`canonical(canonical(x)) == canonical(x)`), and exactly the text that scope, robots, the seen test
and the request line use. Differs from ada in that labels beginning with "xn--" must be valid Punycode (ada lets "xn--pokxncvks" pass) and
that a host consists of letters, digits, "-", "_" and ".".

Time: 1 µs for a clean href by native code; in Python 2.3 µs per distinct href, 1.7 of them ada's, and 0.5 µs for one that was seen before
in the same place, as in a site's navigation. Memory: caches of at most 65,536 hosts each, and of 50,000 links.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import cast

import ada_url

from thresher.crawler.core import url_spelling
from thresher.crawler.core.bounded_cache import BoundedCache
from thresher.crawler.core.link_cache import LinkCache
from thresher.crawler.core.model import NO_KEY, CrawlURL, Purpose, Reason
from thresher.crawler.core.suffixes import suffixes
from thresher.crawler.core.unwanted_params import UnwantedParams
from thresher.crawler.core.url_spelling import (
    NO_PAGES,
    host_fault,
    join_clean,
    no_page,
    respell_escapes,
    root_and_folder,
)
from thresher.crawler.native import NATIVE, native

CACHE_HOSTS = 65_536
SHOWN = 200  # characters of a refused href that are kept
_DEFAULT_PORTS = {"http": 80, "https": 443}
_LEEWAY = 16  # a link may be this many times longer than the URL it may become: "../", blanks, escapes

_OF_URLS = b"url"  # separates the hashes of URLs from those of sites and queues
_SEED_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|https?:", re.IGNORECASE)


class BadURL(ValueError):  # noqa: N818 - pages have many such links: an ordinary result, not an error
    """The text is not a URL that this crawl may request."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class URLRules:
    """What a crawl accepts as a URL."""

    max_length: int = 2048
    max_path_segments: int = 64
    ports: frozenset[int] | None = frozenset({80, 443})  # None: any
    own_ports: frozenset[tuple[str, int]] = frozenset()  # host names and ports of the operator's own site, allowed beside `ports`
    schemes: frozenset[str] = frozenset({"http", "https"})
    bare: tuple[str, ...] = ("https", "http")  # schemes that a seed without one stands for, in the order in which they are tried
    unwanted: Callable[[str], UnwantedParams] | None = None  # returns the parameters to drop from a URL; None: none are dropped


def origin_of(url: str) -> str:
    """Return scheme and authority of a canonical URL: "https://a.example:8443"."""
    return url[: url.index("/", 8)]


def origins_of(urls: Sequence[str]) -> list[str]:
    """Return scheme and authority of each canonical URL."""
    return native.origins(urls) if NATIVE else [url[: url.index("/", 8)] for url in urls]


def _authority(origin: str) -> tuple[str, str]:
    """Return host (IPv6 in brackets) and port ("" if none) of a canonical origin."""
    authority = origin.partition("://")[2]
    if authority.startswith("["):
        host, _, port = authority.partition("]")
        return host + "]", port[1:]
    host, _, port = authority.partition(":")
    return host, port


def hostname_of(origin: str) -> str:
    """Return the host name of a canonical origin, without port; an IPv6 address without brackets."""
    return _authority(origin)[0].strip("[]")


def port_of(origin: str) -> int:
    """Return the port of a canonical origin, the scheme's default if it names none."""
    port = _authority(origin)[1]
    return int(port) if port else _DEFAULT_PORTS[origin.partition(":")[0]]


def queue_name(origin: str) -> str:
    """Return the name of the host queue: scheme, ports 80 and 443 and a leading "www." dropped.

    "www." stays if it is part of the registrable domain (www.github.io, www.com).
    """
    host, port = _authority(origin)
    if host.startswith("www.") and site_of(host) != host:
        host = host[4:]
    return host if port in ("", "80", "443") else f"{host}:{port}"


@lru_cache(maxsize=CACHE_HOSTS)
def site_of(hostname: str) -> str:
    """Return the registrable domain by the public suffix list, private section included.

    An address, a public suffix and a name without a dot are their own sites.
    """
    if ":" in hostname or hostname.rpartition(".")[2].isdigit():
        return hostname
    return suffixes(hostname).privatesuffix(hostname) or hostname


def path_of(url: str) -> str:
    """Return the path of a canonical URL, without query."""
    return url[url.index("/", 8) :].partition("?")[0]


def directory_depth(url: str) -> int:
    """Return the number of directories in the path: "/" and "/a" 0, "/a/" and "/a/b.html" 1."""
    return path_of(url).count("/") - 1


def is_home(url: str) -> bool:
    """Return whether the URL is a host's home page: path "/" and no query."""
    return url.endswith("/") and url.count("/") == 3


class URLSpace:
    """Canonical form and keys under one crawl's rules and secret."""

    def __init__(self, secret: bytes, rules: URLRules) -> None:
        """Create a space of URLs.

        Args:
            secret: 16 to 64 bytes; without it nobody can construct URLs whose keys collide.
        """
        if not 16 <= len(secret) <= 64:
            raise ValueError(f"a secret of 16 to 64 bytes is needed, got {len(secret)}")
        self._rules = rules
        self._max_input = rules.max_length * _LEEWAY
        self._unmeasured = min(rules.max_length, rules.max_path_segments)  # so short a URL is neither too long nor too deep
        self._unwanted = rules.unwanted
        self._secret = secret
        self._site_hash = blake2b(digest_size=8, key=secret, person=b"site")
        self._url_hash = blake2b(digest_size=8, key=secret, person=_OF_URLS)
        self._queue_hash = blake2b(digest_size=8, key=secret, person=b"queue")
        self._origin_hash = blake2b(digest_size=8, key=secret, person=b"origin")
        self._met = LinkCache()
        most = CACHE_HOSTS
        self._origins = BoundedCache(self._admit, most)
        self._site_keys = BoundedCache(lambda site: _digest(self._site_hash, site), most)
        self._sites = BoundedCache(self._place, most)
        self._queue_keys = BoundedCache(lambda origin: self._sites[origin][1] + _digest(self._queue_hash, queue_name(origin)), most)
        self._origin_keys = BoundedCache(lambda origin: self._sites[origin][1] + _digest(self._origin_hash, origin), most)

    # -- canonical form -----------------------------------------------------------------------------------------------

    def canonical(self, text: str, base: str = "") -> str:
        """Return the canonical form of `text`, relative to the URL `base` if one is given.

        Raises:
            BadURL: If it is not a URL that may be requested.
        """
        if len(text) > self._max_input:
            text = text.partition("#")[0]
            if len(text) > self._max_input:
                raise BadURL(Reason.TOO_LONG, f"{len(text)} characters")
        try:
            url = ada_url.join_url(base, text) if base else ada_url.normalize_url(text)
        except ValueError:
            url = url_spelling.join_mended(base, text)
            if not url:
                raise BadURL(Reason.BAD_URL, "not a URL by the URL standard") from None
        return self._finish(url.partition("#")[0])

    def base(self, page: str, href: str) -> str:
        """Return the URL that a page's links are relative to: its first <base href> as browsers read it, else the page's own.

        The result is for `resolve` only: it is not canonical, since links may be relative to a base that may not be requested.
        """
        if not href or len(href) > self._max_input:
            return page
        try:
            url = ada_url.join_url(page, href)
        except ValueError:
            return page
        return page if url.startswith(("data:", "javascript:")) else url

    def resolve(self, base: str, hrefs: Iterable[str]) -> tuple[list[str], list[tuple[str, Reason]]]:
        """Return the distinct canonical URLs of a page's links in page order, and the refused ones with the reason.

        Links that name the page itself (empty, or only a fragment) are dropped silently. Every other href that yields no URL
        (mailto:, javascript:, a bad host, …) is refused once, cut to 200 characters, without its fragment.
        """
        urls: dict[str, None] = {}
        refusals: dict[str, Reason] = {}
        root, folder = root_and_folder(base)
        hrefs = [*hrefs]
        cleaned = self._clean(hrefs, root, folder)
        if None not in cleaned:
            return [url for url in dict.fromkeys(cast("Sequence[str]", cleaned)) if url], []
        met = self._met.at(root, folder)
        for href, clean in zip(hrefs, cleaned, strict=True):
            if clean == "":
                continue
            url = clean or met.get(href)
            if url is None:
                bare = href.partition("#")[0] if "#" in href else href
                if not bare or bare.isspace() or bare in refusals:
                    continue
                try:
                    url = self._join(base, bare, root, folder)
                except BadURL as error:
                    refusals[bare] = error.reason
                    continue
                met.add(href, bare, url)
            urls[url] = None
        return list(urls), [(href[:SHOWN], reason) for href, reason in refusals.items()]

    def _clean(self, hrefs: Sequence[str], root: str, folder: str) -> Sequence[str | None]:
        """Return the canonical forms of clean links, by native code: "" for the page itself, None for a link that is not clean."""
        if not (NATIVE and folder):
            return [None] * len(hrefs)
        rules = self._rules
        return native.join(hrefs, root, folder, self._origins, rules.max_length, rules.max_path_segments, self._unwanted is None)

    def _join(self, base: str, href: str, root: str, folder: str) -> str:
        """Return the canonical form of one link. A clean link needs no parser; any other is parsed, and raises BadURL if it is refused."""
        if len(href) > self._max_input:
            return self.canonical(href, base)
        if folder and (clean := join_clean(href, root, folder, self._origins)) is not None:
            return self._within_rules(clean)
        if match := no_page(href):
            raise BadURL(Reason.BAD_SCHEME, f"scheme {match[1]}")
        try:
            url = ada_url.join_url(base, href)
        except ValueError:
            return self.canonical(href, base)
        return self._finish(url)

    def _finish(self, url: str) -> str:
        """Apply our rules to ada's `url`, which has no fragment; raises BadURL."""
        cut = url.find("/", 8)  # the end of the authority in every http and https URL
        raw_origin = url[:cut]
        origin = self._origins[raw_origin]
        if origin != raw_origin:
            url = origin + url[cut:]
        return self._within_rules(url)

    def _within_rules(self, url: str) -> str:
        """Apply our rules to a URL with a canonical origin; raises BadURL."""
        if "%" in url:
            url = respell_escapes(url)
        if self._unwanted is not None and "?" in url:
            url = self._unwanted(url).strip(url)
        if len(url) > self._unmeasured:
            self._measure(url)
        return url

    def _measure(self, url: str) -> None:
        """Refuse a URL that is too long or too deep; raises BadURL."""
        max_length, max_segments = self._rules.max_length, self._rules.max_path_segments
        if len(url) > max_length:
            raise BadURL(Reason.TOO_LONG, f"{len(url)} characters, at most {max_length}")
        if path_of(url).count("/") > max_segments:
            raise BadURL(Reason.TOO_MANY_SEGMENTS, f"more than {max_segments} path segments")

    def _admit(self, raw_origin: str) -> str:
        """Return the canonical form of ada's scheme and authority; raises BadURL. Cached per spelling."""
        scheme, _, authority = raw_origin.partition("://")
        if scheme not in _DEFAULT_PORTS or scheme not in self._rules.schemes:
            raise BadURL(Reason.BAD_SCHEME, f"scheme {raw_origin.partition(':')[0][:32]}")
        host, port = _authority(f"{scheme}://{authority.rpartition('@')[2]}")
        if not host.startswith("["):
            host = host.removesuffix(".")
            if fault := host_fault(host):
                raise BadURL(Reason.BAD_URL, fault)
        number = int(port) if port else _DEFAULT_PORTS[scheme]
        may_have = self._rules.ports is None or number in self._rules.ports or (host.strip("[]"), number) in self._rules.own_ports
        if number == 0 or not may_have:
            raise BadURL(Reason.BAD_PORT, f"port {number}")
        return f"{scheme}://{host}:{port}" if port else f"{scheme}://{host}"

    def fault(self, origin: str) -> Reason | None:
        """Return why a canonical origin may not be requested under these rules; None if it may. It may come from a process with other
        rules.
        """
        try:
            self._origins[origin]
        except BadURL as error:
            return error.reason
        return None

    # -- places and keys ----------------------------------------------------------------------------------------------

    def seed(self, text: str) -> CrawlURL:
        """Return the URL that an operator wrote; a bare "b.example/x" means https first.

        Raises:
            BadURL: If it is not a URL that may be requested.
        """
        text = text.strip()
        if not text:
            raise BadURL(Reason.BAD_URL, "empty")
        if not _SEED_SCHEME.match(text):
            if (scheme := text.partition(":")[0].lower()) in NO_PAGES:
                raise BadURL(Reason.BAD_SCHEME, f"scheme {scheme}")
            if fault := url_spelling.bare_fault(text):
                raise BadURL(*fault)
            text = url_spelling.with_scheme(text, self._rules.bare[0])
        return self.url(self.canonical(text))

    def is_bare(self, text: str) -> bool:
        """Return whether a valid seed has no scheme, and its https form may give way to http: not if its port belongs to one of them."""
        text = text.strip()
        if _SEED_SCHEME.match(text) or len(self._rules.bare) == 1:
            return False
        return url_spelling.scheme_of_port(text) is None

    def url(
        self,
        canonical: str,
        *,
        seed_distance: int = 0,
        site_depth: int = 0,
        hops: int = 0,
        purpose: Purpose = Purpose.PAGE,
        via: bytes = NO_KEY,
    ) -> CrawlURL:
        """Return the `CrawlURL` of a canonical URL.

        Args:
            canonical: The text, in canonical form.
            seed_distance: Clicks from a seed.
            site_depth: Clicks from the site's entry.
            hops: Redirects since the last link.
            purpose: Why it is requested.
            via: Key of the page or redirect that named it.
        """
        origin = origin_of(canonical)
        site, site_key = self._sites[origin]
        key = site_key + _digest(self._url_hash, canonical)
        return CrawlURL(canonical, site, origin, key, seed_distance, site_depth, hops, purpose, via)

    def key(self, canonical: str) -> bytes:
        """Return the 16 bytes that identify a URL: 8 of its site, 8 of its own."""
        return self._sites[origin_of(canonical)][1] + _digest(self._url_hash, canonical)

    def keys(self, texts: Sequence[str], hosts: Sequence[str]) -> list[bytes]:
        """Return the `key` of each canonical URL.

        Args:
            texts: The URLs.
            hosts: Scheme and authority of each.
        """
        of_site = {host: self._sites[host][1] for host in set(hosts)}
        if NATIVE:
            return native.keys(texts, [of_site[host] for host in hosts], self._secret, _OF_URLS)
        return [of_site[host] + _digest(self._url_hash, text) for text, host in zip(texts, hosts, strict=True)]

    def site_key(self, site: str) -> bytes:
        """Return the 8 bytes that identify a site."""
        return self._site_keys[site]

    def queue_key(self, origin: str) -> bytes:
        """Return the 16 bytes that identify an origin's host queue: 8 of its site, 8 of `queue_name`."""
        return self._queue_keys[origin]

    def origin_key(self, origin: str) -> bytes:
        """Return the 16 bytes that identify an origin: 8 of its site, 8 of its own."""
        return self._origin_keys[origin]

    def _place(self, origin: str) -> tuple[str, bytes]:
        site = site_of(hostname_of(origin))
        return site, self._site_keys[site]


def _digest(keyed: blake2b, text: str) -> bytes:
    """Return 8 bytes of the hash of `text` by a prepared keyed hash."""
    state = keyed.copy()
    state.update(text.encode())
    return state.digest()
