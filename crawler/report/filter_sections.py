"""The sections of a report on what filters decided and learned; a section is there only if the crawl has such data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from thresher.crawler.report.blocks import Bar, Cell, Section, facts, figure, grid, more, note, percent, table
from thresher.crawler.report.gather import CrawlFigures, filter_names
from thresher.crawler.report.markup import Child, Markup, crawled, element
from thresher.crawler.report.pages import FilterWords
from thresher.crawler.report.svg import Axis, columns, in_percent
from thresher.crawler.report.tables import filter_of
from thresher.filters.depth_cutoff import filter as depth_cutoff
from thresher.filters.depth_cutoff.evidence import PlaceCounts
from thresher.filters.dust.rules import LearnedRule
from thresher.filters.evidence.intervals import at_any_time
from thresher.storage.export.judged import NewestVerdict, verdict_object
from thresher.storage.records import VerdictRecord

_EVIDENCE = 600  # characters of evidence that are shown


def filters(crawl: CrawlFigures) -> Section | None:
    """Return what each filter saved, and samples of its decisions."""
    names = filter_names(crawl)
    why = note(
        "Saved are links that were refused or rewritten, and pages that were not kept or not followed; held are URLs that wait now. A "
        f"filter in mode observe would have saved them. {crawl.audited:,} refused links were fetched all the same, to measure the filters.",
    )
    samples = [more(f"{name}: samples of its decisions", made, is_open=True) for name in names if (made := _samples(crawl, name))]
    return Section("filters", "Filters", (_savings(crawl, names), why, *samples))


def _savings(crawl: CrawlFigures, names: list[str]) -> Markup:
    """Return the table of the filters' figures; a column with nothing but zeros is left out."""
    saved, would, held = crawl.totals.saved, crawl.totals.would_save, crawl.held.by_filter
    words = {name: crawl.pages.filters.get(name, FilterWords()) for name in names}
    counts: dict[str, list[int]] = {
        "would save": [would.get(name, 0) for name in names],
        "pages not kept": [words[name].not_kept for name in names],
        "not followed": [words[name].not_followed for name in names],
        "revised": [words[name].revised for name in names],
        "redirects refused": [crawl.redirects[name].refused if name in crawl.redirects else 0 for name in names],
        "URLs held": [held.get(name, 0) for name in names],
    }
    shown = {name: column for name, column in counts.items() if any(column)}
    most = max((*saved.values(), *would.values(), 1))
    rows: list[tuple[Cell, ...]] = []
    for i, name in enumerate(names):
        settings = getattr(crawl.settings.filters, name, None)
        bar = Bar((saved.get(name, 0) + would.get(name, 0)) / most, "")
        mode = settings.mode if settings is not None else None
        rows.append((name, mode, saved.get(name, 0), bar, *(column[i] for column in shown.values())))
    return table(("filter", "mode", "saved", "", *shown), rows)


def _samples(crawl: CrawlFigures, name: str) -> list[Child]:
    """Return tables of a filter's decisions about pages, redirects, links and waiting URLs."""
    found: list[Child] = []
    if (sample := crawl.pages.decisions.get(name)) is not None:
        rows = [(made.url, made.effect, made.reason, _evidence(made.evidence)) for made in sample.items()]
        found.append(table(("page", "decision", "reason", "evidence"), rows, title=f"Decisions about pages: {sample.n:,}"))
    if (redirects := crawl.redirects.get(name)) is not None:
        title = f"Redirects: {redirects.refused:,} refused, {redirects.let_off:,} let off"
        lines = [_redirect(crawl, *judged) for judged in redirects.sample.items()]
        found.append(table(("redirect", "to", "decision", "evidence"), lines, title=title))
    for (by, reason), skips in sorted(crawl.skips.items()):
        if by == name:
            links = [(skip.url, skip.detail) for skip in skips.items()]
            found.append(table(("link", "detail"), links, title=f"Links refused: {reason}"))
    if (holds := crawl.held.samples.get(name)) is not None:
        held = [(crawl.texts.get(key, ""), _holder(holder, name)) for key, holder in holds.items()]
        found.append(table(("URL", "held for"), held, title=f"URLs held back: {holds.n:,}"))
    return found


def _redirect(crawl: CrawlFigures, key: bytes, target: str, verdict: VerdictRecord) -> tuple[Cell, ...]:
    effect = verdict.reason or ("let off" if verdict.keep and verdict.follow else "refused")
    evidence = verdict_object(NewestVerdict(verdict, 0.0), crawl.texts)["evidence"]
    return crawl.texts.get(key, ""), target, effect, _evidence(evidence)


def _holder(holder: str, name: str) -> str:
    """Return a holder's name without the name of its filter."""
    rest = holder.removeprefix(f"{name} ")
    if name != depth_cutoff.NAME:
        return rest
    depth, _, place = rest.partition(" ")
    return f"depth {depth} of {place}"


