"""NLTK's browser of WordNet: a dictionary, where an address says in a code of its own which word is shown, and what of it is unfolded.

A word's page lists its senses, each in one sentence. Each sense, and each kind of relation to others, is a link to the same page with that
part unfolded or folded again; so a word has an address for each set of parts, all of which begin alike and none of which has a path or a
query to be read (`/lookup_gAWVGwAAA…`). Words lead to words without an end. As NLTK has it.
"""

from __future__ import annotations

import re
import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.living import children
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site
from benchmarks.support.ports import free_port

WORDNET = Path("/usr/share/wordnet")
_LOCAL = "127.0.0.1"  # NLTK listens nowhere else
_NOUNS = """
Tops act animal artifact attribute body cognition communication event feeling food group location motive object person phenomenon plant
possession process quantity relation shape state substance time
"""
_VERBS = """
body change cognition communication competition consumption contact creation emotion motion perception possession social stative weather
"""
_KINDS = (("adj", "all pert", 3), ("adv", "all", 4), ("noun", _NOUNS, 1), ("verb", _VERBS, 2), ("adj", "ppl", 3))  # in WordNet's order
_SERVE = """
import sys, warnings
warnings.simplefilter("ignore")
from nltk.app.wordnet_app import page_from_word, wnb
page_from_word("tree")  # reads the files, which takes seconds
wnb(int(sys.argv[1]), False)
"""


def build(place: Place) -> str:
    """Copy WordNet's files to where NLTK looks for them; choose a port; return Apache's directives."""
    files = place.directory / "corpora" / "wordnet"
    shutil.copytree(WORDNET, files)  # NLTK refuses links
    kinds = [f"{part}.{name}\t{code}" for part, names, code in _KINDS for name in names.split()]
    lines = [f"{n:02}\t{kind}\n" for n, kind in enumerate(kinds)]
    (files / "lexnames").write_text("".join(lines))  # the one file that Debian's package leaves out
    (place.directory / "port").write_text(str(free_port(_LOCAL)))
    return f"ProxyPreserveHost On\nProxyPass / http://{_LOCAL}:{_port(place)}/"


def behind(place: Place) -> AbstractContextManager[None]:
    """Serve the dictionary."""
    command = [str(children.python_of(DICTIONARY.name)), "-c", _SERVE, str(_port(place))]
    variables = {"NLTK_DATA": str(place.directory)}
    return children.running(command, (_LOCAL, _port(place)), place.directory / "application.log", variables)


def _port(place: Place) -> int:
    return int((place.directory / "port").read_text())


def kind(url: str) -> str:
    """Return whether the address has a code that says that something is unfolded."""
    name = urlsplit(url).path.strip("/")
    return re.sub(r"^lookup_.*", f"lookup of {len(name) // 40 * 40} letters", name)


DICTIONARY = Site(
    name="dictionary",
    about="NLTK's browser of WordNet, where each link folds or unfolds a part of a word's page",
    address="127.0.8.28",
    hosts=("dictionary.example",),
    seed="/search?nextWord=tree",
    needs={PROGRAM: PACKAGE, WORDNET / "data.noun": "wordnet-base", WORDNET / "index.sense": "wordnet-sense-index"},
    pip=("nltk",),
    build=build,
    behind=behind,
    kind=kind,
    modules="proxy proxy_http",
    settings=("limits.max_depth=4",),  # words lead to words without an end
)
