"""What must hold beyond types: patterns, addresses, headers, names, minima below maxima."""

from __future__ import annotations

from pathlib import Path

import pytest
import re2

from thresher.config.errors import ConfigError
from thresher.config.load import load

DEFAULT_WORDS = "see https://github.com/google/re2/wiki/Syntax"
DOMAIN_WORDS = "expected a domain or a URL prefix, as canonical URLs have it"

BAD = [
    (
        'scope: {include: ["(a)\\\\1"]}',
        (
            'crawl.yaml:1:19: scope.include[0]: expected an RE2 pattern, got "(a)\\1". '
            'At character 4: invalid escape sequence "\\1"; RE2 has no backreferences'
        ),
    ),
    (
        "scope: {danger: {links: [/logout, logout]}}",
        (
            'crawl.yaml:1:35: scope.danger.links[1]: expected names of a path, parameters, or both (config/default.yaml), got "logout". '
            'Write for example "/logout", "/vote?how=*" or "?action=delete"'
        ),
    ),
    (
        'scope: {danger: {harmless: ["a(?!b)"]}}',
        (
            'crawl.yaml:1:29: scope.danger.harmless[0]: expected an RE2 pattern, got "a(?!b)". '
            'At character 2: invalid perl operator "(?!"; RE2 has no look-around: use include and exclude together'
        ),
    ),
    (
        "scope:\n  exclude:\n    - ok\n    - a(?!b)\n",
        (
            'crawl.yaml:4:7: scope.exclude[1]: expected an RE2 pattern, got "a(?!b)". '
            'At character 2: invalid perl operator "(?!"; RE2 has no look-around: use include and exclude together'
        ),
    ),
    (
        "scope: {include: [a(b]}",
        'crawl.yaml:1:19: scope.include[0]: expected an RE2 pattern, got "a(b". At character 1: missing ) "a(b"; ' + DEFAULT_WORDS,
    ),
    (
        "scope: {include: ['x{1001}']}",
        'crawl.yaml:1:19: scope.include[0]: expected an RE2 pattern, got "x{1001}". '
        'At character 2: invalid repetition size "{1001}"; ' + DEFAULT_WORDS,
    ),
    (
        "scope: {include: ['\\']}",
        'crawl.yaml:1:19: scope.include[0]: expected an RE2 pattern, got "\\". At character 1: trailing \\; ' + DEFAULT_WORDS,
    ),
    (
        "scope: {include: ['']}",
        'crawl.yaml:1:19: scope.include[0]: expected an RE2 pattern, got "". It would match every URL; write .* if that is meant',
    ),
    (
        "snapshots: {lost_after: 15min}",
        (
            "crawl.yaml:1:13: snapshots.lost_after: expected null without snapshots.target, got 900 s. "
            "Name a target: what a lost machine had is restored from there"
        ),
    ),
    ("scope: {schemes: []}", "crawl.yaml:1:9: scope.schemes: expected at least one of http, https, got an empty list. Write [http, https]"),
    (
        "politeness: {min_delay: 90}",
        (
            "crawl.yaml:1:14: politeness.min_delay: expected at most politeness.max_delay, 60.0, got 90.0. "
            "Write 60.0 or less, or raise politeness.max_delay"
        ),
    ),
    (
        "dns:\n  max_ttl: 1",
        "crawl.yaml:2:3: dns.max_ttl: expected at least dns.min_ttl, 60.0, got 1.0. Write 60.0 or more, or lower dns.min_ttl",
    ),
    (
        "overrides: [{match: a.example, politeness: {min_delay: 2 min}}]",
        (
            "crawl.yaml:1:45: overrides[0].politeness.min_delay: expected at most politeness.max_delay, 60.0, got 120.0. "
            "Write 60.0 or less, or raise politeness.max_delay"
        ),
    ),
    (
        "overrides: [{match: a.example, politeness: {max_delay: 0.5}}]",
        (
            "crawl.yaml:1:45: overrides[0].politeness.max_delay: expected at least politeness.min_delay, 1.0, got 0.5. "
            "Write 1.0 or more, or lower politeness.min_delay"
        ),
    ),
    (
        "fetch: {allow_addresses: [10.0.0.1/8]}",
        'crawl.yaml:1:27: fetch.allow_addresses[0]: expected an address range in CIDR form, got "10.0.0.1/8". Write 10.0.0.0/8',
    ),
    (
        "fetch: {allow_addresses: [localhost]}",
        'crawl.yaml:1:27: fetch.allow_addresses[0]: expected an address range in CIDR form, got "localhost". Write for example 127.0.0.0/8',
    ),
    (
        "fetch: {accept_types: [html]}",
        (
            "crawl.yaml:1:24: fetch.accept_types[0]: expected a media type such as text/html, in lower case and without parameters, "
            'got "html". Write for example text/html, text/* or */*'
        ),
    ),
    (
        "fetch: {accept_types: [Text/HTML; charset=x]}",
        (
            "crawl.yaml:1:24: fetch.accept_types[0]: expected a media type such as text/html, in lower case and without parameters, "
            'got "Text/HTML; charset=x". Write text/html'
        ),
    ),
    (
        "fetch: {accept_types: []}",
        'crawl.yaml:1:9: fetch.accept_types: expected at least one media type, got an empty list. Write ["*/*"] to accept all',
    ),
    (
        "fetch: {headers: {Authorization: Basic x}}",
        (
            'crawl.yaml:1:19: fetch.headers.Authorization: expected a header that may be set, got "Authorization". '
            "Remove it: the secret would go to every host"
        ),
    ),
    (
        "fetch: {headers: {user-agent: x}}",
        (
            'crawl.yaml:1:19: fetch.headers.user-agent: expected a header that may be set, got "user-agent". '
            "Remove it: set identity.agent and identity.contact"
        ),
    ),
    (
        "fetch: {headers: {X-A: x, x-a: y}}",
        'crawl.yaml:1:27: fetch.headers.x-a: expected each header once, got "x-a" again in another case. Remove one',
    ),
    (
        "fetch: {headers: {X A: x}}",
        'crawl.yaml:1:9: fetch.headers: expected a header name, got "X A". Write letters, digits and hyphens, for example X-Note',
    ),
    ("fetch: {headers: {X-A: é}}", 'crawl.yaml:1:19: fetch.headers.X-A: expected ASCII text, got "é". Percent-encode what is not ASCII'),
    (
        "dns: {servers: [9.9.9.9:70000]}",
        (
            'crawl.yaml:1:17: dns.servers[0]: expected an address or address:port, got "9.9.9.9:70000". '
            'Write for example 9.9.9.9 or "[2620:fe::fe]:53"'
        ),
    ),
    ("dns: {static: {a: b}}", 'crawl.yaml:1:16: dns.static.a: expected an IPv4 or IPv6 address, got "b". Write for example 127.0.0.1'),
    (
        "dns: {static: {a: 127.0.0.1#}}",
        'crawl.yaml:1:16: dns.static.a: expected an address, got "127.0.0.1#". Spreading (#) needs a .suffix; drop the #',
    ),
    (
        "dns: {static: {'a b': 127.0.0.1}}",
        (
            'crawl.yaml:1:7: dns.static: expected host names or .suffixes in lower case (xn-- form), got "a b". '
            "Write for example a.example or .example"
        ),
    ),
    (
        "identity: {agent: Thresher/2.0}",
        (
            'crawl.yaml:1:12: identity.agent: expected a product token of letters, - and _ (RFC 9309, 2.2.1), got "Thresher/2.0". '
            "Write Thresher; the version of Thresher is added, yours may stand in the URL of identity.contact"
        ),
    ),
    (
        "identity: {contact: me}",
        (
            'crawl.yaml:1:12: identity.contact: expected an e-mail address or an http(s) URL, without spaces or parentheses, got "me". '
            "Write for example https://example.org/bot"
        ),
    ),
    (
        "identity: {from_header: 'https://a.example'}",
        (
            'crawl.yaml:1:12: identity.from_header: expected an e-mail address, got "https://a.example". '
            'Write for example bot@example.org, or "" for none'
        ),
    ),
    (
        "filters: {media: {skip_announced: [json]}}",
        (
            'crawl.yaml:1:36: filters.media.skip_announced[0]: expected a media type in lower case, * for any letters, got "json". '
            "Write for example application/*+json"
        ),
    ),
    (
        "filters: {media: {skip_extensions: [.PDF]}}",
        'crawl.yaml:1:37: filters.media.skip_extensions[0]: expected an extension without dot, in lower case, got ".PDF". Write pdf',
    ),
    (
        "url: {strip_params: ['*_id']}",
        (
            'crawl.yaml:1:22: url.strip_params[0]: expected the name of a query parameter, with * only at its end, got "*_id". '
            "Write for example utm_*"
        ),
    ),
    (
        "overrides: [{match: '*.Example.org'}]",
        f'crawl.yaml:1:14: overrides[0].match: {DOMAIN_WORDS}, got "*.Example.org". Write example.org; subdomains are included',
    ),
    (
        "overrides: [{match: 'https://a.example'}]",
        f'crawl.yaml:1:14: overrides[0].match: {DOMAIN_WORDS}, got "https://a.example". Write https://a.example/',
    ),
    (
        "overrides: [{match: bücher.example}]",
        (
            f'crawl.yaml:1:14: overrides[0].match: {DOMAIN_WORDS}, got "bücher.example". '
            "Write for example example.org, https://example.org/docs/ or org,example)/docs; other than ASCII names in their xn-- form"
        ),
    ),
    (
        "overrides:\n- match: a.example\n- match: a.example\n",
        'crawl.yaml:3:3: overrides[1].match: expected each domain or prefix once, got "a.example" again (overrides[0]). Merge the two',
    ),
    (
        "overrides: [{match: a.example, filters: {dust: {mode: sometimes}}}]",
        'crawl.yaml:1:55: overrides[0].filters.dust.mode: expected enforce, observe or off, got "sometimes". Write one of these',
    ),
    (
        "overrides: [{match: a.example, fetch: {concurrency: 3}}]",
        (
            "crawl.yaml:1:40: overrides[0].fetch.concurrency: expected an option that may differ by prefix, got one of the whole crawl. "
            "Move it out of overrides: a process has one"
        ),
    ),
    (
        "overrides: [{match: a.example, scope: {exclude: ['(']}}]",
        'crawl.yaml:1:50: overrides[0].scope.exclude[0]: expected an RE2 pattern, got "(". At character 1: missing ) "("; see https://github.com/google/re2/wiki/Syntax',
    ),
    (
        "overrides: [{match: a.example, fetch: {headers: {Cookie: x}}}]",
        (
            'crawl.yaml:1:50: overrides[0].fetch.headers.Cookie: expected a header that may be set, got "Cookie". '
            "Remove it: it would go to every host; a line ORIGIN header Cookie: NAME=VALUE in the file of fetch.credentials goes to one"
        ),
    ),
]


