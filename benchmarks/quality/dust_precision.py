"""How many of the first ten rules from `thresher dust mine` are right: `python -m benchmarks.quality.dust_precision [DIR…]`.

Rules are mined from a third of a site's pages, chosen by a hash, as if a crawl had seen no more. They are judged by all pages. A rule is
right if 19 of 20 pairs of known pages that it joins show the same. It is wrong if more differ, if it leads to an error, or if no pair is
known. In planted webs every URL that a rule leads to is known, whether something links to it or not. Each DIR is a recorded crawl with the
filters off, as `python -m benchmarks.living --keep DIR` leaves it. Sites of 300 pages or more.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import xxhash

from thresher.crawler.analysis.dust_lists import read_source
from thresher.crawler.core.url import hostname_of, origin_of, site_of
from thresher.crawler.demo.demo_settings import profile
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.filters.dust.canonize import applier
from thresher.filters.dust.evidence import gather, in_chance_order
from thresher.filters.dust.mine import mine
from thresher.filters.dust.rules import Rule
from thresher.filters.dust.urllist import Sighting, UrlList

_FIRST = 10
_SHARE = 3  # one page in three is mined
_FEWEST = 300  # least pages of a site
_MOST_DISSENT = 0.05
_PLANTED = ("aliases", "patterns", "depth")


class Case(NamedTuple):
    """A site's pages, and a function that returns what any other URL would show, "" for an error; None: only the pages are known."""

    name: str
    pages: list[Sighting]
    web: LabelledWeb | None


def planted(name: str) -> Iterator[Case]:
    """Yield the large sites of a planted web."""
    web = LabelledWeb(profile(name), port=80)
    by_site: defaultdict[str, list[Sighting]] = defaultdict(list)
    for url in web.truth().urls:
        label = web.label(url)
        by_site[site_of(hostname_of(origin_of(url)))].append(Sighting(url, label.status, None, label.document))
    for site, pages in sorted(by_site.items()):
        if len(pages) >= _FEWEST:
            yield Case(f"{name}: {site}", pages, web)


def recorded(directory: str) -> Iterator[Case]:
    """Yield the large sites of a crawl."""
    for site, pages in sorted(read_source(directory, "").of.items()):
        if len(pages) >= _FEWEST:
            yield Case(f"{directory}: {site}", pages, None)


def holds(rule: Rule, case: Case, known: UrlList) -> bool:
    """Return whether a rule is right on its site."""
    if case.web is None:
        found = gather(rule, known, in_chance_order(known), most=len(known))
        agree, disagree = found.agree, found.disagree
    else:
        step, words = applier(rule), {page.url: page.fingerprint for page in case.pages if page.is_good}
        pairs = [case.web.label(to).document == word for url, word in words.items() if (to := step(url)) != url]
        agree, disagree = sum(pairs), len(pairs) - sum(pairs)
    return agree > 0 and disagree <= _MOST_DISSENT * (agree + disagree)


def measure(case: Case) -> Mapping[str, int]:
    """Mine a site and judge the first rules; print the result."""
    sample = [page for page in case.pages if xxhash.xxh3_64_intdigest(page.url.encode()) % _SHARE == 0]
    first = mine(UrlList.of(sample))[:_FIRST]
    known = UrlList.of(case.pages)
    verdicts = [(learned, holds(learned.rule, case, known)) for learned in first]
    likely = [right for learned, right in verdicts if learned.standing == "likely"]
    n_right = sum(right for _, right in verdicts)
    print(f"{case.name}: {len(case.pages):,} pages, of the first {len(first)} rules {n_right} hold", flush=True)
    for learned, right in verdicts:
        if not right:
            print(f"    wrong: {learned.rule.readable} {learned.rule.context or ''} {learned.agree}:{learned.disagree} {learned.standing}")
    return {"rules": len(first), "right": n_right, "likely": len(likely), "likely right": sum(likely)}


def main() -> None:
    """Measure every site; print precision over all and the mean of the sites."""
    cases = [*(case for name in _PLANTED for case in planted(name)), *(case for name in sys.argv[1:] for case in recorded(name))]
    found = [counts for case in cases if (counts := measure(case))["rules"]]
    for right, rules, what in (("right", "rules", ""), ("likely right", "likely", " but the unproven")):
        of = [counts for counts in found if counts[rules]]
        total = sum(counts[right] for counts in of) / max(1, sum(counts[rules] for counts in of))
        mean = sum(counts[right] / counts[rules] for counts in of) / max(1, len(of))
        print(f"{len(of)} sites: precision of the first {_FIRST} rules{what}: {total:.2f} over all, {mean:.2f} as the mean of the sites")


if __name__ == "__main__":
    main()
