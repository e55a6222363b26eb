"""Phase 4: validation by samples, in random order, ended as soon as the result is clear [BKS07, Fig. 3 and 4].

The paper fetches up to N = 100 pairs of a rule and rejects it when ε·N = 5 disagree: a rule that holds for 98 % of its URLs passes with
probability .951, one that holds for 90 % with .025. A sequential test [WAL45] between the same two needs 35 pairs for a rule that always
holds, and two for one that never does (.949 and .054); whichever bound is reached first counts. If a list has no more pairs, 20 are enough
that all agree word for word. If pages only resemble each other, 52 agreeing pairs are needed: a list is studied again and again, so where
one pair in eight disagrees (pages and their exports, say), 35 agreeing ones in a row are met by chance sooner or later.

A rule that fails is tried in the other direction, and if it holds only in part, within the contexts where it does. Rules that join
only what valid ones join are left out. A test that ends early does not overrule the list: the rule is valid only if the disagreeing share
of all known pairs, which cost nothing, is below ε.

The list of a crawl that goes on (`INLINE`) also shows which URLs are linked. There a rule saves requests only if both of its forms are
linked, or several URLs have one target, and if it leads to the form that is linked. And it shows when pages were fetched: agreeing pairs
must be of several blocks of time (filters/evidence/blocks.py), or what the site showed for a while would become a rule.

`judge` uses the pages of a list and names the URLs that it lacks; the caller fetches them, and judges again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Final, NamedTuple

import msgspec

from thresher.filters.dust.canonize import Canonizer
from thresher.filters.dust.context import excepted, is_bad_anywhere, narrowed, uncharted
from thresher.filters.dust.evidence import RuleEvidence, Shuffled, gather, in_chance_order, saving, tells_apart, with_evidence
from thresher.filters.dust.rules import LearnedRule, Rule, Standing, reversed_rule
from thresher.filters.dust.urllist import UrlList

_GOOD: Final = 0.98  # share of agreeing pairs of rules that should pass
_BAD: Final = 0.90  # and of those that should not
_ERROR: Final = 0.05  # probability of either mistake
BOUND: Final = log((1 - _ERROR) / _ERROR)
_NEAR_BOUND: Final = 1.5 * BOUND  # bound for rules whose pairs mostly agree, but not word for word
STEP_AGREE: Final = log(_GOOD / _BAD)
STEP_DISAGREE: Final = log((1 - _GOOD) / (1 - _BAD))
_SAMPLE: Final = 20
_MOST_UNCHARTED: Final = 10  # pairs requested at a time of parts of which none is known
_LEAST_SAVED: Final = 3  # requests of a list that a rule must have saved to be adopted
_HARDLY_LINKED: Final = 0.5  # share of a rule's targets
_FEW: Final = 4  # URLs requested for a rule with little evidence


@dataclass(frozen=True, slots=True)
class Trial:
    """The conditions under which a rule is valid."""

    n: int = 100  # pairs
    epsilon: float = 0.05  # share of pairs that may disagree
    early: bool = True  # end clear cases before n pairs
    few: int = 20  # pairs that are enough where there are no more and all agree word for word
    dissent: float = 0.05  # share of all known pairs that may disagree in the end
    of_crawl: bool = False  # the list is of a crawl that goes on: rules that save nothing are not adopted

    def verdict(self, agree: int, disagree: int, equal: int | None = None) -> bool | None:
        """Return whether the rule has passed, None if that is not known yet.

        Args:
            equal: Agreeing pairs that are equal word for word; None: all.
        """
        allowed = round(self.epsilon * self.n)
        if disagree >= allowed:
            return False
        if agree >= self.n - allowed:
            return True
        evidence = balance(agree, disagree)
        if self.early and evidence <= -BOUND:
            return False
        if self.early and evidence >= (BOUND if equal is None or 2 * equal >= agree else _NEAR_BOUND):
            return True
        return None

    def allows(self, agree: int, disagree: int) -> bool:
        """Return whether a share of pairs that disagree is small enough."""
        return disagree <= self.dissent * (agree + disagree)


def balance(agree: int, disagree: int) -> float:
    """Return the log of a ratio: how likely these pairs are under a rule that should pass, over the same under one that should not."""
    return agree * STEP_AGREE + disagree * STEP_DISAGREE


SEQUENTIAL: Final = Trial()
AS_PUBLISHED: Final = Trial(early=False)
INLINE: Final = Trial(dissent=0.01, of_crawl=True)


@dataclass(slots=True)
class Judgements:
    """The result of judging rules by a list: the judged rules, and the URLs whose pages would decide more."""

    rules: list[LearnedRule]
    wanted: dict[str, str]  # URL to request → the URL of the list that may be its alias
    open_saving: int = 0  # fetches that the undecided rules would have saved of the list
    new_saving: int = 0  # and those that the newly valid rules would have saved
    waits: bool = False  # a rule lacks nothing but pages of another time


def judge(rules: Sequence[LearnedRule], known: UrlList, trial: Trial = SEQUENTIAL, *, given: Sequence[Rule] = ()) -> Judgements:
    """Judge rules in their order by the pages of a list; disabled and withdrawn rules stay as they are.

    Args:
        given: Rules that are valid already, applied before the others.
    """
    order = in_chance_order(known)
    judged: list[LearnedRule] = []
    wanted: dict[str, str] = {}
    valid = list(given)
    open_saving = new_saving = 0
    waits = False
    for learned in rules:
        if learned.disabled or learned.standing == "withdrawn":
            judged.append(learned)
            continue
        canonical = Canonizer(valid)
        for case in _tried(learned, known, order, trial):
            if _adds_nothing(case.evidence, canonical):
                continue
            judged.append(case.learned)
            waits = waits or case.waits
            if case.learned.standing == "valid":
                valid.append(case.learned.rule)
                new_saving += case.saves
            elif case.learned.standing == "undecided":
                open_saving += case.saves
                for url, beside in _missing(case, known, trial):
                    wanted.setdefault(url, beside)
    return Judgements(judged, wanted, open_saving, new_saving, waits)


class _Case(NamedTuple):
    """A rule with its standing and evidence, and the positions of pairs that must be known before it is valid."""

    learned: LearnedRule
    evidence: RuleEvidence
    uncharted: Sequence[int] = ()
    saves: int = 0  # requests of linked URLs
    waits: bool = False  # it only lacks pages of another block of time


def _tried(learned: LearnedRule, known: UrlList, order: Shuffled, trial: Trial) -> list[_Case]:
    """Judge a rule; if it fails, try its contexts, then its other direction. Return the best result; the failed rule if nothing holds."""
    learned = _towards_linked(learned, known, order) if trial.of_crawl else learned
    first = _judged(learned, known, order, trial)
    if first.learned.standing != "invalid":
        return [first]
    everything = gather(learned.rule, known, order, pooled=trial.of_crawl)
    family = excepted(learned.rule, everything.seen)
    if family is not None:
        pooled = _judged(LearnedRule(rule=family, source=learned.source), known, order, trial)
        if pooled.learned.standing != "invalid":
            return [pooled]
    bound = [rule for rule in narrowed(learned.rule, everything.seen) if rule != learned.rule]
    parts = [_judged(LearnedRule(rule=rule, source=learned.source), known, order, trial) for rule in bound]
    found = [part for part in parts if part.learned.standing != "invalid"]
    turned = reversed_rule(learned) if not found else None
    if turned is not None:
        other = _judged(turned, known, order, trial)
        found = [other] if other.learned.standing == "valid" else []
    return found or [first]


def _towards_linked(learned: LearnedRule, known: UrlList, order: Shuffled) -> LearnedRule:
    """Return a rule in the direction of the form that is linked, if the other form hardly is."""
    here = saving(learned.rule, known, order)
    turned = reversed_rule(learned) if here.share_linked < _HARDLY_LINKED else None
    if turned is None:
        return learned
    there = saving(turned.rule, known, order)
    return turned if there.share_linked >= 2 * here.share_linked and there.n_linked else learned


def _judged(learned: LearnedRule, known: UrlList, order: Shuffled, trial: Trial) -> _Case:
    """Judge a rule; one that would save hardly anything is not adopted, whatever its pages show."""
    saves = saving(learned.rule, known, order).fetches if trial.of_crawl else 0
    case = _on_pages(learned, known, order, trial)
    if trial.of_crawl and saves < _LEAST_SAVED and case.learned.standing == "valid":
        case = case._replace(learned=msgspec.structs.replace(case.learned, standing="undecided"))
    if trial.of_crawl and case.learned.standing == "valid" and not case.evidence.is_of_several_blocks:
        case = case._replace(learned=msgspec.structs.replace(case.learned, standing="undecided"), waits=True)
    return case._replace(saves=saves)


def _on_pages(learned: LearnedRule, known: UrlList, order: Shuffled, trial: Trial) -> _Case:
    """Judge a rule by the pages of the list."""
    pooled = trial.of_crawl

    def is_clear(found: RuleEvidence) -> bool:
        return trial.verdict(found.agree, found.disagree, found.equal) is not None

    evidence = gather(learned.rule, known, order, stop=is_clear, pooled=pooled)
    verdict = trial.verdict(evidence.agree, evidence.disagree, evidence.equal)
    if verdict is None and trial.early and evidence.equal >= trial.few and not evidence.disagree:
        verdict = all(agrees for _, agrees in evidence.seen) or None
    if verdict:
        everything = gather(learned.rule, known, order, pooled=pooled)
        if unknown := uncharted(learned.rule, everything.seen):
            return _Case(msgspec.structs.replace(with_evidence(learned, evidence), standing="undecided"), everything, unknown)
        verdict = trial.allows(everything.agree, everything.disagree) and not is_bad_anywhere(learned.rule, everything.seen)
        evidence = everything
    standing: Standing = "undecided" if verdict is None else "valid" if verdict else "invalid"
    if standing == "valid" and not tells_apart(evidence.controls, evidence.controls_alike):
        standing = "undecided"
    return _Case(msgspec.structs.replace(with_evidence(learned, evidence), standing=standing), evidence)


def _adds_nothing(evidence: RuleEvidence, canonical: Canonizer) -> bool:
    sample = list(zip(evidence.seen, evidence.targets, strict=True))[:_SAMPLE]
    return bool(sample) and all(canonical(url) == canonical(target) for (url, _), target in sample)


def _missing(case: _Case, known: UrlList, trial: Trial) -> list[tuple[str, str]]:
    """Return URLs that would help to decide the case, each with the URL of its pair.

    Few while there is little evidence for the rule, as many as it takes when there is much. None while more is against it, or the list
    has too few pairs to decide it: pages that are fetched anyway may change that.
    """
    evidence = case.evidence
    if balance(evidence.agree, evidence.disagree) < 0 or (trial.of_crawl and case.saves < _LEAST_SAVED):
        return []
    if case.uncharted:
        chosen = case.uncharted[:_MOST_UNCHARTED]
        return _unknown([(evidence.seen[i][0], evidence.targets[i]) for i in chosen], known)
    n = 0
    while n < trial.n and trial.verdict(evidence.agree + n, evidence.disagree, evidence.equal) is None:
        n += 1
    n = min(n, max(_FEW, 2 * evidence.agree))
    n = min(n, case.saves) if trial.of_crawl else n
    pairs = [(url, target) for (url, agrees), target in zip(evidence.seen, evidence.targets, strict=True) if agrees is None]
    if trial.of_crawl and not _would_decide(evidence, len(pairs), trial):
        return []
    return _unknown(pairs[:n], known)


def _would_decide(evidence: RuleEvidence, n: int, trial: Trial) -> bool:
    """Return whether a rule would be valid if `n` more pairs agreed word for word."""
    equal = evidence.equal + n
    if trial.early and equal >= trial.few and not evidence.disagree:
        return True
    return bool(trial.verdict(evidence.agree + n, evidence.disagree, equal))


def _unknown(pairs: Sequence[tuple[str, str]], known: UrlList) -> list[tuple[str, str]]:
    """Return the URLs of pairs whose page is not known, each with the first URL of its pair."""
    return [(url, pair[0]) for pair in pairs for url in pair if not known.has_text(url)]
