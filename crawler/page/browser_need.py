"""Detects pages that only a browser can read: challenges that run a script first, and empty shells that a script fills.

Such a page answers 200 but has no content without scripts. It is flagged, listed (`thresher export --what browser`) for a crawler that has
a browser, and no filter counts it as a good page. The signs are in the markup and the headers, not in the visible words:

    challenge     a header by which a firewall names its own challenge, or the script of one, on a page of few words
    empty shell   hardly a word, hardly a link, scripts, and either the empty element that a framework mounts on, or a <noscript> that
                  asks for JavaScript

Not flagged are: a page with text and a widget against robots, a page with a firewall's measuring script, an article about these, a short
page with an analytics script, a page of frames, images or a form. Only the page itself is the proof; nothing is learned.

Time: 0.2 µs for a page of many words, 20 µs for a short one of 25 KB. Memory: none.
"""

from __future__ import annotations

from typing import Final

import re2

from thresher.crawler.core.model import Flag, Head

_FEW: Final = 150  # most words of a challenge; real ones have up to a hundred
_HARDLY_ANY: Final = 25  # most words of an empty shell
_LINKS: Final = 3  # most links of a challenge or a shell
_READ: Final = 256 << 10  # bytes of a body that are searched

_SCRIPTS: Final = re2.compile(  # scripts of firewalls that are in their challenges and not in the pages behind them
    rb"window\._cf_chl_opt|/cdn-cgi/challenge-platform/[a-z]/[a-z]/orchestrate/|/cdn-cgi/l/chk_jschl"
    rb"|/\.within\.website/x/cmd/anubis/|anubis_challenge|\.awswaf\.com/[^\"' ]+/challenge\.js|captcha-delivery\.com/c\.js"
    rb"|window\._pxAppId|/_Incapsula_Resource\?SWJIYLWA|_sec/cp_challenge|/\.well-known/sgcaptcha/|ddos-guard/js-challenge"
    rb"|slowAES\.decrypt"
)
_HEADERS: Final = (
    (b"cf-mitigated", ("challenge",)),
    (b"x-amzn-waf-action", ("challenge", "captcha")),
    (b"x-vercel-mitigated", ("challenge",)),
)
_MOUNT: Final = re2.compile(rb"(?i)<(?:div|main|section|app-root)\b[^>]*>\s*(?:<!--[^>]*-->\s*)?</(?:div|main|section|app-root)>")
_NAMED_MOUNT: Final = re2.compile(
    rb"(?i)\sid\s*=\s*[\"']?(?:root|app|__next|__nuxt|main-app|react-root|app-root|svelte|ember-app|q-app|___gatsby)[\"'\s>]|<app-root"
)
_SCRIPT: Final = re2.compile(rb"(?i)<script\b[^>]*\ssrc\s*=|<script\b[^>]*>[^<]{200}")
_ASKS: Final = re2.compile(rb"(?i)<noscript\b[^>]*>(?:[^<]|<[^/]|</[^n]){0,200}?(?:java ?script|http-equiv=.?refresh)")
_SHOWS: Final = re2.compile(rb"(?i)<(?:iframe|frame|img|video|canvas|form|object|embed|textarea|picture)\b")


def browser_need(head: Head, body: bytes, *, n_words: int, n_links: int) -> Flag | None:
    """Return the flag of a page that only a browser can read; None for any other page.

    Args:
        n_words, n_links: Words and links that are found without a browser.
    """
    if n_words > _FEW or n_links > _FEW:
        return None
    start = body[:_READ]
    if (n_links <= _LINKS or head.status >= 400) and is_challenge(head, start):
        return Flag.CHALLENGE
    if head.status != 200 or n_words > _HARDLY_ANY or n_links > _LINKS or head.mime_type not in ("text/html", "application/xhtml+xml", ""):
        return None
    if not _SCRIPT.search(start):
        return None
    is_mounted_on = any(_NAMED_MOUNT.search(found.group()) for found in _MOUNT.finditer(start))
    if is_mounted_on or (_ASKS.search(start) and not _SHOWS.search(start)):
        return Flag.EMPTY_SHELL
    return None


def is_challenge(head: Head, body: bytes) -> bool:
    """Return whether an answer of few words is a firewall's challenge."""
    if any(head.get(name).lower() in values for name, values in _HEADERS):
        return True
    return head.mime_type in ("text/html", "application/xhtml+xml", "") and _SCRIPTS.search(body) is not None
