"""gitweb: a repository of a hundred commits, each with its page, its differences, its tree, and every file in that version.

Every address is a query: `?p=REPOSITORY;a=ACTION;h=HASH;hb=COMMIT;f=FILE`, with semicolons between the fields. A blob is reached by its
hash and by its name in a commit; the log, the short log and the history show the same commits. The configuration is Debian's.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.repository import history
from benchmarks.living.site import Site

GITWEB = Path("/usr/share/gitweb/gitweb.cgi")
N_COMMITS = 90

_CONFIG = """
our $projectroot = "{directory}/repositories";
our $site_name = "Sources";
our @stylesheets = ("/gitweb/static/gitweb.css");
our $logo = "/gitweb/static/git-logo.png";
our $favicon = "/gitweb/static/git-favicon.png";
our $javascript = "";
$feature{{'search'}}{{'default'}} = [0];
$feature{{'timed'}}{{'default'}} = [0];
1;
"""
_SERVED = """
SetEnv GITWEB_CONFIG {directory}/gitweb.conf
Alias /gitweb/static /usr/share/gitweb/static
ScriptAliasMatch "^/$" {gitweb}
"""


def build(place: Place) -> str:
    """Make the repository and gitweb's configuration; return Apache's directives."""
    repository = place.directory / "repositories" / "library.git"
    repository.parent.mkdir()
    git: Sequence[str] = ["git", "-c", f"safe.directory={repository}", "-C", str(repository)]
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=master", str(repository)], check=True)
    subprocess.run([*git, "fast-import", "--quiet"], input=history(N_COMMITS).encode(), check=True)
    subprocess.run([*git, "config", "safe.directory", "*"], check=True)
    (repository / "description").write_text("Modules of a standard library\n")
    (place.directory / "gitweb.conf").write_text(_CONFIG.format(directory=place.directory))
    return _SERVED.format(directory=place.directory, gitweb=GITWEB)


def kind(url: str) -> str:
    """Return the action, and the other fields that choose what it shows."""
    fields = dict(field.partition("=")[::2] for field in urlsplit(url).query.replace("&", ";").split(";") if field)
    return f"{fields.pop('a', 'projects')} {'&'.join(sorted(set(fields) - {'p'}))}"


GITWEB_SITE = Site(
    name="gitweb",
    about="gitweb with a repository of 90 commits",
    address="127.0.8.8",
    hosts=("sources.example",),
    seed="/?p=library.git;a=summary",
    needs={PROGRAM: PACKAGE, GITWEB: "gitweb", Path("/usr/bin/git"): "git", Path("/usr/share/perl5/CGI.pm"): "libcgi-pm-perl"},
    build=build,
    kind=kind,
    settings=("robots.meta=false", "limits.max_depth=3"),  # its pages contain nofollow; the trees of all commits are at greater depths
)
