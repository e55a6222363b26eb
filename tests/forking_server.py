"""Forks `thresher` commands and demo servers for a test process: forking.py starts it.

A request is a message with the program, its words, the folder and the environment, and four descriptors: the standard streams, and a socket
that carries the command's process id at once and its exit code at the end. As with a child process, the id stays in use until the test
process has read the exit code and closed the socket, so that a signal never reaches another process.

Everything that a crawl reads and computes once, such as the list of public suffixes and the system's certificate authorities, is made
before the first fork. Otherwise it would cost each of hundreds of crawls a fifth of a second of CPU, half of a crawl of one page.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

import injecting

sys.path.insert(1, str(injecting.FOLDER))

import faults
from forking_agents import fork_agents
from preloading import import_commands

from thresher.config import options, plugins
from thresher.config.settings import Settings
from thresher.crawler.cli import guarded
from thresher.crawler.core import echo, minhash
from thresher.crawler.core.url import site_of
from thresher.crawler.demo import server
from thresher.crawler.demo.demo_settings import profile
from thresher.crawler.demo.prose import prose_of
from thresher.crawler.demo.web import Web
from thresher.crawler.fetch import fetcher
from thresher.filters import exact_duplicate
from thresher.filters.dust import similarity
from thresher.filters.near_replica import records
from thresher.filters.registry import specs

_PROGRAMS = {"thresher": guarded, "demo": server.main}
_MOST_BYTES = 1 << 20  # of a request


def serve(control: socket.socket) -> str:
    """Fork a command for each request until the other side closes. Returns, in each command's process, the program to run."""
    while True:
        request, descriptors, _, _ = socket.recv_fds(control, _MOST_BYTES, 4)
        _reap()
        if not request:
            break
        if os.fork() == 0:
            control.close()
            return _keep(request, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
    with suppress(ChildProcessError):
        while True:
            os.wait()
    sys.exit()


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _keep(request: bytes, descriptors: list[int]) -> str:
    """Fork the command, wait for its end and report the exit code. Returns in the command's process, which has a session of its own if it
    is a server.
    """
    program, words, directory, environ, site = json.loads(request)
    pid = os.fork()
    if pid == 0:
        for number, descriptor in enumerate(descriptors[:3]):
            os.dup2(descriptor, number)
        os.closerange(3, max(descriptors) + 1)
        if program == "demo":
            os.setsid()
        else:
            fork_agents()
        os.chdir(directory)
        os.environ.clear()
        os.environ.update(environ)
        if site:
            _find_plugins(site)
        faults.install()
        sys.argv = [program, *words]
        return str(program)
    for descriptor in descriptors[:3]:
        os.close(descriptor)
    with socket.socket(fileno=descriptors[3]) as told, suppress(BrokenPipeError, ConnectionResetError):
        told.sendall(b"%d\n" % pid)
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert ended is not None
        told.sendall(b"%d\n" % (ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status))
        told.recv(1)  # returns when the other side closes
    os.waitpid(pid, 0)
    os._exit(0)


def _find_plugins(site: str) -> None:
    """Find plug-ins in a folder, too, as if it were in PYTHONPATH."""
    sys.path.insert(1, site)
    for cached in (plugins.plugins, plugins.settings_type, options.options, options.root, options.known):
        cached.cache_clear()


def _run(program: Callable[[], object]) -> NoReturn:
    """Run a program and end as an interpreter does, but without freeing objects, since that would copy the memory shared with the
    parent.
    """
    code = 0
    try:
        program()
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise  # a message: the interpreter prints it
        code = end.code or 0
    threading._shutdown()  # type: ignore[attr-defined]  # what the interpreter calls at its end
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = 120
    os._exit(code)


def _prepare() -> None:
    """Import, read and compute everything that a command or a crawl needs at its start or at its first page."""
    import_commands()
    specs(Settings(), [])
    site_of("example.org")
    fetcher._tls(Settings().fetch.ca_file)
    exact_duplicate._numbers()
    echo._numbers()
    "example.org".encode("idna")
    for k in (records.SLOTS, similarity.PLACES):
        minhash._lenders(k)
    for host in Web(profile("kill"))._atlas.hosts:  # all subjects, in the webs of most tests
        prose_of(0, host.subject, host.vocabulary, host.charset)


if __name__ == "__main__":
    _prepare()
    gc.collect()
    gc.freeze()
    _run(_PROGRAMS[serve(socket.socket(fileno=int(sys.argv[1])))])
