"""Programs behind Apache: a database or a web application, as a child process that ends with the site.

An application from PyPI has a separate virtual environment, `environment(NAME)`, so that its packages do not mix with the crawler's.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from socket import create_connection

ENVIRONMENTS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "thresher-living"
SERVER = "waitress"  # the package that serves WSGI applications on a Unix socket
MAVEN = Path.home() / ".m2" / "repository"
_WAIT_S = 240.0


def environment(name: str) -> Path:
    """Return the path of an application's virtual environment, whether it exists or not."""
    return ENVIRONMENTS / name


def python_of(name: str) -> Path:
    return environment(name) / "bin" / "python"


def is_installed(name: str, packages: Sequence[str]) -> bool:
    """Return whether the environment has all these packages."""
    lines = list(environment(name).glob("lib/python*/site-packages/*.dist-info"))
    have = {path.name.partition("-")[0].lower().replace("_", "-") for path in lines}
    return {package.partition("=")[0].partition("<")[0].lower() for package in packages} <= have


def how_to_install(name: str, packages: Sequence[str]) -> str:
    """Return the shell command that creates the environment."""
    names = " ".join(f"'{package}'" for package in packages)
    return f"python3 -m venv {environment(name)} && {python_of(name)} -m pip install {names}"


def maven_file(artifact: str) -> Path:
    """Return where Maven keeps an artifact, GROUP:NAME:VERSION:KIND, whether it is there or not."""
    group, name, version, kind = artifact.split(":")
    return MAVEN.joinpath(*group.split("."), name, version, f"{name}-{version}.{kind}")


def how_to_fetch(artifact: str) -> str:
    """Return the shell command by which Maven fetches an artifact."""
    return f"mvn dependency:get -Dartifact={artifact} -Dtransitive=false"


@contextmanager
def running(
    command: Sequence[str], socket: Path | tuple[str, int], log: Path, variables: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Run a child until the block ends.

    Args:
        command: Program and arguments.
        socket: Where it listens: the file of a Unix socket, or address and port.
        log: File for all that it prints.
        variables: Environment variables, beside those of this process.

    Raises:
        RuntimeError: If it does not listen there; with the end of its log.
    """
    with log.open("wb") as out:
        child = subprocess.Popen(command, stdout=out, stderr=out, env=os.environ | dict(variables or {}), start_new_session=True)
        try:
            _wait(child, lambda: _listens(socket), f"{command[0]}: {log}")
            yield
        finally:
            child.terminate()
            child.wait()


@contextmanager
def application(name: str, wsgi: str, directory: Path, variables: Mapping[str, str]) -> Iterator[None]:
    """Serve a WSGI application of an environment at `directory`/wsgi.sock.

    Args:
        name: The environment's name.
        wsgi: `module:function` that makes the application.
        directory: For the socket and the log.
        variables: Environment variables.
    """
    socket = directory / "wsgi.sock"
    command = [str(python_of(name)), "-m", "waitress", f"--unix-socket={socket}", "--unix-socket-perms=666", "--threads=4", "--call", wsgi]
    with running(command, socket, directory / "application.log", {**variables, "PYTHONPATH": str(directory), "PYTHONHASHSEED": "0"}):
        yield


def proxied(directory: Path) -> str:
    """Return the directives by which Apache passes every request to the application."""
    return f"ProxyPreserveHost On\nProxyPass / unix:{directory}/wsgi.sock|http://localhost/"


def run(name: str, directory: Path, variables: Mapping[str, str], *arguments: str, words: str | None = None) -> None:
    """Run the environment's Python.

    Raises:
        RuntimeError: If that fails; with its output.
    """
    all_variables = os.environ | {"PYTHONPATH": str(directory)} | dict(variables)
    command = [str(python_of(name)), *arguments]
    done = subprocess.run(command, cwd=directory, env=all_variables, input=words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name}: {' '.join(arguments[:3])} failed: {done.stderr.strip()[-800:]}")


def _listens(socket: Path | tuple[str, int]) -> bool:
    if isinstance(socket, Path):
        return socket.exists()
    try:
        create_connection(socket, timeout=1).close()
    except OSError:
        return False
    return True


def _wait(child: subprocess.Popen[bytes], is_up: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + _WAIT_S
    while not is_up():
        if child.poll() is not None:
            raise RuntimeError(f"ended at once: {what}")
        if time.monotonic() > until:
            raise RuntimeError(f"not up after {_WAIT_S:.0f} s: {what}")
        time.sleep(0.05)
