"""Pelican: a journal of static pages. An article is shown whole, and begun in the pages of its time, its author, its section and its tags.

All lists are paged, six articles a page, and each is at one address only; the same beginnings stand in up to seven of them. Every section,
tag and author has a feed. As Pelican configures it, but for pages of lists that end after six articles.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from benchmarks.living import children, text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

N_ARTICLES = 260
_SKIPPED = 160
_A_PAGE = 6
_MONTHS = 12
_AUTHORS = ("ada", "grace", "alan")
_LETTERS = "abcdefghijklm"
_LISTS = ("index", "archives", "tags", "authors", "categories")
_SETTINGS = """
SITENAME, AUTHOR, TIMEZONE, DEFAULT_LANG = "Notes on a database", "ada", "UTC", "en"
SITEURL, PATH, OUTPUT_PATH = "", "articles", "root"
RELATIVE_URLS = True
FEED_ALL_ATOM, CATEGORY_FEED_ATOM, TAG_FEED_ATOM = "feeds/all.atom.xml", "feeds/{{slug}}.atom.xml", "feeds/tag-{{slug}}.atom.xml"
DEFAULT_PAGINATION = {a_page}
YEAR_ARCHIVE_SAVE_AS = "posts/{{date:%Y}}/index.html"
MONTH_ARCHIVE_SAVE_AS = "posts/{{date:%Y}}/{{date:%m}}/index.html"
"""
_SERVED = """
DocumentRoot {directory}/root
"""


def build(place: Place) -> str:
    """Write the articles and let Pelican make the pages; return Apache's directives."""
    articles = place.directory / "articles"
    articles.mkdir()
    for n, name in enumerate(text.pages(_SKIPPED + N_ARTICLES)[_SKIPPED:]):
        blocks = text.blocks_of(name)
        day = f"{2012 + n // (2 * _MONTHS)}-{1 + n // 2 % _MONTHS:02}-{1 + n % 2 * 14:02}"
        tags = (f"{_LETTERS[n % 9]} topic", f"{_LETTERS[n // 40]} release", f"{_LETTERS[n * 7 % 13]} task")
        about = f"Title: {_plain(blocks[0].words)}\nDate: {day}\nSlug: article-{n}\nCategory: {_LETTERS[n % 5]} section\n"
        about += f"Tags: {', '.join(tags)}\nAuthor: {_AUTHORS[n % 3]}\n"
        (articles / f"{n}.md").write_text(about + "\n" + "\n\n".join(_plain(block.words) for block in blocks[1:24]) + "\n", "utf-8")
    (place.directory / "settings.py").write_text(_SETTINGS.format(a_page=_A_PAGE))
    children.run(JOURNAL.name, place.directory, {}, "-m", "pelican", "-s", "settings.py", "--ignore-cache")
    return _SERVED.format(directory=place.directory)


def _plain(words: str) -> str:
    """Return words without the signs that Markdown reads."""
    return " ".join(re.sub(r"[\\`*_{}\[\]<>#|&]", " ", words).split()) or "-"


def kind(url: str) -> str:
    """Return which list it is, or that it is an article."""
    steps = urlsplit(url).path.strip("/").split("/")
    if len(steps) > 1:
        return steps[0]
    return steps[0].partition(".")[0] if steps[0].startswith(_LISTS) else "article"


JOURNAL = Site(
    name="journal",
    about=f"Pelican with {N_ARTICLES} articles in five sections, with 27 tags",
    address="127.0.8.17",
    hosts=("journal.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, text.MANUAL: text.PACKAGE},
    pip=("pelican", "markdown"),
    build=build,
    kind=kind,
)
