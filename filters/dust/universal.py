"""What is an alias on most sites: hypotheses to be validated on each, never beliefs.

Tracking parameters and session ids, names of index files, http beside https, www. and m. beside the bare name, a slash at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from filters.dust.rules import Parameter, Rule, Substitution

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


def universal_rules() -> Iterator[Rule]:
    """Yield the hypotheses, those of wide reach first."""
    yield Substitution(source="^https://", target="^http://")
    yield Substitution(source="//www.", target="//")
    yield Substitution(source="//m.", target="//")
    for name in _INDEX_FILES:
        yield Substitution(source=f"/{name}$", target="/$")
        yield Substitution(source=f"/{name}?", target="/?")
    yield Substitution(source="/$", target="$")
    yield Substitution(source=";jsessionid={w1}", target="")
    for name in (*_TRACKING, *_SESSIONS):
        yield Parameter(name_=name)
