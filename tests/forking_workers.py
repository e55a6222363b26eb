"""Forks the workers of pytest-xdist from the process that hands out tests, after this has imported the modules of the tests.

Otherwise each of six workers imports all of them, and what they test, for itself: a minute of CPU for the suite. A forked worker still
collects the tests and makes its fixtures, as a started one.
"""

from __future__ import annotations

import gc
import signal
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import forking_agents
import pytest
from _pytest.pathlib import import_path
from execnet.gateway_io import popen_args
from execnet.xspec import XSpec

_WORKER = f"import {__name__}; {__name__}.begin_anew(); import sys; exec(eval(sys.stdin.readline()))"  # what execnet starts, after the fork


def fork_workers(config: pytest.Config) -> None:
    """Import the modules of all tests that are asked for. From now on execnet's processes are forked from this one."""
    gc.disable()
    for file in _files(config):
        with suppress(Exception, pytest.skip.Exception), warnings.catch_warnings():  # the worker that collects it says what is wrong
            warnings.simplefilter("ignore")
            import_path(file, mode="prepend", root=config.rootpath, consider_namespace_packages=False)
    gc.enable()
    forking_agents.fork(tuple(popen_args(XSpec("popen"))), _WORKER)


def _files(config: pytest.Config) -> Iterator[Path]:
    left_out = [config.invocation_params.dir / path for path in config.getoption("ignore") or ()]
    for argument in config.args:
        path = config.invocation_params.dir / argument.partition("::")[0]
        for file in [path] if path.is_file() else sorted(path.rglob("test_*.py")):
            if not any(file.is_relative_to(folder) for folder in left_out):
                yield file


def begin_anew() -> None:
    """Undo in a worker what is the other process's own."""
    forking_agents.fork_nothing()
    warnings.resetwarnings()
    signal.signal(signal.SIGINT, signal.default_int_handler)
