"""Part "aliases": sites that show documents under many URLs, by rules that hold for every URL of the site, and decoys that only look like
rules.

    kind        alias                                   canonical
    forum       www.s/story?id=7, www.s/story.php3?id=7 www.s/story_7                 as on the forum of [BKS07]
                www.s/thread?rep=7                      www.s/thread_7
    index       www.s/manual/oak/index.html             www.s/manual/oak/
    slash       www.s/topic/oak/                        www.s/topic/oak
    order       www.s/view?item=7&cat=2                 www.s/view?cat=2&item=7
    default     www.s/list/oak?sort=date                www.s/list/oak                sort=price is a document of its own
    path_host   www.s/money/oak                         money.s/oak                   across hosts
    host        m.s/…, s/…                              www.s/…
    tracking    …utm_source=feed3                       …
    session     …sid=4f…                                …

Kinds combine: "host+tracking". Decoys: /courses/lect1/notes-7 and /courses/lect2/notes-7, /politics/7 and /movies/7 are different
documents of equal length. A page links to URLs of any form; one document in ten is linked under aliases only. Each site has its own names
in its URLs and its own language, and on every third site each page has a line that differs with its URL.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from thresher.crawler.demo.labels import LabelledTrap
from thresher.crawler.demo.page_truth import PageTruth, PlannedLink, gone
from thresher.crawler.demo.part_context import PartContext
from thresher.crawler.demo.seeded_random import Word
from thresher.crawler.demo.words import SUBJECTS

KINDS = frozenset({"forum", "index", "slash", "order", "default", "path_host", "host", "tracking", "session"})
N_SITES = 3
N_PAGES = 600  # documents of a site
_FANOUT = 7
_N_CATEGORIES = 6
_CANONICAL_SHARE = 0.9  # share of documents that are linked under their own URL
_N_WORDS = (150, 260)
_DECOY_WORDS = 200
_SECTIONS = (  # name, share of the documents
    ("story", 0.22),
    ("thread", 0.10),
    ("manual", 0.12),
    ("topic", 0.12),
    ("view", 0.10),
    ("list", 0.06),
    ("list_by_price", 0.06),
    ("money", 0.08),
    ("lect1", 0.035),
    ("lect2", 0.035),
    ("politics", 0.035),
    ("movies", 0.035),
)
_DECOYS = (("lect1", "lect2"), ("politics", "movies"))
_FORMS = (("tracking", 0.25), ("session", 0.2), ("host", 0.3), ("host+tracking", 0.06))  # alias forms of any document, with their shares
_OWN_FORM_SHARE = 0.75  # share of documents linked by their section's own alias, if it has one


class PathWords(NamedTuple):
    """The names that a site uses in its URLs."""

    story: str
    id: str
    thread: str
    rep: str
    manual: str
    topic: str
    view: str
    list: str
    money: str
    course: str
    politics: str
    movies: str
    sid: str


_PATH_WORDS = (
    PathWords("story", "id", "thread", "rep", "manual", "topic", "view", "list", "money", "lect", "politics", "movies", "sid"),
    PathWords("artikel", "nr", "faden", "beitrag", "handbuch", "thema", "zeige", "liste", "geld", "kurs", "politik", "filme", "sitzung"),
    PathWords("post", "p", "talk", "msg", "guide", "tag", "item", "shelf", "finance", "week", "local", "world", "s"),
)
_LANGUAGES = ("en", "de", "ru")


@dataclass(frozen=True, slots=True)
class PlantedRule:
    """A rule that holds for every URL of a site that it applies to."""

    kind: str
    site: str
    source: str  # text as written in a URL
    target: str


class AliasSite:
    """One site with the hosts www, m, money and the bare name."""

    def __init__(self, context: PartContext, number: int) -> None:
        self._context, self._number = context, number
        self.domain = context.domain(number)
        self.words = _PATH_WORDS[number % len(_PATH_WORDS)]
        self._www, self._bare, self._mobile = (context.origin(f"{label}{self.domain}") for label in ("www.", "", "m."))
        self._money = context.origin(f"{self.words.money}.{self.domain}")
        self._text = context.text(_LANGUAGES[number % len(_LANGUAGES)], number)
        self._words = SUBJECTS[number % len(SUBJECTS)].words
        self._counts = {name: max(2, round(share * context.n_pages)) for name, share in _SECTIONS}
        self._documents = [("home", 0), *self._shuffled()]
        self._place = {document: i for i, document in enumerate(self._documents)}
        self._template = context.template(self.domain, self._text.lang, subject=number, menu=(PlannedLink(self._www + "/", "Home"),))
        self._links = self._draw_links()
        self._shows = {url: document for document in self._documents for url in (self.canonical(*document), *self.own_aliases(*document))}

    @property
    def hosts(self) -> list[str]:
        return [f"www.{self.domain}", self.domain, f"m.{self.domain}", f"{self.words.money}.{self.domain}"]

    def home(self) -> str:
        return self._www + "/"

    def _shuffled(self) -> list[tuple[str, int]]:
        documents = [(name, i) for name, n in self._counts.items() for i in range(n)]
        return sorted(documents, key=lambda document: self._throw("order", *document))

    def _throw(self, *question: Word) -> int:
        return self._context.throw(self.domain, *question)

    def _slug(self, section: str, number: int) -> str:
        throw = self._throw("slug", section, number)
        return f"{self._words[throw % len(self._words)]}-{self._words[(throw >> 16) % len(self._words)]}-{number}"

    # URLs of documents

    def canonical(self, section: str, number: int) -> str:
        """Return a document's own URL."""
        words, slug = self.words, self._slug(section.removesuffix("_by_price"), number)
        match section:
            case "home":
                path = "/"
            case "story":
                path = f"/{words.story}_{number}"
            case "thread":
                path = f"/{words.thread}_{number}"
            case "manual":
                path = f"/{words.manual}/{slug}/"
            case "topic":
                path = f"/{words.topic}/{slug}"
            case "view":
                path = f"/{words.view}?cat={number % _N_CATEGORIES}&item={number}"
            case "list":
                path = f"/{words.list}/{slug}"
            case "list_by_price":
                path = f"/{words.list}/{slug}?sort=price"
            case "money":
                return f"{self._money}/{slug}"
            case "lect1" | "lect2":
                path = f"/courses/{words.course}{section[-1]}/notes-{number}"
            case _:
                path = f"/{words.politics if section == 'politics' else words.movies}/{number}"
        return self._www + path

    def own_aliases(self, section: str, number: int) -> list[str]:
        """Return the aliases that the document's section has."""
        words, own = self.words, self.canonical(section, number)
        match section:
            case "story":
                return [f"{self._www}/{words.story}?{words.id}={number}", f"{self._www}/{words.story}.php3?{words.id}={number}"]
            case "thread":
                return [f"{self._www}/{words.thread}?{words.rep}={number}"]
            case "home" | "manual":
                return [f"{own}index.html"]
            case "topic":
                return [f"{own}/"]
            case "view":
                return [f"{self._www}/{words.view}?item={number}&cat={number % _N_CATEGORIES}"]
            case "list":
                return [f"{own}?sort=date"]
            case "money":
                return [f"{self._www}/{words.money}/{own.rpartition('/')[2]}"]
            case _:
                return []

    def forms(self, section: str, number: int) -> list[str]:
        """Return the URLs under which the site links to a document."""
        own, unit = self.canonical(section, number), partial(self._context.unit, self.domain, section, number)
        forms = [alias for alias in self.own_aliases(section, number) if unit("own", alias) < _OWN_FORM_SHARE]
        forms += [self._dressed(own, form, section, number) for form, share in _FORMS if unit(form) < share]
        return [own, *forms] if not forms or section == "home" or unit("canonical") < _CANONICAL_SHARE else forms

    def _dressed(self, own: str, form: str, section: str, number: int) -> str:
        throw = self._throw(form, section, number)
        url = own
        if "host" in form and own.startswith(self._www):
            url = (self._mobile if throw % 2 else self._bare) + own[len(self._www) :]
        mark = "&" if "?" in url else "?"
        if "tracking" in form or (form == "host" and url == own):
            return f"{url}{mark}utm_{'source=feed' if throw % 3 else 'campaign=w'}{throw % 40}"
        return f"{url}{mark}{self.words.sid}={throw:016x}" if form == "session" else url

    def _draw_links(self) -> list[list[PlannedLink]]:
        """Return the links of each document: its children in one form each, and other documents in their other forms."""
        links: list[list[PlannedLink]] = [[] for _ in self._documents]
        for i, document in enumerate(self._documents):
            title, forms = self._title(*document), self.forms(*document)
            if i:
                links[(i - 1) // _FANOUT].append(PlannedLink(forms[-1], title))
            for form in forms[: -1 if i else None]:
                links[self._throw("linked", form) % len(links)].append(PlannedLink(form, title))
        return links

    # which document is at a URL

    def find(self, host: str, path: str) -> PageTruth:
        document, kinds = self._resolve(host, path)
        if document is None:
            return gone(self._template)
        own = self.canonical(*document)
        noise = f"Node {self._throw('node', host, path) % 97}, {self._throw('ms', host, path) % 900} ms" if self._number % 3 == 1 else ""
        return PageTruth(
            kind="+".join(kinds) or "page",
            variant=document[0],
            document=own,
            canonical=own,
            title=self._title(*document),
            text=partial(self._paragraphs, *document, noise),
            links=tuple(self._links[self._place[document]]),
            template=self._template,
        )

    def _title(self, section: str, number: int) -> str:
        return self._text.title(self.domain, section, number)

    def _paragraphs(self, section: str, number: int, noise: str) -> list[str]:
        is_decoy = any(section in pair for pair in _DECOYS)
        n_words = _DECOY_WORDS if is_decoy else self._context.rng.within(_N_WORDS, "length", self.domain, section, number)
        return [*self._text.paragraphs(n_words, self.domain, section, number), *filter(None, [noise])]

    def _resolve(self, host: str, path: str) -> tuple[tuple[str, int] | None, list[str]]:
        """Return the document at a URL and the kinds of alias that the URL is."""
        kinds = ["host"] if host in self.hosts[1:3] else []
        bare, _, query = path.partition("?")
        kept = []
        for field in query.split("&") if query else []:
            kind = "tracking" if field.startswith("utm_") else "session" if field.startswith(f"{self.words.sid}=") else ""
            kinds += [kind] if kind and kind not in kinds else []
            kept += [] if kind else [field]
        url = self._www + bare if host != self.hosts[3] else self._money + bare
        url += f"?{'&'.join(kept)}" if kept else ""
        document = self._shows.get(url)
        if document is None:
            return None, []
        own = self.canonical(*document)
        return document, [*self._own_kind(document[0], url, own), *kinds]

    @staticmethod
    def _own_kind(section: str, url: str, own: str) -> list[str]:
        if url == own:
            return []
        kinds = {"story": "forum", "thread": "forum", "topic": "slash", "view": "order", "list": "default", "money": "path_host"}
        return [kinds.get(section, "index")]

    # the truth about rules

    def rules(self) -> list[PlantedRule]:
        """Return every planted rule, in the text of URLs."""
        words, site = self.words, self.domain
        story, thread = f"/{words.story}", f"/{words.thread}"
        found = [
            ("forum", f"{story}?{words.id}=", f"{story}_"),
            ("forum", f"{story}.php3?{words.id}=", f"{story}_"),
            ("forum", f"{thread}?{words.rep}=", f"{thread}_"),
            ("index", "/index.html$", "/$"),
            ("slash", f"/{words.topic}/*/$", f"/{words.topic}/*$"),
            ("order", f"/{words.view}?item=*&cat=*", f"/{words.view}?cat=*&item=*"),
            ("default", "?sort=date$", "$"),
            ("path_host", f"//www.{site}/{words.money}/", f"//{words.money}.{site}/"),
            ("host", f"//m.{site}", f"//www.{site}"),
            ("host", f"//{site}", f"//www.{site}"),
            ("tracking", "utm_source=*", ""),
            ("tracking", "utm_campaign=*", ""),
            ("session", f"{words.sid}=*", ""),
        ]
        return [PlantedRule(kind, site, source, target) for kind, source, target in found]

    def decoys(self) -> list[PlantedRule]:
        """Return substitutions that look like rules and join different documents."""
        words, site = self.words, self.domain
        pairs = [(f"/{words.course}1/", f"/{words.course}2/"), (f"/{words.politics}/", f"/{words.movies}/"), ("?sort=price$", "$")]
        return [PlantedRule("decoy", site, source, target) for source, target in pairs]


class AliasPart:
    """The alias sites of a labelled web."""

    def __init__(self, context: PartContext) -> None:
        context.n_pages = context.n_pages or N_PAGES
        self.sites = [AliasSite(context, number) for number in range(context.n_sites or N_SITES)]
        self._by_host = {host: site for site in self.sites for host in site.hosts}

    def hosts(self) -> list[str]:
        return list(self._by_host)

    def seeds(self) -> list[str]:
        return [site.home() for site in self.sites]

    def traps(self) -> tuple[LabelledTrap, ...]:
        return ()

    def find(self, host: str, path: str) -> PageTruth:
        return self._by_host[host].find(host, path)

    def rules(self) -> list[PlantedRule]:
        return [rule for site in self.sites for rule in site.rules()]

    def decoys(self) -> list[PlantedRule]:
        return [decoy for site in self.sites for decoy in site.decoys()]
