"""Lets a test process fork the demo servers that stop (stopping_demo.py), and the agents of its own supervisors: no interpreter starts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import stopping_server
from forking_agents import fork, forking_their_agents


@contextmanager
def forking_stopping_demos() -> Iterator[None]:
    """Inside the block this process forks them."""
    with forking_their_agents():
        fork((sys.executable, "-P", stopping_server.__file__), "import stopping_server; stopping_server.main()")
        yield
