"""Probes: one request for a sibling of a suspect that cannot exist tells how its directory answers what is missing [BBKT04].

A directory is what lies before the last segment of a path ("/a/b" and "/a/b/" are both in "/a/"); a script with a query is a directory of
its own, whose entries are its queries. The sibling has 25 letters in place of the suspect's name, or of the longest value of its query, and
keeps the suspect's extension and final slash, since servers choose who answers by those. The letters are a hash under the site's key, which
depends on the crawl's secret: nobody can know them before. They change from day to day.

At most one probe per directory and day, two where the template is thin (looks.py), and at most `max_probes` per host and day. Probes ask
under all of politeness, robots.txt and scope; redirects of theirs are followed where the target is not known from the redirect log.
"""

from __future__ import annotations

import re
from functools import lru_cache

import xxhash

from crawler.core.model import CrawlURL, Purpose, Request
from crawler.core.ports import Memory
from crawler.core.url import queue_name
from filters.soft_error.records import DIRECTORIES, HOSTS, Directory, Host, Outcome

N_LETTERS = 25
_DAY_S = 86_400.0
_SITE = 8
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}\Z")
_PER_DIRECTORY = 2


def day_of(at: float) -> int:
    """Return the number of the day since the epoch.    at: seconds"""
    return int(at // _DAY_S)


def directory_of(url: str) -> str:
    """Return the directory of a canonical URL, with its origin."""
    path, mark, _ = url.partition("?")
    return path + mark if mark else path[: path.rindex("/", 0, max(url.index("/", 8) + 1, len(path) - 1)) + 1]


def directory_key(url: CrawlURL) -> bytes:
    """Return the key of a URL's directory: 8 bytes of its site, 8 of its host queue's name and its path."""
    return key_of_directory(directory_of(url.text), url.host, url.key)


def host_key(url: CrawlURL) -> bytes:
    """Return the key of a URL's host as the redirect log has it (`stream.host_key`); remembered."""
    return url.key[:_SITE] + _host_hash(url.host)


@lru_cache(maxsize=1 << 14)
def _host_hash(host: str) -> bytes:
    return xxhash.xxh3_64_digest(_queue_bytes(host))


def key_of_directory(directory: str, host: str, key: bytes) -> bytes:
    """Return the key of a directory.    host: its origin; key: of any URL of its site"""
    return key[:_SITE] + xxhash.xxh3_64_digest(_queue_bytes(host) + directory[len(host) :].encode())


@lru_cache(maxsize=1 << 14)
def _queue_bytes(host: str) -> bytes:
    return queue_name(host).encode()


def sibling(url: str, site_key: bytes, day: int, n: int = 0) -> str:
    """Return the URL of a sibling that cannot exist; `n` counts the probes of a directory and day."""
    directory = directory_of(url)
    letters = _letters(xxhash.xxh3_128_intdigest(b"%s %s %d %d" % (site_key, directory.encode(), day, n)))
    if directory.endswith("?"):
        return directory + _with_value(url[len(directory) :], letters)
    name = url[len(directory) :]
    if name.endswith("/"):
        return f"{directory}{letters}/"
    extension = _EXTENSION.search(name)
    return f"{directory}{letters}{extension[0] if extension else ''}"


def ask(memory: Memory, url: str, keys: tuple[bytes, bytes], day: int, *, max_probes: int, suspect: bytes = b"") -> tuple[Request, ...]:
    """Ask for a sibling of `url`, within the budgets of its directory and its host; return the request, or nothing.

    keys: of directory and host. A first probe of the day forgets what the last one came to; a second keeps it.
    """
    directory_key_, host_key = keys
    directory = DIRECTORIES.get(memory, directory_key_) or Directory()
    host = HOSTS.get(memory, host_key) or Host()
    n_of_host = host.n_asked if host.day == day else 0
    n = directory.n_asked if directory.day == day else 0
    if n >= _PER_DIRECTORY or n_of_host >= max_probes or (n and directory.outcome != Outcome.TEXT):
        return ()
    directory.day, directory.n_asked, directory.suspect = day, n + 1, suspect or directory.suspect
    if not n:
        directory.outcome, directory.target, directory.looks = Outcome.NONE, b"", []
    host.day, host.n_asked = day, n_of_host + 1
    DIRECTORIES.put(memory, directory_key_, directory)
    HOSTS.put(memory, host_key, host)
    return (Request(sibling(url, host_key[:_SITE], day, n), Purpose.PROBE),)


def _letters(number: int) -> str:
    letters = []
    for _ in range(N_LETTERS):
        number, digit = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[digit])
    return "".join(letters)


def _with_value(query: str, value: str) -> str:
    """Put a value in place of the longest one of a query."""
    fields = query.split("&")
    lengths = [len(field.partition("=")[2]) or len(field) * ("=" not in field) for field in fields]
    longest = lengths.index(max(lengths))
    name, equals, _ = fields[longest].partition("=")
    fields[longest] = name + equals + value if equals else value
    return "&".join(fields)
