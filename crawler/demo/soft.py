"""Part "soft": soft errors of every kind, each made by one software, and honest hosts that look like them.

Kinds of URLs, and how a filter is judged by them:

    soft     soft_404 soft_root soft_403 soft_5xx parked login_wall challenge consent shell      SOFT
    honest   page moved spelling shortened campaign gone                                         HONEST
    neither  error_page (where soft redirects lead), login_form: not counted

A request of a random URL beside any URL is answered by the same software: with the same soft error, or with an honest 404.
"""

from __future__ import annotations

from functools import partial
from urllib.parse import quote

from thresher.crawler.demo import phrases
from thresher.crawler.demo.labels import LabelledTrap
from thresher.crawler.demo.page_truth import PageTruth, PlannedLink, gone, moved
from thresher.crawler.demo.part_context import PartContext
from thresher.crawler.demo.phrases import Phrase, phrase
from thresher.crawler.demo.soft_error_host import SoftErrorHost, Software

SOFT = frozenset({"soft_404", "soft_root", "soft_403", "soft_5xx", "parked", "login_wall", "challenge", "consent", "shell"})
HONEST = frozenset({"page", "moved", "spelling", "shortened", "campaign", "gone"})
N_PAGES = 300  # URLs of a host
_PORTAL_LINKS = 40  # links of the portal on a page
_N_PRODUCTS = 3  # products to which a host's campaigns redirect
_THIN = (18, 30)  # words of a thin page's own text (least, most)
_THICK_ASIDE = 400
_REDIRECTS = (301, 302, 302, 307)


