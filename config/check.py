"""Checks that types cannot express: patterns compile, addresses are addresses, headers are safe, minima are below maxima."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable
from functools import partial

import re2

from thresher.config.errors import ConfigError
from thresher.config.options import options as options_by_key
from thresher.config.override import overridden, why_whole
from thresher.config.settings import Settings
from thresher.config.shown import shown

Where = Callable[[str], str]  # returns where the option of a dotted key was set, "" for a default

_AGENT = re.compile(r"[A-Za-z_-]+")
_EMAIL = re.compile(r"[^\s@()<>,;:\"\[\]\\]+@[^\s@()<>,;:\"\[\]\\/]+", re.ASCII)
_WEB_ADDRESS = re.compile(r"https?://[^\s/()]+(?:/[^\s()]*)?", re.IGNORECASE)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_MEDIA_TYPE = re.compile(r"\*/\*|[a-z0-9][a-z0-9!#$&^_.+-]*/(?:\*|[a-z0-9][a-z0-9!#$&^_.+-]*)")
_DOMAIN = re.compile(r"(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_](?:[a-z0-9_-]{0,62}))*")
_ENDPOINT = re.compile(r"(?:\[[0-9a-f:.]+\]|[a-z0-9_.-]+):[0-9]{1,5}")
_PROXY = re.compile(r"(?:http|socks5)://(?:\[[0-9a-f:.]+\]|[A-Za-z0-9_.-]+):[0-9]{1,5}/?")
_PREFIX = re.compile(r"(?:https?:)?//[a-z0-9_.:\[\]-]+/[!-~]*")
_MAX_PATTERN = 2_000
_DANGEROUS = re.compile(r"(?=.)(?:(?:/[^/?&\s]+)+)?(?:\?[^=&?\s]+(?:=[^=&?\s]+)?(?:&[^=&?\s]+(?:=[^=&?\s]+)?)*)?")

RESERVED_HEADERS = {
    "host": "it names the host that is asked",
    "user-agent": "set identity.agent and identity.contact",
    "from": "set identity.from_header",
    "cookie": "it would go to every host; a line ORIGIN header Cookie: NAME=VALUE in the file of fetch.credentials goes to one",
    "authorization": "the secret would go to every host",
    "proxy-authorization": "the secret would go to every host",
    "referer": "it would tell every host a page of another",
    "accept-encoding": "only what the decoder guards is asked for",
    **dict.fromkeys(("connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"), "the connection is the fetcher's"),
    **dict.fromkeys(("content-length", "content-type", "expect"), "requests have no body"),
    **dict.fromkeys(
        ("range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since"), "pages are fetched whole"
    ),
}


def check(settings: Settings, where: Where) -> list[ConfigError]:
    """Return a ConfigError for each value that cannot work, with the place where it was set."""
    return [
        ConfigError(
            f"{place + ': ' if (place := where(key)) else ''}{shown(key, 100)[1:-1]}: expected {expected}, got {got}. {advice}", key=key
        )
        for part in (partial(_of_one, where=where), _overrides)
        for key, expected, got, advice in part(settings)
    ]


Problem = tuple[str, str, str, str]  # (key, expected, got, advice)


def _of_one(settings: Settings, where: Where) -> Iterable[Problem]:
    """Check one set of settings: the general ones, or these with an override."""
    for part in (_identity, _scope, _own_site, _fetch, _dns, _lists, partial(_order, where), _danger, _snapshots):
        yield from part(settings)


def _identity(settings: Settings) -> Iterable[Problem]:
    of = settings.identity
    if not _AGENT.fullmatch(of.agent) or len(of.agent) > 64:
        letters = re.sub(r"[^A-Za-z_-]", "", of.agent.partition("/")[0])[:64]
        expected = "a product token of letters, - and _ (RFC 9309, 2.2.1)"
        yield (
            "identity.agent",
            expected,
            shown(of.agent),
            f"Write {letters or 'thresher'}; the version of Thresher is added, yours may stand in the URL of identity.contact",
        )
    if of.contact and not (_EMAIL.fullmatch(of.contact) or _WEB_ADDRESS.fullmatch(of.contact)):
        yield (
            "identity.contact",
            "an e-mail address or an http(s) URL, without spaces or parentheses",
            shown(of.contact),
            "Write for example https://example.org/bot",
        )
    if of.from_header and not _EMAIL.fullmatch(of.from_header):
        yield "identity.from_header", "an e-mail address", shown(of.from_header), 'Write for example bot@example.org, or "" for none'


def _danger(settings: Settings) -> Iterable[Problem]:
    for i, pattern in enumerate(settings.scope.danger.links):
        if not _DANGEROUS.fullmatch(pattern) or len(pattern) > _MAX_PATTERN:
            expected = "names of a path, parameters, or both (config/default.yaml)"
            yield f"scope.danger.links[{i}]", expected, shown(pattern), 'Write for example "/logout", "/vote?how=*" or "?action=delete"'


def _scope(settings: Settings) -> Iterable[Problem]:
    options = re2.Options()
    options.log_errors = False
    of = settings.scope
    for name, patterns in (("include", of.include), ("exclude", of.exclude), ("danger.harmless", of.danger.harmless)):
        for i, pattern in enumerate(patterns):
            why = _refusal(pattern, options)
            if why:
                yield f"scope.{name}[{i}]", "an RE2 pattern", shown(pattern), why
    if not settings.scope.schemes:
        yield "scope.schemes", "at least one of http, https", "an empty list", "Write [http, https]"


def _refusal(pattern: str, options: re2.Options) -> str:
    """Return why RE2 refuses the pattern and at which character; "" if it does not."""
    if len(pattern) > _MAX_PATTERN:
        return f"It has {len(pattern)} characters; write at most {_MAX_PATTERN}"
    if not pattern:
        return "It would match every URL; write .* if that is meant"
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        message = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else str(error.args[0])
        words, _, fragment = message.partition(": ")
        at = pattern.find(fragment) + 1 if fragment else len(pattern)
        return f"At character {max(at, 1)}: {words}{' ' + shown(fragment, 30) if fragment else ''}{_advice(words, fragment)}"
    return ""


def _advice(words: str, fragment: str) -> str:
    if words == "invalid escape sequence" and fragment[1:2].isdigit():
        return "; RE2 has no backreferences"
    if words == "invalid perl operator" and fragment.startswith(("(?=", "(?!", "(?<")):
        return "; RE2 has no look-around: use include and exclude together"
    return "; see https://github.com/google/re2/wiki/Syntax"


def _order(where: Where, settings: Settings) -> Iterable[Problem]:
    of = settings.politeness
    pairs = [
        ("politeness.min_delay", of.min_delay, "politeness.max_delay", of.max_delay),
        ("politeness.backoff_initial", of.backoff_initial, "politeness.backoff_max", of.backoff_max),
        ("dns.min_ttl", settings.dns.min_ttl, "dns.max_ttl", settings.dns.max_ttl),
    ]
    for low_key, low, high_key, high in pairs:
        if low <= high:
            continue
        if where(low_key):
            yield low_key, f"at most {high_key}, {high}", str(low), f"Write {high} or less, or raise {high_key}"
        else:
            yield high_key, f"at least {low_key}, {low}", str(high), f"Write {low} or more, or lower {low_key}"


def _fetch(settings: Settings) -> Iterable[Problem]:
    of = settings.fetch
    for i, kind in enumerate(of.accept_types):
        if not _MEDIA_TYPE.fullmatch(kind):
            bare = kind.partition(";")[0].strip().lower()
            advice = f"Write {bare}" if _MEDIA_TYPE.fullmatch(bare) else "Write for example text/html, text/* or */*"
            yield f"fetch.accept_types[{i}]", "a media type such as text/html, in lower case and without parameters", shown(kind), advice
    if not of.accept_types:
        yield "fetch.accept_types", "at least one media type", "an empty list", 'Write ["*/*"] to accept all'
    if not of.allow_ports:
        yield "fetch.allow_ports", "at least one port, or any", "an empty list", "Write [80, 443]"
    for i, network in enumerate(of.allow_addresses):
        advice = _network_advice(network)
        if advice:
            yield f"fetch.allow_addresses[{i}]", "an address range in CIDR form", shown(network), advice
    yield from _headers(of.headers)
    yield from _way_out(settings)


def _way_out(settings: Settings) -> Iterable[Problem]:
    of = settings.fetch
    if of.proxy and not _PROXY.fullmatch(of.proxy):
        if "@" in of.proxy:
            yield (
                "fetch.proxy",
                "an address without a password",
                "one with @",
                "Put name and password into the file of fetch.credentials, as those of http://HOST:PORT",
            )
        else:
            yield "fetch.proxy", "http://HOST:PORT or socks5://HOST:PORT", shown(of.proxy), "Write for example http://127.0.0.1:3128"
    if of.proxy and settings.profile == "own-site":
        yield (
            "fetch.proxy",
            "none under profile: own-site",
            shown(of.proxy),
            "The addresses of one's own site are pinned: remove one of the two",
        )
    families = [ipaddress.ip_address(address).version for address in of.bind if _is_address(address)]
    for i, address in enumerate(of.bind):
        if not _is_address(address):
            yield f"fetch.bind[{i}]", "an IPv4 or IPv6 address of this machine", shown(address), "Write for example 192.0.2.10"
        elif families.count(ipaddress.ip_address(address).version) > 1:
            yield f"fetch.bind[{i}]", "at most one address of each family", shown(address), "Leave one IPv4 and one IPv6 address"


def _network_advice(network: str) -> str:
    """Return advice for text that is not a network in CIDR form; "" if it is one."""
    try:
        ipaddress.ip_network(network)
    except ValueError:
        try:
            return f"Write {ipaddress.ip_network(network, strict=False)}"
        except ValueError:
            return "Write for example 127.0.0.0/8"
    return ""


def _headers(headers: dict[str, str]) -> Iterable[Problem]:
    seen: set[str] = set()
    for name, value in headers.items():
        key = f"fetch.headers.{name}"
        if not _TOKEN.fullmatch(name):
            yield "fetch.headers", "a header name", shown(name), "Write letters, digits and hyphens, for example X-Note"
        elif name.lower() in RESERVED_HEADERS:
            yield key, "a header that may be set", shown(name), f"Remove it: {RESERVED_HEADERS[name.lower()]}"
        elif name.lower() in seen:
            yield key, "each header once", f"{shown(name)} again in another case", "Remove one"
        elif not value.isascii():
            yield key, "ASCII text", shown(value), "Percent-encode what is not ASCII"
        seen.add(name.lower())


def _dns(settings: Settings) -> Iterable[Problem]:
    for i, server in enumerate(settings.dns.servers):
        if not _is_server(server):
            yield f"dns.servers[{i}]", "an address or address:port", shown(server), 'Write for example 9.9.9.9 or "[2620:fe::fe]:53"'
    for name, address in settings.dns.static.items():
        key = f"dns.static.{name}"
        if not _DOMAIN.fullmatch(name.removeprefix(".").rstrip(".")):
            yield "dns.static", "host names or .suffixes in lower case (xn-- form)", shown(name), "Write for example a.example or .example"
        elif address.endswith("#") and not name.startswith("."):
            yield key, "an address", shown(address), "Spreading (#) needs a .suffix; drop the #"
        elif not _is_address(address.removesuffix("#")):
            yield key, "an IPv4 or IPv6 address", shown(address), "Write for example 127.0.0.1"


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_server(text: str) -> bool:
    if _is_address(text):
        return True
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    is_port = port.isascii() and port.isdigit() and len(port) <= 5 and 1 <= int(port) <= 65_535
    return bool(colon) and is_port and _is_address(host[1:-1] if bracketed else host) and (bracketed or ":" not in host)


def _own_site(settings: Settings) -> Iterable[Problem]:
    for name, addresses in settings.own_site.pinned.items():
        if not (_ENDPOINT.fullmatch(name) and int(name.rpartition(":")[2]) <= 65_535 and all(map(_is_address, addresses.split()))):
            yield "own_site.pinned", "host:port with its addresses", f"{shown(name)}: {shown(addresses)}", "Remove it: the crawl writes it"


def _snapshots(settings: Settings) -> Iterable[Problem]:
    if settings.snapshots.lost_after is not None and not settings.snapshots.target:
        advice = "Name a target: what a lost machine had is restored from there"
        yield "snapshots.lost_after", "null without snapshots.target", f"{settings.snapshots.lost_after:g} s", advice


def _lists(settings: Settings) -> Iterable[Problem]:
    for i, extension in enumerate(settings.filters.media.skip_extensions):
        if not re.fullmatch(r"[a-z0-9_+-]{1,8}", extension):
            plain = extension.lstrip("*.").lower()
            advice = f"Write {plain}" if re.fullmatch(r"[a-z0-9_+-]{1,8}", plain) else "Write for example pdf"
            yield f"filters.media.skip_extensions[{i}]", "an extension without dot, in lower case", shown(extension), advice
    for i, kind in enumerate(settings.filters.media.skip_announced):
        if not re.fullmatch(r"[a-z0-9!#$&^_.+*-]+/[a-z0-9!#$&^_.+*-]+", kind):
            yield (
                f"filters.media.skip_announced[{i}]",
                "a media type in lower case, * for any letters",
                shown(kind),
                "Write for example application/*+json",
            )
    for i, name in enumerate(settings.url.strip_params):
        if not re.fullmatch(r"[^\s&=?#*]+\*?|\*", name):
            yield f"url.strip_params[{i}]", "the name of a query parameter, with * only at its end", shown(name), "Write for example utm_*"


def _overrides(settings: Settings) -> Iterable[Problem]:
    first: dict[str, int] = {}
    for i, override in enumerate(settings.overrides):
        rule, key = override.rule, f"overrides[{i}].match"
        if not (_DOMAIN.fullmatch(rule) or _PREFIX.fullmatch(rule) or _is_address(rule)):
            yield key, "a domain or a URL prefix, as canonical URLs have it", shown(rule), _match_advice(rule)
        if rule in first:
            yield key, "each domain or prefix once", f"{shown(rule)} again (overrides[{first[rule]}])", "Merge the two"
        first[rule] = i
        yield from _override_options(settings, i)


def _override_options(settings: Settings, i: int) -> Iterable[Problem]:
    """Check the options of an override: each may differ by prefix, and all work together with the general ones."""
    item, options = f"overrides[{i}]", settings.overrides[i].options
    for key in options:
        if why := why_whole(key):
            yield f"{item}.{key}", "an option that may differ by prefix", "one of the whole crawl", f"Move it out of overrides: {why}"
    usable = {key: value for key, value in options.items() if not why_whole(key)}
    for key, expected, got, advice in _of_one(overridden(settings, usable), lambda key: item if _option(key) in usable else ""):
        if _option(key) in usable:
            yield f"{item}.{key}", expected, got, advice


def _option(key: str) -> str:
    """Return the option of a key; the key may name an item or entry of the option's value."""
    return next((name for name in options_by_key() if key == name or key.startswith((f"{name}.", f"{name}["))), key)


def _match_advice(rule: str) -> str:
    lower = rule.lower()
    if _DOMAIN.fullmatch(lower.lstrip("*.").rstrip(".")):
        return f"Write {lower.lstrip('*.').rstrip('.')}; subdomains are included"
    if re.fullmatch(r"https?://[^/]+", lower) and _PREFIX.fullmatch(lower + "/"):
        return f"Write {lower}/"
    return "Write for example example.org, https://example.org/docs/ or org,example)/docs; other than ASCII names in their xn-- form"
