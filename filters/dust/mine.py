"""Mining: from a site's list of URLs to likely rules, best first. Phases 1 to 3 of [BKS07], clusters, universal hypotheses, contexts.

    list ─ substrings ─ eliminate ─┐
         ─ clusters ───────────────┼─ compared with the list's pages ─ contexts ─ ranked
         ─ parameters, universal ──┘

A rule is dropped if the list refutes it in both directions: the whole interval of its agreement lies below that of a valid rule. A rule is
`unproven` if none of its pairs is known, if too many of them differ but there are too few to be sure, or if they are no more alike than
other pages. Unproven rules come after all rules that the list supports.

Rules are ranked by a product: their support, the lower bound of their agreement, the share of their URLs whose target is in the list (other
targets may not exist), and a factor that falls from 1, if all of their pairs agree word for word, to ½, if none does.

Time: linear in the list; at 15,000 URLs about 0.2 ms a URL, at most (benchmarks/speed/dust_mining.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from thresher.filters.dust.canonize import Canonizer
from thresher.filters.dust.clusters import cluster_rules
from thresher.filters.dust.context import ContextTable, excepted, narrowed
from thresher.filters.dust.eliminate import AS_PUBLISHED, Elimination, eliminate
from thresher.filters.dust.evidence import (
    MOST_DISSENT,
    RuleEvidence,
    Shuffled,
    gather,
    in_chance_order,
    instances,
    is_refuted,
    may_apply,
    tells_apart,
    wilson,
    with_evidence,
)
from thresher.filters.dust.parameters import parameter_rules
from thresher.filters.dust.rules import LearnedRule, Parameter, Rule, Substitution, reversed_rule, shortlex, written
from thresher.filters.dust.substrings import LikelyPair, SubstringLimits, likely_pairs
from thresher.filters.dust.tokens import spans
from thresher.filters.dust.universal import universal_rules
from thresher.filters.dust.urllist import UrlList, origin

OF_TEXTS: Final = SubstringLimits(low=24, high=24)  # buckets that contain only copies seldom overflow
_MOST_PAIRS: Final = 30_000
_MOST_COUNTED: Final = 200  # URLs by which the hosts of a rule are found
_SAMPLE: Final = 20  # URLs by which a rule is recognised as part of another
_CLEAN: Final = 3  # pairs, all of which agree
_MOST_APPLIED: Final = 300  # URLs to which a rule is applied


@dataclass(frozen=True, slots=True)
class Mining:
    """The options of mining."""

    limits: SubstringLimits | None = None  # of phase 1; None: the paper's, or OF_TEXTS where texts are known
    elimination: Elimination = AS_PUBLISHED
    at_most: int = 300  # rules returned
    pooled: bool = False  # compare URLs with one target with each other, as in a running crawl


def mine(known: UrlList, how: Mining = Mining()) -> list[LearnedRule]:
    """Return likely rules, best first."""
    limits = how.limits or (SubstringLimits() if known.texts is None else OF_TEXTS)
    order = in_chance_order(known)
    candidates = _candidates(known, limits, how.elimination)
    candidates = sorted(_distinct(candidates), key=lambda learned: -learned.support)[: 2 * how.at_most]
    candidates = _distinct(_towards_more(learned, known, order) for learned in candidates)
    found: dict[int, JudgedRule] = {}
    atlas = ContextTable()
    for learned in candidates:
        for judged in _judged(learned, known, order, atlas, pooled=how.pooled):
            _keep_best(found, judged)
    for rule in universal_rules(known):
        if not may_apply(rule, order) or _leads_to_less(rule, known, order):
            continue
        for judged in _judged(LearnedRule(rule=rule, source="universal"), known, order, atlas, pooled=how.pooled):
            if judged.n_seen >= limits.min_support:
                _keep_best(found, judged)
    return _adding(sorted(found.values(), key=_rank))[: how.at_most]


def _candidates(known: UrlList, limits: SubstringLimits, elimination: Elimination) -> list[LearnedRule]:
    """Return the hypotheses of all phases; none if texts are known and there are too few copies to support a rule."""
    if known.texts is not None and known.n_copies < limits.min_support:
        return []
    least = limits.min_support
    return [*parameter_rules(known, least), *cluster_rules(known, least), *substring_rules(known, limits, elimination)]


def substring_rules(known: UrlList, limits: SubstringLimits, elimination: Elimination = AS_PUBLISHED) -> list[LearnedRule]:
    """Return what phases 1 and 2 find, each pair in its shrinking direction, the largest first."""
    urls, _, kinds = known.good()
    if not urls:
        return []
    of = spans(urls)
    pairs = eliminate(likely_pairs(of, kinds, limits, at_most=_MOST_PAIRS), elimination)
    return [LearnedRule(rule=oriented(pair), source="substring", support=pair.size) for pair in pairs]


def oriented(pair: LikelyPair) -> Substitution:
    """Return the pair as the rule that shrinks."""
    small, large = sorted((pair.one, pair.other), key=shortlex)
    return Substitution(source=written(large), target=written(small))


def _towards_more(learned: LearnedRule, known: UrlList, order: Shuffled) -> LearnedRule:
    """Return a rule between hosts in the direction of the host that the site uses more: so that fewer pages must be fetched again."""
    turned = reversed_rule(learned) if _leads_to_less(learned.rule, known, order) else None
    return learned if turned is None else turned


def _leads_to_less(rule: Rule, known: UrlList, order: Shuffled) -> bool:
    """Return whether a rule leads from hosts that the site uses much to hosts that it uses less."""
    if rule.place != "host":
        return False
    found = list(islice(instances(rule, known, order), _MOST_COUNTED))
    here, there = {origin(known.urls[instance.at]) for instance in found}, {origin(instance.target) for instance in found}
    used = known.popularity
    return sum(used.get(each, 0) for each in here - there) > sum(used.get(each, 0) for each in there - here)


class JudgedRule(NamedTuple):
    """A rule with its counts over the list."""

    learned: LearnedRule
    effect: int  # equal for rules that lead the same URLs to the same targets
    n_seen: int  # instances looked at
    sample: tuple[tuple[str, str], ...]  # the first of them: URL and target


def _judged(learned: LearnedRule, known: UrlList, order: Shuffled, atlas: ContextTable, *, pooled: bool) -> Iterator[JudgedRule]:
    """Yield the rule with its counts over the list, bound to the contexts where it holds; turned round if this direction is refuted."""
    found = gather(learned.rule, known, order, most=_MOST_APPLIED, pooled=pooled)
    family = excepted(learned.rule, found.seen, atlas)
    for rule in [family] if family is not None else narrowed(learned.rule, found.seen, atlas) or [learned.rule]:
        if rule == learned.rule:
            judged = _with_standing(msgspec.structs.replace(learned, support=learned.support or found.agree), found)
        else:
            again = gather(rule, known, order, most=_MOST_APPLIED, pooled=pooled)
            judged = _with_standing(LearnedRule(rule=rule, source=learned.source, support=again.agree), again)
        kept = judged if not is_refuted(judged.learned.agree, judged.learned.disagree) else _turned(judged.learned, known, order)
        if kept is not None:
            yield kept


def _turned(learned: LearnedRule, known: UrlList, order: Shuffled) -> JudgedRule | None:
    """Return the rule in its other direction if pages agree there: if it leads to errors this way, it may lead from them the other."""
    turned = reversed_rule(learned)
    if turned is None:
        return None
    judged = _with_standing(turned, gather(turned.rule, known, order, most=_MOST_APPLIED))
    is_kept = judged.learned.standing != "unproven" and not is_refuted(judged.learned.agree, judged.learned.disagree)
    return judged if is_kept else None


def _with_standing(learned: LearnedRule, found: RuleEvidence) -> JudgedRule:
    said = with_evidence(learned, found)
    n_pairs = said.agree + said.disagree
    speaks = n_pairs > 0 and said.disagree <= MOST_DISSENT * n_pairs and tells_apart(said.controls, said.controls_alike)
    sample = tuple((url, target) for (url, _), target in zip(found.seen[:_SAMPLE], found.targets, strict=False))
    return JudgedRule(msgspec.structs.replace(said, standing="likely" if speaks else "unproven"), found.effect, len(found.seen), sample)


def _keep_best(found: dict[int, JudgedRule], judged: JudgedRule) -> None:
    """Keep the plainest of all rules that change the list in the same way."""
    effect = judged.effect
    if effect not in found or _bounds(judged.learned) < _bounds(found[effect].learned):
        found[effect] = judged


def _bounds(learned: LearnedRule) -> tuple[int, int, int]:
    """Return a sort key: bounds by host and path, number of holes, and support; less is plainer."""
    rule = learned.rule
    n_holes = rule.source.count("{") if isinstance(rule, Substitution) else 0
    return bool(rule.host) + bool(rule.path), n_holes, -learned.support


def _adding(ranked: Iterable[JudgedRule]) -> list[LearnedRule]:
    """Return the rules without those that join only URLs which earlier rules join, if the earlier rules hold wherever pages are known."""
    kept: list[LearnedRule] = []
    clean: list[Rule] = []
    canonical = Canonizer(clean)
    for learned, _, _, sample in ranked:
        if all(canonical(url) == canonical(target) for url, target in sample):
            continue
        kept.append(learned)
        if learned.equal >= _CLEAN and learned.equal == learned.agree and not learned.disagree:
            clean.append(learned.rule)
            canonical = Canonizer(clean)
    return kept


def _distinct(rules: Iterable[LearnedRule]) -> list[LearnedRule]:
    """Return each rule once, in its form with most support."""
    best: dict[Rule, LearnedRule] = {}
    for learned in rules:
        earlier = best.get(learned.rule)
        if earlier is None or learned.support > earlier.support:
            best[learned.rule] = learned
    return list(best.values())


def _rank(judged: JudgedRule) -> tuple[bool, float, int, str]:
    learned = judged.learned
    is_unproven = learned.standing == "unproven"
    worth = 1.0
    if not is_unproven:
        compared = learned.agree + learned.disagree
        worth = wilson(learned.agree, learned.disagree)[0] * compared / judged.n_seen
        worth *= (learned.agree + learned.equal) / (2 * learned.agree) if learned.agree else 0
    return is_unproven, -learned.support * worth, 0 if isinstance(learned.rule, Parameter) else 1, learned.rule.readable
