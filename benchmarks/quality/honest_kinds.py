"""Kinds of small sites for honest_sites.py, and the answers of each. A page of an honest kind is no error, whatever it looks like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b


@dataclass(frozen=True)
class Reply:
    """One answer of a site."""

    body: str = ""
    status: int = 200
    title: str = "Our site"
    location: str = ""
    has_menu: bool = False  # the page links to all pages of the site


Server = Callable[[str, dict[str, str], int], Reply]  # path, query, number of pages → answer


@dataclass(frozen=True)
class Site:
    """A kind of site."""

    name: str
    paths: Callable[[int], list[str]]  # number of pages → paths of all but the home page
    answer: Server
    is_faulty: bool = False  # the second half of its pages is missing
    is_app: bool = False  # a script writes its links: only other sites link to its pages


HOME = Reply("Welcome to our little site. Here is what we have, and where to find us.", has_menu=True)
NOTHING = Reply("There is no such page here. Go back to the home page.", 404, "Not found")
LOST = "Sorry, the page that you asked for could not be found. It may have been removed. Please look for it from the home page."


def words(seed: str, n: int) -> str:
    """Return n words; another text has the same ones only by chance."""
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


def pages(text: Callable[[int], Reply], *, prefix: str = "/p", suffix: str = ".html", missing: Reply = NOTHING) -> Server:
    """Return a server that shows pages by their paths and ignores the query."""

    def answer(path: str, query: dict[str, str], n: int) -> Reply:
        if path == "/":
            return HOME
        i = number_of(path, n, prefix, suffix)
        return text(i) if i >= 0 else missing

    return answer


def by_parameter(name: str, text: Callable[[int], Reply], missing: Reply, bare: Reply = HOME) -> Server:
    """Return a server whose pages are named by one parameter."""

    def answer(path: str, query: dict[str, str], n: int) -> Reply:
        if path == "/":
            return HOME
        if path != "/item.php":
            return NOTHING
        if name not in query:
            return bare
        i = number_of(query[name], n, "")
        return text(i) if i >= 0 else missing

    return answer


def _suffixed(path: str, query: dict[str, str], n: int) -> Reply:
    """The first segment of the path names the page; the rest is ignored."""
    first = path.split("/")[1]
    return _stub(number_of(first, n, "mug")) if number_of(first, n, "mug") >= 0 else HOME if path == "/" else NOTHING


def _languages(path: str, query: dict[str, str], n: int) -> Reply:
    if path == "/":
        return HOME
    i = number_of(path, n, "/p")
    if i < 0:
        return NOTHING
    texts = {"de": f"Leider nicht verfügbar. {words(f'de{i}', 20)}", "fr": f"Bientôt: {words(f'fr{i}', 20)}"}
    return Reply(texts.get(query.get("lang", ""), f"No longer available. {words(f'en{i}', 20)}"), title="Our languages")


def _gallery(path: str, query: dict[str, str], n: int) -> Reply:
    """Pages of pictures: for a page that does not exist, the first one is shown."""
    if path != "/gallery":
        return HOME if path == "/" else NOTHING
    i = max(0, number_of(query.get("page", "0"), n, ""))
    return Reply(f'Nothing found? Look further. <img src="/i/{i}.jpg"> Picture {i} of the old harbour.', title="Gallery")


def _said(path: str, query: dict[str, str], n: int) -> Reply:
    """Each page shows a saying of its own, and so does every other URL."""
    return HOME if path == "/" else Reply(f"Not found in any book: {words(path, 12)}", title="Sayings")


def _greeting(path: str, query: dict[str, str], n: int) -> Reply:
    return HOME if path == "/" else Reply(f"Hello {path.rpartition('/')[2]}. Nice to see you here.", title="Hello")


def _shop(path: str, query: dict[str, str], n: int) -> Reply:
    """Short pages of products; a product that was never sold redirects to the home page."""
    i = number_of(path, n, "/p")
    return HOME if path == "/" else _stub(i) if i >= 0 else Reply(status=302, location="/")


def _fallback(path: str, query: dict[str, str], n: int) -> Reply:
    """A product that was never sold redirects to the first product."""
    i = number_of(path, n, "/p")
    return HOME if path == "/" else _stub(i) if i >= 0 else Reply(status=302, location="/p0")


def _canonical(path: str, query: dict[str, str], n: int) -> Reply:
    """A page with parameters redirects to the page without."""
    i = number_of(path, n, "/p")
    return HOME if path == "/" else NOTHING if i < 0 else Reply(status=301, location=path) if query else _stub(i)


def _calendar(path: str, query: dict[str, str], n: int) -> Reply:
    """Every second day is empty; for what is no day, today is shown."""
    if path != "/calendar":
        return HOME if path == "/" else NOTHING
    i = max(0, number_of(query.get("day", "0"), n, ""))
    return Reply(f"Nothing found on day {i}." if i % 2 else f"Concert on day {i}. {words(f'{i}', 20)}", title="Calendar")


def _path_info(path: str, query: dict[str, str], n: int) -> Reply:
    """A script that reads the page's name from the path, and shows the home page for an unknown one."""
    parts = path.split("/")
    i = number_of(parts[2], n) if len(parts) > 2 else -1
    return (
        HOME if path == "/" else NOTHING if parts[1] != "index.php" else _stub(i) if i >= 0 else Reply("Mugs of all kinds.", title="Front")
    )


