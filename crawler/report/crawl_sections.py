"""The sections of a report on what a crawl did: summary, throughput, politeness, depth, hosts, errors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from thresher.crawler.core.ports import HostRecord
from thresher.crawler.report.blocks import (
    Bar,
    Cell,
    SameAbove,
    Section,
    bounded,
    facts,
    figure,
    grid,
    note,
    percent,
    seconds,
    table,
    tiles,
    when,
)
from thresher.crawler.report.gather import CrawlFigures
from thresher.crawler.report.markup import Child, Markup, element
from thresher.crawler.report.pages import GAPS, TIMES, LevelSums
from thresher.crawler.report.sampling import Timeline
from thresher.crawler.report.svg import Axis, Series, columns, in_percent, lines, stacked_bar
from thresher.crawler.report.tables import SIZES, Hosts
from thresher.crawler.terminal.progress import clock, size

_STATES = {
    "done": "fetched or given up",
    "queued": "waiting",
    "held": "held by filters",
    "alias": "aliases of others",
    "refused": "refused",
    "outbox": "of other agents",
}


def summary(crawl: CrawlFigures, state: str) -> Section:
    """Return what the crawl is, and its totals."""
    totals, pages = crawl.totals, crawl.pages
    ran_s = pages.time.last - pages.time.first
    rate = f"{totals.pages / ran_s:,.1f} a second" if ran_s >= 1 else ""
    saved, skipped = sum(totals.saved.values()), sum(totals.skipped.values())
    settled = totals.failed + totals.pages + totals.redirects
    known = [(_STATES[name], float(n)) for name in _STATES if (n := crawl.states.get(name, 0))]
    shown = tiles(
        (
            ("Pages", f"{totals.pages:,}", rate),
            ("Received", size(totals.wire_bytes), f"{totals.requests:,} requests"),
            ("Known URLs", f"{totals.known:,}", f"{totals.queued:,} waiting"),
            ("Hosts", f"{totals.hosts:,}", f"{crawl.hosts.parked.total():,} parked" if crawl.hosts.parked else ""),
            ("Texts not seen before", percent(pages.new_share), "of the pages with text"),
            ("Refused by filters", f"{saved:,}", f"links and copies; {totals.held:,} URLs are held"),
            ("Links skipped", f"{skipped:,}", "refused before they were queued"),
            ("Given up", f"{totals.failed:,}", f"{percent(totals.failed / settled)} of what was settled" if settled else ""),
        )
    )
    legend = element("p", [_key(i, name, n) for i, (name, n) in enumerate(known, 1)], class_="legend")
    said = facts(
        (
            ("State", state),
            ("First and last page", f"{when(pages.time.first)} – {when(pages.time.last)} ({clock(ran_s)})" if pages.n else "no page yet"),
            ("As of", f"{when(crawl.as_of)}, the last commit"),
            ("Seeds", f"{len(crawl.settings.seeds):,}"),
            ("Order", crawl.settings.frontier.order),
        )
    )
    body: list[Child] = [shown]
    if known:
        body += [element("h3", "What became of the known URLs"), stacked_bar(known), legend]
    return Section("summary", "Summary", (*body, said))


def _key(number: int, name: str, n: float) -> Markup:
    return element("span", element("i", class_=f"key k{number}"), f"{name} {n:,.0f}")


def throughput(crawl: CrawlFigures) -> Section | None:
    """Return pages and bytes over time."""
    bins = list(crawl.pages.time.bins())
    if not bins:
        return None
    unit, name = _unit(crawl.pages.time)
    axis = Axis(f"{name} since the first page")
    pages = [(at / unit, sums[0] / covered) for at, covered, sums in bins]
    per_s = max(sums[1] / covered for _, covered, sums in bins)
    scale, volume = (1 << 20, "MiB") if per_s >= 1 << 20 else (1 << 10, "KiB")
    received = [(at / unit, sums[1] / covered / scale) for at, covered, sums in bins]
    fetched = _cumulative([(at, sums[0]) for at, _, sums in bins], unit)
    known = _cumulative([(at, sums[0]) for at, _, sums in _since(crawl.discovery, crawl.pages.time.first)], unit)
    known.append((max(known[-1][0], fetched[-1][0]), known[-1][1]))
    figures = (
        figure("Pages a second", lines([Series("pages a second", pages, is_filled=True)], axis, Axis("pages a second"))),
        figure(f"{volume} received a second", lines([Series("received", received, is_filled=True)], axis, Axis(f"{volume} a second"))),
        figure(
            "Found and fetched", lines([Series("known URLs", known), Series("pages", fetched)], axis, Axis("URLs")), ("known URLs", "pages")
        ),
    )
    return Section("throughput", "Throughput", (grid(*figures),))


def _since(found: Timeline, first: float) -> Sequence[tuple[float, float, list[float]]]:
    shift = found.first - first
    return [(max(0.0, at + shift), covered, sums) for at, covered, sums in found.bins()]


def _cumulative(counts: Sequence[tuple[float, float]], unit: float) -> list[tuple[float, float]]:
    sums = accumulate(n for _, n in counts)
    return [(0.0, 0.0), *zip((at / unit for at, _ in counts), sums, strict=True)]


def _unit(time: Timeline) -> tuple[float, str]:
    span = time.last - time.first
    for unit, name, least in ((86400.0, "days", 3 * 86400), (3600.0, "hours", 2 * 3600), (60.0, "minutes", 180)):
        if span >= least:
            return unit, name
    return 1.0, "seconds"


def politeness(crawl: CrawlFigures) -> Section | None:
    """Return how hosts were treated, compared with what the configuration promises them."""
    pages, rules = crawl.pages, crawl.settings.politeness
    if not pages.n and not crawl.robots:
        return None
    n_gaps = sum(pages.gaps)
    gaps, times = bounded(GAPS, pages.gaps), bounded(TIMES, pages.took)
    figures = []
    if gaps:
        plot = columns(gaps, Axis("seconds from an answer to the next request"), Axis("gaps"))
        figures.append(figure("Gaps between requests of a host", plot))
    if times:
        figures.append(figure("Time an answer took", columns(times, Axis("seconds"), Axis("pages"))))
    sizes = bounded(SIZES, crawl.hosts.sizes)
    if crawl.hosts.n:
        figures.append(figure("Pages of a host", columns(sizes, Axis("pages"), Axis("hosts"))))
    word = _word(n_gaps, pages.n_short) if n_gaps else "No host has answered twice yet."
    promised = f"{seconds(rules.min_delay)}, {rules.delay_factor:g} times the last answer, and the Crawl-delay"
    said = facts(
        (
            ("Promised gap", f"the longest of {promised}; per address {seconds(rules.address_delay)}"),
            ("Shortest gap seen", f"{pages.shortest:.3f} s" if pages.shortest is not None else ""),
            ("robots.txt", ", ".join(f"{kind} {n:,}" for kind, n in sorted(crawl.robots.items())) or "none asked for"),
            ("Denied by robots.txt", f"{crawl.totals.skipped.get('robots_denied', 0):,} URLs"),
            ("Hosts with a Crawl-delay", f"{crawl.hosts.n_crawl_delay:,}"),
            ("Answers of status 429", f"{crawl.totals.causes.get('http_429', 0):,}"),
            ("Backing off", f"{crawl.hosts.n_backing_off:,} hosts"),
            ("Parked hosts", ", ".join(f"{why} {n:,}" for why, n in sorted(crawl.hosts.parked.items()))),
        )
    )
    why = note(
        "Gaps run from an answer with a record to the next request that led to one; what lies in between, such as redirects and "
        "robots.txt, is paced likewise and makes these gaps longer. Owed is what the answer's own time and the configuration ask for, ",
        "before Crawl-delay and back-off.",
    )
    return Section("politeness", "Politeness", (element("p", word), grid(*figures), said, why))


def _word(n_gaps: int, n_short: int) -> Markup:
    if not n_short:
        return element("span", f"All {n_gaps:,} gaps were at least what the host was owed.", class_="good")
    return element("span", f"{n_short:,} of {n_gaps:,} gaps were shorter than what the host was owed.", class_="bad")


def depth(crawl: CrawlFigures) -> Section | None:
    """Return how deep the crawl went, and where it still found something new."""
    pages = crawl.pages
    if not pages.n:
        return None
    unit, name = _unit(pages.time)
    new = [(at / unit, sums[4] / sums[3]) for at, _, sums in pages.time.bins() if sums[3]]
    axis = Axis(f"{name} since the first page")
    figures = (
        _levels("Clicks from a seed", pages.from_seed),
        _levels("Clicks from the site's entry", pages.in_site),
        figure(
            "New texts over time",
            lines([Series("share of new texts", new)], axis, Axis("share of new texts", in_percent, 1.0)),
            text="Of the pages with a text, those whose text no page fetched before them had.",
        ),
    )
    types = table(
        ("type", "pages", "share"),
        [(kind or "none", n, Bar(n / pages.n, percent(n / pages.n))) for kind, n in _ordered(pages.types)[:8]],
    )
    flags = table(("what was odd about bodies", "pages"), _ordered(pages.flags)) if pages.flags else None
    return Section("depth", "Depth and novelty", (grid(*figures), types, flags))


def _levels(title: str, levels: dict[int, LevelSums]) -> Markup:
    numbers = range(max(levels) + 1)
    every = [levels.get(number, LevelSums()) for number in numbers]
    counts = [(str(number), float(level.pages)) for number, level in zip(numbers, every, strict=True)]
    new = [level.pages * level.new_texts / level.of_texts if level.of_texts else 0.0 for level in every]
    plot = columns(counts, Axis("clicks"), Axis("pages"), new)
    return figure(title, plot, ("with a new text", "all pages"), class_="paired")


def _ordered(counts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def top_hosts(crawl: CrawlFigures) -> Section | None:
    """Return the hosts with most pages, and those with most failed requests."""
    hosts = crawl.hosts
    if not hosts.n:
        return None
    n_pages = hosts.n_pages or 1
    head = f"{percent(sum(record.n_pages for record in hosts.largest[:10]) / n_pages)} of all pages are of the ten hosts with most."
    tables: list[Child] = [element("p", head), table(_HOST_COLUMNS, [_host_row(record, hosts) for record in hosts.largest])]
    if hosts.failing:
        tables.append(table(_HOST_COLUMNS, [_host_row(record, hosts) for record in hosts.failing], title="Most failed requests"))
    return Section("hosts", "Top hosts", tuple(tables))


_HOST_COLUMNS = ("host", "pages", "share", "waiting", "requests", "failed", "received", "Crawl-delay", "parked")


def _host_row(record: HostRecord, hosts: Hosts) -> tuple[Cell, ...]:
    bar = Bar(record.n_pages / (hosts.largest[0].n_pages or 1), percent(record.n_pages / (hosts.n_pages or 1)))
    delay = seconds(record.crawl_delay) if record.crawl_delay >= 0 else None
    counts = (record.n_queued, record.n_requests, record.n_failed)
    return (record.name, record.n_pages, bar, *counts, size(record.n_bytes), delay, record.parked)


def errors(crawl: CrawlFigures) -> Section | None:
    """Return statuses, failed attempts and the URLs that failed for good, with samples."""
    statuses, causes = crawl.statuses, crawl.totals.causes
    if not (statuses or causes or crawl.failures):
        return None
    total = sum(statuses.values()) or 1
    figures: list[Child] = []
    if statuses:
        most_first = sorted(statuses.items(), key=lambda pair: (-pair[1], pair[0]))
        rows = [(str(code), n, Bar(n / total, percent(n / total))) for code, n in most_first]
        figures.append(table(("status", "answers", "share"), rows, title="Answers by status"))
    if any(sums[2] for _, _, sums in crawl.pages.time.bins()):
        figures.append(_errors_over_time(crawl))
    if causes:
        most = max(causes.values())
        rows_of = [(cause, n, Bar(n / most, "")) for cause, n in _ordered(causes)]
        figures.append(table(("cause", "attempts", ""), rows_of, title="Failed attempts"))
    body: list[Child] = [grid(*figures)]
    bad = [(str(code), url) for code, sample in sorted(crawl.pages.errors.items()) for url in sample.items()]
    if crawl.failures:
        body.append(table(("reason", "URLs", "given up", "for example", "what was said"), _failures(crawl), title="URLs without a page"))
    if bad:
        body.append(table(("status", "for example"), bad, title="Pages that are errors"))
    return Section("errors", "Errors", tuple(body))


def _errors_over_time(crawl: CrawlFigures) -> Markup:
    unit, name = _unit(crawl.pages.time)
    shares = [(at / unit, sums[2] / sums[0]) for at, _, sums in crawl.pages.time.bins() if sums[0]]
    plot = lines([Series("share of errors", shares)], Axis(f"{name} since the first page"), Axis("share of pages", in_percent))
    return figure("Errors among the pages", plot, text="Statuses of 400 and above, and answers that ended in a failure.")


def _failures(crawl: CrawlFigures) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for reason, failed in sorted(crawl.failures.items(), key=lambda pair: (-pair[1].n, pair[0])):
        for i, (key, record) in enumerate(failed.sample.items()):
            counts: tuple[Cell, Cell, Cell] = (reason, failed.n, failed.n_final) if i == 0 else (SameAbove(), SameAbove(), SameAbove())
            rows.append((*counts, crawl.texts.get(key, ""), record.detail))
    return rows
