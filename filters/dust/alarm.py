"""Withdraws a rule that has turned bad: audits compare aliases with their canonical pages, and a cumulative sum [PAG54] counts the results.

An audited pair that disagrees raises the sum; one that agrees lowers it, to zero at the least. Two pairs that disagree with few between
them withdraw the rule, and its aliases are queued again.

Time: 20 µs a page that a rule makes an alias, 2 µs others of a site with rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from thresher.crawler.core.effects import Effect, Recall
from thresher.crawler.core.ports import Memory
from thresher.filters.base import NO_EFFECTS, Effects
from thresher.filters.dust.canonize import Canonizer
from thresher.filters.dust.memory import read_book, write_book
from thresher.filters.dust.records import StoredLook, read_common, read_look, write_fetched
from thresher.filters.dust.rules import LearnedRule, Rule
from thresher.filters.dust.validate import BOUND, STEP_AGREE, STEP_DISAGREE


def on_page(url: str, site: bytes, shown: Callable[[], StoredLook], canonizer: Canonizer, memory: Memory) -> Effects:
    """Count a page as evidence for or against the rules that make its URL an alias.

    Args:
        shown: Returns what the page shows; called for aliases only.
    """
    settled = canonizer.settle(url)
    if settled.url == url:
        return NO_EFFECTS
    look = shown()
    canonical = read_look(memory, site, settled.url)
    if canonical is None and look.is_good and _are_clean(settled.by, memory, site):
        write_fetched(memory, site, settled.url, url)
    if canonical is None or not look.is_good:
        return NO_EFFECTS
    return _count(memory, site, settled.by, look, canonical)


def _are_clean(rules: Sequence[Rule], memory: Memory, site: bytes) -> bool:
    book = read_book(memory, site)
    return book is not None and {learned.rule for learned in book.rules if learned.is_clean}.issuperset(rules)


def _count(memory: Memory, site: bytes, rules: Sequence[Rule], alias: StoredLook, canonical: StoredLook) -> Effects:
    """Count a pair for or against the rules that joined it; withdraw those that have turned bad."""
    book = read_book(memory, site)
    if book is None:
        return NO_EFFECTS
    concerned = set(rules)
    before = book.applied
    agrees, equal = alias.alike(canonical, read_common(memory, site)), alias.fingerprint == canonical.fingerprint
    book.rules = [_counted(learned, agrees=agrees, equal=equal) if learned.rule in concerned else learned for learned in book.rules]
    write_book(memory, site, book)
    kept = set(book.applied)
    return tuple(_recalls(site, [rule for rule in before if rule not in kept]))


def _counted(learned: LearnedRule, *, agrees: bool, equal: bool) -> LearnedRule:
    alarm = max(0.0, learned.alarm - (STEP_AGREE if agrees else STEP_DISAGREE))
    return msgspec.structs.replace(
        learned,
        agree=learned.agree + agrees,
        equal=learned.equal + equal,
        disagree=learned.disagree + (not agrees),
        alarm=alarm,
        standing="withdrawn" if alarm >= BOUND else learned.standing,
    )


def _recalls(site: bytes, rules: Sequence[Rule]) -> Iterator[Effect]:
    for rule in rules:
        yield Recall(site, rule.name)
