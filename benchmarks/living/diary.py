"""Nikola: a static blog in three languages, where what is not translated stands in each of them, with other words around it.

Lists of whole posts by tag, section, author, month and year exist in each language, in pages of six, and every post has its source as a
text file. As Nikola configures it, but that lists show posts, six a page, and that there are months and authors.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from benchmarks.living import children, text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

N_POSTS = 150
_SKIPPED = 420
_A_PAGE = 6
_TRANSLATED = 4  # each 4th post is there in a second language
_AUTHORS = ("ada", "grace", "alan")
_LETTERS = "abcdefghijklm"
_SETTINGS = """
import time
BLOG_AUTHOR, BLOG_TITLE, BLOG_EMAIL = "Ada", "A diary", "ada@example.org"
BLOG_DESCRIPTION = "A diary"
SITE_URL = {address!r}
DEFAULT_LANG = "en"
TRANSLATIONS = {{"en": "", "de": "./de", "fr": "./fr"}}
TIMEZONE = "UTC"
THEME = "bootblog4"
POSTS = (("posts/*.md", "posts", "post.tmpl"),)
PAGES = ()
INDEX_DISPLAY_POST_COUNT = {a_page}
TAG_PAGES_ARE_INDEXES = CATEGORY_PAGES_ARE_INDEXES = AUTHOR_PAGES_ARE_INDEXES = ARCHIVES_ARE_INDEXES = True
CREATE_MONTHLY_ARCHIVE = True
ENABLE_AUTHOR_PAGES = True
NAVIGATION_LINKS = {{
    language: ((f"{{at}}/archive.html", "Archive"), (f"{{at}}/categories/index.html", "Tags"), (f"{{at}}/authors/index.html", "Authors"))
    for language, at in (("en", ""), ("de", "/de"), ("fr", "/fr"))
}}
"""


def build(place: Place) -> str:
    """Write the posts and let Nikola make the pages; return Apache's directives."""
    posts = place.directory / "posts"
    posts.mkdir()
    names = text.pages(_SKIPPED + 2 * N_POSTS)[_SKIPPED:]
    for n in range(N_POSTS):
        (posts / f"post-{n}.md").write_text(_post(n, names[n]), "utf-8")
        if n % _TRANSLATED == 0:
            (posts / f"post-{n}.de.md").write_text(_post(n, names[N_POSTS + n]), "utf-8")
    (place.directory / "conf.py").write_text(_SETTINGS.format(a_page=_A_PAGE, address=place.url(DIARY.hosts[0])))
    children.run(DIARY.name, place.directory, {}, "-m", "nikola", "build", "--quiet")
    return f"DocumentRoot {place.directory}/output"


def _post(n: int, name: str) -> str:
    """Return a post of a page of the manual."""
    words = [" ".join(re.sub(r"[\\`*_{}\[\]<>#|&]", " ", block.words).split()) or "-" for block in text.blocks_of(name)]
    day = f"{2014 + n // 60}-{1 + n // 5 % 12:02}-{1 + n % 5 * 5:02} 10:00:00 UTC"
    tags = f"{_LETTERS[n % 9]} topic, {_LETTERS[n // 30]} release, {_LETTERS[n * 7 % 13]} task"
    about = f".. title: {words[0]}\n.. slug: post-{n}\n.. date: {day}\n.. tags: {tags}\n"
    about += f".. category: {_LETTERS[n % 5]} section\n.. author: {_AUTHORS[n % 3]}\n"
    return f"<!--\n{about}-->\n\n{words[1] if len(words) > 1 else '-'}\n\n" + "\n\n".join(words[2:20]) + "\n"


def kind(url: str) -> str:
    """Return the language, and which list it is, or that it is a post."""
    steps = urlsplit(url).path.strip("/").split("/")
    language = steps.pop(0) if steps[0] in ("de", "fr") else "en"
    if steps and steps[0] in ("posts", "categories", "authors"):
        return f"{language} {steps[0]}"
    is_archive = bool(steps) and bool(re.match(r"\d|archive", steps[0]))
    return f"{language} {'archive' if is_archive else 'list'}"


DIARY = Site(
    name="diary",
    about=f"Nikola with {N_POSTS} posts in three languages",
    address="127.0.8.35",
    hosts=("diary.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, text.MANUAL: text.PACKAGE},
    pip=("nikola", "jinja2"),
    build=build,
    kind=kind,
)
