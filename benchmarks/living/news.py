"""Mezzanine: a site of news with a tree of pages. Lists of posts by month, year, category, tag and author show whole posts, five a page.

So each post stands in some ten lists, by itself and beside others, and each list has two feeds. The same page of a list is found with and
without `?page=1`. Every page of the site repeats the menu, the newest posts, all months, categories and tags. As Mezzanine configures it.
"""

from __future__ import annotations

import json
import re
import subprocess
from contextlib import AbstractContextManager
from urllib.parse import parse_qs, urlsplit

from benchmarks.living import children, text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

N_POSTS = 180
N_PAGES = 60
_SKIPPED = 90
_LOCAL = """
DEBUG = False
SECRET_KEY = NEVERCACHE_KEY = "not for the network"
ALLOWED_HOSTS = ["*"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": r"DIRECTORY/news.db"}}
"""
_APPLICATION = """
from django.core.wsgi import get_wsgi_application

def make():
    return get_wsgi_application()
"""
_VARIABLES = {"DJANGO_SETTINGS_MODULE": "pressroom.settings"}
_FILL = """
import datetime, json, sys
import django
django.setup()
from django.contrib.auth import get_user_model
from mezzanine.blog.models import BlogCategory, BlogPost
from mezzanine.generic.models import AssignedKeyword, Keyword, ThreadedComment
from mezzanine.pages.models import RichTextPage
given = json.load(sys.stdin)
people = [get_user_model().objects.create(username=name, first_name=name.title()) for name in ("ada", "grace", "alan", "edsger")]
categories = [BlogCategory.objects.create(title=title) for title in ("Releases", "Reports", "Notes", "Questions", "Events")]
words = ("query", "index", "backup", "client", "server", "types", "locks", "plans", "files")
tags = [Keyword.objects.create(title=word) for word in words]
begin = datetime.datetime(2015, 1, 5, 9, tzinfo=datetime.timezone.utc)
posts = []
for n, (title, body, comments) in enumerate(given["posts"]):
    at = begin + datetime.timedelta(days=4 * n)
    post = BlogPost.objects.create(user=people[n % 4], title=title, content=body, publish_date=at, status=2)
    post.categories.add(categories[n % 5], *[categories[n // 5 % 5]][: n % 2])
    for tag in {tags[n // 2 % 9], tags[(n // 2 + 4) % 9], tags[n * 7 % 9]}:
        AssignedKeyword.objects.create(keyword=tag, object_pk=post.pk, content_type=post.keywords.content_type)
    for m, words in enumerate(comments):
        ThreadedComment.objects.create(content_object=post, user_name=people[(n + m) % 4].first_name, comment=words, submit_date=at)
    post.related_posts.add(*posts[-7::3])
    posts.append(post)
pages = []
for n, (title, body) in enumerate(given["pages"]):
    pages.append(RichTextPage.objects.create(title=title, content=body, parent=pages[(n - 5) // 4] if n >= 5 else None))
"""


def build(place: Place) -> str:
    """Make the project with its posts and pages; return Apache's directives."""
    program = children.python_of(NEWS.name).parent / "mezzanine-project"
    subprocess.run([str(program), "pressroom", str(place.directory)], cwd=place.directory, check=True, capture_output=True)
    (place.directory / "pressroom" / "local_settings.py").write_text(_LOCAL.replace("DIRECTORY", str(place.directory)))
    (place.directory / "news.py").write_text(_APPLICATION)
    children.run(NEWS.name, place.directory, _VARIABLES, "-m", "django", "createdb", "--noinput", "--nodata")
    children.run(NEWS.name, place.directory, _VARIABLES, "-c", _FILL, words=json.dumps({"posts": _posts(), "pages": _pages()}))
    return children.proxied(place.directory)


def _posts() -> list[tuple[str, str, list[str]]]:
    """Return (title, HTML, comments) of each post: blocks of a page of the manual."""
    found = []
    for n, name in enumerate(text.pages(_SKIPPED + N_POSTS)[_SKIPPED:]):
        words = [block.words for block in text.blocks_of(name)]
        found.append((words[0][:80], _paragraphs(words[1:12]), words[12 : 12 + n % 4]))
    return found


def _pages() -> list[tuple[str, str]]:
    """Return (title, HTML) of each page of the tree."""
    names = text.pages(_SKIPPED + N_POSTS + N_PAGES)[-N_PAGES:]
    return [(words[0][:60], _paragraphs(words[1:20])) for name in names if (words := [block.words for block in text.blocks_of(name)])]


def _paragraphs(blocks: list[str]) -> str:
    return "".join(f"<p>{re.sub('[<>&]', ' ', words)}</p>\n" for words in blocks)


def behind(place: Place) -> AbstractContextManager[None]:
    """Serve the application."""
    return children.application(NEWS.name, "news:make", place.directory, _VARIABLES)


def kind(url: str) -> str:
    """Return which list it is, that it is a post or a page, and the query fields."""
    parts = urlsplit(url)
    steps = parts.path.strip("/").split("/")
    shown = "page" if steps[0] != "blog" else "post" if len(steps) == 2 else "/".join(steps[1:2]) or "posts"
    return f"{shown} {'&'.join(sorted(parse_qs(parts.query, keep_blank_values=True)))}"


NEWS = Site(
    name="news",
    about=f"Mezzanine with {N_POSTS} posts in lists of many kinds and a tree of {N_PAGES} pages",
    address="127.0.8.21",
    hosts=("news.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, text.MANUAL: text.PACKAGE},
    pip=("mezzanine", "setuptools<81", children.SERVER),
    build=build,
    behind=behind,
    kind=kind,
    modules="proxy proxy_http",
)
