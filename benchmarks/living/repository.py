"""cgit: a repository of some hundred commits, made of the standard library's modules, each growing block by block.

A commit's page leads to its tree, and so to every file as it was then: most of these are what other commits show. Branches add
`?h=branch` to everything. Every page ends with the time at which it was made, so that no two answers are alike byte for byte. As Debian
configures it, but that robots may follow links.
"""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

CGIT = Path("/usr/lib/cgit/cgit.cgi")
N_COMMITS = 240
_FILES = (
    *(f"json/{name}.py" for name in ("decoder", "encoder", "scanner", "tool")),
    *(f"email/{name}.py" for name in ("charset", "encoders", "header")),
    "wsgiref/util.py",
)
_BEGAN = 1_400_000_000  # seconds since the epoch: so long ago that ages on pages are the same in each crawl
_DAY = 86_400

_CGITRC = """
virtual-root=/
css=/cgit.css
logo=/cgit.png
robots=index, follow
root-title=Repositories
repo.url=library
repo.path={repository}
repo.desc=Modules of a standard library
repo.owner=nobody
repo.defbranch=master
"""
_SERVED = """
SetEnv CGIT_CONFIG {directory}/cgitrc
Alias /cgit.css /usr/share/cgit/cgit.css
Alias /cgit.png /usr/share/cgit/cgit.png
ScriptAlias / {cgit}/
"""


def build(place: Place) -> str:
    """Make the repository and cgit's configuration; return Apache's directives."""
    repository = place.directory / "library.git"
    git = ["git", "-c", f"safe.directory={repository}", "-C", str(repository)]
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=master", str(repository)], check=True)
    subprocess.run([*git, "fast-import", "--quiet"], input=history(N_COMMITS).encode(), check=True)
    subprocess.run([*git, "config", "safe.directory", "*"], check=True)
    web = repository / "info" / "web"
    web.mkdir(parents=True)
    (web / "last-modified").write_text("2015-01-01 00:00:00 +0000")  # otherwise the list of repositories shows ages in minutes
    (place.directory / "cgitrc").write_text(_CGITRC.format(repository=repository))
    return _SERVED.format(directory=place.directory, cgit=CGIT)


def history(n_commits: int) -> str:
    """Return the repository as a stream for `git fast-import`: a trunk, two branches from it, tags."""
    rng = random.Random(4)
    blocks = blocks_of_modules()
    grown = dict.fromkeys(blocks, 0)
    stream: list[str] = []
    for n in range(1, n_commits + 1):
        branch = "master" if n <= n_commits * 5 // 6 else ("stable", "next")[n % 2]
        name = rng.choice([name for name in blocks if grown[name] < len(blocks[name])])
        grown[name] += 1
        leaves = f"from :{n_commits * 5 // 6}\n" if branch != "master" and n <= n_commits * 5 // 6 + 2 else ""
        content = "\n\n\n".join(blocks[name][: grown[name]]) + "\n"
        subject = f"{name}: {blocks[name][grown[name] - 1].strip().splitlines()[0][:60]}"
        stream.append(_commit(n, branch, subject, leaves, name, content))
        if n % 40 == 0 and branch == "master":
            stream.append(f"reset refs/tags/v0.{n // 40}\nfrom :{n}\n\n")
    return "".join(stream)


def _commit(n: int, branch: str, subject: str, leaves: str, name: str, content: str) -> str:
    author = f"{('Ada', 'Grace', 'Alan')[n % 3]} <nobody@example.org> {_BEGAN + n * _DAY} +0000"
    head = f"commit refs/heads/{branch}\nmark :{n}\nauthor {author}\ncommitter {author}\n"
    return f"{head}{_data(subject)}{leaves}M 100644 inline {name}\n{_data(content)}\n"


def _data(words: str) -> str:
    return f"data {len(words.encode())}\n{words}\n"


def blocks_of_modules() -> dict[str, list[str]]:
    """Return each module cut at blank lines, into as many blocks as give the wanted number of commits."""
    library = Path(json.__file__).parent.parent
    texts = {name: (library / name).read_text("utf-8").encode("ascii", "replace").decode() for name in _FILES}
    return {name: [block for block in words.split("\n\n") if block.strip()] for name, words in texts.items()}


def kind(url: str) -> str:
    """Return the kind of page, and which parameters choose what it shows."""
    parts = urlsplit(url)
    names = "&".join(sorted(parse_qs(parts.query)))
    page = parts.path.split("/")[2:3]
    return f"{page[0] if page and page[0] else 'summary'}{'?' if names else ''}{names}"


REPOSITORY = Site(
    name="repository",
    about="cgit with a repository of 240 commits, three branches and five tags",
    address="127.0.8.3",
    hosts=("code.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, CGIT: "cgit", Path("/usr/bin/git"): "git"},
    build=build,
    kind=kind,
    settings=("limits.max_depth=4",),  # at greater depths are the trees of all commits, tens of thousands of pages
)
