"""Finds the clients in an access log that are not visitors. Used by filters/dust (URLs) and filters/depth_cutoff (sessions).

Robots name themselves in the User-Agent or request robots.txt; attacks are recognised by the URLs that they request. Both follow links that
no visitor uses, or invent URLs. Since User-Agents and Referers repeat, results are cached.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_ROBOT: Final = re.compile(
    r"bot\b|bot/|robot|crawl|spider|slurp|archiver|feed|rss|reader|monitor|checker|validator|curl|wget|libwww|python|java/|ruby|perl|php/|"
    r"apache-httpclient|okhttp|go-http|scrapy|httrack|nutch|heritrix|facebookexternalhit|preview|scan|fetch|harvest|index|headless|phantom",
    re.IGNORECASE,
)
_ATTACK: Final = re.compile(
    r"\.\./|%2e%2e|%00|%c0%ae|\\x|etc/passwd|<|%3c/?[a-z]|union(?:\+|%20| )+(?:all(?:\+|%20| ))?select|proc/self|base64_decode|wp-login|"
    r"xmlrpc\.php|wlwmanifest|phpmyadmin|/\.(?:env|git)\b|cmd\.exe|/cgi-bin/.*;|\$\{|%24%7b|boot\.ini",
    re.IGNORECASE,
)
_REFERER: Final = re.compile(r"(https?://(?:[^/?#@\s]*@)?([^/?#\s]+))(/[^#\s]*)?", re.IGNORECASE)
_AGENTS = 1 << 16


def is_robot(agent: str | None, target: str) -> bool:
    """Return whether a request shows that its client is a robot.

    Args:
        agent: The User-Agent; None if it was not logged.
        target: The requested path.
    """
    return _says_robot(agent) or target.startswith("/robots.txt")


@lru_cache(maxsize=_AGENTS)
def _says_robot(agent: str | None) -> bool:
    return agent is not None and _ROBOT.search(agent) is not None


def is_attack(target: str) -> bool:
    """Return whether the requested path looks like an attack."""
    return _ATTACK.search(target) is not None


def of_referer(referer: str | None) -> tuple[str, str, str] | None:
    """Return (origin, host, path with query) of a Referer; None if it names no page. The path is "/" if the Referer has none."""
    found = _REFERER.match(referer) if referer else None
    return (found[1], found[2], found[3] or "/") if found else None
