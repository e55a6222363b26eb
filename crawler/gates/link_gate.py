"""Finds which links of a page are new URLs to queue: static gate, seen test, learned gate.

A known link takes only a look at the cached answer of the static gate and one seen test. Nothing is written here: `sift` returns the
result, and `crawler/settlement/settler.py` writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from operator import not_
from typing import Final, NamedTuple, cast

import msgspec

from thresher.config.settings import Settings
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import CrawlURL, Reason
from thresher.crawler.core.overriding import Overriding
from thresher.crawler.core.ownership import Ownership
from thresher.crawler.core.ports import SeenRow
from thresher.crawler.core.url import URLSpace, directory_depth, hostname_of, origins_of, queue_name, site_of
from thresher.filters.base import LinkColumns, LinkJudgement
from thresher.filters.deliberation import Deliberation
from thresher.filters.panel import Panel
from thresher.storage.tables.forgotten import ForgottenRecord
from thresher.storage.tables.seen import SeenSet

_USERINFO = re.compile(r"(?<=//)[^/?#\\\s]*@")
_KEYS_ALONE: Final = frozenset((bytes,))
_GATE_CACHE = 32_768  # URLs whose answer of the static gate is cached; about 8 MB
_SITES = 16_384  # origins whose site is cached


class Skip(msgspec.Struct, frozen=True):
    """A link that is not followed, and the filter or rule that decided it."""

    text: str
    reason: Reason
    by: str


def presentable(href: str) -> str:
    """Return the text of a link that is no valid URL so that it may be logged: without user name and password."""
    return _USERINFO.sub("", href) if "@" in href else href


class Gated(NamedTuple):
    """A page's links after the static gate, which does not depend on the state of the crawl."""

    texts: Sequence[str]  # canonical texts of the links that pass
    keys: Sequence[bytes]
    skips: Sequence[Skip]


NONE_GATED = Gated((), (), ())


class Sifted(msgspec.Struct, frozen=True):
    """The result of all gates for a page's links."""

    known: list[tuple[bytes, SeenRow, str]] = msgspec.field(default_factory=list)  # known URLs: (key, row, canonical text)
    fresh: LinkBatch | None = None
    deliberation: Deliberation[LinkJudgement] | None = None
    skips: list[Skip] = msgspec.field(default_factory=list)
    foreign: LinkBatch | None = None  # links to sites of other agents that are not known here
    said: Sequence[str] = ()  # filters in mode `observe` that would have refused a new link at the static gate; one entry for each link


