"""The main function of an agent's process: `… agent_process DIR [STAGES | --settle]`, started by the supervisor, or by the benchmark.

STAGES is a file: the CPU time by stage is sampled, and written to it at the end. With --settle nothing is fetched.

DIR is the agent's shard; the table of partitions says which sites belong to it. The process writes each status as a JSON line to standard
output. When standard input closes, the supervisor is gone, and the process ends at once, as if killed. If there are several agents, each
reads its orders from standard input, one JSON line each.

The first SIGINT, SIGTERM or SIGHUP stops gracefully (exit 3); the second commits what has settled and exits with 130, 143 or 129. A signal
before the agent is set up ends the process at once, as if killed.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import resource
import select
import signal
import sys
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import msgspec
import uvloop

from thresher.config.settings import Settings
from thresher.crawler.agent.agent import Agent
from thresher.crawler.agent.cpu_stages import Sampler
from thresher.crawler.cluster.lease import AgentLease
from thresher.crawler.cluster.member import Team
from thresher.crawler.cluster.shard import left_behind, open_store, ownership_of
from thresher.crawler.cluster.shared_addresses import SharedAddresses
from thresher.crawler.core.errors import DiskError, ThresherError
from thresher.crawler.core.ownership import Ownership
from thresher.crawler.ending import Ending
from thresher.crawler.error_log import divert, log_to
from thresher.crawler.process.huge_pages import HugePages
from thresher.crawler.process.leaving import leave
from thresher.crawler.status import AgentOrder, Status, usage
from thresher.storage.faults import address_space_in_words, as_ours, is_ours
from thresher.storage.partitions import ADDRESSES, channels_path, crawl_of, read_partitions
from thresher.storage.store import PATIENCE_S, Store

_SETTLE = "--settle"
_PR_SET_PDEATHSIG = 1
# The garbage collector looks at new objects once, when a million more have come than gone; the loop stands still meanwhile. A page leaves
# no garbage that only the collector finds, and a crawl of 2,000 hosts keeps some 200,000 objects, however long it runs. So the collector
# looks only if something leaks cycles. With 3,000 in place of a million it found nothing, and took a fortieth of a page's time.
_COLLECTED_AFTER = (1_000_000, 1_000, 1_000)
_SWITCH_S = 0.0001  # seconds that a thread waits for the interpreter's lock: the writer needs it often, and unwritten rows take memory
_HUGE_PAGES_S, _HUGE_PAGES_EVERY_S = 0.002, 0.25  # seconds: for so long the loop may stand still so often
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(AgentOrder).decode


def main(*, patience_s: float = PATIENCE_S) -> None:
    """Run one agent on the store in the directory that the command line names; exit with its ending's code.

    Args:
        patience_s: Seconds for which a disk that refuses writes is tried again, before the agent ends with exit code 74.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # so that no KeyboardInterrupt is raised while a store is being opened
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # SIGINT was blocked while modules were imported
    directory = Path(sys.argv[1])
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if select.select([0], [], [], 0)[0]:
        _leash()  # if the supervisor died before it could end this process: leave the store to the next one
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _raise_descriptor_limit()
    operator = divert(crawl_of(directory)[0])
    code = 1
    try:
        ownership = ownership_of(directory)
        store, settings = open_store(directory, patience_s=patience_s)
        log_to(operator, settings.log.level)
        with store:
            code = uvloop.run(_crawl(directory, store, settings, ownership, operator)).code
            store.close(commit=code != DiskError.exit_code)
    except Exception as error:  # noqa: BLE001 - the edge of the process: the supervisor notes that it died, the log holds why
        known = _known(error)
        if known is None or known.exit_code == code:
            _log_death(error, operator)
        else:
            with suppress(OSError):  # the terminal may be closed
                print(f"thresher: {known}", file=operator)
            code = known.exit_code
    leave(code)


def tune_interpreter() -> None:
    """Tune the garbage collector and the switching of threads; call it before an agent runs, when all lasting objects exist."""
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(_SWITCH_S)
    gc.set_threshold(*_COLLECTED_AFTER)


