"""The section of a report about sitemaps: announced URLs compared with linked URLs, and what was cut off or wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from thresher.crawler.core.lastmod import believed
from thresher.crawler.core.model import State
from thresher.crawler.report.blocks import Section, facts, note, table
from thresher.crawler.report.sampling import Sample
from thresher.storage.export.sitemaps import announced, sitemaps, unannounced
from thresher.storage.records import ANNOUNCER, SitemapRecord
from thresher.storage.schema import ANNOUNCERS
from thresher.storage.view import View

_SHOWN = 12
_TOLD = 3  # most messages about one sitemap


@dataclass(slots=True)
class SitemapNews:
    """Sums over the sitemaps of a crawl."""

    states: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)  # announced URLs, by what became of them
    n_beyond: int = 0  # sitemaps beyond the budgets of their hosts
    n_fetched: int = 0  # announced URLs that were fetched
    n_held: int = 0  # lastmods that the pages' own dates confirmed
    n_false: int = 0  # lastmods that they contradicted
    odd: Sample[SitemapRecord] = field(default_factory=lambda: Sample(_SHOWN))
    orphans: Sample[tuple[str, str, str]] = field(default_factory=lambda: Sample(_SHOWN))  # URL, state, sitemap
    unannounced: Sample[tuple[str, str]] = field(default_factory=lambda: Sample(_SHOWN))  # URL, title
    n_announced: int = 0


def read_sitemaps(view: View) -> SitemapNews | None:
    """Read a store; None if the crawl knows of no sitemap."""
    news = SitemapNews()
    for record in sitemaps(view):
        if not record.by and record.state == "failed":  # a guessed sitemap that does not exist is not reported
            continue
        news.states[record.state] += 1
        news.counts.update(record.counts)
        if record.notes:
            news.odd.offer(record.text, record)
    if not news.states:
        return None
    for _, value in view.rows(ANNOUNCERS):
        host = ANNOUNCER.decode(value)
        news.n_beyond, news.n_held, news.n_false = news.n_beyond + host.n_refused, news.n_held + host.n_held, news.n_false + host.n_false
    for row in announced(view):
        news.n_announced += 1
        news.n_fetched += row.seen.state is State.DONE
        if not row.is_linked:
            news.orphans.offer(row.url.text, (row.url.text, row.seen.state.name.lower(), row.sitemap))
    for page in unannounced(view):
        news.unannounced.offer(page.url, (page.url, page.title))
    return news


def section(news: SitemapNews | None) -> Section | None:
    """Return the section of the report; None if there are no sitemaps."""
    if news is None:
        return None
    n_dated = news.n_held + news.n_false
    said = facts(
        (
            ("Sitemaps", ", ".join(f"{state} {n:,}" for state, n in sorted(news.states.items()))),
            ("Beyond the budget of their host", f"{news.n_beyond:,}" if news.n_beyond else ""),
            ("What they named", ", ".join(f"{what} {n:,}" for what, n in sorted(news.counts.items()))),
            ("Announced URLs", f"{news.n_announced:,}, of which {news.n_fetched:,} are fetched or given up"),
            ("Announced, never linked", f"{news.orphans.n:,}"),
            ("Pages that their host does not announce", f"{news.unannounced.n:,}"),
            (
                "lastmod",
                f"{news.n_held:,} of {n_dated:,} that could be checked held: at least {believed(news.n_held, news.n_false):.0%} do"
                if n_dated
                else "",
            ),
        )
    )
    odd = [(record.text, record.state, "; ".join(record.notes[:_TOLD])) for record in news.odd.items()]
    return Section(
        "sitemaps",
        "Sitemaps",
        (
            said,
            table(("sitemap", "state", "what was said of it"), odd, title="Cut off, refused or broken") if odd else None,
            table(("URL", "state", "announced by"), news.orphans.items(), title="Announced, never linked") if news.orphans.n else None,
            table(("page", "title"), news.unannounced.items(), title="Linked, never announced") if news.unannounced.n else None,
            note("All of them: thresher export --what sitemaps, announced, orphans or unannounced."),
        ),
    )