def _evidence(evidence: Mapping[str, Any]) -> Markup:
    return crawled(", ".join(f"{name} {_shown(value)}" for name, value in evidence.items()) or "–", _EVIDENCE)


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def skipped(crawl: CrawlFigures) -> Section | None:
    """Return which links were not queued, and why."""
    counts = crawl.totals.skipped
    if not counts:
        return None
    most = max(counts.values())
    rows = [(reason, n, Bar(n / most, "")) for reason, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))]
    names = set(filter_names(crawl))
    samples = [
        (reason, by, skip.url, skip.detail)
        for (by, reason), sample in sorted(crawl.skips.items(), key=lambda item: (item[0][1], item[0][0]))
        if by not in names
        for skip in sample.items()
    ]
    body: list[Child] = [table(("reason", "links", ""), rows)]
    if samples:
        body.append(more("Samples of what was refused by other rules than filters", table(("reason", "by", "URL", "detail"), samples)))
    return Section("skipped", "Links not taken up", tuple(body))


def dust_rules(crawl: CrawlFigures) -> Section | None:
    """Return the rules by which the URLs of a site are aliases of each other."""
    dust = crawl.learned.dust
    if not (dust.rules or crawl.aliases.n):
        return None
    head = ", ".join(f"{n:,} {standing}" for standing, n in sorted(dust.standing.items()))
    body: list[Child] = [facts((("Rules", head), ("URLs rewritten", f"{crawl.aliases.n:,} recorded")))]
    if dust.rules:
        body.append(table(("site", "rule", "where", "standing", "support", "agree", "disagree"), map(_rule, dust.rules)))
    if crawl.rules:
        applied = sorted(crawl.rules.items(), key=lambda pair: (-pair[1], pair[0]))
        body.append(more("How often new links were rewritten", table(("rule", "links"), applied)))
    if crawl.aliases.n:
        rewritten = [(crawl.texts.get(key, ""), to, filter_rule(rule)) for key, to, rule in crawl.aliases.items()]
        body.append(more("Samples of rewritten URLs", table(("URL", "leads to", "rule"), rewritten)))
    return Section("dust", "DUST rules", tuple(body))


def filter_rule(rule: str) -> str:
    """Return a rule's name without the name of its filter."""
    return rule.removeprefix(f"{filter_of(rule)}:")


def _rule(found: tuple[str, LearnedRule]) -> tuple[Cell, ...]:
    site, learned = found
    where = " ".join(f"{key}={value}" for key, value in learned.rule.context.items())
    standing = "disabled" if learned.disabled else learned.standing
    return site, learned.rule.readable, where, standing, learned.support, learned.agree, learned.disagree


def mirrors(crawl: CrawlFigures) -> Section | None:
    """Return the hosts of which most pages replicate another host's pages."""
    rows = [(host, of, n) for host, of, n in crawl.learned.mirrors]
    return Section("mirrors", "Mirrors", (table(("host", "mirrors", "pages judged"), rows),)) if rows else None


def patterns(crawl: CrawlFigures) -> Section | None:
    """Return the patterns of URLs that yielded nothing and are held."""
    found = crawl.learned.patterns
    if not found.n_barren:
        return None
    head = f"Of {found.n_known:,} patterns of URLs {found.n_barren:,} are barren: what they cover is held."
    rows: list[tuple[Cell, ...]] = []
    for _, pattern, n_held in found.barren:
        of = pattern.evidence
        low, high = at_any_time(of.fetched, of.worth)
        rows.append((pattern.form, of.fetched, of.worth, f"{low:.1%} – {high:.1%}", n_held))
    names = ("pattern", "fetched", "worth it", "yield, 95 %", "URLs held")
    return Section("patterns", "Site patterns cut", (element("p", head), table(names, rows)))


def depth_limits(crawl: CrawlFigures) -> Section | None:
    """Return how deep each site deserves to be crawled."""
    found = crawl.learned.depth
    levels = [level for level in found.levels if level.fetched]
    if not levels:
        return None
    shares = [(str(depth), level.new / level.fetched if level.fetched else 0.0) for depth, level in enumerate(found.levels)]
    links = [(str(depth), level.new_links / level.links if level.links else 0.0) for depth, level in enumerate(found.levels)]
    figures = grid(
        figure("Pages that were worth their fetch", columns(shares, Axis("clicks from the site's entry"), Axis("share", in_percent, 1.0))),
        figure("Links that named a new URL", columns(links, Axis("clicks from the site's entry"), Axis("share", in_percent, 1.0))),
    )
    body: list[Child] = [figures]
    if found.places:
        head = f"Of {found.n_places:,} places {found.n_limited:,} are cut before the deepest level known of their site."
        rows = [_place(place, n_held) for _, place, n_held in found.places]
        names = ("place", "deepest fetched", "fetched", "worth it", "URLs held")
        body += [element("p", head), table(names, rows)]
    return Section("depth-advice", "Depth advice", tuple(body))


def _place(place: PlaceCounts, n_held: int) -> tuple[Cell, ...]:
    share = _share(place.new, place.fetched)
    return place.form, place.limit, place.n_ever, percent(share), n_held


def _share(part: Iterable[int], whole: Iterable[int]) -> float | None:
    total = sum(whole)
    return sum(part) / total if total else None
