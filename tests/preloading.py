"""Imports what commands import when they run, for processes that fork commands: each would else import it again, in .2 s of CPU."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterable
from pathlib import Path

from thresher.crawler import cli

_OF_EXTRAS = ("thresher.crawler.machines.", "thresher.storage.archive.")  # import packages that few commands need


def import_commands(names: Iterable[str] = cli.COMMANDS) -> None:
    """Import commands and the modules that their functions import."""
    for name in names:
        file = importlib.import_module(f"{cli.__name__}.{cli.COMMANDS[name][0]}").__file__
        assert file is not None
        for node in ast.walk(ast.parse(Path(file).read_text("utf-8"))):
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            if module.startswith("thresher.") and not module.startswith(_OF_EXTRAS):
                importlib.import_module(module)
