"""django-scheduler: a calendar of releases, one entry for each entry of a package's changelog; with years, months, weeks and days without
end.

Every view links to the previous and the next one, by `?year=…&month=…&day=…`, followed by the hour and more. Most months are empty: they
show only their name. To add or change an entry one must log in, so each such link is redirected (302) to one form.
"""

from __future__ import annotations

import gzip
import json
import re
from contextlib import AbstractContextManager
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from benchmarks.living import children, django_settings
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

N_EVENTS = 150
_DOCS = Path("/usr/share/doc")
_PACKAGES = ("django-scheduler", "Django<5.3", children.SERVER)
_VARIABLES = {"DJANGO_SETTINGS_MODULE": "office"}
_ENTRY = re.compile(r"^(\S+) \(([^)]+)\)[^\n]*\n(.*?)^ -- [^\n]*>  ([^\n]+)$", re.DOTALL | re.MULTILINE)

_SETTINGS = """
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.messages", "schedule"]
"""
_URLS = """
from django.contrib.auth.views import LoginView
from django.urls import include, path
urlpatterns = [
    path("", include("schedule.urls")),
    path("accounts/login/", LoginView.as_view(template_name="login.html")),
]
"""
_BASE = """<!DOCTYPE html><html lang="en"><head><title>{% block title %}Releases{% endblock %}</title></head><body>
<p><a href="/">All calendars</a> <a href="/calendar/month/releases/">Releases</a></p>
{% block body %}{% endblock %}{% block content %}{% endblock %}</body></html>
"""
_LOGIN = """{% extends "base.html" %}{% block body %}<h1>Log in</h1><form method="post">{% csrf_token %}{{ form.as_p }}
<input type="submit" value="Log in"></form>{% endblock %}
"""
_FILL = """
import json, sys, datetime
import django
django.setup()
from schedule.models import Calendar, Event
releases = Calendar.objects.create(name="Releases", slug="releases")
for entry in json.load(sys.stdin):
    start = datetime.datetime.fromisoformat(entry["at"])
    Event.objects.create(title=entry["title"], description=entry["words"], start=start,
                         end=start + datetime.timedelta(hours=1), calendar=releases, color_event="#808080")
"""


def build(place: Place) -> str:
    """Make the project and its entries; return Apache's directives."""
    templates = place.directory / "templates"
    templates.mkdir()
    (templates / "base.html").write_text(_BASE)
    (templates / "login.html").write_text(_LOGIN)
    django_settings.write_project("office", place.directory, settings=_SETTINGS, urls=_URLS)
    children.run(CALENDAR.name, place.directory, _VARIABLES, "-m", "django", "migrate", "--verbosity", "0")
    children.run(CALENDAR.name, place.directory, _VARIABLES, "-c", _FILL, words=json.dumps(entries()))
    return children.proxied(place.directory)


def behind(place: Place) -> AbstractContextManager[None]:
    """Serve the application."""
    return children.application(CALENDAR.name, "django.core.wsgi:get_wsgi_application", place.directory, _VARIABLES)


def entries() -> list[dict[str, str]]:
    """Return the newest entries of changelogs, each with title, words and time."""
    found: list[dict[str, str]] = []
    for file in sorted(_DOCS.glob("*/changelog.Debian.gz")):
        words = gzip.decompress(file.read_bytes()).decode("utf-8", "replace")
        for entry in list(_ENTRY.finditer(words))[:2]:
            title = f"{entry[1]} {entry[2]}"
            if (at := _time(entry[4])) and not any(known["title"] == title for known in found):
                found.append({"title": title, "words": entry[3].strip(), "at": at})
    return sorted(found, key=lambda entry: entry["at"])[-N_EVENTS:]


def _time(words: str) -> str:
    try:
        at: datetime = parsedate_to_datetime(words)
    except ValueError:
        return ""
    return at.isoformat()


def kind(url: str) -> str:
    """Return the view, and which fields choose what it shows."""
    parts = urlsplit(url)
    view = "/".join(re.sub(r"\d+", "N", part) for part in parts.path.strip("/").split("/")[:2])
    return f"{view} {'&'.join(sorted(parse_qs(parts.query)))}"


CALENDAR = Site(
    name="calendar",
    about="django-scheduler: a calendar of releases, without end in both directions",
    address="127.0.8.9",
    hosts=("office.example",),
    seed="/",
    needs={PROGRAM: PACKAGE},
    pip=_PACKAGES,
    build=build,
    behind=behind,
    kind=kind,
    modules="proxy proxy_http",
    settings=("limits.max_depth=3",),  # the months have no end
)
