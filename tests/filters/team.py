"""Filters at several agents: panels that tell one another what they find, as the transport would, in the order of each teller."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from subjects import SPACE
from webs import Bench, Subject

from thresher.crawler.core.effects import Conclude, Effect, Tell
from thresher.crawler.core.model import CrawlURL, Page, RedirectPair
from thresher.crawler.core.ownership import Ownership, divided
from thresher.filters.deliberation import Deliberation
from thresher.filters.journal import JournalRecord
from thresher.filters.spec import FilterSpec


class Team:
    """One bench for each agent; a subject is learned where its site is."""

    def __init__(self, n_agents: int, specs: Callable[[Ownership | None], Sequence[FilterSpec]], *, is_told_twice: bool = False) -> None:
        table = divided(n_agents)
        self.owners = [Ownership(table, me) for me in range(n_agents)]
        self.benches = [Bench.of(specs(owners if n_agents > 1 else None)) for owners in self.owners]
        self.journals: list[list[JournalRecord]] = [[] for _ in range(n_agents)]
        self.n_news = 0
        self._n_times = 2 if is_told_twice else 1

    def at(self, url: CrawlURL) -> Bench:
        """Return the bench of a URL's agent."""
        return self.benches[self.owners[0].owner(url.key)]

    def judge(self, subject: Subject) -> Deliberation[Any]:
        """Judge a subject where its site is; links are of one site with the page that has them."""
        return self.at(_url(subject)).judge(subject)

    def learn(self, subject: Subject) -> list[Effect]:
        """Judge and learn a subject, and let all news arrive; return what anybody asks for beside."""
        me = self.owners[0].owner(_url(subject).key)
        deliberation = self.judge(subject)
        asked, record = self.benches[me].panel.learn(deliberation)
        self.journals[me] += [record] if record else []
        found: list[Effect] = []
        waiting = deque([*deliberation.effects, *asked])
        while waiting:
            who, effect = waiting.popleft()
            if isinstance(effect, Conclude):
                to = self.owners[0].owner(effect.site)
                more, record = self.benches[to].panel.reports.on_finding(who, effect.site, effect.finding)
                self.journals[to] += [record] if record else []
                waiting += more
                continue
            if not isinstance(effect, Tell):
                found.append(effect)
                continue
            to = self.owners[0].owner(effect.key)
            for _ in range(self._n_times):
                more, record = self.benches[to].panel.reports.on_news(who, effect.news)
                self.journals[to] += [record] if record else []
                waiting += more
            self.n_news += 1
        return found


def _url(subject: Subject) -> CrawlURL:
    match subject:
        case Page():
            return subject.url
        case RedirectPair():
            return subject.original
        case _:
            return subject.source


def sites(team: Team, each: int = 1) -> list[str]:
    """Return names of sites, by turns of each agent."""
    found: dict[int, list[str]] = {owners.me: [] for owners in team.owners}
    for i in range(64 * each):
        name = f"s{i}.example"
        found[team.owners[0].owner(SPACE.site_key(name))].append(name)
    return [names[i] for i in range(each) for names in found.values()]