@pytest.mark.parametrize(("content", "message"), BAD)
def test_what_cannot_work_is_refused_with_place_and_remedy(
    content: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S21 for the patterns: what RE2 does not know is refused when the configuration is read."""
    monkeypatch.chdir(tmp_path)
    Path("crawl.yaml").write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(["crawl.yaml"])
    assert str(caught.value) == message


def test_a_pattern_that_blows_up_elsewhere_is_linear_here() -> None:
    """S21: (a+)+$ is accepted and answers on 100 KB at once: RE2 does not backtrack (`re` takes 14 s on 28 characters)."""
    (pattern,) = load([], sets=['scope.exclude=["(a+)+$"]']).settings.scope.exclude
    assert re2.compile(pattern).search("a" * 100_000 + "b") is None


def test_bounds_of_two_layers_are_checked_together(tmp_path: Path) -> None:
    path = tmp_path / "crawl.yaml"
    path.write_text("politeness: {max_delay: 30}\n")
    assert load([path], sets=["politeness.min_delay=30"]).settings.politeness.min_delay == 30
    with pytest.raises(
        ConfigError, match=r"^--set politeness\.min_delay=31: politeness\.min_delay: expected at most politeness\.max_delay, 30\.0"
    ):
        load([path], sets=["politeness.min_delay=31"])


def test_an_empty_contact_is_no_error_of_the_file() -> None:
    """The crawl command refuses to start without one; `check` and `explain` do not need it."""
    assert load([], sets=["identity.contact="]).settings.identity.contact == ""


def test_an_error_carries_the_exit_code_of_usage() -> None:
    with pytest.raises(ConfigError) as caught:
        load([], sets=["x=1"])
    assert caught.value.exit_code == 2
