"""Which pages only a browser can read: shells and challenges are, honest short pages are not."""

from __future__ import annotations

import pytest
from edge import url

from thresher.crawler.core.html import parse
from thresher.crawler.core.model import Flag, Head
from thresher.crawler.page.browser_need import browser_need

SHELLS = [
    '<html><body><div id="root"></div><script src="/static/js/main.js"></script></body></html>',
    "<body><noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div><script src=a.js></script>",
    '<body><div id="app"> <!-- built files --> </div><script type=module src="/assets/index.js"></script>',
    '<body><app-root></app-root><script src="polyfills.js" defer></script>',
    '<body><div id="__next"></div><script id="__NEXT_DATA__">' + "x" * 300 + "</script>",
    "<noscript>We're sorry but shop doesn't work without JavaScript.</noscript><div id=app></div><script src=/c.js></script>",
    "<title>Loading…</title><body>Loading…<div class=\"x\" id='__nuxt'></div><script src=/_nuxt/entry.js></script>",
    "<body><noscript>This site requires Javascript.</noscript><script src=x.js></script>",
    '<body><main id="react-root"></main><a href="/imprint">Imprint</a><script src=b.js></script>',
    '<body><noscript><meta http-equiv="refresh" content="0;url=/nojs"></noscript><script src=x.js></script>',
]
CHALLENGES = [
    "<title>Just a moment...</title><body><p>Verifying you are human.<script>(function(){window._cf_chl_opt={cvId:'3'}})()</script>",
    "<body><script src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=1'></script>",
    '<title>Making sure you\'re not a bot!</title><script src="/.within.website/x/cmd/anubis/static/js/main.mjs"></script>',
    '<script src="https://abc.edge.sdk.awswaf.com/x/y/challenge.js"></script><body>',
    '<script src="https://ct.captcha-delivery.com/c.js"></script><p>Please enable JS and disable any ad blocker</p>',
    "<script>window._pxAppId='PX1';</script><div id=px-captcha></div>",
    '<iframe src="/_Incapsula_Resource?SWJIYLWA=1"></iframe>',
    '<script src="/.well-known/sgcaptcha/?r=1"></script>',
    "<script>toNumbers();slowAES.decrypt(c,2,a,b)</script>",
    '<div id="sec-if-cpt-container"></div><script src="/_sec/cp_challenge/ak.js"></script>',
]
HONEST = [
    "<h1>It works!</h1>",
    '<p>Moved to <a href="/new">the new place</a>.<script src="/analytics.js"></script>',
    '<body><img src="scan.png"><noscript>The zoom needs JavaScript.</noscript><script src=zoom.js></script>',
    '<div id="root"><p>' + "a word of the text " * 20 + '</p></div><script src="main.js"></script>',
    "<p>" + "an article about firewalls " * 60 + "</p><pre>window._cf_chl_opt</pre>",
    "<p>a page</p><script src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'></script>",
    '<form action=/login><input type=password></form><div class="cf-turnstile"></div><script src=https://challenges.cloudflare.com/turnstile/v0/api.js></script>',
    '<frameset><frame src="a.html"></frameset><noscript>JavaScript?</noscript><script src=x.js></script>',
    '<div id="app"></div>' + "".join(f'<a href="/{i}">{i}</a>' for i in range(9)) + "<script src=x.js></script>",
    '<div id="ad"></div><p>Closed on Mondays.</p><script src=ad.js></script>',
    '<div id="root"></div>',
    "",
]


def need(page: str, status: int = 200, mime_type: str = "text/html", **headers: str) -> Flag | None:
    made = [(b"Content-Type", mime_type.encode()), *((name.replace("_", "-").encode(), value.encode()) for name, value in headers.items())]
    parsed = parse(page.encode(), "text/html; charset=utf-8", agent="thresher", max_links=100)
    head = Head(url("http://a.test/"), status, tuple(made), "", 0.0)
    return browser_need(head, page.encode(), n_words=len(parsed.text.split()), n_links=len(parsed.links))


@pytest.mark.parametrize("page", SHELLS)
def test_an_empty_shell_needs_a_browser(page: str) -> None:
    assert need(page) is Flag.EMPTY_SHELL


@pytest.mark.parametrize("page", CHALLENGES)
def test_a_challenge_needs_a_browser_whatever_its_status(page: str) -> None:
    assert need(page) is Flag.CHALLENGE
    assert need(page, 403) is Flag.CHALLENGE


def test_firewalls_name_their_challenges_in_headers() -> None:
    assert need("<p>x", 403, cf_mitigated="challenge") is Flag.CHALLENGE
    assert need("<p>x", 202, x_amzn_waf_action="challenge") is Flag.CHALLENGE
    assert need("<p>x", 403) is None


@pytest.mark.parametrize("page", HONEST)
def test_an_honest_page_does_not(page: str) -> None:
    assert need(page) is None


def test_neither_does_what_is_no_html_or_an_error() -> None:
    assert need(SHELLS[0], mime_type="text/plain") is None
    assert need(CHALLENGES[0], mime_type="text/plain") is None
    assert need(SHELLS[0], 404) is None


@pytest.mark.parametrize(
    "piece", ["<div ", "<noscript>", "<noscript ", "<script ", "<div><!--", '<div id="root">', "<script>" + "x" * 199, " id=root"]
)
def test_hostile_markup_costs_little(piece: str) -> None:
    """A pattern that backtracks would take minutes here."""
    head = Head(url("http://a.test/"), 200, ((b"Content-Type", b"text/html"),), "", 0.0)
    browser_need(head, b"<script src=x>" + piece.encode() * (300_000 // len(piece)), n_words=0, n_links=0)
