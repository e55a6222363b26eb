"""What several commands share: options, tables, and one way to print crawled text that can neither move the cursor nor break a line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from config.load import Loaded, load

F = TypeVar("F", bound=Callable[..., Any])

config_option = click.option(
    "-c", "--config", "configs", multiple=True, metavar="YAML", help="Configuration file, - for standard input; a later one wins."
)
set_option = click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Set one option, as in --set politeness.min_delay=2.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")
directory_argument = click.argument("directory", metavar="DIR")


def load_config(configs: Sequence[str], sets: Sequence[str]) -> Loaded:
    """Load the configuration as the command line asks for it."""
    return load(configs, sets=sets, environ=os.environ, stdin=sys.stdin.read)


def printable(text: str) -> str:
    """Return text with control, bidirectional and other invisible characters shown as \\x1b, \\u202e …"""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") if char != "\udcff" else "?" for char in text
    )


def print_json(value: Any) -> None:
    """Print one JSON object on a line of ASCII."""
    import json

    print(json.dumps(msgspec.to_builtins(value), ensure_ascii=True, allow_nan=False))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "") -> None:
    """Print a table on standard output; text to the left, numbers to the right."""
    table = Table(title=title or None, title_justify="left", box=None, header_style="bold", padding=(0, 2, 0, 0))
    filled = [list(row) for row in rows]
    for i, column in enumerate(columns):
        numeric = bool(filled) and all(isinstance(row[i], int | float) for row in filled)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in filled:
        table.add_row(
            *(
                Text(f"{cell:,}" if isinstance(cell, int) else f"{cell:,.2f}" if isinstance(cell, float) else printable(str(cell)))
                for cell in row
            )
        )
    Console(soft_wrap=not sys.stdout.isatty(), width=None if sys.stdout.isatty() else 200).print(table)