class LinkGate:
    """Static gate, seen test and learned gate for all links of a page together."""

    def __init__(
        self,
        urls: URLSpace,
        seen: SeenSet,
        panel: Panel,
        settings: Settings,
        ownership: Ownership | None = None,
        forgotten: Iterable[ForgottenRecord] = (),
    ) -> None:
        """Create the link gate.

        Args:
            ownership: Knows which sites belong to this agent; None: all.
            forgotten: URLs and hosts that the operator has had taken down.
        """
        self._forgotten = frozenset(record.text for record in forgotten)  # URLs and names of host queues
        self._ownership = ownership
        self._urls = urls
        self._seen = seen
        self._panel = panel
        self._overriding = Overriding(settings)
        self._max_depth = settings.limits.max_depth
        self._varies = any(of.limits.max_depth != self._max_depth for of in self._overriding.everywhere())
        self._cache: dict[str, bytes | tuple[Reason, str]] = {}
        self._sites: dict[str, str] = {}  # origin → site

    def gate(self, texts: Sequence[str]) -> Gated:
        """Ask the static gate about canonical, distinct URLs.

        Answers are remembered about URLs that are refused, and by `sift` about those that are known: most new URLs are never named again.
        """
        answers = [*map(self._cache.get, texts)]
        if None in answers:
            asked = self._ask([text for text, answer in zip(texts, answers, strict=True) if answer is None])
            answers = [asked[text] if answer is None else answer for text, answer in zip(texts, answers, strict=True)]
        if {*map(type, answers)} == _KEYS_ALONE:
            return Gated(texts, cast("list[bytes]", answers), ())
        keys = [answer for answer in answers if type(answer) is bytes]
        passed = [text for text, answer in zip(texts, answers, strict=True) if type(answer) is bytes]
        refused = {text: answer for text, answer in zip(texts, answers, strict=True) if isinstance(answer, tuple)}
        self._remember(refused)
        return Gated(passed, keys, [Skip(text, *answer) for text, answer in refused.items()])

    def _remember(self, answers: Mapping[str, bytes | tuple[Reason, str]]) -> None:
        if len(self._cache) > _GATE_CACHE:
            self._cache.clear()
        self._cache.update(answers)

    def sift(self, source: CrawlURL, gated: Gated, *, is_redirect: bool = False) -> Sifted:
        """Separate known from new links among those that passed the static gate, and judge the new ones.

        Args:
            source: The page.
            gated: Its links after the static gate.
            is_redirect: Whether the only link is the target of a redirect.
        """
        rows = self._seen.rows(gated.keys)
        known = [(key, row, text) for key, row, text in zip(gated.keys, rows, gated.texts, strict=True) if row is not None]
        self._remember({text: key for key, _, text in known})
        sifted = Sifted(known, skips=list(gated.skips))
        if len(known) == len(rows):
            return sifted
        fresh = [text for text, row in zip(gated.texts, rows, strict=True) if row is None]
        fresh_keys = [key for key, row in zip(gated.keys, rows, strict=True) if row is None]
        distance = source.seed_distance + (not is_redirect)
        if self._varies or _is_beyond(distance, self._max_depth):
            deep = {text for text in fresh if self.is_too_deep(distance, text)}
            sifted.skips.extend(Skip(text, Reason.DEPTH_LIMIT, "limits") for text in fresh if text in deep)
            fresh_keys = [key for text, key in zip(fresh, fresh_keys, strict=True) if text not in deep]
            fresh = [text for text in fresh if text not in deep]
        foreign = None
        if self._ownership is not None and fresh:
            is_own = [*map(self._ownership.is_own, fresh_keys)]
            if not all(is_own):  # links to sites of other agents pass the learned gate there
                others = [*map(not_, is_own)]
                foreign = self._batch(source, [*compress(fresh, others)], [*compress(fresh_keys, others)], is_redirect)
                fresh, fresh_keys = [*compress(fresh, is_own)], [*compress(fresh_keys, is_own)]
        if not fresh:
            return Sifted(known, None, None, sifted.skips, foreign)
        batch = self._batch(source, fresh, fresh_keys, is_redirect)
        said = self._panel.static_said(LinkColumns(batch.texts, batch.hosts, batch.sites))
        return Sifted(known, batch, self._panel.links(batch), sifted.skips, foreign, said)

    def check(self, text: str) -> bytes | tuple[Reason, str]:
        """Return the URL's key if it passes the static gate, else (reason, filter or rule)."""
        answer = self._cache.get(text)
        if answer is None:
            self._remember(asked := self._ask((text,)))
            answer = asked[text]
        return answer

    def _ask(self, texts: Sequence[str]) -> dict[str, bytes | tuple[Reason, str]]:
        """Return the static gate's answers about URLs that are not in its cache."""
        hosts = origins_of(texts)
        site_of = {host: self.site(host) for host in set(hosts)}
        refused = self._panel.static(LinkColumns(texts, hosts, [site_of[host] for host in hosts]))
        faults = {host: fault for host in site_of if (fault := self._urls.fault(host)) is not None}
        if not (refused or faults or self._forgotten):
            return dict(zip(texts, self._urls.keys(texts, hosts), strict=True))
        answers: dict[str, bytes | tuple[Reason, str]] = {}
        for i, (text, host) in enumerate(zip(texts, hosts, strict=True)):
            fault = faults.get(host)
            if self._forgotten and (text in self._forgotten or queue_name(host) in self._forgotten):
                answers[text] = Reason.FORGOTTEN, "forget"
            else:
                answers[text] = (fault, "url") if fault is not None else refused.get(i) or self._urls.key(text)
        return answers

    def _batch(self, source: CrawlURL, texts: list[str], keys: list[bytes], is_redirect: bool) -> LinkBatch:
        """Return new links as columns. A link within a site is one step deeper; a link from another site enters at depth 0 at the home
        page, else at the depth of the directory.
        """
        hosts = origins_of(texts)
        site_of = {host: self.site(host) for host in set(hosts)}
        sites = [site_of[host] for host in hosts]
        inside, own, homes = source.site_depth + (not is_redirect), source.site, {f"{host}/" for host in site_of}
        depths = [0 if text in homes else inside if site == own else directory_depth(text) for text, site in zip(texts, sites, strict=True)]
        return LinkBatch(source, texts, hosts, sites, keys, depths, is_redirect)

    def site(self, origin: str) -> str:
        """Return the site of an origin; cached."""
        site = self._sites.get(origin)
        if site is None:
            if len(self._sites) >= _SITES:
                self._sites.clear()
            site = self._sites[origin] = site_of(hostname_of(origin))
        return site

    def is_too_deep(self, seed_distance: int, text: str) -> bool:
        """Return whether a URL is more clicks away from a seed than `limits.max_depth`, or an override of it, allows."""
        return _is_beyond(seed_distance, self._overriding.of(text).limits.max_depth if self._varies else self._max_depth)


def _is_beyond(distance: int, limit: int | None) -> bool:
    return limit is not None and distance > limit
