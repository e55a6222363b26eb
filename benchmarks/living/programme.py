"""pretalx: the programmes of two conferences. A talk stands by itself, at its speakers', and in every version of the programme.

A programme has versions, and each of them a view in a table, one without scripts and a handful of exports; only a few talks move from one
to the next. Every talk and every speaker has a calendar file and a page for feedback. Each page leads to a form to log in, with the address
to return to, and offers the other language, by an address that is redirected. As pretalx configures it.
"""

from __future__ import annotations

import json
import re
from contextlib import AbstractContextManager
from urllib.parse import parse_qs, urlsplit

from benchmarks.living import children, text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

N_TALKS = 120  # of each conference
_YEARS = (2015, 2016)
_SKIPPED = 200
_CONFIGURATION = """
[filesystem]
data = {directory}/data
media = {directory}/data/media
logs = {directory}/data/logs
static = {directory}/data/static
[database]
backend = sqlite3
name = {directory}/programme.db
[site]
debug = False
url = {address}
secret = not for the network
[locale]
time_zone = UTC
"""
_SETTINGS = """
from pretalx.settings import *
STORAGES = STORAGES | {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
"""
_FILL = """
import datetime, json, sys
import django
django.setup()
from django_scopes import scope, scopes_disabled
from pretalx.event.models import Event
from pretalx.event.utils import create_organiser_with_team
from pretalx.person.models import SpeakerProfile, User
from pretalx.schedule.models import Room
from pretalx.submission.models import Submission, SubmissionStates, Track

def put(talk, day, n, rooms):
    slot = talk.slots.filter(schedule__version__isnull=True).first()
    slot.start = day + datetime.timedelta(hours=9 + n // 4 % 10)
    slot.end = slot.start + datetime.timedelta(minutes=50)
    slot.room = rooms[n % 4]
    slot.save()

given = json.load(sys.stdin)
chief = User.objects.create_user(name="Chief", email="chief@example.org", is_administrator=True)
organiser, team = create_organiser_with_team(name="Friends of databases", slug="friends", users=[chief])
surnames = ("Almond", "Birch", "Cedar", "Elm", "Fir")
names = [f"{first} {last}" for first in ("Ada", "Grace", "Alan", "Edsger", "Barbara") for last in surnames]
people = [User.objects.create_user(name=name, email=f"p{n}@example.org", code=f"P{n:05}") for n, name in enumerate(names)]
for year, talks in given.items():
    begin = datetime.datetime(int(year), 5, 4, tzinfo=datetime.timezone.utc)
    with scopes_disabled():
        event = Event.objects.create(name=f"Database days {year}", slug=f"days-{year}", organiser=organiser, is_public=True,
                                     date_from=begin.date(), date_to=(begin + datetime.timedelta(days=2)).date(), timezone="UTC",
                                     email="chief@example.org", locale_array="en,de", locale="en", landing_page_text=talks[0][1])
    with scope(event=event):
        event.build_initial_data()
        team.limit_events.add(event)
        rooms = [Room.objects.create(event=event, name=f"Hall {letter}", position=n) for n, letter in enumerate("ABCD")]
        tracks = [Track.objects.create(event=event, name=name, color="#336699") for name in ("Queries", "Servers", "Clients", "Insides")]
        for n, person in enumerate(people):
            SpeakerProfile.objects.create(user=person, event=event, biography=talks[n][2][-900:])
        made = []
        for n, (title, abstract, description) in enumerate(talks):
            talk = Submission.objects.create(event=event, title=title, code=f"{year[-1]}T{n:04}", submission_type=event.cfp.default_type,
                                             track=tracks[n % 4], abstract=abstract, description=description, content_locale="en",
                                             state=SubmissionStates.CONFIRMED)
            talk.speakers.add(people[n * 7 % len(people)], *[people[n * 11 % len(people)]][: n % 3 == 0])
            talk.update_talk_slots()
            made.append(talk)
        for version in range(5):
            for n, talk in enumerate(made[: len(made) - 8 * (4 - version)]):
                put(talk, begin + datetime.timedelta(days=n // 40 % 3), n if n % 15 else n + version, rooms)
            event.wip_schedule.freeze(f"0.{version}")
            event = Event.objects.get(pk=event.pk)
"""


def build(place: Place) -> str:
    """Make both conferences with their talks and versions of the programme; return Apache's directives."""
    (place.directory / "data").mkdir()
    (place.directory / "pretalx.cfg").write_text(_CONFIGURATION.format(directory=place.directory, address=place.url(PROGRAMME.hosts[0])))
    (place.directory / "conference.py").write_text(_SETTINGS)
    variables = _variables(place)
    children.run(PROGRAMME.name, place.directory, variables, "-m", "django", "migrate", "--verbosity", "0")
    children.run(PROGRAMME.name, place.directory, variables, "-c", _FILL, words=json.dumps(_talks()))
    return children.proxied(place.directory)


def behind(place: Place) -> AbstractContextManager[None]:
    """Serve the application."""
    return children.application(PROGRAMME.name, "django.core.wsgi:get_wsgi_application", place.directory, _variables(place))


def _variables(place: Place) -> dict[str, str]:
    return {"DJANGO_SETTINGS_MODULE": "conference", "PRETALX_CONFIG_FILE": str(place.directory / "pretalx.cfg")}


def _talks() -> dict[int, list[tuple[str, str, str]]]:
    """Return (title, abstract, description) of each talk of each year: blocks of a page of the manual."""
    names = text.pages(_SKIPPED + len(_YEARS) * N_TALKS)[_SKIPPED:]
    found: dict[int, list[tuple[str, str, str]]] = {year: [] for year in _YEARS}
    for n, name in enumerate(names):
        words = [re.sub(r"[<>*_`\[\]#]", " ", block.words) for block in text.blocks_of(name)]
        found[_YEARS[n % len(_YEARS)]].append((words[0][:90], " ".join(words[1:3])[:600], "\n\n".join(words[3:12])[:2_500]))
    return found


def kind(url: str) -> str:
    """Return the view, and the query fields that choose what it shows."""
    parts = urlsplit(url)
    steps = [re.sub(r"^(P|\dT)\d+|^0\.\d$", "N", step) for step in parts.path.strip("/").split("/")[1:]]
    return f"{'/'.join(steps[:4]) or 'start'} {'&'.join(sorted(parse_qs(parts.query, keep_blank_values=True)))}"


PROGRAMME = Site(
    name="programme",
    about=f"pretalx with two conferences of {N_TALKS} talks and five versions of each programme",
    address="127.0.8.26",
    hosts=("programme.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, text.MANUAL: text.PACKAGE},
    pip=("pretalx", children.SERVER),
    build=build,
    behind=behind,
    kind=kind,
    modules="proxy proxy_http",
)
