"""Small honest sites, each with and without tracking parameters: no page of theirs may be dropped as an error.

    python -m benchmarks.quality.honest_sites [--pages 20] [--keep DIR]

Each kind of site is a server of its own on loopback that answers as such sites do; each is there twice, the second time with every link
followed by one to the same page with ?ref=…, ?utm_source=… or ?from=…. All are crawled together, from their home pages, in the default
configuration but for politeness. A page is lost if the soft-error filter's standing verdict does not keep it, if the filter refused it, or
if its host was parked. Beside them stand faulty sites, whose missing pages are answered 200 in five ways: to find none of them is no mend.

Prints a row a kind: pages, lost as errors, dropped as copies, missing pages and how many were found, probes. Exit 1 unless 0 honest pages
are lost and .95 of the missing ones are found. Five seconds of CPU.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

_TESTS = Path(__file__).parents[2] / "tests"
sys.path[:0] = [str(_TESTS), str(_TESTS / "stories")]

from little_web import Crawled, LittleWeb, crawl, settings  # noqa: E402  # found where the suite finds it
from soft_web import caught, standing  # noqa: E402

from thresher.config.settings import Filters, Limits  # noqa: E402
from thresher.filters.soft_error.probe import N_LETTERS  # noqa: E402

N_PAGES = 20
MIN_RECALL = 0.95
_TRACKED = "-tracked"
_PORTAL = "portal.test"


@dataclass(frozen=True)
class Answer:
    """What a site answers."""

    body: str = ""
    status: int = 200
    title: str = "Our site"
    location: str = ""
    has_menu: bool = False  # links to all pages of the site


Server = Callable[[str, dict[str, str], int], Answer]  # path, query, number of pages → answer


@dataclass(frozen=True)
class Site:
    """A kind of site."""

    name: str
    paths: Callable[[int], list[str]]  # of its pages, but for the home page
    answer: Server
    is_faulty: bool = False  # its pages from the second half on are missing
    is_app: bool = False  # its links are written by a script: other sites know its pages


HOME = Answer("Welcome to our little site. Here is what we have, and where to find us.", has_menu=True)
NOTHING = Answer("There is no such page here. Go back to the home page.", 404, "Not found")
LOST = "Sorry, the page that you asked for could not be found. It may have been removed. Please look for it from the home page."


def words(seed: str, n: int) -> str:
    """Return n words that are another text's too only by chance."""
    digest = blake2b(seed.encode(), digest_size=32).hexdigest()
    return " ".join(f"w{digest[i % 60 : i % 60 + 4]}{i // 60}" for i in range(n))


MENU = words("menu", 400)


def number_of(name: str, n: int, prefix: str = "p", suffix: str = "") -> int:
    """Return the number in a name such as "p17", -1 if there is no such page."""
    digits = name.removeprefix(prefix).removesuffix(suffix)
    known = name.startswith(prefix) and name.endswith(suffix) and digits.isascii() and digits.isdigit() and int(digits) < n
    return int(digits) if known else -1


def numbered(pattern: str) -> Callable[[int], list[str]]:
    return lambda n: [pattern.format(i) for i in range(n)]


def pages(text: Callable[[int], Answer], *, prefix: str = "/p", suffix: str = ".html", missing: Answer = NOTHING) -> Server:
    """Return a server of pages by their paths, whatever the query."""

    def answer(path: str, query: dict[str, str], n: int) -> Answer:
        if path == "/":
            return HOME
        i = number_of(path, n, prefix, suffix)
        return text(i) if i >= 0 else missing

    return answer


def by_parameter(name: str, text: Callable[[int], Answer], missing: Answer, bare: Answer = HOME) -> Server:
    """Return a script whose pages one parameter names."""

    def answer(path: str, query: dict[str, str], n: int) -> Answer:
        if path == "/":
            return HOME
        if path != "/item.php":
            return NOTHING
        if name not in query:
            return bare
        i = number_of(query[name], n, "")
        return text(i) if i >= 0 else missing

    return answer


def _suffixed(path: str, query: dict[str, str], n: int) -> Answer:
    """The first segment names the page, whatever follows."""
    first = path.split("/")[1]
    return _stub(number_of(first, n, "mug")) if number_of(first, n, "mug") >= 0 else HOME if path == "/" else NOTHING


def _languages(path: str, query: dict[str, str], n: int) -> Answer:
    if path == "/":
        return HOME
    i = number_of(path, n, "/p")
    if i < 0:
        return NOTHING
    texts = {"de": f"Leider nicht verfügbar. {words(f'de{i}', 20)}", "fr": f"Bientôt: {words(f'fr{i}', 20)}"}
    return Answer(texts.get(query.get("lang", ""), f"No longer available. {words(f'en{i}', 20)}"), title="Our languages")


