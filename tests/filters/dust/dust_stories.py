"""A site whose stories stand under two forms of URL, and the filter dust with a memory, as its tests share them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace
from subjects import SPACE, batch, page
from webs import Bench

from thresher.config.settings import DustSettings
from thresher.crawler.core.effects import Effect, Rewrite
from thresher.crawler.core.model import Mode, Page
from thresher.filters.dust import filter as dust
from thresher.filters.dust.memory import NAME, read_book
from thresher.filters.dust.rules import LearnedRule, Substitution
from thresher.filters.dust.study import study
from thresher.filters.journal import JournalRecord

SITE = SPACE.site_key("a.example")


def bench(mode: Mode = Mode.ENFORCE, max_urls: int = 10_000) -> Bench:
    return Bench.of((replace(dust.spec(DustSettings(first_mining=80, max_urls=max_urls)), mode=mode),))


def text(name: str) -> str:
    return " ".join(f"{name}-{i}" for i in range(60))


def story(number: int, form: str = "story_", shows: str = "") -> Page:
    found: Page = page(f"http://a.example/{form}{number}", text(shows or f"story{number}"))
    return found


def stories(numbers: Iterable[int], forms: Iterable[str] = ("story_", "story?id=")) -> Iterator[Page]:
    return (story(number, form) for number in numbers for form in forms)


def learn(at: Bench, pages: Iterable[Page]) -> tuple[list[Effect], list[JournalRecord]]:
    """Let the filter see pages; return what it asks for, and the journal."""
    effects, journal = [], []
    for seen in pages:
        asked, record = at.panel.learn(at.panel.page(seen))
        effects += [effect for _, effect in asked]
        journal += [record] if record is not None else []
    return effects, journal


def studied(at: Bench) -> tuple[list[Effect], JournalRecord | None]:
    """Do the study that the filter asked for; return what it asks for then."""
    asked, record = at.panel.reports.on_finding(NAME, SITE, study(b"".join(at.panel.reports.gather(NAME, SITE))))
    return [effect for _, effect in asked], record


def rewrites(at: Bench, *links: str) -> dict[str, str]:
    deliberation = at.panel.links(batch(*links))
    return {effect.url: effect.to for _, effect in deliberation.effects if isinstance(effect, Rewrite)}


def standings(at: Bench) -> dict[str, str]:
    book = read_book(at.memories[NAME], SITE)
    return {learned.rule.readable: learned.standing for learned in book.rules} if book else {}


HALF_KNOWN = [*stories(range(4)), *stories(range(4, 47), ["story?id="]), *stories(range(47, 90), ["story_"])]  # both forms are linked
OTHER = LearnedRule(rule=Substitution(source="/tale-", target="/story_"), standing="valid")
RULE = '"story?id=" → "story_"'


def taught() -> Bench:
    """Return a bench that has learnt the rule of the stories."""
    at = bench()
    learn(at, stories(range(50)))
    studied(at)
    assert standings(at)[RULE] == "valid"
    return at
