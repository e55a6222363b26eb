"""Part "soft": soft errors of every kind, told by software, and honest hosts that look like them.

Kinds of URLs, and what a judge makes of them:

    soft     soft_404 soft_root soft_403 soft_5xx parked login_wall challenge consent shell      SOFT
    honest   page moved spelling shortened campaign gone                                         HONEST
    neither  error_page (where soft redirects lead), login_form: not counted

A random sibling of any URL is answered by the same software: with the same soft error, or with an honest 404.
"""

from __future__ import annotations

from functools import partial
from urllib.parse import quote

from thresher.crawler.demo import phrases
from thresher.crawler.demo.ground import Ground
from thresher.crawler.demo.house import House, Software
from thresher.crawler.demo.labels import Trap
from thresher.crawler.demo.phrases import Phrase, phrase
from thresher.crawler.demo.sheets import Anchor, Sheet, gone, moved

SOFT = frozenset({"soft_404", "soft_root", "soft_403", "soft_5xx", "parked", "login_wall", "challenge", "consent", "shell"})
HONEST = frozenset({"page", "moved", "spelling", "shortened", "campaign", "gone"})
N_PAGES = 300  # URLs of a host
_PORTAL_LINKS = 40  # a page
_N_PRODUCTS = 3  # that a host's campaigns lead to
_THIN = (18, 30)  # words of a page's own text
_THICK_ASIDE = 400
_REDIRECTS = (301, 302, 302, 307)