def _gallery(path: str, query: dict[str, str], n: int) -> Answer:
    """Pages of pictures: a page that is not there is the first one."""
    if path != "/gallery":
        return HOME if path == "/" else NOTHING
    i = max(0, number_of(query.get("page", "0"), n, ""))
    return Answer(f'Nothing found? Look further. <img src="/i/{i}.jpg"> Picture {i} of the old harbour.', title="Gallery")


def _said(path: str, query: dict[str, str], n: int) -> Answer:
    """A saying of its own on each page, and for whatever else is asked."""
    return HOME if path == "/" else Answer(f"Not found in any book: {words(path, 12)}", title="Sayings")


def _greeting(path: str, query: dict[str, str], n: int) -> Answer:
    return HOME if path == "/" else Answer(f"Hello {path.rpartition('/')[2]}. Nice to see you here.", title="Hello")


def _shop(path: str, query: dict[str, str], n: int) -> Answer:
    """Stubs; what was never sold leads home."""
    i = number_of(path, n, "/p")
    return HOME if path == "/" else _stub(i) if i >= 0 else Answer(status=302, location="/")


def _fallback(path: str, query: dict[str, str], n: int) -> Answer:
    """What was never sold leads to the first that was."""
    i = number_of(path, n, "/p")
    return HOME if path == "/" else _stub(i) if i >= 0 else Answer(status=302, location="/p0")


def _canonical(path: str, query: dict[str, str], n: int) -> Answer:
    """A page with parameters leads to the page."""
    i = number_of(path, n, "/p")
    return HOME if path == "/" else NOTHING if i < 0 else Answer(status=301, location=path) if query else _stub(i)


def _calendar(path: str, query: dict[str, str], n: int) -> Answer:
    """Every other day is empty; what is no day is today."""
    if path != "/calendar":
        return HOME if path == "/" else NOTHING
    i = max(0, number_of(query.get("day", "0"), n, ""))
    return Answer(f"Nothing found on day {i}." if i % 2 else f"Concert on day {i}. {words(f'{i}', 20)}", title="Calendar")


def _path_info(path: str, query: dict[str, str], n: int) -> Answer:
    """A script that reads its page from the path, and shows the front for what it does not know."""
    parts = path.split("/")
    i = number_of(parts[2], n) if len(parts) > 2 else -1
    return (
        HOME if path == "/" else NOTHING if parts[1] != "index.php" else _stub(i) if i >= 0 else Answer("Mugs of all kinds.", title="Front")
    )


def _stub(i: int) -> Answer:
    return Answer(f"Mug number {i}. This product is no longer available. Ask us for others of its kind.", title="Mugs")


def _text(i: int) -> Answer:
    return Answer(words(f"text{i}", 50), title=f"Page {i}")


SHELL = Answer("<noscript>You need to enable JavaScript to run this app.</noscript><div id=app></div>", title="App")
TALKING = Answer("Loading... Our application for all who count sheep. Inbox, outbox, settings, help.", title="Sheep")
CATCH_ALL = Answer("OK", title="")
HELP = ("404 not found", "403 access denied", "503 service unavailable", "Log in", "Security check", "Before you continue")

