"""A site that is told to the filter page by page."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from dict_memory import DictMemory
from msgspec.structs import replace
from subjects import SPACE, batch, page

from thresher.config.settings import DepthCutoffSettings
from thresher.crawler.core.effects import Hold, ReleaseURL
from thresher.crawler.core.model import Judgement, Page
from thresher.filters.base import Effects, LinkJudgement
from thresher.filters.capabilities import Relinks
from thresher.filters.depth_cutoff.evidence import UNLIMITED
from thresher.filters.depth_cutoff.filter import DepthOfLinks, DepthOfPages, DepthOfRedirects, NamedAgain, rule_of
from thresher.filters.depth_cutoff.ledger import Ledger
from thresher.filters.depth_cutoff.records import Sites
from thresher.filters.pattern_yield.patterns import parse

HOST = "http://a.example"
HOME = SPACE.url(HOST + "/")
SITE = HOME.key[:8]
KEPT, DROPPED = Judgement(True, True, ()), Judgement(False, False, ())
DICE = random.Random(5)


def prose(n: int = 120) -> str:
    return " ".join(f"word{DICE.randrange(4000)}" for _ in range(n))


def day(number: int) -> str:
    return f"{HOST}/cal/2024/{1 + number // 28 % 12:02}/{1 + number % 28:02}/"


def day_text(number: int) -> str:
    menu = "Home About Contact Calendar of the town hall and its rooms, all events that are open to everybody"
    return f"{menu} Nothing is planned for {1 + number % 28:02} {1 + number // 28 % 12:02} 2024. Add an event."


class Crawled:
    """A filter with its memory, told pages one by one."""

    def __init__(self, **settings: Any) -> None:
        self.settings = DepthCutoffSettings(mode="enforce", **settings)
        self.memory = DictMemory()
        self.sites = sites = Sites()
        self.pages, self.links = DepthOfPages(sites, self.settings), DepthOfLinks(sites, self.settings)
        self.redirects, self.relinks = DepthOfRedirects(sites, self.settings), NamedAgain(sites)

    def fetch(self, url: str, text: str, depth: int, judgement: Judgement = KEPT, status: int = 200, via: str = HOST + "/") -> Effects:
        if via != HOST + "/":
            self.name(via, url)
        fetched = placed(page(url, text, status=status), depth, via)
        return self.pages.observe(self.pages.measure(fetched), judgement, self.memory)

    def held(self, url: str, depth: int, *, on: str = HOST + "/") -> str:
        """Return who would hold a new link. on: the page that names it."""
        one = replace(batch(url), source=SPACE.url(on), site_depths=[depth])
        _, effects = self.links.decide(self.links.measure(one), self.memory)
        return next((effect.holder for effect in effects if isinstance(effect, Hold)), "")

    def is_refused(self, url: str, depth: int) -> bool:
        """Return whether a new link is refused."""
        one = replace(batch(url), source=HOME, site_depths=[depth])
        ruling, effects = self.links.decide(self.links.measure(one), self.memory)
        return bool(ruling.refused) and not effects

    def expected(self, by: str) -> float:
        """Return the yield that a class has come to before it was opened."""
        recent = self.sites.recent(by, self.memory)
        return recent.s / max(1.0, recent.n)

    def name(self, on: str, *urls: str, depth: int = 1) -> None:
        """Let a page that was fetched name new URLs."""
        one = replace(batch(*urls), source=replace(SPACE.url(on), site_depth=depth))
        self.links.observe(self.links.measure(one), LinkJudgement(np.ones(len(urls), np.bool_), {}), self.memory)

    def name_again(self, on: str, *urls: str, judgement: Judgement = KEPT) -> list[str]:
        """Let a page that was fetched name known URLs; return those that it releases."""
        assert self.relinks.listens(SPACE.url(on), self.memory)
        measure = self.relinks.measure(Relinks(SPACE.url(on), [SPACE.key(url) for url in urls]))
        freed = {effect.key for effect in self.relinks.observe(measure, judgement, self.memory) if isinstance(effect, ReleaseURL)}
        return [url for url in urls if SPACE.key(url) in freed]

    def limit(self, url: str) -> int:
        ledger = self.ledger()
        found = ledger.speaker(ledger.where(parse(url, HOST)))
        return UNLIMITED if found is None else found.limit

    def ledger(self) -> Ledger:
        return Ledger(self.memory, SITE, rule_of(self.settings))


def placed(of: Page, depth: int, via: str) -> Page:
    return replace(of, url=replace(of.url, site_depth=depth, via=SPACE.key(via)))


def of_site() -> Crawled:
    """Return a site with a home page, documents and a calendar, each to depth 2."""
    crawled = Crawled()
    crawled.fetch(HOST + "/", prose(), 0)
    for i in range(20):
        crawled.fetch(f"{HOST}/docs/{i}/", prose(), 1 + i // 10)
    for i in range(30):
        crawled.fetch(day(i), day_text(i), 1 + i // 10)
    return crawled
