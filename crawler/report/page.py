"""The report as a whole: one HTML page that needs no network, no script and no other file."""

from __future__ import annotations

from thresher.crawler.report import crawl_sections, filter_sections, order_section, sitemaps
from thresher.crawler.report.blocks import Section, when
from thresher.crawler.report.gather import CrawlFigures
from thresher.crawler.report.markup import crawled, element, style
from thresher.crawler.report.style import CSS
from thresher.crawler.version import VERSION

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def render(crawl: CrawlFigures, state: str) -> bytes:
    """Return the page.

    Args:
        state: A text: what the crawl is doing or how it ended.
    """
    sections = _sections(crawl, state)
    title = f"Crawl report: {crawl.name}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="format-detection", content="telephone=no"),
        element("title", title),
        style(CSS),
    )
    header = element(
        "header",
        element("h1", "Crawl report: ", crawled(crawl.name)),
        element("p", f"{crawl.totals.pages:,} pages as of {when(crawl.as_of)}", class_="sub"),
        element("nav", [element("a", section.title, href=f"#{section.id}") for section in sections], aria_label="Sections"),
    )
    footer = element("footer", element("p", f"Made by Thresher {VERSION} from the crawl's store alone."))
    body = element("body", header, element("main", [section.html() for section in sections]), footer)
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n".encode()


def _sections(crawl: CrawlFigures, state: str) -> list[Section]:
    made = (
        crawl_sections.summary(crawl, state),
        crawl_sections.throughput(crawl),
        crawl_sections.politeness(crawl),
        crawl_sections.depth(crawl),
        filter_sections.filters(crawl),
        filter_sections.skipped(crawl),
        order_section.order(crawl),
        sitemaps.section(crawl.sitemaps),
        crawl_sections.top_hosts(crawl),
        crawl_sections.errors(crawl),
        filter_sections.dust_rules(crawl),
        filter_sections.mirrors(crawl),
        filter_sections.patterns(crawl),
        filter_sections.depth_limits(crawl),
    )
    return [section for section in made if section is not None]
