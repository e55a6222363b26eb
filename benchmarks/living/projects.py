"""Redmine: two projects with bugs, a plan, a wiki, a forum and news, where each of them is also an entry of a day's activity.

A list of bugs is linked in the order of each column, goes on by pages and is offered as a feed, as CSV and as PDF; a bug leads to lists of
those like it. The calendar, the chart of work and the activity lead from month to month without an end in either direction. A page of the
wiki has its history, each version, the difference from the one before, and its authors line by line. A change of a bug has an address in
the bug's page. As Debian configures it; whoever is not logged in may read.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from benchmarks.living import children, text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

REDMINE = Path("/usr/share/redmine")
SERVER = Path("/usr/bin/puma")
N_BUGS = 130
N_WIKI = 36
N_NEWS = 16
N_TOPICS = 24
_SKIPPED = 480
_FILL = """
require "json"
given = JSON.parse(STDIN.read)
ActiveJob::Base.queue_adapter = :test  # no letters
ActiveRecord::Base.connection.execute("PRAGMA synchronous = OFF")
Setting.host_name, Setting.default_language, Setting.rest_api_enabled = "projects.example", "en", "0"
Redmine::DefaultData::Loader.load("en") if Role.where(builtin: 0).empty?
modules = %w[issue_tracking wiki boards news calendar gantt time_tracking]
[Role.anonymous, Role.non_member].each do |role|
  role.update!(permissions: %i[view_issues view_wiki_pages view_wiki_edits view_messages view_news view_calendar view_gantt
                               view_time_entries])
end
people = %w[ada grace alan edsger barbara].map do |name|
  user = User.new(firstname: name.capitalize, lastname: "Example", mail: "#{name}@example.org", language: "en", status: 1)
  user.login, user.password, user.password_confirmation = name, "not for the net", "not for the net"
  user.save!
  user
end
projects = ["Server", "Clients"].map do |name|
  project = Project.create!(name: name, identifier: name.downcase, is_public: true, description: given["about"], trackers: Tracker.all,
                            enabled_module_names: modules)
  people.each { |user| Member.create!(project: project, user: user, roles: [Role.where(builtin: 0).order(:id).first]) }
  project
end
begin_at = Time.utc(2015, 1, 5, 9)
versions = projects.map do |p|
  %w[1.0 1.1 2.0].each_with_index.map { |name, n| Version.create!(project: p, name: name, effective_date: begin_at + (n + 1) * 5184000) }
end
areas = projects.map { |p| %w[Queries Indexes Backups].map { |name| IssueCategory.create!(project: p, name: name) } }
statuses, priorities, activity = IssueStatus.order(:id).to_a, IssuePriority.order(:id).to_a, TimeEntryActivity.first
given["bugs"].each_with_index do |(title, about, notes), n|
  which, at = n % 2, begin_at + n * 86400 + n % 7 * 3600
  bug = Issue.new(project: projects[which], tracker: Tracker.order(:id).to_a[n % 3], subject: title, description: about,
                  author: people[n % 5], status: statuses[0],
                  priority: priorities[n * 3 % priorities.size], assigned_to: people[n * 2 % 5], category: areas[which][n % 3],
                  fixed_version: versions[which][n / 45], start_date: at.to_date, due_date: at.to_date + 5 + n % 20)
  bug.save!(validate: false)
  notes.each_with_index do |words, m|
    bug = Issue.find(bug.id)
    bug.init_journal(people[(n + m) % 5], words)
    bug.status = statuses[(n + m) % statuses.size] if m > 0
    bug.done_ratio = 10 * (m + 1)
    bug.save!(validate: false)
  end
  TimeEntry.new(project: bug.project, issue: bug, user: people[n % 5], author: people[n % 5], hours: 1 + n % 4, activity: activity,
                comments: title, spent_on: at.to_date).save!(validate: false) if n % 4 == 0
  IssueRelation.create!(issue_from: Issue.find(bug.id - 2), issue_to: bug, relation_type: "relates") if n % 9 == 8
  bug.journals.each_with_index { |journal, m| journal.update_columns(created_on: at + (m + 1) * 90000) }
  bug.update_columns(created_on: at, updated_on: at + bug.journals.count * 90000)
end
given["wiki"].each_with_index do |(title, whole), n|
  wiki = projects[n % 2].wiki || Wiki.create!(project: projects[n % 2], start_page: "Wiki")
  page = WikiPage.new(wiki: wiki, title: n < 2 ? "Wiki" : title)
  page.parent = wiki.pages.first if n > 1
  whole.each_with_index do |words, m|
    content = page.content || WikiContent.new(page: page)
    content.author, content.text, content.comments = people[(n + m) % 5], words, "part #{m + 1}"
    m == 0 ? page.save_with_content(content) : content.save!
    content.reload.versions.each_with_index { |v, k| v.update_columns(updated_on: begin_at + (n * 3 + k) * 86400) }
    content.update_columns(updated_on: begin_at + (n * 3 + m) * 86400)
  end
  page.update_columns(created_on: begin_at + n * 3 * 86400)
