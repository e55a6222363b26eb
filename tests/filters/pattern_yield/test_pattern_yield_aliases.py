"""Patterns count a page under its canonical URL, where dust knows one."""

from __future__ import annotations

from dict_memory import DictMemory
from subjects import LONG_TEXT, SPACE, batch, page

from thresher.config.settings import ExactDuplicateSettings, PatternYieldSettings
from thresher.crawler.core.effects import Hold
from thresher.crawler.core.model import Mode, Page, Verdict
from thresher.filters import exact_duplicate
from thresher.filters.panel import Panel
from thresher.filters.pattern_yield.filter import spec
from thresher.filters.spec import FilterSpec

ITEM, COPY = "http://a.example/item/{}", "http://a.example/copy/{}"
_SURE = PatternYieldSettings(mode="enforce")


class Aliases:
    """Page gate that says what dust says of aliases by a valid rule: `/copy/` is `/item/`."""

    name = "dust"
    measure_type = str

    def measure(self, page_: Page, /) -> str:
        return page_.url.text

    def decide(self, measure: str, memory: object, /) -> tuple[Verdict, tuple[()]]:
        told = {"canonical": measure.replace("/copy/", "/item/"), "rule": "r"} if "/copy/" in measure else {}
        return Verdict(self.name, evidence=told), ()

    def observe(self, measure: str, judgement: object, memory: object, /) -> tuple[()]:
        return ()


def panel(*, knows_aliases: bool) -> Panel:
    dust = [FilterSpec("dust", Mode.ENFORCE, page=Aliases())] if knows_aliases else []
    copies = exact_duplicate.spec(ExactDuplicateSettings(mode="enforce", min_tokens=4))
    memories: dict[str, DictMemory] = {}
    specs = [copies, *dust, spec(_SURE, judges=["exact_duplicate"])]
    return Panel(specs, lambda name: memories.setdefault(name, DictMemory()), audit_share=0.0)


def held(at: Panel, *urls: str) -> set[str]:
    return {effect.url for _, effect in at.links(batch(*urls)).effects if isinstance(effect, Hold)}


def learn(at: Panel, form: str, number: int) -> None:
    url = SPACE.url(SPACE.canonical(form.format(f"n{number}")), seed_distance=2, site_depth=2)
    found = page(url.text, f"item {number} {' '.join(f'w{number}x{i}' for i in range(30))} {LONG_TEXT}", seed_distance=2)
    at.learn(at.page(found))


def test_copies_under_aliases_count_against_no_pattern() -> None:
    """Mutation: a page counts for the URL under which it was fetched."""
    for knows_aliases in (False, True):
        at = panel(knows_aliases=knows_aliases)
        for i in range(150):
            learn(at, ITEM, i)
        for i in range(150):
            learn(at, COPY, i)
        numbers = [f"n{i}" for i in range(100, 150)]
        assert bool(held(at, *map(COPY.format, numbers))) is not knows_aliases
        assert not held(at, *map(ITEM.format, numbers))