def _known(error: BaseException) -> ThresherError | None:
    """Return the error with an exit code that caused this error; None if there is none."""
    if isinstance(error, BaseExceptionGroup):
        return next((known for one in error.exceptions if (known := _known(one)) is not None), None)
    return as_ours(error) if is_ours(error) else None


def _log_death(error: BaseException, operator: TextIO) -> None:
    """Write to the error log why this process dies; lack of memory is also written to standard error, since only the operator can give
    more.
    """
    if _lacks_memory(error):
        with suppress(OSError):
            print(f"thresher: agent {os.getpid()} is out of memory: {address_space_in_words()}. Raise the limit", file=operator)
    print(f"{datetime.now(UTC).isoformat(timespec='seconds')} agent {os.getpid()} dies:", file=sys.stderr)
    traceback.print_exception(error)


def _lacks_memory(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(map(_lacks_memory, error.exceptions))
    return isinstance(error, MemoryError)


def _on_loop_error(operator: TextIO, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an exception that no task awaits. Without memory, end at once, as if killed: the loop could only report the same again."""
    error = context.get("exception")
    if isinstance(error, MemoryError):
        _log_death(error, operator)
        os._exit(1)
    loop.default_exception_handler(context)


async def _crawl(directory: Path, store: Store, settings: Settings, ownership: Ownership | None, operator: TextIO) -> Ending:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(partial(_on_loop_error, operator))
    stages = Path(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[2] != _SETTLE else None
    if _SETTLE in sys.argv[2:]:
        settings = msgspec.structs.replace(settings, limits=msgspec.structs.replace(settings.limits, max_pages=0))
    elsewhere = left_behind(crawl_of(directory)[0]) if ownership is None else None  # of several, the supervisor checks the limits
    agent = Agent(directory, store, settings, report=_report, team=_team(directory, settings, ownership), left_behind=elsewhere)
    loop.add_reader(0, _leash, _Orders(agent))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, _signalled, agent, number)
    tune_interpreter()
    loop.call_later(_HUGE_PAGES_EVERY_S, _use_huge_pages, HugePages())
    sampler = Sampler() if stages is not None else None
    if sampler is not None:
        sampler.start()
    try:
        return await agent.run()
    finally:
        if sampler is not None and stages is not None:
            sampler.stop()
            sampler.write(stages, writer_cpu_s=store.writer_cpu_s, total_cpu_s=usage()[0])
        await agent.close()


def _use_huge_pages(pages: HugePages) -> None:
    """Put a little of the memory on huge pages, and go on with that while the loop runs. A short crawl does not pay for all of it."""
    pages.go_on(_HUGE_PAGES_S)
    asyncio.get_running_loop().call_later(_HUGE_PAGES_EVERY_S, _use_huge_pages, pages)


def _team(directory: Path, settings: Settings, ownership: Ownership | None) -> Team | None:
    """Return what the agent shares with other agents; None if it is alone."""
    if ownership is None:
        return None
    polite = settings.politeness
    path = channels_path(directory) / ADDRESSES
    table = read_partitions(crawl_of(directory)[0])
    is_far = table is not None and bool(table.machines)
    addresses = SharedAddresses(path, ownership.me, connections=polite.address_connections, gap_s=polite.address_delay, takes_turns=is_far)
    return Team(ownership, addresses, AgentLease() if is_far else None)


def _signalled(agent: Agent, number: signal.Signals) -> None:
    if agent.stopping:
        agent.leave(128 + number, f"forced by {number.name}")
    else:
        agent.stop(f"stopped by {number.name}")


def _report(status: Status) -> None:
    """Write one status line; a supervisor that no longer reads is gone."""
    try:
        os.write(1, _encode(status) + b"\n")
    except BrokenPipeError:
        os.kill(os.getpid(), signal.SIGKILL)


class _Orders:
    """The orders on standard input."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._rest = b""

    def take(self, read: bytes) -> None:
        *lines, self._rest = (self._rest + read).split(b"\n")
        for line in lines:
            self._agent.obey(_decode(line))


def _leash(orders: _Orders | None = None) -> None:
    """End at once when standard input closes; obey the orders on it."""
    read = os.read(0, 4096)
    if not read:
        os.kill(os.getpid(), signal.SIGKILL)
    if orders is not None:
        orders.take(read)


def _raise_descriptor_limit() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    main()
