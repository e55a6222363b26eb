"""T-0: nothing in the suite reaches an address outside loopback; a test that tries fails, even if the error is swallowed on the way.

Child processes and c-ares' own sockets are out of the hook's sight: tests point both at 127.0.0.0/8. They have no variable of the shell's
that changes what Python or the command line does, and numpy's library starts no thread in them: hundreds are started.
"""

from __future__ import annotations

import gc
import os
import signal
from asyncio import AbstractEventLoop
from collections.abc import Callable, Generator, Iterator
from itertools import chain, groupby, islice

import forking
import pytest
import uvloop
from edge import CLIENTS, speak_by
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from loopback import escapes

from thresher.crawler.core import html, minhash, sketch
from thresher.crawler.native import NATIVE

IMPLEMENTATIONS = ("native", "Python") if NATIVE else ("Python",)  # THRESHER_NATIVE=0 before pytest: Python alone, in children too

# of the shell that starts the tests; a child process of a test has what a user's has, and what the test gives it
_SURROUNDINGS = {"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "VIRTUAL_ENV"}
for _name in [name for name in os.environ if name.startswith(("PYTHON", "THRESHER_", "CRAWL_")) or name in _SURROUNDINGS]:
    if _name != "THRESHER_NATIVE":
        del os.environ[_name]
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["LC_ALL"] = "C.UTF-8"

# on a busy machine an example takes as long as it takes; the same examples each time, so that what passed here passes elsewhere
settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("suite")
if hasattr(providers, "is_local_module_file"):  # else examples hold constants of the modules that happen to be imported by then
    providers.is_local_module_file = lambda _path: False

# folders whose files take longest: several workers begin with them, so that none is left over with one when the others have ended
_LONGEST = ("tests", "stories", "benchmarks", "cli", "storage")
_WAITING = ("machines", "crash")  # folders whose tests mostly wait: if all workers ran them at once, the cores would be idle
_BETWEEN = 3  # other files for each that waits


def pytest_configure(config: pytest.Config) -> None:
    """Let one of several workers run all tests of a file, so that what they share is made once; the files in the order of collection."""
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "loadfile"
        config.option.loadscopereorder = False


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Let what all workers import be imported once."""
    from forking_workers import fork_workers

    fork_workers(config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files that take long first, and files that wait among them."""
    ranks = {name: rank for rank, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path.parent.name, len(ranks)))
    files = [list(of) for _, of in groupby(items, lambda item: item.path)]
    waiting = [of for of in files if of[0].path.parent.name in _WAITING]
    others = iter([of for of in files if of[0].path.parent.name not in _WAITING])
    spread = [of for first in waiting for of in (first, *islice(others, _BETWEEN))]
    items[:] = chain.from_iterable((*spread, *others))


def pytest_unconfigure() -> None:
    """End the process that forks commands."""
    forking.close()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage among tests while they are collected, and never among those: they stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)


@pytest.fixture(autouse=True)
def loopback_only() -> Iterator[list[str]]:
    """Fail the test that tried to leave loopback. Yields what was tried so far."""
    escapes.clear()
    yield escapes
    assert not escapes, f"T-0: tests stay on loopback: {escapes}"


@pytest.fixture(autouse=True)
def signals_as_found() -> Iterator[None]:
    """Fail the test that leaves a signal blocked: every process that a later test starts would be deaf to it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    yield
    assert signal.pthread_sigmask(signal.SIG_SETMASK, before) == before


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], AbstractEventLoop]]:
    """Give every test the loop that agents run on."""
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture(params=CLIENTS)
def each_client(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the test once with each client: every guard stands around both."""
    speak_by(request.param)
    yield
    speak_by(CLIENTS[0])


@pytest.fixture(params=IMPLEMENTATIONS, scope="module")
def each_implementation(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the module's tests once with the native code, where it was built, and once without it."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (html, sketch, minhash):
            patch.setattr(module, "NATIVE", request.param == "native")
        yield
