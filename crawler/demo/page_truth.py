"""What one URL of a labelled web shows, what it is in truth, and its HTML.

A part of a labelled web returns a `PageTruth` for every URL. Its text is made only when it is printed, so that the truth about tens of
thousands of URLs needs no text. Time: 60 µs to print a page of 250 words and 20 links.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

HTML = "text/html; charset=utf-8"
GONE = "gone"  # the kind of an honest error page, in every part


class PlannedLink(NamedTuple):
    """One link: canonical absolute URL and its text."""

    url: str
    text: str


@dataclass(frozen=True, slots=True)
class HostTemplate:
    """The template that all pages of a host share."""

    lang: str
    brand: str
    menu: tuple[PlannedLink, ...] = ()
    aside: tuple[str, ...] = ()  # paragraphs of the template
    foot: str = ""


def no_text() -> Sequence[str]:
    """Return no paragraphs: the text of a URL that has none."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTruth:
    """What one URL shows, and what it is in truth."""

    kind: str  # one of the kinds that the part's module lists
    variant: str = ""  # which software or form, if a kind has several
    document: str = ""  # id of the document that it shows; "" if nothing is worth keeping
    canonical: str = ""  # the document's own URL; "" without document
    status: int = 200
    target: str = ""  # target of a redirect, an absolute URL
    is_endless: bool = False  # whether it is one of endlessly many
    title: str = ""
    text: Callable[[], Sequence[str]] = no_text  # paragraphs of plain text
    links: tuple[PlannedLink, ...] = ()
    template: HostTemplate | None = None
    mime: str = HTML
    raw: str = ""  # the whole body, in place of title, text, links and template

    def anchors(self) -> tuple[PlannedLink, ...]:
        """Return every link on the printed page, in its order."""
        if self.raw or self.target:
            return ()
        return (*self.template.menu, *self.links) if self.template is not None else self.links


def gone(template: HostTemplate | None = None, status: int = 404) -> PageTruth:
    """Return an honest error page."""
    return PageTruth(kind=GONE, status=status, title="Not found", template=template)


def moved(target: str, kind: str, *, variant: str = "", status: int = 301) -> PageTruth:
    """Return a redirect."""
    return PageTruth(kind=kind, variant=variant, status=status, target=target, title="Moved")


def print_page(truth: PageTruth, origin: str) -> bytes:
    """Return the body; links to the page's own `origin` are written as paths."""
    if truth.raw:
        return truth.raw.encode()
    template = truth.template or HostTemplate("en", "")
    brand = f" &ndash; {escape(template.brand)}" if template.brand else ""
    text = "".join([f"<p>{escape(paragraph)}</p>\n" for paragraph in truth.text()])
    aside = "".join([f"<p>{escape(paragraph)}</p>\n" for paragraph in template.aside])
    return (
        f'<!DOCTYPE html>\n<html lang="{template.lang}">\n<head><meta charset="utf-8"><title>{escape(truth.title)}{brand}</title></head>\n'
        f"<body>\n<header><p>{escape(template.brand)}</p>{_list(template.menu, origin)}</header>\n"
        f"<main>\n<h1>{escape(truth.title)}</h1>\n{text}{_list(truth.links, origin)}</main>\n"
        f"{f'<aside>{aside}</aside>{chr(10)}' if aside else ''}<footer><p>{escape(template.foot)}</p></footer>\n</body>\n</html>\n"
    ).encode()


def _list(anchors: Sequence[PlannedLink], origin: str) -> str:
    if not anchors:
        return ""
    items = [f'<li><a href="{escape(_href(url, origin))}">{escape(text)}</a></li>\n' for url, text in anchors]
    return f"<ul>\n{''.join(items)}</ul>\n"


def _href(url: str, origin: str) -> str:
    return url[len(origin) :] if url.startswith(f"{origin}/") and not url.startswith(f"{origin}//") else url
