"""Probes: a request for a sibling of a suspect that cannot exist shows how its place answers missing pages [BBKT04].

A probe must change the part of the URL that names the page. The filter does not know which part that is; so a URL has several places, tried
in this order:

    /p?ref=a&id=17    /p?id=*      the parameter with the longest value that names no visit (spelling.py), then the next one
                      /p?ref=*
                      /*           the directory of the path: what lies before its last segment ("/a/b" and "/a/b/" are both in "/a/")
    /a/b/c            /a/b/*, /*   for a directory below the root, the root

A control is a request for the URL without the name; it shows whether the name matters. For a parameter the control comes first, and the
probe follows only if the control's page differs: otherwise the site ignores the parameter, and a probe would prove nothing. For a directory
the control ("/a/b" for "/a/b/*", the home page for "/*") comes after a probe that looks like the suspect. If the control looks like the
probe, too, the site ignores suffixes of the path, or shows its home page for everything; then the next place is tried. After the last place
the page is not judged.

A sibling has 25 letters in place of the name and keeps the suspect's extension and final slash, since servers choose the program that
answers by those. The letters are a hash under the site's key, which depends on the crawl's secret, so no site can predict them. They change
daily.

At most one probe and one control per place and day, two probes where the template is thin (looks.py), and at most `max_probes` requests per
host and day. Politeness, robots.txt and scope apply to them; their redirects are followed if the target is not known from
the redirect log.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import xxhash

from thresher.crawler.core.effects import Request
from thresher.crawler.core.model import CrawlURL, Purpose
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import origin_of, queue_name
from thresher.filters.soft_error.records import ASKED, DIRECTORIES, HOSTS, Control, OpenRequest, ProbedHost, ProbedPlace, ProbeOutcome
from thresher.filters.soft_error.spelling import is_of_visit

N_LETTERS = 25
TRUST_DAYS = 7  # days for which an answer is used
_DAY_S = 86_400.0
_SITE = 8
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}\Z")
_PER_DIRECTORY = 2
_MOST_PARAMETERS = 2  # parameters of a URL that are tried


class NamingPart(NamedTuple):
    """A part of a URL that may name its page."""

    directory: str  # with its origin; for a parameter: the URL up to the end of its name
    control: str  # the URL without the name
    url: str  # the URL from which siblings are made

    @property
    def is_parameter(self) -> bool:
        return "?" in self.directory

    @property
    def parameter(self) -> str:
        return self.directory.partition("?")[2].rstrip("=")

    @property
    def base(self) -> str:
        """The control without parameters that name a visit."""
        path, _, query = self.control.partition("?")
        return f"{path}?{'&'.join(field for field in query.split('&') if not is_of_visit(field.partition('=')[0].lower()))}"


def day_of(at: float) -> int:
    """Return the number of the day since the epoch.

    Args:
        at: Seconds.
    """
    return int(at // _DAY_S)


def places(url: str) -> tuple[NamingPart, ...]:
    """Return the places of a canonical URL in the order in which they are tried, one at least."""
    path, mark, query = url.partition("?")
    fields = query.split("&") if mark else []
    found: list[NamingPart] = []
    while len(found) < _MOST_PARAMETERS and (naming := _naming(fields)) >= 0:
        name, equals, _ = fields[naming].partition("=")
        rest = fields[:naming] + fields[naming + 1 :]
        control = f"{path}?{'&'.join(rest)}" if rest else path
        found.append(NamingPart(f"{path}?{name}=" if equals else f"{path}?", control, f"{path}?{'&'.join(fields)}"))
        fields = rest
    root = origin_of(url) + "/"
    directory = path[: path.rindex("/", 0, max(len(root), len(path) - 1)) + 1]
    if directory != root:
        found.append(NamingPart(directory, directory[:-1], path))
    return (*found, NamingPart(root, root, path))


def directory_of(url: str) -> str:
    """Return the first place of a canonical URL, with its origin."""
    return places(url)[0].directory


def directory_key(url: CrawlURL) -> bytes:
    """Return the key of a URL's first place: 8 bytes of its site, 8 of its host queue's name and its path."""
    return key_of_directory(directory_of(url.text), url.host, url.key)


def host_key(url: CrawlURL) -> bytes:
    """Return the key of a URL's host as in the redirect log (`stream.host_key`); cached."""
    return host_key_of(url.host, url.key)


def host_key_of(origin: str, key: bytes) -> bytes:
    """Return the key of a host.

    Args:
        origin: An origin of it.
        key: The key of any URL of its site.
    """
    return key[:_SITE] + _host_hash(origin)


@lru_cache(maxsize=1 << 14)
def _host_hash(host: str) -> bytes:
    return xxhash.xxh3_64_digest(_queue_bytes(host))


def key_of_directory(directory: str, host: str, key: bytes) -> bytes:
    """Return the key of a directory.

    Args:
        host: Its origin.
        key: The key of any URL of its site.
    """
    return key[:_SITE] + xxhash.xxh3_64_digest(_queue_bytes(host) + directory[len(host) :].encode())


@lru_cache(maxsize=1 << 14)
def _queue_bytes(host: str) -> bytes:
    return queue_name(host).encode()


