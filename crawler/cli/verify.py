"""`thresher verify`: check every invariant of a store, in a child process: a damaged file may kill its reader."""

from __future__ import annotations

import subprocess
from pathlib import Path

import click
import msgspec

from thresher.crawler.children import python
from thresher.crawler.cli.common import directory_argument, json_option, print_json
from thresher.crawler.core.errors import StoreError
from thresher.crawler.terminal.printable import printable
from thresher.storage.partitions import is_moving, require_crawl

CHECK = """
import sys
from pathlib import Path
import msgspec
from thresher.crawler.core.errors import ThresherError
from thresher.crawler.machines.reading import reach_machines
from thresher.storage.verify import verify
reach_machines()
try:
    problems = verify(Path(sys.argv[1]), bodies=sys.argv[2] == "True")
except ThresherError as error:
    problems = [str(error)]
except Exception as error:  # the edge of the process: whatever a damaged file made of our code is a finding
    problems = [f"{sys.argv[1]}: damaged: reading it ended in {type(error).__name__}: {error}. Restore it from a backup"]
sys.stdout.buffer.write(msgspec.json.encode(problems))
"""


@click.command(epilog="Example: thresher verify example")
@directory_argument
@click.option("--bodies/--no-bodies", default=True, show_default=True, help="Unpack every body and compare it with its SHA-256.")
@json_option
def verify(directory: str, bodies: bool, as_json: bool) -> int:
    """Check whether the store in DIR is sound.

    The exit code is 0 if it is sound, 6 if not. Nothing is changed. The crawl may be running: the store is checked as of one moment.
    """
    from thresher.storage.directory import require_store

    require_crawl(Path(directory))
    require_store(Path(directory))
    problems = verified(directory, bodies=bodies)
    for problem in problems:
        if as_json:
            print_json({"problem": problem})
        else:
            print(printable(problem))
    if problems:
        click.echo(f"{directory}: {len(problems):,} problem{'' if len(problems) == 1 else 's'}", err=True)
        return StoreError.exit_code
    if is_moving(Path(directory)):
        click.echo(f"{directory}: a move of partitions was cut short; `thresher resume {directory}` ends it, then all is checked", err=True)
    click.echo(f"{directory}: sound", err=True)
    return 0


def verified(directory: str, *, bodies: bool) -> list[str]:
    """Return what is wrong with a store, one message each. A child process reads it: if a file is cut, reading a missing page kills the
    reader.
    """
    command = python.code(CHECK, directory, str(bodies))
    child = subprocess.run(command, env=python.environment(), stdout=subprocess.PIPE, check=False)  # noqa: S603 - our own interpreter and code
    if child.returncode < 0:
        return [f"{directory}: damaged: reading it kills the reader (signal {-child.returncode}). Restore it from a backup"]
    try:
        return msgspec.json.decode(child.stdout, type=list[str])
    except msgspec.MsgspecError:
        return [f"{directory}: the check ended without a result (exit {child.returncode}): see above"]