class SoftPart:
    """Some fifty hosts and a portal that knows them."""

    def __init__(self, ground: Ground) -> None:
        ground.n_pages = ground.n_pages or N_PAGES
        self._ground = ground
        self.houses = [
            House(ground, number, software, lang, host=_host_name(ground, number, software))
            for number, (software, lang) in enumerate(_hosts())
        ]
        self._by_host = {house.host: house for house in self.houses}
        self._introduce_peers()
        self._portal = f"portal.{ground.domain(len(self.houses))}"
        self._entries = [anchor for house in self.houses for anchor in house.entries()]
        self._skin = ground.skin(self._portal)

    def _introduce_peers(self) -> None:
        """Tell each house which others it redirects to."""
        named = {house.software.variant: house for house in self.houses}
        honest = tuple(house for house in self.houses if house.n_pages and house.software.kind in HONEST)
        for house in self.houses:
            match house.software.variant:
                case "shared":
                    house.peers = (named["hoster"],)
                case "landing":
                    house.peers = (named["parking"],)
                case "consent":
                    house.peers = (named["consent_host"],)
                case "relaunched" | "host_moved":
                    house.peers = (named["plain"],)
                case "to_www":
                    house.peers = (named["www"],)
                case _:
                    house.peers = honest

    def hosts(self) -> list[str]:
        return [self._portal, *self._by_host]

    def seeds(self) -> list[str]:
        return [self._ground.origin(self._portal) + "/"]

    def traps(self) -> tuple[Trap, ...]:
        return ()

    def find(self, host: str, path: str) -> Sheet:
        return self._by_host[host].find(path) if host != self._portal else self._find_in_portal(path)

    def _find_in_portal(self, path: str) -> Sheet:
        n_pages = -(-len(self._entries) // _PORTAL_LINKS)
        paths = ["/", *(f"/list/{i}" for i in range(1, n_pages))]
        if path not in paths:
            return gone(self._skin)
        page, origin = paths.index(path), self._ground.origin(self._portal)
        links = self._entries[page * _PORTAL_LINKS : (page + 1) * _PORTAL_LINKS]
        if page == 0:
            links = [*(Anchor(origin + other, f"List {i}") for i, other in enumerate(paths) if i), *links]
        url = origin + path
        text = partial(self._ground.text().paragraphs, 80, self._portal, page)
        return Sheet(
            kind="page", variant="portal", document=url, canonical=url, title=f"List {page}", text=text, links=tuple(links), skin=self._skin
        )


def _host_name(ground: Ground, number: int, software: Software) -> str:
    """Return the host's name: its domain; the hosts "www" and "to_www", which follow each other, share one."""
    if software.variant == "www":
        return f"www.{ground.domain(number)}"
    return ground.domain(number - 1 if software.variant == "to_www" else number)


# what is no page, by software


def _status(house: House) -> int:
    return _REDIRECTS[house.ground.throw("status", house.host) % len(_REDIRECTS)]


def _error_at(
    path_of_error: str,
    phrase_of: dict[str, Phrase],
    kind: str,
    variant: str,
    *,
    echo: str = "",
    directory: str = "",
    is_honest_404: bool = False,
) -> Software:
    """Make software that redirects what is no page to an error page answered 200: of the whole host, or of one directory."""

    def answer(house: House, path: str, number: int) -> Sheet:
        if path.partition("?")[0] == path_of_error:
            return _notice(house, phrase_of, house.origin + path_of_error, kind="error_page", variant=variant)
        is_inside = path.startswith(f"/{directory}/") if directory else True
        if not is_inside or (is_honest_404 and number < 0):
            return gone(house.skin)
        query = f"?{echo}={quote(path, safe='')}" if echo else ""
        return moved(house.origin + path_of_error + query, kind, variant=variant, status=_status(house))

    return Software(kind, variant, answer, directory)


def _error_text(phrase_of: dict[str, Phrase], kind: str, variant: str, *, directory: str = "") -> Software:
    """Make software that answers what is no page with an error text, at the URL itself and with status 200."""

    def answer(house: House, path: str, number: int) -> Sheet:
        if directory and not path.startswith(f"/{directory}/"):
            return gone(house.skin)
        return _notice(house, phrase_of, house.origin + path, kind=kind, variant=variant)

    return Software(kind, variant, answer, directory)


def _notice(house: House, phrase_of: dict[str, Phrase], url: str, *, kind: str, variant: str) -> Sheet:
    title, text = phrase(phrase_of, house.lang)
    return Sheet(kind=kind, variant=variant, title=title, text=lambda: (text.format(url=url),), skin=house.skin)


def _to_root(house: House, path: str, number: int) -> Sheet:
    return moved(house.origin + "/", "soft_root", variant="to_root", status=_status(house))


def _to_shared(house: House, path: str, number: int) -> Sheet:
    return moved(house.peers[0].origin + "/error/404.html", "soft_404", variant="shared", status=302)


def _hoster(house: House, path: str, number: int) -> Sheet:
    if path == "/error/404.html":
        return _notice(house, phrases.NOT_FOUND, "", kind="error_page", variant="shared")
    return gone(house.skin)


def _parked_landing(house: House, path: str, number: int) -> Sheet:
    return moved(f"{house.peers[0].origin}/landing?domain={house.host}", "parked", variant="landing", status=302)


def _parking(house: House, path: str, number: int) -> Sheet:
    if path.partition("?")[0] == "/landing":
        return _parked_sheet(path.partition("=")[2], "error_page", "landing")
    return gone()


def _parked_page(house: House, path: str, number: int) -> Sheet:
    return _parked_sheet(house.host, "parked", "same_page")


def _parked_sheet(domain: str, kind: str, variant: str) -> Sheet:
    title, text = phrases.PARKED["en"]
    return Sheet(kind=kind, variant=variant, title=title, text=lambda: (text.format(url=domain),))


def _login_wall(house: House, path: str, number: int) -> Sheet:
    if path.partition("?")[0] == "/login":
        return _notice(house, phrases.LOGIN, "", kind="login_form", variant="login_wall")
    if not path.startswith("/members/"):
        return gone(house.skin)
    return moved(f"{house.origin}/login?return={quote(path, safe='')}", "login_wall", variant="login_wall", status=302)


def _challenge(house: House, path: str, number: int) -> Sheet:
    title, text = phrases.CHALLENGE["en"]
    ray = f"Ray ID: {house.ground.throw('ray', house.host, path):016x}"
    return Sheet(kind="challenge", variant="challenge", title=title, text=lambda: (text.format(url=house.host), ray))


def _consent(house: House, path: str, number: int) -> Sheet:
    target = f"{house.peers[0].origin}/?continue={quote(house.origin + path, safe='')}"
    return moved(target, "consent", variant="consent", status=302)


def _consent_host(house: House, path: str, number: int) -> Sheet:
    if path.startswith("/?continue="):
        return _notice(house, phrases.CONSENT, "", kind="error_page", variant="consent")
    return gone()


def _shell(house: House, path: str, number: int) -> Sheet:
    return gone() if path.startswith("/static/") else Sheet(kind="shell", variant="shell", raw=phrases.SHELL)


def _relaunched(house: House, path: str, number: int) -> Sheet:
    return moved(house.peers[0].origin + "/", "soft_root", variant="relaunched")


# honest software


def _plain(house: House, path: str, number: int) -> Sheet:
    return gone(house.skin, 410 if number >= 0 and number % 4 == 3 else 404)


def _moved_pages(house: House, path: str, number: int) -> Sheet:
    """One old address for one page."""
    return moved(house.page_url(1 + number), "moved", variant="moved") if 0 <= number < house.n_pages - 1 else gone(house.skin)


def _host_moved(house: House, path: str, number: int) -> Sheet:
    """The whole host moved, and every path with it."""
    return moved(house.peers[0].origin + path, "moved", variant="host_moved")


def _slashes(house: House, path: str, number: int) -> Sheet:
    """Sections have a slash at their end, and whoever forgets it is told so."""
    if not path.endswith("/"):
        return moved(house.origin + path + "/", "spelling", variant="slashes")
    _, odd = house.numbers(path.rstrip("/"))
    if odd < 0:
        return gone(house.skin)
    url = house.origin + path
    text = partial(house.ground.text(house.lang, house.number).paragraphs, 150, house.host, "section", odd)
    title = house.ground.text(house.lang, house.number).title(house.host, "section", odd)
    return Sheet(kind="page", variant="slashes", document=url, canonical=url, title=title, text=text, skin=house.skin)


def _to_www(house: House, path: str, number: int) -> Sheet:
    return moved(house.peers[0].origin + path, "spelling", variant="to_www")


def _shortener(house: House, path: str, number: int) -> Sheet:
    return _shortened(house, number, "shortener") if number >= 0 else gone()


def _shortener_with_dead_codes(house: House, path: str, number: int) -> Sheet:
    """Codes that are dead or never were lead to its home page."""
    if path == "/":
        url = house.origin + "/"
        text = partial(house.ground.text().paragraphs, 60, house.host)
        return Sheet(kind="page", variant="dead_codes", document=url, canonical=url, title="Short links", text=text, skin=house.skin)
    if number < 0 or number % 5 == 4:
        return moved(house.origin + "/", "soft_root", variant="dead_codes")
    return _shortened(house, number, "dead_codes")


def _shortened(house: House, number: int, variant: str) -> Sheet:
    throw = house.ground.throw("shortened", house.host, number)
    peer = house.peers[throw % len(house.peers)]
    return moved(peer.page_url((throw >> 16) % peer.n_pages), "shortened", variant=variant)


def _campaigns(house: House, path: str, number: int) -> Sheet:
    """Many old campaigns, few products, all of them for sale."""
    if number < 0:
        return gone(house.skin)
    return moved(house.page_url(1 + number % min(_N_PRODUCTS, house.n_pages - 1)), "campaign", variant="campaigns")


def _hosts() -> list[tuple[Software, str]]:
    """Return every host's software and language."""
    return [*_faulty(), *_gated(), *_honest()]


def _faulty() -> list[tuple[Software, str]]:
    not_found, denied, sorry = phrases.NOT_FOUND, phrases.DENIED, phrases.UNAVAILABLE
    root = Software("soft_root", "to_root", _to_root)
    shared = Software("soft_404", "shared", _to_shared)
    text = _error_text(not_found, "soft_404", "text")
    return [
        *((_error_at(at, not_found, "soft_404", "redirect"), lang) for at, lang in _ERROR_PATHS),
        (_error_at("/notfound", not_found, "soft_404", "redirect_echo", echo="from"), "en"),
        *((root, lang) for lang in ("fr", "en", "ja", "ru")),
        *((shared, lang) for lang in ("en", "pt", "zh", "en")),
        (Software("gone", "hoster", _hoster, size=0.1), "en"),
        *((text, lang) for lang in ("en", "de", "ja", "ko", "ar")),
        (Software("soft_404", "thin_text", text.answer, n_aside=_THICK_ASIDE, n_words=_THIN), "en"),
        (_error_at("/denied.html", denied, "soft_403", "redirect", directory="intern"), "de"),
        (_error_text(denied, "soft_403", "text", directory="staff"), "es"),
        (_error_at("/sorry.html", sorry, "soft_5xx", "redirect", directory="shop"), "en"),
        (_error_at("/wartung", sorry, "soft_5xx", "redirect_known", directory="shop", is_honest_404=True), "de"),
        (_error_text(sorry, "soft_5xx", "text", directory="tickets"), "zh"),
        (Software("soft_root", "relaunched", _relaunched, has_pages=False, size=0.5), "en"),
    ]


_ERROR_PATHS = (("/404.html", "en"), ("/error/notfound.php", "ru"), ("/fehler", "de"), ("/pagina-no-encontrada", "es"))


def _gated() -> list[tuple[Software, str]]:
    landing = Software("parked", "landing", _parked_landing, has_pages=False, size=0.2)
    same = Software("parked", "same_page", _parked_page, has_pages=False, size=0.2)
    return [
        *((landing, "en") for _ in range(4)),
        (Software("gone", "parking", _parking, has_pages=False, size=0.0), "en"),
        *((same, "en") for _ in range(4)),
        *((Software("login_wall", "login_wall", _login_wall, "members"), lang) for lang in ("en", "de")),
        (Software("challenge", "challenge", _challenge, has_pages=False), "en"),
        (Software("consent", "consent", _consent, has_pages=False, size=0.5), "fr"),
        (Software("gone", "consent_host", _consent_host, has_pages=False, size=0.0), "fr"),
        (Software("shell", "shell", _shell, has_pages=False, size=0.5), "en"),
    ]


def _honest() -> list[tuple[Software, str]]:
    return [
        *((Software("gone", "plain", _plain), lang) for lang in ("en", "fr", "ja")),
        (Software("gone", "about_errors", _plain, insert=phrases.ABOUT_ERRORS), "en"),
        (Software("gone", "thin", _plain, n_aside=_THICK_ASIDE, n_words=_THIN), "en"),
        *((Software("moved", "moved", _moved_pages, "old", ".php"), lang) for lang in ("en", "ru")),
        (Software("moved", "host_moved", _host_moved, has_pages=False, size=0.5, keeps_paths=True), "en"),
        (Software("spelling", "slashes", _slashes, ending=""), "en"),
        (Software("gone", "www", _plain), "en"),
        (Software("spelling", "to_www", _to_www, has_pages=False, size=0.5, keeps_paths=True), "en"),
        (Software("shortened", "shortener", _shortener, "s", "", has_pages=False), "en"),
        (Software("shortened", "dead_codes", _shortener_with_dead_codes, "s", "", has_pages=False), "en"),
        *((Software("campaign", "campaigns", _campaigns, "promo", ""), lang) for lang in ("en", "de")),
    ]
