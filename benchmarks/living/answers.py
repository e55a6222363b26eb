"""Askbot: questions, their answers and remarks. A list of questions has an address for each order, each scope and each set of tags.

These are steps of its path (`/questions/scope:all/sort:votes-desc/tags:index,query/page:2/`). Each tag beside a question adds itself to the
set, so that sets grow without an end, and most of them have a question or two. A person's page has a part for each thing that he did, and
each question its revisions. As Askbot configures it.
"""

from __future__ import annotations

import json
import re
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from benchmarks.living import children, text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

N_QUESTIONS = 90
_SKIPPED = 700
_TAGS = ("query", "index", "backup", "client", "server", "types", "locks", "roles", "views", "rules", "joins", "plans")
_VARIABLES = {"DJANGO_SETTINGS_MODULE": "ask.settings"}
_FILL = """
import datetime, json, sys
import django
django.setup()
from django.contrib.sites.models import Site
from askbot.models import User
Site.objects.update(domain=sys.argv[1], name="Answers")
names = ("ada", "grace", "alan", "edsger", "barbara", "donald", "tony")
people = [User.objects.create_user(name, f"{name}@example.org", "not for the net") for name in names]
for one in people:
    one.set_status("d")
    one.receive_reputation(500)
    one.save()
begin = datetime.datetime(2015, 1, 5, 9, tzinfo=datetime.timezone.utc)
User.objects.update(date_joined=begin)
for n, (title, body, answers, remarks, tags) in enumerate(json.load(sys.stdin)):
    def at(hours):
        return begin + datetime.timedelta(hours=31 * n + hours)
    question = people[n % 7].post_question(title=title, body_text=body, tags=tags, timestamp=at(0))
    for m, words in enumerate(answers):
        answer = people[(n + m + 1) % 7].post_answer(question=question, body_text=words, timestamp=at(3 * m + 1))
        people[(n + m + 3) % 7].upvote(answer, timestamp=at(3 * m + 2), force=True)
        if m == 0 and n % 2:
            people[n % 7].accept_best_answer(answer, timestamp=at(40), force=True)
    for m, words in enumerate(remarks):
        people[(n + m + 2) % 7].post_comment(parent_post=question, body_text=words, timestamp=at(2 * m + 1))
    if n % 3 == 2:
        people[n % 7].edit_question(question=question, title=title + " again", timestamp=at(50), force=True)
"""


def build(place: Place) -> str:
    """Make the site with its questions; return Apache's directives."""
    root, host = _root(place), place.url(ANSWERS.hosts[0]).removeprefix("http://").rstrip("/")
    root.mkdir()
    made = ("-r", str(root), "-e", "sqlite", "-d", str(root / "answers.db"), "--language-code", "en", "--timezone", "UTC")
    told = ("--noinput", "--force", "--admin-name", "chief", "--admin-email", "chief@example.org", "--domain-name", ANSWERS.hosts[0])
    children.run(ANSWERS.name, root, {}, "-c", "from askbot.deployment import askbot_setup; askbot_setup()", *made, *told)
    children.run(ANSWERS.name, root, _VARIABLES, "-m", "django", "migrate", "--verbosity", "0")
    children.run(ANSWERS.name, root, _VARIABLES, "-c", _FILL, host, words=json.dumps(_questions()))
    return children.proxied(root)


def _root(place: Place) -> Path:
    """Return the folder of the project, which takes its name from it."""
    return place.directory / "ask"


def _questions() -> list[tuple[str, str, list[str], list[str], str]]:
    """Return (title, text, answers, remarks, tags) of each question: blocks of a page of the manual."""
    found = []
    for n, name in enumerate(text.pages(_SKIPPED + N_QUESTIONS)[_SKIPPED:]):
        words = [re.sub(r"[<>*_`\[\]#]", " ", block.words) for block in text.blocks_of(name)]
        words += ["This is all that is said of it here."] * 9
        answers = ["\n\n".join(words[3:5]), "\n\n".join(words[5:7])][: 1 + n % 2]
        remarks = [f"{words[7][:250]} and so on", f"{words[8][:250]} and more"][: n % 3]
        tags = {_TAGS[n % 12], _TAGS[n * 5 // 3 % 12], _TAGS[n // 9 % 12]}
        found.append((f"{words[0][:80]} how?", f"{words[1]}\n\n{words[2]}", answers, remarks, " ".join(sorted(tags))))
    return found


def behind(place: Place) -> AbstractContextManager[None]:
    """Serve the application."""
    return children.application(ANSWERS.name, "django.core.wsgi:get_wsgi_application", _root(place), _VARIABLES)


def kind(url: str) -> str:
    """Return the view, with what chooses a list, and the query fields."""
    parts = urlsplit(url)
    steps = [re.sub(r"^(sort|scope|tags|page):.*", r"\1", step) for step in parts.path.strip("/").split("/")]
    view = "/".join(step for step in steps[:6] if not step.isdigit()) if steps[0] == "questions" else steps[0]
    return f"{view or 'home'} {'&'.join(sorted(parse_qs(parts.query, keep_blank_values=True)))}"


ANSWERS = Site(
    name="answers",
    about=f"Askbot with {N_QUESTIONS} questions and a dozen tags",
    address="127.0.8.33",
    hosts=("answers.example",),
    seed="/questions/",
    needs={PROGRAM: PACKAGE, text.MANUAL: text.PACKAGE},
    pip=("askbot", "setuptools<81", children.SERVER),
    build=build,
    behind=behind,
    kind=kind,
    modules="proxy proxy_http",
)
