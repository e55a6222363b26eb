"""The filter on a bench: subjects made by hand, what it asks for and says of them."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace
from subjects import SPACE, answer, page, pair
from webs import Bench

from thresher.config.settings import SoftErrorSettings
from thresher.crawler.core.effects import Answer, Effect, Request, Revise
from thresher.crawler.core.model import CrawlURL, Page, Reason, RedirectPair
from thresher.filters.soft_error.filter import spec
from thresher.filters.soft_error.probe import N_LETTERS

DAY_S = 86_400.0
LOST = "http://b.example/sorry"
NOT_FOUND = "Sorry, the page that you asked for could not be found here. It may have been removed, or its name may have changed."


def bench(**options: Any) -> Bench:
    return Bench.of([spec(SoftErrorSettings(**options))])


def learn(of: Bench, subject: Page | RedirectPair) -> list[Effect]:
    """Judge and learn one subject; return what is asked for."""
    deliberation = of.judge(subject)
    return [effect for _, effect in (*deliberation.effects, *of.panel.learn(deliberation)[0])]


def says(of: Bench, subject: Page | RedirectPair) -> dict[str, str | int | float]:
    """Return the evidence of a verdict that calls the subject a soft error, {} if it is none."""
    (verdict,) = of.judge(subject).judgement.verdicts
    assert (verdict.reason is Reason.SOFT_ERROR) == (not verdict.keep)
    return dict(verdict.evidence) if not verdict.keep else {}


def tell(of: Bench, told: Answer) -> list[Effect]:
    return [effect for _, effect in of.panel.reports.on_answer("soft_error", told)[0]]


def tell_with_control(of: Bench, told: Answer) -> list[Effect]:
    """Answer a probe, and with 404 the control that it makes necessary."""
    effects = tell(of, told)
    (control,) = requests(effects)
    assert not is_sibling(control)
    return tell(of, answer(control, status=404))


def is_sibling(asked: str) -> bool:
    return re.search(rf"[a-z]{{{N_LETTERS}}}", asked) is not None


def requests(effects: list[Effect]) -> list[str]:
    return [effect.url for effect in effects if isinstance(effect, Request)]


def revised(effects: list[Effect]) -> dict[bytes, bool]:
    """Return key → does it stand as a soft error now?"""
    return {effect.page: effect.verdict.reason is Reason.SOFT_ERROR for effect in effects if isinstance(effect, Revise)}


def old(i: int, target: str = LOST, *, at: float = 0.0) -> RedirectPair:
    return replace(pair(f"http://a.example/old/{i}", target), at=at, original=url(f"http://a.example/old/{i}"))


def url(text: str, distance: int = 2) -> CrawlURL:
    return SPACE.url(SPACE.canonical(text), seed_distance=distance)


def at(text: str, body: str = NOT_FOUND, title: str = "", hops: int = 0) -> Page:
    return replace(page(text, body), url=replace(url(text), hops=hops), title=title)
