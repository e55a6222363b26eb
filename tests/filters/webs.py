"""Random pages, links and redirects of a small web, and panels to judge them: what the laws of filters are tried on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from dict_memory import DictMemory
from hypothesis import strategies as st
from subjects import SPACE, answer, batch, page, pair

from thresher.config.settings import (
    ExactDuplicateSettings,
    FilterSettings,
    NearReplicaSettings,
    PathTrapSettings,
    PatternYieldSettings,
    Settings,
    SoftErrorSettings,
)
from thresher.crawler.core.effects import Answer
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Page, RedirectPair
from thresher.crawler.core.ports import Memory
from thresher.filters.base import Gate
from thresher.filters.deliberation import Deliberation
from thresher.filters.journal import JournalRecord
from thresher.filters.panel import Panel
from thresher.filters.registry import specs
from thresher.filters.spec import FilterSpec

SEEDS = ("http://a.example/", "http://b.example/docs/")
Subject = Page | LinkBatch | RedirectPair
_HOSTS = ("a.example", "www.a.example", "x.a.example", "b.example")
_PATHS = (
    "/",
    "/1",
    "/2",
    "/1?ref=x",
    "/dir/1",
    "/dir/2",
    "/dir/3",
    "/dir/4",
    "/cal/2024/05/",
    "/cal/2024/06/",
    "/cal/2024/07/",
    "/cal/2025/01/",
)
_TEXTS = ("short", "sorry: page not found, it is no more", *(" ".join(f"{word}{i}" for i in range(8)) for word in ("pear", "plum", "fig")))
_TIGHT = FilterSettings(
    path_trap=PathTrapSettings(max_per_prefix=2, max_calendar=1),
    exact_duplicate=ExactDuplicateSettings(min_tokens=4),
    pattern_yield=PatternYieldSettings(barren=2),
    soft_error=SoftErrorSettings(threshold=0.5, give_up_after=1),
    near_replica=NearReplicaSettings(min_tokens=4),
)


def settings(mode: str = "enforce", of: FilterSettings = _TIGHT) -> Settings:
    """Return a configuration with every filter that there is in one mode, and limits so tight that a few pages reach them."""
    every = {
        name: msgspec.structs.replace(getattr(of, name), mode=mode) for name in of.__struct_fields__ if hasattr(getattr(of, name), "mode")
    }
    return Settings(filters=msgspec.structs.replace(of, audit_share=0.0, **every))


def registered(mode: str = "enforce") -> tuple[FilterSpec, ...]:
    return specs(settings(mode), SEEDS)


urls = st.builds(lambda host, path: f"http://{host}{path}", st.sampled_from(_HOSTS), st.sampled_from(_PATHS))


def _page(url: str, body: str, status: int, canonical: str, seed_distance: int) -> Page:
    names = {"itself": SPACE.canonical(url), "another": "http://a.example/dir/1", "": ""}
    return page(url, body, status=status, canonical=names[canonical], seed_distance=seed_distance)


pages = st.builds(
    _page,
    urls,
    st.sampled_from(_TEXTS),
    st.sampled_from((200, 200, 200, 404)),
    st.sampled_from(("", "", "itself", "another")),
    st.integers(0, 2),
)
batches = st.lists(urls, min_size=1, max_size=8, unique=True).map(lambda texts: batch(*texts))
pairs = st.builds(lambda original, target, status: pair(original, target, status=status), urls, urls, st.sampled_from((0, 200, 404)))
SUBJECTS: dict[Gate, st.SearchStrategy[Any]] = {Gate.PAGE: pages, Gate.LEARNED: batches, Gate.REDIRECT: pairs}
stories: st.SearchStrategy[list[Subject]] = st.lists(st.one_of(pages, batches, pairs), max_size=25)
answers = st.one_of(
    st.builds(lambda url, found: answer(f"{url}/zzz", found), urls, pages),
    st.builds(lambda url, to: answer(f"{url}/zzz", status=302, target=SPACE.url(SPACE.canonical(to))), urls, urls),
    st.builds(lambda url: answer(f"{url}/zzz", failure="timeout_total"), urls),
)
lives: st.SearchStrategy[list[Subject | Answer]] = st.lists(st.one_of(pages, batches, pairs, answers), max_size=25)


@dataclass
class Bench:
    """A panel with the memories of its filters."""

    panel: Panel
    memories: dict[str, Memory]

    @classmethod
    def of(cls, filters: Sequence[FilterSpec], memory_of: Callable[[str], Memory] | None = None, *, audit_share: float = 0.0) -> Bench:
        made: dict[str, Memory] = {}

        def make(name: str) -> Memory:
            made[name] = memory_of(name) if memory_of else DictMemory()
            return made[name]

        return cls(Panel(filters, make, audit_share=audit_share), made)

    def judge(self, subject: Subject) -> Deliberation[Any]:
        match subject:
            case Page():
                return self.panel.page(subject)
            case LinkBatch():
                return self.panel.links(subject)
            case _:
                return self.panel.redirect(subject)

    def tell(self, story: Iterable[Subject | Answer]) -> list[JournalRecord]:
        """Judge and learn each subject in turn, or tell every requester of an answer; return the journal."""
        records: list[JournalRecord | None] = []
        for subject in story:
            if isinstance(subject, Answer):
                records += [self.panel.reports.on_answer(spec.name, subject)[1] for spec in self.panel.specs if spec.prober]
            else:
                records.append(self.panel.learn(self.judge(subject))[1])
        return [record for record in records if record is not None]

    def rows(self, name: str) -> dict[bytes, bytes]:
        """Return all that one filter remembers."""
        found: dict[bytes, bytes] = {}
        for site in sorted({SPACE.site_key(site) for site in ("a.example", "b.example")}):
            found.update(self.memories[name].scan(site))
        return found

    def all_rows(self) -> dict[str, dict[bytes, bytes]]:
        return {name: self.rows(name) for name in self.memories}
