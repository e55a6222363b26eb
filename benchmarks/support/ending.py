"""How a benchmark ends early: at Ctrl-C, SIGTERM or SIGHUP it ends its processes, removes its files, and prints no result."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from thresher.crawler.cli.common import ended_by_signals, interrupted_code
from thresher.crawler.core.errors import UsageError

_PATIENCE_S = 30.0


def exit_with(main: Callable[[], int]) -> NoReturn:
    """Run a benchmark's main; exit with its code, with 2 if it cannot run, with 128 plus the signal's number if it is interrupted."""
    try:
        with ended_by_signals():
            code = main()
    except KeyboardInterrupt as by:
        print("interrupted: there is no result", file=sys.stderr)
        code = interrupted_code(by)
    except UsageError as error:
        print(error, file=sys.stderr)
        code = error.exit_code
    sys.exit(code)


@contextmanager
def started(command: Sequence[str], **how: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a process. If the block is left early, the process gets SIGTERM, and is killed if it does not end."""
    with subprocess.Popen(command, text=True, **how) as process:
        try:
            yield process
        except BaseException:
            process.terminate()
            try:
                process.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
