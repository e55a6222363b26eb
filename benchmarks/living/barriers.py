"""Walls: answers that a whole site gives for a while instead of its pages. Twenty-five kinds, at times that a seed decides.

A wall lasts for a number of requests, or of seconds if fewer requests come (a crawler that backs off sends none). Then the site answers
normally for a number of requests. Everything depends only on the seed and the requests; `Schedule` reads time from the clock that it is
given.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """The kind of wall that answers instead of the site."""

    LOGIN_FORM = "login form, 200"
    LOGIN_REDIRECT = "302 to a login form"
    CONSENT = "consent page, 200"
    LIMIT = "429"
    LIMIT_TIMED = "429 with Retry-After"
    SLOW_DOWN = "page that asks to slow down, 200"
    MAINTENANCE = "503"
    MAINTENANCE_TIMED = "503 with Retry-After"
    MAINTENANCE_PAGE = "page of maintenance, 200"
    VARIANTS = "A/B variants"
    SESSIONS = "a session minted on each page"
    LANGUAGE = "another language by address"
    CHALLENGE = "challenge page, 403"
    SESSION_REDIRECTS = "302 that adds a session to each address"
    LOOP = "302 that adds another session each time, without end"
    FRONT_REDIRECTS = "302 to the front page"
    SHELL = "page that wants JavaScript, 200"
    BLANK = "empty page, 200"
    DATA = "JSON that names a limit, 200"
    NUMBERED = "page of an error with a number for each request, 200"
    TEASERS = "first words of each page, 200"
    UNLINKED = "pages without links"
    OLD_STATE = "old state of the site in its own words"
    OTHER_PAGE = "another page of the site in place of each"
    EVERY_SECOND = "page that asks to slow down for every second request, 200"


LOGIN_PATH = "/login"
SESSION = "sid"
_RETRY_AFTER_S = 2.0
_OPEN = (25, 70)  # requests between two walls: least, most
_STANDS = (10, 40)  # requests that a wall answers: least, most
_LONGEST_S = 5.0
_TEASER = 30  # words

_LOGIN = """<html><head><title>Log in</title></head><body><h1>Log in</h1><p>You must log in to see this page.</p>
<form action="/login" method="post"><input name="user"><input type="password" name="password"><button>Log in</button></form>
</body></html>"""
_CONSENT = """<html><head><title>Before you continue</title></head><body><h1>Before you continue</h1><p>We and our partners store and read
information on your device. You may accept or choose.</p><form method="post"><button>Accept all</button><button>Choose</button></form>
</body></html>"""
_SLOW = """<html><head><title>Please slow down</title></head><body><h1>Please slow down</h1><p>You have sent many requests in a short time.
Wait a moment and try again.</p></body></html>"""
_MAINTENANCE = """<html><head><title>Maintenance</title></head><body><h1>We will be back soon</h1><p>The site is down for maintenance.
Thank you for your patience.</p></body></html>"""
_CHALLENGE = """<html><head><title>Just a moment</title></head><body><h1>Checking your browser</h1><p>This takes a few seconds.</p>
<noscript>Enable JavaScript to continue.</noscript></body></html>"""
_SHELL = """<html><head><title>Loading</title></head><body><noscript>Please enable JavaScript to view this site.</noscript>
<div id="root"></div><script src="/app.js"></script></body></html>"""
_NUMBERED = """<html><head><title>Oops</title></head><body><h1>Something went wrong</h1><p>We know of it and work on it. Please try again
later. Reference {number:016x}.</p></body></html>"""
_TEASED = """<html><head><title>{title}</title></head><body><p>{words} … Subscribe now to read on, it costs little.</p></body></html>"""
_BANNER = '<div class="banner"><p>Now in a new design: tell us what you think of variant {n}.</p><p><a href="/">Home</a></p></div>'

_BANNERS = re.compile(r"(?:Now in a new design tell us what you think of variant \d Home ?)+")  # banners as words of a page's text
_LINK = re.compile(r"""(<a\b[^>]*?\bhref=["'])([^"'#]+)""", re.IGNORECASE)
_ANCHOR = re.compile(r"<a\b[^>]*>", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>([^<]*)<", re.IGNORECASE)
_BODY = re.compile(r".*?<body[^>]*>", re.IGNORECASE | re.DOTALL)
_UNSEEN = re.compile(r"<(script|style|head)\b.*?</\1>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_SENTENCE = re.compile(r">([^<]{40,})<")  # a text that is long enough for its words to stand in another order
_TEXT = re.compile(r">([^<]+)<")
_SHIFTED = str.maketrans("aeioubcdfglmnprst", "eiouadfgbcmlrnpts")


@dataclass(frozen=True)
class ProxyAnswer:
    """The answer that is sent."""

    status: int
    headers: dict[str, str]
    body: bytes
    is_wall: bool = False


@dataclass
class Schedule:
    """Decides which wall answers a request; called once for each request."""

    seed: int
    now: Callable[[], float]  # seconds
    kinds: Sequence[Kind] = tuple(Kind)
    pace: int = 1  # walls stand for a part of their time: one of so many
    rng: random.Random = field(init=False)
    standing: Kind | None = None
    _left: int = 0  # requests
    _since: float = 0.0
    _to_come: list[Kind] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self._left = self.rng.randint(*_OPEN)

    def next(self) -> Kind | None:
        """Return the wall that answers this request, None for the site itself. Each kind comes once before any comes again."""
        if not self.kinds:
            return None
        is_over = self.standing is not None and self.now() - self._since > _LONGEST_S / self.pace
        if self._left <= 0 or is_over:
            self._turn()
        self._left -= 1
        return None if self.standing is Kind.EVERY_SECOND and self._left % 2 else self.standing

    def _turn(self) -> None:
        if self.standing is not None:
            self.standing, self._left = None, self.rng.randint(*_OPEN)
            return
        if not self._to_come:
            self._to_come = self.rng.sample(list(self.kinds), len(self.kinds))
        self.standing, self._left, self._since = self._to_come.pop(), self.rng.randint(*_STANDS), self.now()


def instead(kind: Kind, path: str, rng: random.Random, pace: int = 1) -> ProxyAnswer | None:
    """Return the answer of a wall that does not ask the site; None for a kind that changes the site's own answer.

    Args:
        kind: Of the wall.
        path: That is asked for, with its query.
        rng: Draws sessions and numbers.
        pace: Part of the time that a client is told to wait: one of so many.
    """
    page = {"Content-Type": "text/html; charset=utf-8"}
    timed = page | {"Retry-After": str(math.ceil(_RETRY_AFTER_S / pace))}
    match kind:
        case Kind.LOGIN_REDIRECT if not path.startswith(LOGIN_PATH):
            return ProxyAnswer(302, page | {"Location": f"{LOGIN_PATH}?next={path}"}, b"", is_wall=True)
        case Kind.LOGIN_FORM | Kind.LOGIN_REDIRECT:
            return ProxyAnswer(200, page, _LOGIN.encode(), is_wall=True)
        case Kind.CONSENT:
            return ProxyAnswer(200, page, _CONSENT.encode(), is_wall=True)
        case Kind.SLOW_DOWN | Kind.EVERY_SECOND:
            return ProxyAnswer(200, page, _SLOW.encode(), is_wall=True)
        case Kind.LIMIT | Kind.LIMIT_TIMED:
            return ProxyAnswer(429, page if kind is Kind.LIMIT else timed, _SLOW.encode(), is_wall=True)
        case Kind.MAINTENANCE | Kind.MAINTENANCE_TIMED:
            return ProxyAnswer(503, page if kind is Kind.MAINTENANCE else timed, _MAINTENANCE.encode(), is_wall=True)
        case Kind.MAINTENANCE_PAGE:
            return ProxyAnswer(200, page, _MAINTENANCE.encode(), is_wall=True)
        case Kind.CHALLENGE:
            return ProxyAnswer(403, page, _CHALLENGE.encode(), is_wall=True)
        case Kind.SESSION_REDIRECTS | Kind.LOOP if kind is Kind.LOOP or path == without_session(path):
            return ProxyAnswer(302, page | {"Location": _with(without_session(path), _minted(rng))}, b"", is_wall=True)
        case Kind.FRONT_REDIRECTS if path != "/":
            return ProxyAnswer(302, page | {"Location": "/"}, b"", is_wall=True)
        case Kind.SHELL:
            return ProxyAnswer(200, page, _SHELL.encode(), is_wall=True)
        case Kind.BLANK:
            return ProxyAnswer(200, page, b"", is_wall=True)
        case Kind.DATA:
            return ProxyAnswer(200, {"Content-Type": "application/json"}, b'{"message": "rate limit exceeded"}', is_wall=True)
        case Kind.NUMBERED:
            return ProxyAnswer(200, page, _NUMBERED.format(number=rng.getrandbits(64)).encode(), is_wall=True)
        case _:
            return None


def changed(kind: Kind, html: str, rng: random.Random, others: Sequence[str] = ()) -> str:
    """Return a page of the site as a wall of this kind changes it.

    Args:
        kind: Of the wall.
        html: The page.
        rng: Draws what is random.
        others: Pages of the site, of which `OTHER_PAGE` shows one.
    """
    match kind:
        case Kind.TEASERS:
            title, words = _TITLE.search(html), _TAG.sub(" ", _UNSEEN.sub(" ", _BODY.sub("", html, count=1))).split()
            return _TEASED.format(title=title[1] if title else "", words=" ".join(words[:_TEASER]))
        case Kind.UNLINKED:
            return _ANCHOR.sub("<a>", html)
        case Kind.OLD_STATE:
            of_page = random.Random(html)
            return _SENTENCE.sub(lambda words: f">{_in_another_order(words[1], of_page)}<", html)
        case Kind.OTHER_PAGE:
            return rng.choice(others) if others else html
        case Kind.VARIANTS:
            n = rng.randint(1, 4)
            return re.sub(r"(<body[^>]*>)", lambda body: body[1] + _BANNER.format(n=n) * n, html, count=1, flags=re.IGNORECASE)
        case Kind.SESSIONS:
            minted = _minted(rng)
            return _LINK.sub(lambda link: f"{link[1]}{_with(link[2], minted)}", html)
        case Kind.LANGUAGE:
            return _TEXT.sub(lambda words: f">{words[1].translate(_SHIFTED)}<", html)
        case _:
            return html


def _in_another_order(words: str, rng: random.Random) -> str:
    found = words.split()
    return " ".join(rng.sample(found, len(found)))


def without_banners(text: str) -> str:
    """Return the words of a page without the banners of an experiment, which do not make it another page."""
    return _BANNERS.sub("", text)


def without_session(path: str) -> str:
    """Return the path without a session id, as the site itself is asked for it."""
    return re.sub(rf"[?&;]{SESSION}=[0-9a-f]{{16}}$", "", path)


def _minted(rng: random.Random) -> str:
    """Return a parameter with a new session id."""
    return f"{SESSION}={rng.getrandbits(64):016x}"


def _with(link: str, minted: str) -> str:
    if link.startswith(("mailto:", "javascript:", "data:")):
        return link
    return f"{link}{'&' if '?' in link else '?'}{minted}"
