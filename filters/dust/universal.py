"""Aliases that are common on the web: hypotheses that are validated on each site, never assumed.

Tracking parameters and session ids, index files, http and https, hosts that differ in www., m. and the like, a slash at the end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from thresher.filters.dust.rules import Parameter, Rule, Substitution, written
from thresher.filters.dust.urllist import UrlList, origin

_TRACKING: Final = ("utm_*", "gclid", "fbclid", "msclkid", "dclid", "yclid", "mc_cid", "mc_eid", "igshid", "_ga", "ref")
_SESSIONS: Final = (
    "PHPSESSID",
    "JSESSIONID",
    "jsessionid",
    "sid",
    "SID",
    "s",
    "sessionid",
    "session_id",
    "CFID",
    "CFTOKEN",
    "osCsid",
    "zenid",
)
_LABELS: Final = ("www", "m", "mobile", "wap", "amp", "touch", "old", "new")
_INDEX_FILES: Final = (
    "index.html",
    "index.htm",
    "index.php",
    "index.asp",
    "index.aspx",
    "index.jsp",
    "default.asp",
    "default.htm",
    "home.html",
)


def universal_rules(known: UrlList) -> Iterator[Rule]:
    """Yield the hypotheses, those that change most URLs first."""
    yield Substitution(source="^https://", target="^http://")
    yield from _between_hosts(known)
    for name in _INDEX_FILES:
        yield Substitution(source=f"/{name}$", target="/$")
        yield Substitution(source=f"/{name}?", target="/?")
    yield Substitution(source="/$", target="$")
    yield Substitution(source=";jsessionid={w1}", target="")
    for name in (*_TRACKING, *_SESSIONS):
        yield Parameter(name_=name)


def _between_hosts(known: UrlList) -> Iterator[Rule]:
    """Yield rules from each host to the one that the site uses most, if they differ in a label that names no part of a site."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for each in dict.fromkeys(map(origin, known.urls)):
        places[_unlabelled(each)].append(each.partition("://")[2])
    for hosts in places.values():
        used = {host: sum(known.popularity.get(f"{scheme}://{host}", 0) for scheme in ("http", "https")) for host in hosts}
        first = max(used, key=lambda host: (used[host], host))
        for host in sorted(used.keys() - {first}):
            yield Substitution(source=written(f"//{host}/"), target=written(f"//{first}/"))


def _unlabelled(place: str) -> str:
    """Return the host of an origin without a first label that names a form of the site (www, m) and no part of it."""
    host = place.partition("://")[2]
    label, dot, rest = host.partition(".")
    return rest if dot and label in _LABELS else host
