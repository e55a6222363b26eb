"""Shared by several commands: options, tables, and the printing of crawled text, which must not move the cursor or break a line."""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click
import msgspec
from click.shell_completion import CompletionItem

from thresher.crawler.core.errors import UsageError
from thresher.crawler.terminal.printable import printable
from thresher.storage.export.lines import json_line

if TYPE_CHECKING:
    from thresher.config.load import Loaded, OptionFlag
    from thresher.config.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])

config_option = click.option(
    "-c",
    "--config",
    "configs",
    type=click.Path(),
    multiple=True,
    metavar="YAML",
    help="Configuration file, - for standard input; later ones win.",
)


def _keys(_ctx: click.Context, _option: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return completions of --set: keys of options, and after the = the words that an option takes."""
    from thresher.config.options import options, words_of

    key, equals, value = typed.partition("=")
    if equals:
        return [CompletionItem(f"{key}={word}") for word in words_of(key) if word.startswith(value)]
    return [CompletionItem(f"{name}=") for name in options() if name.startswith(key)]


set_option = click.option(
    "--set", "sets", multiple=True, metavar="KEY=VALUE", shell_complete=_keys, help="Set one option, such as politeness.min_delay=2."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")
top_option = click.option(
    "--top", type=click.IntRange(0), default=None, metavar="N", help="Print N rows at most, 0 for all.  [default: 50; with --json all]"
)
directory_argument = click.argument("directory", type=click.Path(), metavar="DIR")

_TOP = 50


_FLAGS = "thresher.flags"  # key in a command's context


def _note(keys: tuple[str, ...], ctx: click.Context, option: click.Parameter, value: str | tuple[str, ...] | None) -> None:
    if value not in (None, ()):
        from thresher.config.load import OptionFlag

        ctx.meta.setdefault(_FLAGS, []).append(OptionFlag(option.opts[0], keys, value))


def _flag(name: str, *keys: str, metavar: str | None, help: str, words: Sequence[str] = (), multiple: bool = False) -> Callable[[F], F]:  # noqa: A002 - click has it
    """Return a flag that sets the options `keys`; if there are `words`, it takes one of them."""
    return click.option(
        name,
        type=click.Choice(list(words)) if words else str,
        metavar=metavar,
        multiple=multiple,
        expose_value=False,
        callback=functools.partial(_note, keys),
        help=f"{help}  [{keys[0]}]",
    )


def flag_options(command: F) -> F:
    """Give a command the flags of the most used options; `given_flags` returns those that were given."""
    from thresher.config.options import words_of

    for flag in reversed(
        (
            _flag("--contact", "identity.contact", metavar="WHO", help="E-mail address or URL of those who run the crawl."),
            _flag("--profile", "profile", metavar=None, words=words_of("profile"), help="Crawl your own site, or anybody's."),
            _flag(
                "--scope",
                "scope.type",
                metavar="TYPE",
                words=words_of("scope.type"),
                help="page, prefix (directory), host or domain of each seed; or any URL.",
            ),
            _flag("--include", "scope.include", metavar="RE2", multiple=True, help="Also crawl URLs that match; repeatable."),
            _flag("--exclude", "scope.exclude", metavar="RE2", multiple=True, help="Never fetch URLs that match; repeatable."),
            _flag("--max-pages", "limits.max_pages", metavar="N", help="Stop after this many pages."),
            _flag("--max-depth", "limits.max_depth", metavar="N", help="Follow links up to N clicks from a seed."),
            _flag("--max-time", "limits.max_time", metavar="TIME", help="Stop after this time: 600, or 10min."),
            _flag(
                "--delay",
                "politeness.min_delay",
                "own_site.delay",
                metavar="TIME",
                help="Shortest time between two requests to a host: 2, or 500ms.",
            ),
            _flag(
                "--dedup",
                "archive.dedup",
                metavar="CDXJ|DIR",
                multiple=True,
                help="Refer to what an earlier archive has; repeatable.",
            ),
            _flag("--agents", "agents", metavar="N|auto", help="Number of processes that crawl; auto: one a core."),
        )
    ):
        command = flag(command)
    return command


def given_flags() -> list[OptionFlag]:
    """Return the flags of `flag_options` that were given to the running command."""
    return list(click.get_current_context().meta.get(_FLAGS, []))


def load_config(configs: Sequence[str], sets: Sequence[str]) -> Loaded:
    """Load the configuration that the command line asks for."""
    from thresher.config.load import load

    return load(configs, sets=sets, environ=os.environ, stdin=sys.stdin.read, flags=given_flags())


def crawl_config(own: Settings, configs: Sequence[str], sets: Sequence[str]) -> Settings:
    """Return the configuration for a command on a crawl.

    Args:
        own: The crawl's own configuration.
        configs: YAML files that replace it (the crawl's seeds stay); none: the own configuration.
        sets: Single options (KEY=VALUE) that are applied on top.
    """
    if configs:
        found = load_config(configs, sets).settings
        return found if found.seeds else msgspec.structs.replace(found, seeds=own.seeds)
    if not sets:
        return own
    from thresher.config.load import load

    text = msgspec.json.encode(msgspec.structs.replace(own, seeds=[])).decode()
    return msgspec.structs.replace(load(["-"], sets=sets, stdin=lambda: text).settings, seeds=own.seeds)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt as SIGINT does, with their number, so that `finally` blocks clean up."""

    def interrupt(number: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt(number)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def interrupted_code(by: KeyboardInterrupt) -> int:
    """Return the exit code of a command that was interrupted."""
    return 128 + int(str(by) or signal.SIGINT)


def folder(path: Path | None) -> None:
    """Make a folder for results before the measurement begins, so that a long run cannot fail at its end because it is missing.

    Raises:
        UsageError: If it cannot be made.
    """
    if path is not None:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--out {path}: cannot be made: {error.strerror}. Name another folder") from None


def top_of(top: int | None, *, as_json: bool) -> int | None:
    """Return how many rows to print, None for all."""
    return (None if as_json else _TOP) if top is None else top or None


def complain(text: str) -> None:
    """Print a message of several lines on standard error; if the terminal is gone, nothing is printed and nothing is raised."""
    with suppress(OSError):
        print("\n".join(map(printable, text.split("\n"))), file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """Print one JSON object on a line of ASCII."""
    print(json_line(msgspec.to_builtins(value)))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table on standard output; text to the left, numbers to the right. None and "" are shown as -.

    On a terminal it is folded to the width, in a pipe each row is one line. If all names in `columns` are empty, there is no header.
    """
    filled = [list(row) for row in rows]
    numeric = [_is_numeric([row[i] for row in filled]) for i in range(len(columns))]
    cells = [[_shown(cell) for cell in row] for row in filled]
    if not sys.stdout.isatty():
        _print_plain([list(columns), *cells] if any(columns) else cells, numeric)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=any(columns), box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column, is_numeric in zip(columns, numeric, strict=True):
        table.add_column(column, justify="right" if is_numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    Console(highlight=False).print(table)


def _print_plain(rows: list[list[str]], numeric: Sequence[bool]) -> None:
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = []
        for cell, width, is_numeric in zip(row, widths, numeric, strict=True):
            blank = " " * (width - cell_len(cell))
            padded.append(blank + cell if is_numeric else cell + blank)
        print("  ".join(padded).rstrip())


def say_more(n_found: int, limit: int | None) -> None:
    """Print on standard error that a table was cut at `limit`."""
    if limit is not None and n_found > limit:
        click.echo("there are more; --top 0 prints all", err=True)


def _is_numeric(cells: Sequence[object]) -> bool:
    numbers = [isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells if cell is not None]
    return bool(numbers) and all(numbers)


def _shown(cell: object) -> str:
    match cell:
        case None | "":
            return "-"
        case bool():
            return "yes" if cell else "no"
        case int():
            return f"{cell:,}"
        case float():
            return f"{cell:,.2f}"
        case _:
            return printable(str(cell))