end
given["news"].each_with_index do |(title, summary, whole), n|
  news = News.create!(project: projects[n % 2], author: people[n % 5], title: title[0, 59], summary: summary[0, 250], description: whole)
  news.update_columns(created_on: begin_at + n * 9 * 86400)
end
boards = projects.map { |p| %w[Help Ideas].map { |name| Board.create!(project: p, name: name, description: "#{name} of #{p.name}") } }
given["topics"].each_with_index do |(title, first, answers), n|
  topic = Message.create!(board: boards[n % 2][n / 2 % 2], author: people[n % 5], subject: title, content: first)
  answers.each_with_index do |words, m|
    answer = Message.create!(board: topic.board, parent: topic, author: people[(n + m) % 5], subject: "RE: #{title}", content: words)
    answer.update_columns(created_on: begin_at + (n * 4 + m) * 86400, updated_on: begin_at + (n * 4 + m) * 86400)
  end
  topic.update_columns(created_on: begin_at + n * 4 * 86400, updated_on: begin_at + n * 4 * 86400)
end
Project.update_all(created_on: begin_at, updated_on: begin_at)
User.update_all(created_on: begin_at, updated_on: begin_at)
"""


def build(place: Place) -> str:
    """Make the database and fill it; return Apache's directives."""
    variables = os.environ | _variables(place)
    (place.directory / "fill.rb").write_text(_FILL)
    for command in (["bin/rake", "db:migrate"], ["bin/rails", "runner", str(place.directory / "fill.rb")]):
        done = subprocess.run(
            command, cwd=REDMINE, env=variables, input=json.dumps(_content()), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()[:800]}")
    return children.proxied(place.directory)


def _content() -> dict[str, object]:
    """Return what the projects have: blocks of pages of the manual."""
    names = iter(text.pages(_SKIPPED + N_BUGS + N_WIKI + N_NEWS + N_TOPICS)[_SKIPPED:])
    bugs = [(words[0][:80], words[1], ["\n\n".join(words[at : at + 2]) for at in (2, 4, 6)]) for words in _words(names, N_BUGS)]
    wiki = [(f"{words[0][:40]} {n}", ["\n\n".join(words[:end]) for end in (6, 14, 30)]) for n, words in enumerate(_words(names, N_WIKI))]
    news = [(words[0], words[1], "\n\n".join(words[2:12])) for words in _words(names, N_NEWS)]
    topics = [(words[0][:80], words[1], words[2:7]) for words in _words(names, N_TOPICS)]
    return {"about": text.blocks_of("index.html")[0].words, "bugs": bugs, "wiki": wiki, "news": news, "topics": topics}


def _words(names: Iterator[str], n: int) -> list[list[str]]:
    """Return the blocks of the next n pages."""
    found = []
    for _ in range(n):
        words = [re.sub(r"[^\w .,;:()'?!/-]", " ", block.words) for block in text.blocks_of(next(names))]
        found.append(words + ["No more."] * max(0, 8 - len(words)))
    return found


def behind(place: Place) -> AbstractContextManager[None]:
    """Serve the application."""
    socket = place.directory / "wsgi.sock"
    command = [str(SERVER), "-C", "-", "--dir", str(REDMINE), "-b", f"unix://{socket}?umask=0", "-t", "4:4", "-e", "production"]
    return children.running(command, socket, place.directory / "application.log", _variables(place))


def _variables(place: Place) -> dict[str, str]:
    return {"RAILS_ENV": "production", "DATABASE_URL": f"sqlite3:{place.directory / 'projects.db'}", "TZ": "UTC"}


def kind(url: str) -> str:
    """Return the view, and the query fields that choose what it shows."""
    parts = urlsplit(url)
    steps = [re.sub(r"^\d+", "N", step) for step in parts.path.strip("/").split("/")]
    view = "/".join(steps[2:4] if steps[0] == "projects" else steps[:2])
    return f"{view or 'home'} {'&'.join(sorted(parse_qs(parts.query, keep_blank_values=True)))}"


PROJECTS = Site(
    name="projects",
    about=f"Redmine with two projects, {N_BUGS} bugs, {N_WIKI} wiki pages in three versions, {N_NEWS} news and {N_TOPICS} topics",
    address="127.0.8.30",
    hosts=("projects.example",),
    seed="/projects",
    needs={PROGRAM: PACKAGE, REDMINE: "redmine-sqlite", SERVER: "puma", text.MANUAL: text.PACKAGE},
    build=build,
    behind=behind,
    kind=kind,
    modules="proxy proxy_http",
)