class SoftPart:
    """Some fifty hosts, and a portal that links to all of them."""

    def __init__(self, context: PartContext) -> None:
        context.n_pages = context.n_pages or N_PAGES
        self._context = context
        self.houses = [
            SoftErrorHost(context, number, software, lang, host=_host_name(context, number, software))
            for number, (software, lang) in enumerate(_hosts())
        ]
        self._by_host = {soft_host.host: soft_host for soft_host in self.houses}
        self._introduce_peers()
        self._portal = f"portal.{context.domain(len(self.houses))}"
        self._entries = [anchor for soft_host in self.houses for anchor in soft_host.entries()]
        self._template = context.template(self._portal)

    def _introduce_peers(self) -> None:
        """Give each host the other hosts to which it redirects."""
        named = {soft_host.software.variant: soft_host for soft_host in self.houses}
        honest = tuple(soft_host for soft_host in self.houses if soft_host.n_pages and soft_host.software.kind in HONEST)
        for soft_host in self.houses:
            match soft_host.software.variant:
                case "shared":
                    soft_host.peers = (named["hoster"],)
                case "landing":
                    soft_host.peers = (named["parking"],)
                case "consent":
                    soft_host.peers = (named["consent_host"],)
                case "relaunched" | "host_moved":
                    soft_host.peers = (named["plain"],)
                case "to_www":
                    soft_host.peers = (named["www"],)
                case _:
                    soft_host.peers = honest

    def hosts(self) -> list[str]:
        return [self._portal, *self._by_host]

    def seeds(self) -> list[str]:
        return [self._context.origin(self._portal) + "/"]

    def traps(self) -> tuple[LabelledTrap, ...]:
        return ()

    def find(self, host: str, path: str) -> PageTruth:
        return self._by_host[host].find(path) if host != self._portal else self._find_in_portal(path)

    def _find_in_portal(self, path: str) -> PageTruth:
        n_pages = -(-len(self._entries) // _PORTAL_LINKS)
        paths = ["/", *(f"/list/{i}" for i in range(1, n_pages))]
        if path not in paths:
            return gone(self._template)
        page, origin = paths.index(path), self._context.origin(self._portal)
        links = self._entries[page * _PORTAL_LINKS : (page + 1) * _PORTAL_LINKS]
        if page == 0:
            links = [*(PlannedLink(origin + other, f"List {i}") for i, other in enumerate(paths) if i), *links]
        url = origin + path
        text = partial(self._context.text().paragraphs, 80, self._portal, page)
        return PageTruth(
            kind="page",
            variant="portal",
            document=url,
            canonical=url,
            title=f"List {page}",
            text=text,
            links=tuple(links),
            template=self._template,
        )


def _host_name(context: PartContext, number: int, software: Software) -> str:
    """Return the host's name: its domain; the hosts "www" and "to_www", which follow each other, share one."""
    if software.variant == "www":
        return f"www.{context.domain(number)}"
    return context.domain(number - 1 if software.variant == "to_www" else number)


# missing pages, by software


def _status(soft_host: SoftErrorHost) -> int:
    return _REDIRECTS[soft_host.context.throw("status", soft_host.host) % len(_REDIRECTS)]


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
    """Make software that redirects missing pages to an error page answered 200: one for the host, or one for a directory."""

    def answer(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
        if path.partition("?")[0] == path_of_error:
            return _notice(soft_host, phrase_of, soft_host.origin + path_of_error, kind="error_page", variant=variant)
        is_inside = path.startswith(f"/{directory}/") if directory else True
        if not is_inside or (is_honest_404 and number < 0):
            return gone(soft_host.template)
        query = f"?{echo}={quote(path, safe='')}" if echo else ""
        return moved(soft_host.origin + path_of_error + query, kind, variant=variant, status=_status(soft_host))

    return Software(kind, variant, answer, directory)


def _error_text(phrase_of: dict[str, Phrase], kind: str, variant: str, *, directory: str = "") -> Software:
    """Make software that answers missing pages with an error text, at the URL itself and with status 200."""

    def answer(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
        if directory and not path.startswith(f"/{directory}/"):
            return gone(soft_host.template)
        return _notice(soft_host, phrase_of, soft_host.origin + path, kind=kind, variant=variant)

    return Software(kind, variant, answer, directory)


def _notice(soft_host: SoftErrorHost, phrase_of: dict[str, Phrase], url: str, *, kind: str, variant: str) -> PageTruth:
    title, text = phrase(phrase_of, soft_host.lang)
    return PageTruth(kind=kind, variant=variant, title=title, text=lambda: (text.format(url=url),), template=soft_host.template)


def _to_root(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    return moved(soft_host.origin + "/", "soft_root", variant="to_root", status=_status(soft_host))


def _to_shared(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    return moved(soft_host.peers[0].origin + "/error/404.html", "soft_404", variant="shared", status=302)


def _hoster(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    if path == "/error/404.html":
        return _notice(soft_host, phrases.NOT_FOUND, "", kind="error_page", variant="shared")
    return gone(soft_host.template)


def _parked_landing(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    return moved(f"{soft_host.peers[0].origin}/landing?domain={soft_host.host}", "parked", variant="landing", status=302)


def _parking(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    if path.partition("?")[0] == "/landing":
        return _parked_sheet(path.partition("=")[2], "error_page", "landing")
    return gone()


def _parked_page(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    return _parked_sheet(soft_host.host, "parked", "same_page")


def _parked_sheet(domain: str, kind: str, variant: str) -> PageTruth:
    title, text = phrases.PARKED["en"]
    return PageTruth(kind=kind, variant=variant, title=title, text=lambda: (text.format(url=domain),))


def _login_wall(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    if path.partition("?")[0] == "/login":
        return _notice(soft_host, phrases.LOGIN, "", kind="login_form", variant="login_wall")
    if not path.startswith("/members/"):
        return gone(soft_host.template)
    return moved(f"{soft_host.origin}/login?return={quote(path, safe='')}", "login_wall", variant="login_wall", status=302)


def _challenge(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    title, text = phrases.CHALLENGE["en"]
    ray = f"Ray ID: {soft_host.context.throw('ray', soft_host.host, path):016x}"
    return PageTruth(kind="challenge", variant="challenge", title=title, text=lambda: (text.format(url=soft_host.host), ray))


def _consent(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    target = f"{soft_host.peers[0].origin}/?continue={quote(soft_host.origin + path, safe='')}"
    return moved(target, "consent", variant="consent", status=302)


def _consent_host(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    if path.startswith("/?continue="):
        return _notice(soft_host, phrases.CONSENT, "", kind="error_page", variant="consent")
    return gone()


def _shell(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    return gone() if path.startswith("/static/") else PageTruth(kind="shell", variant="shell", raw=phrases.SHELL)


def _relaunched(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    return moved(soft_host.peers[0].origin + "/", "soft_root", variant="relaunched")


# honest software


def _plain(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    return gone(soft_host.template, 410 if number >= 0 and number % 4 == 3 else 404)


def _moved_pages(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    """Redirect one old address for each page."""
    return (
        moved(soft_host.page_url(1 + number), "moved", variant="moved") if 0 <= number < soft_host.n_pages - 1 else gone(soft_host.template)
    )


def _host_moved(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    """Redirect: the whole host has moved, with all of its paths."""
    return moved(soft_host.peers[0].origin + path, "moved", variant="host_moved")


def _slashes(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    """Redirect the URL of a section without its final slash."""
    if not path.endswith("/"):
        return moved(soft_host.origin + path + "/", "spelling", variant="slashes")
    _, odd = soft_host.numbers(path.rstrip("/"))
    if odd < 0:
        return gone(soft_host.template)
    url = soft_host.origin + path
    text = partial(soft_host.context.text(soft_host.lang, soft_host.number).paragraphs, 150, soft_host.host, "section", odd)
    title = soft_host.context.text(soft_host.lang, soft_host.number).title(soft_host.host, "section", odd)
    return PageTruth(kind="page", variant="slashes", document=url, canonical=url, title=title, text=text, template=soft_host.template)


def _to_www(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    return moved(soft_host.peers[0].origin + path, "spelling", variant="to_www")


def _shortener(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    return _shortened(soft_host, number, "shortener") if number >= 0 else gone()


def _shortener_with_dead_codes(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    """Redirect codes; those that are dead or never existed lead to its home page."""
    if path == "/":
        url = soft_host.origin + "/"
        text = partial(soft_host.context.text().paragraphs, 60, soft_host.host)
        return PageTruth(
            kind="page", variant="dead_codes", document=url, canonical=url, title="Short links", text=text, template=soft_host.template
        )
    if number < 0 or number % 5 == 4:
        return moved(soft_host.origin + "/", "soft_root", variant="dead_codes")
    return _shortened(soft_host, number, "dead_codes")


def _shortened(soft_host: SoftErrorHost, number: int, variant: str) -> PageTruth:
    throw = soft_host.context.throw("shortened", soft_host.host, number)
    peer = soft_host.peers[throw % len(soft_host.peers)]
    return moved(peer.page_url((throw >> 16) % peer.n_pages), "shortened", variant=variant)


def _campaigns(soft_host: SoftErrorHost, path: str, number: int) -> PageTruth:
    """Redirect many old campaigns to few products, all of which are for sale."""
    if number < 0:
        return gone(soft_host.template)
    return moved(soft_host.page_url(1 + number % min(_N_PRODUCTS, soft_host.n_pages - 1)), "campaign", variant="campaigns")


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
