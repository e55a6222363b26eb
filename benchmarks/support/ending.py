"""How a benchmark ends before its time: at Ctrl-C, SIGTERM or SIGHUP it ends what it started, removes what it made, and has no result."""

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
    """Run a benchmark's main; exit with its code, with 2 for what cannot be run, with 128 and the signal's number for one interrupted."""
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
    """Run a process; one that is left early is asked to end, and killed if it does not."""
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