def _stub(i: int) -> Reply:
    return Reply(f"Mug number {i}. This product is no longer available. Ask us for others of its kind.", title="Mugs")


def _text(i: int) -> Reply:
    return Reply(words(f"text{i}", 50), title=f"Page {i}")


SHELL = Reply("<noscript>You need to enable JavaScript to run this app.</noscript><div id=app></div>", title="App")
TALKING = Reply("Loading... Our application for all who count sheep. Inbox, outbox, settings, help.", title="Sheep")
CATCH_ALL = Reply("OK", title="")
HELP = ("404 not found", "403 access denied", "503 service unavailable", "Log in", "Security check", "Before you continue")

SIDEBAR = words("sidebar", 230)  # in a language for which soft_error knows no phrases
BOX = "<form><input name=user><input type=password name=word></form>"


def _sold(i: int) -> Reply:
    """A broker's page about a domain."""
    return Reply(f"Buy this domain. Make an offer. {words(f'sold{i}', 9)}", title=f"{words(f'sold{i}', 1)}: this domain is for sale")


def _guide(i: int) -> Reply:
    return Reply(f"Open the box, then {words(f'guide{i}', 12)}", title=f"Log in to router {i}")


def _profile(path: str, query: dict[str, str], n: int) -> Reply:
    """Members of whom only the name is shown."""
    i = number_of(path, n, "/member")
    return HOME if path == "/" else NOTHING if i < 0 else Reply(f"member{i}. {words('profile', 40)}. Ask member{i}. <textarea></textarea>")


def _long_greeting(path: str, query: dict[str, str], n: int) -> Reply:
    name = path.rpartition("/")[2]
    return HOME if path == "/" else Reply(f"Hello {name}. {words('greeting', 60)} Good day, {name}.", title=f"Hello {name}")


def _forum(path: str, query: dict[str, str], n: int) -> Reply:
    """Each page has a box to log in; links to posts lead to their topic."""
    if path == "/":
        return Reply(f"{HOME.body} {BOX}", has_menu=True)
    i = number_of(path, n, "/post")
    if i >= 0:
        return Reply(status=302, location=f"/topic{i // 5}")
    i = number_of(path, n, "/topic")
    return NOTHING if i < 0 else Reply(f"topic{i}: {words(f'topic{i}', 40)} {BOX}", title=f"topic{i}")


def _account(path: str, query: dict[str, str], n: int) -> Reply:
    """One login form under many URLs, each with the page to return to; the rest is open."""
    if path == "/login":
        return Reply(f"{words('account', 20)} {BOX}", title="w1")
    i = number_of(path, n, "/p")
    return HOME if path == "/" else NOTHING if i < 0 else _text(i)