HONEST = (
    Site("static", numbered("/p{}.html"), pages(_text)),
    Site("short pages", numbered("/p{}.html"), pages(lambda i: Answer(words(f"short{i}", 8)))),
    Site("a number", numbered("/p{}.html"), pages(lambda i: Answer(f"Part number {i}. Price {3 * i} euros. In stock, sent today."))),
    Site("product stubs", numbered("/p{}.html"), pages(_stub)),
    Site("image pages", numbered("/p{}.html"), pages(lambda i: Answer(f'<img src="/i/{i}.jpg"> Photo. Next. Back.', title="Photo"))),
    Site("images alone", numbered("/p{}.html"), pages(lambda i: Answer(f'<img src="/i/{i}.jpg">', title="Photo"), missing=HOME)),
    Site("forms", numbered("/p{}.html"), pages(lambda i: Answer(f"Log in. <form><input name=f{i}></form> Forgot your password?"))),
    Site("gallery", numbered("/gallery?page={}"), _gallery),
    Site("languages", lambda n: [f"/p{i}{lang}" for i in range(n // 4) for lang in ("", "?lang=en", "?lang=de", "?lang=fr")], _languages),
    Site("shell", numbered("/app/{}"), lambda *_: SHELL, is_app=True),
    Site("talking shell", numbered("/app/{}"), lambda *_: TALKING, is_app=True),
    Site("app beside pages", numbered("/app/{}"), lambda path, *_: HOME if path == "/" else SHELL),
    Site("app with titles", numbered("/app/{}"), lambda path, *_: Answer(SHELL.body, title=f"App {path}"), is_app=True),
    Site("no parameters", numbered("/p{}?view=full"), pages(_stub, suffix="")),
    Site("path suffixes", lambda n: [f"/mug{i}{end}" for i in range(n // 3) for end in ("", "/print", "/share")], _suffixed),
    Site("catch-all", numbered("/p{}"), pages(_stub, suffix="", missing=HOME)),
    Site("catch-all, hinting", numbered("/p{}"), pages(_text, suffix="", missing=Answer("Nothing found? Ask us.", title="Help"))),
    Site("greeting", numbered("/hello/you{}"), _greeting),
    Site("sayings", numbered("/p{}"), _said),
    Site("about errors", numbered("/p{}.html"), pages(lambda i: Answer(f"How we answer: {words(f'{i}', 9)}", title=HELP[i % len(HELP)]))),
    Site(
        "thick template", numbered("/p{}"), pages(lambda i: Answer(f"{MENU} lot {i}", title=""), suffix="", missing=Answer(MENU, 404, ""))
    ),
    Site(
        "consent banner",
        numbered("/p{}"),
        pages(lambda i: Answer(f"We use cookies and more. {words(f'{i}', 20)}"), suffix="", missing=HOME),
    ),
    Site("ids", numbered("/item.php?id={}"), by_parameter("id", _stub, Answer(status=302, location="/"))),
    Site("shop", numbered("/p{}"), _shop),
    Site("fallback", numbered("/p{}"), _fallback),
    Site("canonical", numbered("/p{}"), _canonical),
    Site("calendar", numbered("/calendar?day={}"), _calendar),
    Site("dictionary", numbered("/w/p{}"), pages(lambda i: Answer(words(f"w{i}", 1)), prefix="/w/p", suffix="", missing=CATCH_ALL)),
    Site("empty stubs", numbered("/p{}"), pages(lambda i: Answer(title=f"Chapter {i}"), suffix="", missing=CATCH_ALL)),
    Site("poems", numbered("/p{}"), pages(lambda i: Answer(f"The page is gone, the ink not found {i}"), suffix="", missing=CATCH_ALL)),
    Site("status of servers", numbered("/p{}"), pages(lambda i: Answer(f"503 Service Unavailable: s{i}", title=f"s{i}: 503"), suffix="")),
    Site("photo numbers", numbered("/p{}"), pages(lambda i: Answer(f'<img src="/i/{i}.jpg">{i}', title=""), suffix="", missing=CATCH_ALL)),
    Site("path info", lambda n: [f"/index.php/p{i}{end}" for i in range(n // 2) for end in ("", "/x")], _path_info),
)


def _half(text: Server) -> Server:
    """Return a server whose second half of pages is missing."""
    return lambda path, query, n: text(path, query, n // 2)


FAULTY = (
    Site("soft 404", numbered("/x/p{}.html"), _half(pages(_text, prefix="/x/p", missing=Answer(LOST, title="Oops"))), is_faulty=True),
    Site("soft 404, echo", numbered("/p{}"), lambda path, query, n: _echo(path, n // 2), is_faulty=True),
    Site("wiki", numbered("/item.php?id={}"), _half(by_parameter("id", _text, Answer(LOST, title="Wiki"))), is_faulty=True),
    Site("to an error", numbered("/p{}"), _half(lambda path, query, n: _to_error(path, n)), is_faulty=True),
    Site(
        "thick soft 404",
        numbered("/x/p{}"),
        _half(pages(_text, prefix="/x/p", suffix="", missing=Answer(MENU, title="Not found"))),
        is_faulty=True,
    ),
)


def _echo(path: str, n: int) -> Answer:
    i = number_of(path, n, "/p")
    return HOME if path == "/" else _text(i) if i >= 0 else Answer(f"Sorry: {path} does not exist here. Look for it from the home page.")


def _to_error(path: str, n: int) -> Answer:
    if path in ("/", "/sorry"):
        return HOME if path == "/" else Answer(LOST, title="Sorry")
    i = number_of(path, n, "/p")
    return _text(i) if i >= 0 else Answer(status=302, location="/sorry")


@dataclass(frozen=True)
class Outcome:
    """What a crawl of one site came to."""

    name: str
    n_pages: int  # URLs that are honest, with those that track
    lost: list[str]  # of them
    n_copies: int  # of them that exact_duplicate dropped
    n_missing: int  # URLs of missing pages
    n_found: int  # of them
    n_probes: int


async def run(path: Path, n_pages: int = N_PAGES, sites: Sequence[Site] = (*HONEST, *FAULTY)) -> list[Outcome]:
    """Crawl all sites, each with and without tracking parameters."""
    async with LittleWeb() as web:
        hosts = {f"s{i}{mark}.test": site for i, site in enumerate(sites) for mark in ("", _TRACKED)}
        for host, site in hosts.items():
            web.missing[f"{host}/"] = _Served(web, host, site, n_pages)
        apps = [host + link for host, site in hosts.items() if site.is_app for link in links(site, host, n_pages)]
        web.page(f"{_PORTAL}/", *apps)
        limits = Limits(min_free_disk=0, max_wait=1.0)
        seeds = [f"{host}/" for host in (*hosts, _PORTAL)]
        configuration = settings(web, seeds, limits=limits, filters=Filters())
        crawled = await crawl(path, configuration)
        return [_outcome(web, crawled, host, site, n_pages) for host, site in hosts.items()]


class _Served:
    """Puts the answers of one site into the web when they are asked for."""

    def __init__(self, web: LittleWeb, host: str, site: Site, n_pages: int) -> None:
        self._web, self._host, self._site, self._n_pages = web, host, site, n_pages

    def __call__(self, place: str) -> None:
        path, _, query = place[place.index("/") :].partition("?")
        fields = dict(field.partition("=")[::2] for field in query.split("&") if field)
        answer = self._site.answer(path, fields, self._n_pages)
        if answer.location:
            self._web.redirect(place, self._host + answer.location, answer.status)
            return
        has_menu = answer.has_menu or (path == "/" and not self._site.is_app)
        menu = "".join(f'<a href="{link}">{i}</a>' for i, link in enumerate(links(self._site, self._host, self._n_pages)) if has_menu)
        html = f"<html><head><title>{answer.title}</title></head><body><p>{answer.body}</p>{menu}</body></html>"
        self._web.file(place, "text/html; charset=utf-8", html.encode(), status=answer.status)


def links(site: Site, host: str, n_pages: int) -> Iterator[str]:
    """Yield what a site links to: its pages, and where it tracks, each of them right after it once more."""
    for i, path in enumerate(site.paths(n_pages)):
        yield path
        if host.endswith(f"{_TRACKED}.test"):
            yield f"{path}{'&' if '?' in path else '?'}{('ref=home', 'utm_source=list', 'from=newsletter-of-june')[i % 3]}"


def _outcome(web: LittleWeb, crawled: Crawled, host: str, site: Site, n_pages: int) -> Outcome:
    urls = [web.url(f"{host}/"), *(web.url(host + link) for link in links(site, host, n_pages))]
    is_missing = {url for url in urls[1:] if site.is_faulty and _number(url) >= n_pages // 2}
    lost = caught(crawled.path, crawled, standing(crawled.path)) & set(urls)
    return Outcome(
        f"{site.name}{_TRACKED if _TRACKED in host else ''}",
        len(set(urls) - is_missing),
        sorted(lost - is_missing),
        sum(not crawled.pages[url].keep for url in set(urls) - is_missing - lost if url in crawled.pages),
        len(is_missing),
        len(lost & is_missing),
        sum(place.startswith(f"{host}/") and _is_probe(place) for place in web.requests),
    )


def _number(url: str) -> int:
    """Return the number of the page in a URL of a faulty site."""
    name = url.split("?ref=")[0].split("?utm")[0].split("?from")[0].split("&")[0]
    return int("".join(c for c in name.rpartition("/")[2].rpartition("=")[2] if c.isdigit()))


def _is_probe(place: str) -> bool:
    return any(len(name) == N_LETTERS and name.isalpha() for name in place.replace("?", "/").replace("=", "/").replace(".", "/").split("/"))


def main() -> int:
    """Run the proof."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.honest_sites", description="Crawl honest sites; drop none of their pages."
    )
    parser.add_argument("--pages", type=int, default=N_PAGES, help="pages of a site")
    parser.add_argument("--keep", type=Path, help="directory for the store")
    arguments = parser.parse_args()
    with nullcontext(arguments.keep) if arguments.keep else tempfile.TemporaryDirectory(prefix="honest-sites-") as name:
        found = asyncio.run(run(Path(name) / "crawl", arguments.pages))
    return judge(found)


def judge(found: list[Outcome]) -> int:
    """Print the table; return 1 if an honest page is lost, or too many missing pages are not found."""
    print(f"{'site':32} {'pages':>6} {'lost as errors':>15} {'copies':>7} {'missing':>8} {'found':>6} {'probes':>7}")
    for row in found:
        print(f"{row.name:32} {row.n_pages:6} {len(row.lost):15} {row.n_copies:7} {row.n_missing:8} {row.n_found:6} {row.n_probes:7}")
    total: Counter[str] = Counter()
    for row in found:
        total += Counter(pages=row.n_pages, lost=len(row.lost), missing=row.n_missing, found=row.n_found)
    print(f"{total['pages']:,} honest pages: {total['lost']} lost as errors; {total['missing']} missing pages: {total['found']} found")
    for url in [url for row in found for url in row.lost][:10]:
        print(f"lost: {url}")
    return int(total["lost"] > 0 or total["found"] < MIN_RECALL * total["missing"])


if __name__ == "__main__":
    sys.exit(main())
