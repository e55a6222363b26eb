"""Pairs that are one URL in another spelling: no redirects of the soft-error log [LEE09 normalises by RFC 3986; the rest is ours].

A site that redirects every URL to its https form hides no error. If such pairs were counted, "this host redirects many URLs" would be true
of every such site and mean nothing, and a page with ten spellings would look like a target of ten originals.

Both URLs are of one registrable domain, and become equal when these are removed, one after the other; the last that is needed names the
pair:

    same      nothing: a redirect to itself
    scheme    http or https, and a port
    www       "www." before the host
    slash     slashes at the end of the path, and doubled ones in it
    index     an index file: index or default with html, htm, shtml, xhtml, php, asp, aspx, jsp, cfm, cgi or do
    case      capital letters in the path
    session   parameters that name a visit (utm_*, gclid, sid, phpsessid …; `_VISIT`), ;jsessionid=… and /(S(…))/ in the path, and
              the order of the other parameters
    locale    a locale: the first one or two segments of the path (/de/, /en-gb/, /us/en/), the first label of the host (de.a.example), a
              suffix of the last segment (page.cy, page.de.html), a parameter lang, language, locale, hl, lng or lc whose value is a locale
    mobile    a first label m, mobile, wap, touch or amp of the host
    host      the whole host, if the path is not the root: a move within a site that keeps path and query

"/" to "/en/" is a spelling, "/page" to "/en/" is not. A locale is an ISO 639-1 code, alone or with a region or script; a region counts
only before a language. Not a spelling: another extension, fewer directories, another registrable domain, or a parameter removed that does
not name a visit.

Time: 2 µs for most pairs that are none, 20 µs for one that is. Memory: ends of the last 65,536 unusual URLs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from thresher.crawler.core.url import hostname_of, origin_of, queue_name, site_of

_LANGUAGES = (  # ISO 639-1
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es "
    "et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj "
    "kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv "
    "ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti "
    "tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
_BY_LETTER = {code[0]: "".join(other[1] for other in _LANGUAGES.split() if other[0] == code[0]) for code in _LANGUAGES.split()}
_LANGUAGE = "(?:" + "|".join(f"{first}[{seconds}]" for first, seconds in _BY_LETTER.items()) + ")"  # compiled in a third of a list's time
_TAG = rf"{_LANGUAGE}(?:[-_](?:[a-z]{{2}}|[a-z]{{4}}|419))?"
_LOCALE = re.compile(_TAG)
_LOCALE_PATH = re.compile(rf"/(?:[a-z]{{2}}/(?={_TAG}(?:/|\Z)))?{_TAG}(?=/|\Z)")
_LOCALE_SUFFIX = re.compile(rf"(?<=[^/])\.{_TAG}(?=(?:\.[a-z0-9]{{2,5}})?\Z)")
_LOCALE_PARAMS = frozenset(("lang", "language", "locale", "hl", "lng", "lc"))
_MOBILE = ("m.", "mobile.", "wap.", "touch.", "amp.")
_INDEX = re.compile(r"/(?:index|default)\.(?:html?|shtml|xhtml|php|aspx?|jsp|cfm|cgi|do)\Z", re.IGNORECASE)
_ORDINARY = re.compile(  # a name that no rule changes: with a digit, or too long for a locale or an index file
    r"(?:(?!..[-_])[a-z_~-]*[0-9][a-z0-9_~-]*|[a-z0-9_~-]{8,})(?:\.[a-z0-9]{3,5})?"
)
_VISIT_NAMES = (
    "gclid dclid fbclid msclkid yclid twclid igshid mc_cid mc_eid _ga _gl wbraid gbraid sid sessid session sessionid session_id "
    "phpsessid jsessionid aspsessionid cfid cftoken zenid oscsid aspxautodetectcookiesupport"
)
_VISIT = frozenset(_VISIT_NAMES.split())
_VISIT_IN_PATH = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/;]*|/\([a-z]\([^/()]*\)\)(?=/)", re.IGNORECASE)


class _Parts(NamedTuple):
    """A canonical URL, cut where spellings differ."""

    scheme: str  # "" once removed
    host: str  # with its port
    path: str
    query: str


def same_page(original: str, target: str) -> str:
    """Return the kind of spelling in which two canonical URLs differ, "" if they are not one page."""
    if original == target:
        return "same"
    if _tail(original) != _tail(target):
        return ""
    a, b = _parts(original), _parts(target)
    if _site(a.host) != _site(b.host):
        return ""
    for kind, strip in _RUNGS:
        a, b = strip(a), strip(b)
        if a == b:
            return kind
    return ""


def _tail(url: str) -> str:
    """Return the last segment of the path without what the rules may change: if it differs, the URLs are not one page."""
    before, _, name = url.partition("?")[0].rstrip("/").rpartition("/")
    name = name.lower()
    return name if _ORDINARY.fullmatch(name) and not before.endswith(":/") else _odd_tail(url)  # of the root it is the host


@lru_cache(maxsize=1 << 16)
def _odd_tail(url: str) -> str:
    path = _path_without_visit(url[url.index("/", 8) :].partition("?")[0])
    segments = [segment for segment in _INDEX.sub("/", _LOCALE_SUFFIX.sub("", path.lower().rstrip("/"))).split("/") if segment]
    if not segments or (len(segments) <= 2 and _LOCALE.fullmatch(segments[-1])):
        return ""
    return segments[-1]


def _path_without_visit(path: str) -> str:
    return _VISIT_IN_PATH.sub("", path) if ";" in path or "(" in path else path


def _parts(url: str) -> _Parts:
    origin = origin_of(url)
    path, _, query = url[len(origin) :].partition("?")
    scheme, _, host = origin.partition("://")
    return _Parts(scheme, host, path, query)


def _site(host: str) -> str:
    return site_of(hostname_of("http://" + host))


def _any_scheme(url: _Parts) -> _Parts:
    """Drop the scheme and the port."""
    host = url.host
    if not host.endswith("]"):
        host = host.rpartition(":")[0] or host
    return url._replace(scheme="", host=host)


def _any_www(url: _Parts) -> _Parts:
    return url._replace(host=queue_name("http://" + url.host))


def _any_slash(url: _Parts) -> _Parts:
    return url._replace(path=re.sub("/+", "/", url.path + "/"))


def _any_index(url: _Parts) -> _Parts:
    return url._replace(path=_INDEX.sub("/", url.path.rstrip("/")).rstrip("/") + "/")


def _any_case(url: _Parts) -> _Parts:
    return url._replace(path=url.path.lower())


def _any_visit(url: _Parts) -> _Parts:
    path = _any_index(url._replace(path=_path_without_visit(url.path))).path
    kept = (param for param in url.query.split("&") if param and not is_of_visit(param.partition("=")[0].lower()))
    return url._replace(path=path, query="&".join(sorted(kept)))


def is_of_visit(name: str) -> bool:
    """Return whether a parameter, in lower case, names a visit and no page."""
    return name in _VISIT or name.startswith(("utm_", "aspsessionid"))


def _any_locale(url: _Parts) -> _Parts:
    path = _LOCALE_PATH.sub("", url.path, count=1) if _LOCALE_PATH.match(url.path) else url.path
    path = _any_index(url._replace(path=_LOCALE_SUFFIX.sub("", path.rstrip("/")))).path
    label, _, rest = url.host.partition(".")
    host = rest if _LOCALE.fullmatch(label) and rest and _site(rest) == _site(url.host) else url.host
    kept = (param for param in url.query.split("&") if not _names_locale(param))
    return url._replace(host=host, path=path, query="&".join(kept))


def _names_locale(param: str) -> bool:
    name, _, value = param.lower().partition("=")
    return name in _LOCALE_PARAMS and bool(_LOCALE.fullmatch(value))


def _any_device(url: _Parts) -> _Parts:
    for label in _MOBILE:
        rest = url.host.removeprefix(label)
        if rest != url.host and _site(rest) == _site(url.host):
            return url._replace(host=rest)
    return url


def _any_host(url: _Parts) -> _Parts:
    """Drop the host of all but the root; the caller knows that both are of one registrable domain."""
    return url._replace(host="") if url.path != "/" else url


_RUNGS: tuple[tuple[str, Callable[[_Parts], _Parts]], ...] = (
    ("scheme", _any_scheme),
    ("www", _any_www),
    ("slash", _any_slash),
    ("index", _any_index),
    ("case", _any_case),
    ("session", _any_visit),
    ("locale", _any_locale),
    ("mobile", _any_device),
    ("host", _any_host),
)
