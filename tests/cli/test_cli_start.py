"""A command's --help imports only what declares the command; what does its work is imported when it works."""

import subprocess
import sys

from thresher.crawler.cli import COMMANDS, choices
from thresher.crawler.graph import pagerank
from thresher.filters.near_replica.batch import Candidates, Neighbours
from thresher.filters.near_replica.random_projection import Counting
from thresher.storage.export.kinds import KINDS

_HELPS = """
import contextlib, io, sys
import click
from thresher.crawler.cli import thresher

def paths(command, path):
    yield path
    if isinstance(command, click.Group):
        for name in command.commands or command.list_commands(None):
            yield from paths(command.get_command(None, name), [*path, name])

known = set()
for path in paths(thresher, []):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        thresher([*path, "--help"])
    heavy = {"numpy", "lmdb", "aiohttp", "lxml", "matplotlib", "pyarrow"} & sys.modules.keys() - known
    known |= heavy
    print(" ".join(["thresher", *path, "--help:", *sorted(heavy)]))
"""


def test_no_commands_help_imports_what_does_its_work() -> None:
    """Mutation: `from thresher.storage.view import View` at the top of cli/stats.py. All 45 commands printed numpy or lmdb, in .2 to .4 s
    of CPU each, before their files imported such modules in their functions.
    """
    said = subprocess.run([sys.executable, "-c", _HELPS], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(said) > len(COMMANDS) + 10  # those of groups, too
    assert [line for line in said if not line.endswith("--help:")] == []


def test_words_that_options_accept_are_those_of_the_code_that_acts_on_them() -> None:
    """Mutation: a kind of export that is missing from `choices.EXPORT_KINDS`."""
    assert tuple(KINDS) == choices.EXPORT_KINDS
    assert choices.JUMP == pagerank.JUMP
    for words, enumeration in ((choices.NEIGHBOURS, Neighbours), (choices.COUNTINGS, Counting), (choices.CANDIDATES, Candidates)):
        assert sorted(words) == sorted(enumeration)