def asked_key(url: str, site_key: bytes) -> bytes:
    """Return the key under which a request is remembered until it is answered."""
    return site_key[:_SITE] + xxhash.xxh3_64_digest(url.encode())


def sibling(place: NamingPart, site_key: bytes, day: int, n: int = 0) -> str:
    """Return a URL of a place that cannot exist.

    Args:
        n: Number of the probe of this place and day.
    """
    directory, url = place.directory, place.url
    letters = _letters(xxhash.xxh3_128_intdigest(b"%s %s %d %d" % (site_key, directory.encode(), day, n)))
    if place.is_parameter:
        path, _, query = url.partition("?")
        return f"{path}?{_with_value(query, letters)}"
    if url.endswith("/") and len(url) > len(directory):
        return f"{directory}{letters}/"
    extension = _EXTENSION.search(url.rpartition("/")[2])
    return f"{directory}{letters}{extension[0] if extension else ''}"


def is_probed(directory: ProbedPlace, day: int) -> bool:
    """Return whether a place's probe was answered recently, or is not answered yet."""
    if directory.outcome in (ProbeOutcome.NONE, ProbeOutcome.FAILED):
        return directory.day == day
    return day - directory.day < TRUST_DAYS


def ask(
    memory: Memory, place: NamingPart, keys: tuple[bytes, bytes], day: int, *, max_probes: int, suspect: bytes = b""
) -> tuple[Request, ...]:
    """Request a sibling, within the budgets of its place and its host; return the request, or nothing.

    For a parameter the control comes first. Answers to an earlier day's requests are dropped.

    Args:
        keys: The keys of place and host.
    """
    directory = DIRECTORIES.get(memory, keys[0]) or ProbedPlace()
    n = directory.n_asked if directory.day == day else 0
    if place.is_parameter and not (directory.day == day and directory.control):
        return ask_control(memory, place, keys, day, max_probes=max_probes, suspect=suspect)
    if n >= _PER_DIRECTORY or (n and directory.outcome != ProbeOutcome.TEXT) or not _may_ask(memory, keys[1], day, max_probes):
        return ()
    if not (n or place.is_parameter):
        directory = _renewed(directory)
    directory.day, directory.n_asked, directory.suspect = day, n + 1, suspect or directory.suspect
    DIRECTORIES.put(memory, keys[0], directory)
    url = sibling(place, keys[1][:_SITE], day, n)
    ASKED.put(memory, asked_key(url, keys[1]), OpenRequest([keys[0]], keys[1], place.url))
    return (Request(url, Purpose.PROBE),)


def ask_control(
    memory: Memory, place: NamingPart, keys: tuple[bytes, bytes], day: int, *, max_probes: int, suspect: bytes = b""
) -> tuple[Request, ...]:
    """Request the page of a place without a name, once a day; return the request, or nothing. Two places may have one control."""
    directory = DIRECTORIES.get(memory, keys[0]) or ProbedPlace()
    if place.is_parameter and directory.day != day:
        directory = _renewed(directory)
        directory.day, directory.suspect = day, suspect or directory.suspect
    cell = asked_key(place.control, keys[1])
    asked = ASKED.get(memory, cell)
    if directory.control or (asked is None and not _may_ask(memory, keys[1], day, max_probes)):
        return ()
    directory.control, directory.base = Control.ASKED, place.base if place.is_parameter else ""
    DIRECTORIES.put(memory, keys[0], directory)
    if asked is not None and asked.day == day:
        asked.directories.append(keys[0])
        ASKED.put(memory, cell, asked)
        return ()
    ASKED.put(memory, cell, OpenRequest([keys[0]], keys[1], place.url, is_control=True, day=day))
    return (Request(place.control, Purpose.PROBE),)


def _renewed(directory: ProbedPlace) -> ProbedPlace:
    """Return a place without the answers to its requests."""
    return ProbedPlace(suspect=directory.suspect, n_soft=directory.n_soft, n_good=directory.n_good)


def _may_ask(memory: Memory, host_key: bytes, day: int, max_probes: int) -> bool:
    """Count one more request of a host, if its budget of the day allows it."""
    host = HOSTS.get(memory, host_key) or ProbedHost()
    n = host.n_asked if host.day == day else 0
    if n >= max_probes:
        return False
    host.day, host.n_asked = day, n + 1
    HOSTS.put(memory, host_key, host)
    return True


def _naming(fields: list[str]) -> int:
    """Return the field of a query with the longest value, of those that name no visit; -1 if there is none."""
    lengths = [
        -1 if not field or is_of_visit(field.partition("=")[0].lower()) else len(field.partition("=")[2]) if "=" in field else len(field)
        for field in fields
    ]
    return lengths.index(max(lengths)) if max(lengths, default=-1) >= 0 else -1


def _letters(number: int) -> str:
    letters = []
    for _ in range(N_LETTERS):
        number, digit = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[digit])
    return "".join(letters)


def _with_value(query: str, value: str) -> str:
    """Replace the value that names the page."""
    fields = query.split("&")
    naming = _naming(fields)
    name, equals, _ = fields[naming].partition("=")
    fields[naming] = name + equals + value if equals else value
    return "&".join(fields)
