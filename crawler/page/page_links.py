"""The links of a parsed page: those that may be followed, in canonical form, and why each of the others is not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter

from thresher.config.settings import Settings
from thresher.crawler.core.document_types import accepted_types
from thresher.crawler.core.model import CrawlURL, Flag, Reason
from thresher.crawler.core.overriding import Overriding, Which
from thresher.crawler.core.parsed import Link, Parsed
from thresher.crawler.core.url import URLSpace
from thresher.crawler.gates.link_gate import Skip, presentable
from thresher.filters.media import AnnouncedTypes

_href_of, _rel_of, _type_of = attrgetter("href"), attrgetter("rel"), attrgetter("type")


class PageLinks:
    """Finds the links of pages."""

    def __init__(self, urls: URLSpace, settings: Settings) -> None:
        self._urls = urls
        self._overriding = Overriding(settings)
        self._announced: dict[Which, AnnouncedTypes] = {}  # by the overrides that apply to a URL

    def of(self, url: CrawlURL, parsed: Parsed) -> tuple[list[str], list[Skip]]:
        """Return (a page's links in canonical form, distinct, in page order; links that cannot be followed at all)."""
        base = self._urls.base(url.text, parsed.base)
        wanted: Sequence[Link] = parsed.links
        skips: list[Skip] = []
        if not self._overriding.of(url.text).robots.nofollow_links and any(map(_rel_of, wanted)):
            nofollow = [link for link in wanted if "nofollow" in link.rel]
            wanted = tuple(link for link in wanted if "nofollow" not in link.rel)
            skips += self._skipped(base, [link.href for link in nofollow], Reason.NOFOLLOW, "robots")
        is_typed = any(map(_type_of, wanted))
        if is_typed and (announced := [link.href for link in wanted if self._is_announced(link, base)]):
            wanted = tuple(link for link in wanted if not self._is_announced(link, base))
            skips += self._skipped(base, announced, Reason.ANNOUNCED_TYPE, "media")
        texts, refused = self._urls.resolve(base, [*map(_href_of, wanted)])
        skips += _unusable(refused)
        if n_dropped := parsed.n_links - len(parsed.links):
            is_cut = Flag.LINKS_TRUNCATED in parsed.flags
            by = f"{n_dropped} links beyond limits.max_links_per_page" if is_cut else f"{n_dropped} links of absurd length"
            skips.append(Skip(url.text, Reason.LINK_LIMIT if is_cut else Reason.TOO_LONG, by))
        return texts, skips

    def _skipped(self, base: str, hrefs: Sequence[str], reason: Reason, by: str) -> list[Skip]:
        """Return the skips of links that are not followed; one that is no URL that could be fetched has that reason."""
        texts, refused = self._urls.resolve(base, hrefs)
        return [*(Skip(text, reason, by) for text in texts), *_unusable(refused)]

    def _is_announced(self, link: Link, base: str) -> bool:
        """Return whether a link announces a type that is not followed, by the settings for its target."""
        if not link.type:
            return False
        if not self._overriding.varies:
            return self._types(()).are_skipped(link.type)
        texts = self._urls.resolve(base, [link.href])[0]
        return bool(texts) and self._types(self._overriding.which(texts[0])).are_skipped(link.type)

    def _types(self, which: Which) -> AnnouncedTypes:
        types = self._announced.get(which)
        if types is None:
            of = self._overriding.made(which)
            accepted = accepted_types(of.fetch.accept_types, documents=of.parse.documents)
            types = self._announced[which] = AnnouncedTypes(of.filters.media, accepted)
        return types


def _unusable(refused: Iterable[tuple[str, Reason]]) -> list[Skip]:
    return [Skip(presentable(href), reason, "url") for href, reason in refused]
