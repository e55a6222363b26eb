"""HyperKitty: the archive of a list by Mailman. A letter has an address of its own, and stands in its thread, which has its first letter's.

Threads are listed by month and by day, and by what was latest, most spoken of and most liked, in pages of ten, 25, 50 and so on. A thread
may be ordered by time or by answers. A person has a page and a list of all letters, and each page leads to a form to log in, with the
address to return to. As HyperKitty configures it.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from urllib.parse import parse_qs, urlsplit

from benchmarks.living import children, text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.letters import N_LETTERS, letters
from benchmarks.living.site import Site

_LIST = "readers@mailman.example"
_VARIABLES = {"DJANGO_SETTINGS_MODULE": "archive"}
_SETTINGS = """
from hyperkitty.tests.settings_test import *
TESTING = False
ALLOWED_HOSTS = ["*"]
LOGGING = {{}}
MAILMAN_REST_API_URL = "http://127.0.0.1:9"
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": "{directory}/archive.db"}}}}
HAYSTACK_CONNECTIONS = {{"default": {{"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}}}
HAYSTACK_SIGNAL_PROCESSOR = "haystack.signals.BaseSignalProcessor"
STATIC_ROOT = "{directory}/static"
"""


def build(place: Place) -> str:
    """Make the database and let HyperKitty read the letters; return Apache's directives."""
    (place.directory / "archive.py").write_text(_SETTINGS.format(directory=place.directory))
    mailbox = place.directory / "list.mbox"
    from_line = "From list@example.org Mon Jan  5 09:00:00 2015\n"
    mailbox.write_text("".join(f"{from_line}{letter.as_string()}\n\n" for letter in letters()), "ascii")
    children.run(LISTS.name, place.directory, _VARIABLES, "-m", "django", "migrate", "--verbosity", "0")
    read = ["hyperkitty_import", "-l", _LIST, "--no-sync-mailman", "--since", "2000-01-01", str(mailbox)]
    children.run(LISTS.name, place.directory, _VARIABLES, "-m", "django", *read)
    return children.proxied(place.directory)


def behind(place: Place) -> AbstractContextManager[None]:
    """Serve the application."""
    return children.application(LISTS.name, "django.core.wsgi:get_wsgi_application", place.directory, _VARIABLES)


def kind(url: str) -> str:
    """Return the view, and the query fields that choose what it shows."""
    parts = urlsplit(url)
    steps = [re.sub(r"^([A-Z0-9]{32}|\d+)$", "N", step) for step in parts.path.strip("/").split("/")]
    view = "/".join(steps[2:] if steps[0] == "list" else steps[:1])
    return f"{view or 'list'} {'&'.join(sorted(parse_qs(parts.query, keep_blank_values=True)))}"


LISTS = Site(
    name="lists",
    about=f"HyperKitty with {N_LETTERS} letters",
    address="127.0.8.38",
    hosts=("mailman.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, text.MANUAL: text.PACKAGE},
    pip=("hyperkitty", "whoosh", children.SERVER),
    build=build,
    behind=behind,
    kind=kind,
    modules="proxy proxy_http",
)
