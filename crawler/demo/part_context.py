"""The base of all parts of a labelled web: random draws, names and texts of each part; and the interface of a part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol

from thresher.crawler.demo.labels import LabelledTrap
from thresher.crawler.demo.page_truth import HostTemplate, PageTruth, PlannedLink, gone
from thresher.crawler.demo.seeded_random import SeededRandom, Word
from thresher.crawler.demo.texts import DemoText
from thresher.crawler.demo.words import SITE_HEADS, SITE_TAILS

N_WORDS = (110, 300)  # words of an ordinary page (least, most)


class PartContext:
    """Random draws, origins and texts of one part. Two parts never share names or texts: the part's name is in every draw."""

    def __init__(
        self, part: str, rng: SeededRandom, origin: Callable[[str], str], *, n_sites: int = 0, n_pages: int = 0, n_shared: int = 0
    ) -> None:
        """Create the context of a part.

        Args:
            n_sites, n_pages: As configured; 0: the part's default.
            n_shared: Sites that all parts share; 0: none.
        """
        self.part, self.rng, self.origin = part, rng, origin
        self.n_sites, self.n_pages = n_sites, n_pages
        self._n_shared = n_shared
        self._texts: dict[tuple[str, int], DemoText] = {}

    def text(self, lang: str = "en", subject: int = 0) -> DemoText:
        key = lang, subject % 10
        if (text := self._texts.get(key)) is None:
            text = self._texts[key] = DemoText(self.rng, *key)
        return text

    def throw(self, *question: Word) -> int:
        return self.rng.throw(self.part, *question)

    def unit(self, *question: Word) -> float:
        return self.rng.unit(self.part, *question)

    def domain(self, number: int) -> str:
        """Return the domain of a part's site; it is registrable unless sites are shared. Different numbers give different names."""
        own = self._name(self.part, number)
        return f"{own}.{self._name('shared', number % self._n_shared)}.example" if self._n_shared else f"{own}.example"

    def _name(self, of: str, number: int) -> str:
        return f"{self.rng.pick(SITE_HEADS, of, 'head', number)}{self.rng.pick(SITE_TAILS, of, 'tail', number)}-{of}{number}"

    def template(
        self, host: str, lang: str = "en", *, subject: int = 0, menu: tuple[PlannedLink, ...] = (), n_aside: int = 40
    ) -> HostTemplate:
        """Return a host's template: name, menu, and `n_aside` further words."""
        text = self.text(lang, subject)
        aside = tuple(text.paragraphs(n_aside, self.part, "aside", host)) if n_aside else ()
        return HostTemplate(lang, text.title(self.part, "brand", host), menu, aside, f"© {host}")


class Part(Protocol):
    """One labelled part of a web: its hosts, and a `PageTruth` for each of their URLs."""

    def hosts(self) -> list[str]: ...
    def seeds(self) -> list[str]: ...
    def traps(self) -> tuple[LabelledTrap, ...]: ...

    def find(self, host: str, path: str) -> PageTruth:
        """Return what is at a path (with query) of one of the part's hosts."""
        ...


class PartSite(Protocol):
    """One host of a part."""

    def find(self, path: str) -> PageTruth:
        """Return what is at a path of the host."""
        ...


class PartSites:
    """A part of hosts that do not link to one another; each of them is a seed."""

    def __init__(self, context: PartContext, sites: Mapping[str, PartSite], traps: tuple[LabelledTrap, ...] = ()) -> None:
        """Create the sites.

        Args:
            sites: Host name → site.
        """
        self.by_host = sites
        self._seeds = [context.origin(host) + "/" for host in sites]
        self._traps = traps

    def hosts(self) -> list[str]:
        return list(self.by_host)

    def seeds(self) -> list[str]:
        return self._seeds

    def traps(self) -> tuple[LabelledTrap, ...]:
        return self._traps

    def find(self, host: str, path: str) -> PageTruth:
        return self.by_host[host].find(path)


class PartHost:
    """One host of a part: makes its URLs, links and pages."""

    def __init__(
        self,
        context: PartContext,
        host: str,
        lang: str = "en",
        *,
        subject: int = 0,
        menu: tuple[tuple[str, str], ...] = (("/", "Home"),),
        n_aside: int = 40,
    ) -> None:
        """Create the host.

        Args:
            menu: Paths and texts of the links on every page.
            n_aside: Words of the template.
        """
        self.context, self.host, self.subject = context, host, subject
        self.origin = context.origin(host)
        self.text = context.text(lang, subject)
        self.template = context.template(host, lang, subject=subject, menu=self.links(menu), n_aside=n_aside)

    def links(self, paths: Iterable[tuple[str, str]]) -> tuple[PlannedLink, ...]:
        """Return links to paths of this host."""
        return tuple([PlannedLink(self.origin + path, text) for path, text in paths])

    def title(self, *key: Word) -> str:
        return self.text.title(self.host, *key)

    def page(
        self,
        path: str,
        links: Iterable[tuple[str, str]] = (),
        *,
        kind: str = "page",
        variant: str = "",
        own: str | None = None,
        title: str = "",
        text: Callable[[], Sequence[str]] | None = None,
        lang: str = "",
        is_endless: bool = False,
    ) -> PageTruth:
        """Return a page.

        Args:
            own: Path of the document that the page shows; None: `path`; "": no document.
            text: Makes the paragraphs; None: those of the document.
        """
        shown = path if own is None else own
        words = self.context.text(lang, self.subject) if lang else self.text
        n_words = self.context.rng.within(N_WORDS, "length", self.host, shown)
        return PageTruth(
            kind=kind,
            variant=variant,
            document=self.origin + shown if shown else "",
            canonical=self.origin + shown if shown else "",
            is_endless=is_endless,
            title=title or words.title(self.host, shown),
            text=text or partial(words.paragraphs, n_words, self.host, shown),
            links=self.links(links),
            template=self.template,
        )

    def gone(self) -> PageTruth:
        return gone(self.template)


def children(node: int, fanout: int, n_nodes: int) -> range:
    """Return the children of a node in a tree whose nodes are numbered level by level."""
    return range(node * fanout + 1, min(node * fanout + fanout + 1, n_nodes))


def number_in(path: str, prefix: str, suffix: str = "", *, below: int = 1 << 31) -> int:
    """Return the number between prefix and suffix of a path; -1 if there is no number, or not in its usual form, or not below `below`."""
    digits = path.removeprefix(prefix).removesuffix(suffix)
    if f"{prefix}{digits}{suffix}" != path or not (digits.isascii() and digits.isdigit()) or len(digits) > 9:
        return -1
    return int(digits) if int(digits) < below and str(int(digits)) == digits else -1
