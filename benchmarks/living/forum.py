"""Spirit: a forum of some hundred topics; each comment has an address that is redirected to its topic's page, and each member has a page.

To reply, report, move or follow one must log in. Each such link contains the address to return to, so a hundred addresses show one form.
There are lists of topics by category, by activity and by member.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import AbstractContextManager
from urllib.parse import parse_qs, urlsplit

from benchmarks.living import children, text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

N_TOPICS = 60
_SKIPPED = 100
_PACKAGES = ("django-spirit", "Django<5.3", children.SERVER)
_VARIABLES = {"DJANGO_SETTINGS_MODULE": "talk.settings.living"}
_SETTINGS = """
from .base import *
SECRET_KEY = "not for the network"
DEBUG = False
ALLOWED_HOSTS = ["*"]
ST_RATELIMIT_ENABLE = False
ST_SITE_URL = "ADDRESS"
ST_TASK_MANAGER = None
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": r"DIRECTORY/talk.db"}}
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "st_rate_limit": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "TIMEOUT": None},
}
STORAGES = {"default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
            "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
"""
_FILL = """
import json, sys, datetime
import django
django.setup()
from django.contrib.auth import get_user_model
from spirit.category.models import Category
from spirit.comment.models import Comment
from spirit.topic.models import Topic
members = [get_user_model().objects.create(username=name) for name in ("ada", "grace", "alan", "edsger", "barbara", "tony")]
categories = [Category.objects.create(title=title) for title in ("Questions", "Reports", "Notes")]
begin = datetime.datetime(2015, 1, 5, 9, tzinfo=datetime.timezone.utc)
for n, (title, comments) in enumerate(json.load(sys.stdin)):
    at = begin + datetime.timedelta(hours=7 * n)
    topic = Topic.objects.create(user=members[n % 6], category=categories[n % 3], title=title, date=at, last_active=at,
                                 comment_count=len(comments))
    for m, words in enumerate(comments):
        Comment.objects.create(user=members[(n + m) % 6], topic=topic, comment=words, comment_html=words,
                               date=at + datetime.timedelta(minutes=m))
"""


def build(place: Place) -> str:
    """Make the forum, its members, topics and comments; return Apache's directives."""
    path = f"{children.python_of(FORUM.name).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    project = {"PATH": path}
    children.run(
        FORUM.name, place.directory, project, "-m", "spirit.extra.bin.spirit", "startproject", "talk", "--path", str(place.directory)
    )
    settings = place.directory / "talk" / "settings" / "living.py"
    settings.write_text(_SETTINGS.replace("DIRECTORY", str(place.directory)).replace("ADDRESS", place.url(FORUM.hosts[0])))
    children.run(FORUM.name, place.directory, _VARIABLES, "-m", "django", "migrate", "--verbosity", "0")
    children.run(FORUM.name, place.directory, _VARIABLES, "-c", _FILL, words=json.dumps(_topics()))
    return children.proxied(place.directory)


def behind(place: Place) -> AbstractContextManager[None]:
    """Serve the application."""
    return children.application(FORUM.name, "django.core.wsgi:get_wsgi_application", place.directory, _VARIABLES)


def _topics() -> list[tuple[str, list[str]]]:
    """Return (title, comments) of each topic: a comment is two or three blocks of a page of the manual."""
    found = []
    for name in text.pages(_SKIPPED + N_TOPICS)[_SKIPPED:]:
        blocks = [block.words for block in text.blocks_of(name)]
        comments = ["".join(f"<p>{_escaped(words)}</p>" for words in blocks[at : at + 3]) for at in range(0, min(len(blocks), 36), 3)]
        found.append((blocks[0][:80], comments))
    return found


def _escaped(words: str) -> str:
    return words.replace("&", "&amp;").replace("<", "&lt;")


def kind(url: str) -> str:
    """Return the view, without numbers and names, and the query fields that choose what it shows."""
    parts = urlsplit(url)
    view = "/".join(re.sub(r"\d+", "N", part) for part in parts.path.strip("/").split("/")[:3] if "-" not in part)
    return f"{view} {'&'.join(sorted(parse_qs(parts.query)))}"


FORUM = Site(
    name="forum",
    about="Spirit: a forum of 60 topics, where one login form has an address for each comment",
    address="127.0.8.10",
    hosts=("talk.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, text.MANUAL: text.PACKAGE},
    pip=_PACKAGES,
    build=build,
    behind=behind,
    kind=kind,
    modules="proxy proxy_http",
    settings=("robots.nofollow_links=true", "limits.max_depth=6"),  # each login form names its own address as the next page
)