HONEST = (
    Site("members", numbered("/member{}"), _profile),
    Site("greeting, long", numbered("/hello/you{}"), _long_greeting),
    Site("forum with a box", lambda n: [f"/topic{i}" for i in range(n // 5)] + [f"/post{i}" for i in range(n - n // 5)], _forum),
    Site("an account", lambda n: ["/login", *(f"/p{i}" for i in range(n - 1))], _account),
    Site("static", numbered("/p{}.html"), pages(_text)),
    Site("short pages", numbered("/p{}.html"), pages(lambda i: Reply(words(f"short{i}", 8)))),
    Site("a number", numbered("/p{}.html"), pages(lambda i: Reply(f"Part number {i}. Price {3 * i} euros. In stock, sent today."))),
    Site("product stubs", numbered("/p{}.html"), pages(_stub)),
    Site("image pages", numbered("/p{}.html"), pages(lambda i: Reply(f'<img src="/i/{i}.jpg"> Photo. Next. Back.', title="Photo"))),
    Site("images alone", numbered("/p{}.html"), pages(lambda i: Reply(f'<img src="/i/{i}.jpg">', title="Photo"), missing=HOME)),
    Site("forms", numbered("/p{}.html"), pages(lambda i: Reply(f"Log in. <form><input name=f{i}></form> Forgot your password?"))),
    Site("gallery", numbered("/gallery?page={}"), _gallery),
    Site("languages", lambda n: [f"/p{i}{lang}" for i in range(n // 4) for lang in ("", "?lang=en", "?lang=de", "?lang=fr")], _languages),
    Site("shell", numbered("/app/{}"), lambda *_: SHELL, is_app=True),
    Site("talking shell", numbered("/app/{}"), lambda *_: TALKING, is_app=True),
    Site("app beside pages", numbered("/app/{}"), lambda path, *_: HOME if path == "/" else SHELL),
    Site("app with titles", numbered("/app/{}"), lambda path, *_: Reply(SHELL.body, title=f"App {path}"), is_app=True),
    Site("no parameters", numbered("/p{}?view=full"), pages(_stub, suffix="")),
    Site("path suffixes", lambda n: [f"/mug{i}{end}" for i in range(n // 3) for end in ("", "/print", "/share")], _suffixed),
    Site("catch-all", numbered("/p{}"), pages(_stub, suffix="", missing=HOME)),
    Site("catch-all, hinting", numbered("/p{}"), pages(_text, suffix="", missing=Reply("Nothing found? Ask us.", title="Help"))),
    Site("greeting", numbered("/hello/you{}"), _greeting),
    Site("sayings", numbered("/p{}"), _said),
    Site("about errors", numbered("/p{}.html"), pages(lambda i: Reply(f"How we answer: {words(f'{i}', 9)}", title=HELP[i % len(HELP)]))),
    Site("thick template", numbered("/p{}"), pages(lambda i: Reply(f"{MENU} lot {i}", title=""), suffix="", missing=Reply(MENU, 404, ""))),
    Site(
        "consent banner",
        numbered("/p{}"),
        pages(lambda i: Reply(f"We use cookies and more. {words(f'{i}', 20)}"), suffix="", missing=HOME),
    ),
    Site("ids", numbered("/item.php?id={}"), by_parameter("id", _stub, Reply(status=302, location="/"))),
    Site("shop", numbered("/p{}"), _shop),
    Site("fallback", numbered("/p{}"), _fallback),
    Site("canonical", numbered("/p{}"), _canonical),
    Site("calendar", numbered("/calendar?day={}"), _calendar),
    Site("dictionary", numbered("/w/p{}"), pages(lambda i: Reply(words(f"w{i}", 1)), prefix="/w/p", suffix="", missing=CATCH_ALL)),
    Site("empty stubs", numbered("/p{}"), pages(lambda i: Reply(title=f"Chapter {i}"), suffix="", missing=CATCH_ALL)),
    Site("poems", numbered("/p{}"), pages(lambda i: Reply(f"The page is gone, the ink not found {i}"), suffix="", missing=CATCH_ALL)),
    Site("status of servers", numbered("/p{}"), pages(lambda i: Reply(f"503 Service Unavailable: s{i}", title=f"s{i}: 503"), suffix="")),
    Site("photo numbers", numbered("/p{}"), pages(lambda i: Reply(f'<img src="/i/{i}.jpg">{i}', title=""), suffix="", missing=CATCH_ALL)),
    Site("sold domains", numbered("/p{}"), pages(_sold, suffix="", missing=Reply("We sell names. Buy this domain.", title="Domains"))),
    Site("login guides", numbered("/p{}"), pages(_guide, suffix="", missing=Reply("Pick your router to log in.", title="Log in"))),
    Site("path info", lambda n: [f"/index.php/p{i}{end}" for i in range(n // 2) for end in ("", "/x")], _path_info),
)


def _half(text: Server) -> Server:
    """Return a server for which the second half of the pages is missing."""
    return lambda path, query, n: text(path, query, n // 2)


FAULTY = (
    Site("unwritten pages", numbered("/wiki/p{}"), _half(lambda path, query, n: _unwritten(path, query, n)), is_faulty=True),
    Site(
        "forms to write",
        lambda n: [f"/index.php?title=p{i}" + ("" if i < n // 2 else "&action=new&redlink=1") for i in range(n)],
        _half(lambda path, query, n: _edit_forms(path, query, n)),
        is_faulty=True,
    ),
    Site("login for 403", numbered("/p{}"), _half(lambda path, query, n: _walled(path, query, n)), is_faulty=True),
    Site("to a login", numbered("/p{}"), _half(lambda path, query, n: _to_login(path, query, n)), is_faulty=True),
    Site("soft 404", numbered("/x/p{}.html"), _half(pages(_text, prefix="/x/p", missing=Reply(LOST, title="Oops"))), is_faulty=True),
    Site("soft 404, echo", numbered("/p{}"), lambda path, _query, n: _echo(path, n // 2), is_faulty=True),
    Site("wiki", numbered("/item.php?id={}"), _half(by_parameter("id", _text, Reply(LOST, title="Wiki"))), is_faulty=True),
    Site("to an error", numbered("/p{}"), _half(lambda path, _query, n: _to_error(path, n)), is_faulty=True),
    Site(
        "thick soft 404",
        numbered("/x/p{}"),
        _half(pages(_text, prefix="/x/p", suffix="", missing=Reply(MENU, title="Not found"))),
        is_faulty=True,
    ),
)


def _unwritten(path: str, query: dict[str, str], n: int) -> Reply:
    """A wiki in a language without phrases: a page that does not exist shows its name in a template."""
    i = number_of(path, n, "/wiki/p")
    if path == "/" or not path.startswith("/wiki/"):
        return HOME if path == "/" else NOTHING
    name = path.rpartition("/")[2]
    return _text(i) if i >= 0 else Reply(f"{name} {words('unwritten', 30)} {name} {SIDEBAR}", title=f"{name} - w2")


def _edit_forms(path: str, query: dict[str, str], n: int) -> Reply:
    """A wiki's script: a page that does not exist is a form to write it, with a sidebar longer than what is searched for phrases."""
    if path != "/index.php":
        return HOME if path == "/" else NOTHING
    name = query.get("title", "")
    if "redlink" not in query:
        i = number_of(name, n)
        return _text(i) if i >= 0 else NOTHING
    if "title" not in query:
        return Reply(f"{words('main', 60)} {SIDEBAR} <form><textarea></textarea></form>", title="w3 - w2")
    return Reply(f"{words('create', 30)} {name} {SIDEBAR} <form><textarea></textarea></form>", title=f"w3 {name} - w2")


def _walled(path: str, query: dict[str, str], n: int) -> Reply:
    """Pages that are closed to guests show a login form, in a language without phrases."""
    i = number_of(path, n, "/p")
    if path == "/" or i >= 0:
        return HOME if path == "/" else _text(i)
    return Reply(f"{words('wall', 30)} {path} {BOX}", title="w4") if path.startswith("/p") else NOTHING


def _to_login(path: str, query: dict[str, str], n: int) -> Reply:
    if path in ("/", "/w5"):
        return HOME if path == "/" else Reply(f"{words('enter', 30)} {BOX}", title="w5")
    i = number_of(path, n, "/p")
    return _text(i) if i >= 0 else Reply(status=302, location="/w5") if path.startswith("/p") else NOTHING


def _echo(path: str, n: int) -> Reply:
    i = number_of(path, n, "/p")
    return HOME if path == "/" else _text(i) if i >= 0 else Reply(f"Sorry: {path} does not exist here. Look for it from the home page.")


def _to_error(path: str, n: int) -> Reply:
    if path in ("/", "/sorry"):
        return HOME if path == "/" else Reply(LOST, title="Sorry")
    i = number_of(path, n, "/p")
    return _text(i) if i >= 0 else Reply(status=302, location="/sorry")
