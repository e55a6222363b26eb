"""Who in an access log is no visitor, for whoever learns from logs: filters/dust its URLs, filters/depth_cutoff sessions.

Robots say so in their agent or ask for robots.txt; attacks carry their marks in what they ask for. Both follow links that no visitor uses,
or make them up. Agents and Referers repeat: what was found of one is remembered.
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
    """Return whether a request tells that its client is a robot."""
    return _says_robot(agent) or target.startswith("/robots.txt")


@lru_cache(maxsize=_AGENTS)
def _says_robot(agent: str | None) -> bool:
    return agent is not None and _ROBOT.search(agent) is not None


def is_attack(target: str) -> bool:
    """Return whether what was asked for carries an attack's marks."""
    return _ATTACK.search(target) is not None


def of_referer(referer: str | None) -> tuple[str, str, str] | None:
    """Return origin, host and path with query of a Referer ("/" if it has none), None if it names no page."""
    found = _REFERER.match(referer) if referer else None
    return (found[1], found[2], found[3] or "/") if found else None
