"""The settings that hold for one URL: the general ones, with those of every override that covers it.

An override covers a domain with its subdomains, or all URLs that begin with a prefix (config/surt.py has the third spelling). If several
overrides cover a URL and have the same setting, the longest one counts; so a prefix wins over its host, and a host over its domain.

Settings of hosts (gaps, backoff, budgets) are looked up once for each host: politeness.py, `Rulebook`. This module has those of URLs.

Time: 0.1 µs without overrides, 1 µs for each with them. Memory: the settings of each combination met.
"""

from __future__ import annotations

from typing import Final

import msgspec

from thresher.config.settings import Settings
from thresher.crawler.core.url import hostname_of, origin_of

_OF_URL: Final = {  # key of an override → section and name of the setting
    "max_depth": ("limits", "max_depth"),
    "max_redirects": ("limits", "max_redirects"),
    "obey_robots": ("robots", "obey"),
    "meta": ("robots", "meta"),
    "x_robots_tag": ("robots", "x_robots_tag"),
    "nofollow_links": ("robots", "nofollow_links"),
    "max_body": ("fetch", "max_body"),
    "total_timeout": ("fetch", "total_timeout"),
}


class Overriding:
    """Settings by URL."""

    def __init__(self, settings: Settings) -> None:
        self._general = settings
        ordered = sorted(settings.overrides, key=lambda override: len(override.rule))
        self._overrides = [one for one in ordered if any(getattr(one, key) is not None for key in _OF_URL)]
        self._made: dict[tuple[int, ...], Settings] = {(): settings}

    def of(self, text: str) -> Settings:
        """Return the settings that hold for a canonical URL."""
        if not self._overrides:
            return self._general
        origin = origin_of(text)
        which = tuple(i for i, one in enumerate(self._overrides) if covers(one.rule, text, origin))
        made = self._made.get(which)
        if made is None:
            made = self._made[which] = self._merged(which)
        return made

    def _merged(self, which: tuple[int, ...]) -> Settings:
        sections: dict[str, dict[str, object]] = {}
        for i in which:
            for key, (section, name) in _OF_URL.items():
                if (value := getattr(self._overrides[i], key)) is not None:
                    sections.setdefault(section, {})[name] = value
        changed = {name: msgspec.structs.replace(getattr(self._general, name), **values) for name, values in sections.items()}
        return msgspec.structs.replace(self._general, **changed)


def covers(rule: str, text: str, host: str) -> bool:
    """Return whether an override's rule (a domain with its subdomains, or the beginning of a URL) covers the URL.

    Args:
        host: Its origin.
    """
    if "://" in rule:
        return text.startswith(rule)
    if rule.startswith("//"):
        bare = text[text.index("//") :]
        return bare.startswith(rule) or (bare.startswith("//www.") and ("//" + bare[6:]).startswith(rule))
    name = hostname_of(host)
    return name == rule or name.endswith("." + rule)
