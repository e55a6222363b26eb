"""Takes the snapshots that the configuration asks for while a crawl runs: one when it begins, then one each `snapshots.every`.

Each is taken by a separate child process: reading all files takes a while, and the files that it opens must not be open in this process.

    … snapshots DIR TARGET KEEP [AGENT…]    AGENT: numbers of this machine's agents, if there are several machines
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from thresher.config.settings import SnapshotSettings
from thresher.crawler.children import python
from thresher.crawler.core.errors import ThresherError
from thresher.storage.partitions import shard_path
from thresher.storage.snapshots.taking import take, take_shards
from thresher.storage.snapshots.targets import target


class SnapshotTimer:
    """Takes the snapshots of one machine."""

    def __init__(
        self, directory: Path, settings: SnapshotSettings, note: Callable[[str], None], *, folder: str = "", agents: Sequence[int] = ()
    ) -> None:
        """Create the timer; `run` does the rest.

        Args:
            note: Shows a message to the operator.
            folder: Folder within the target, if each machine has one of its own.
            agents: Agents whose shards are here, if there are several machines.
        """
        where = f"{settings.target.rstrip('/')}/{folder}" if folder else settings.target
        words = [str(directory), where, str(settings.keep), *map(str, agents)]
        self._command = [*python.command("thresher.crawler.process.snapshots"), *words]
        self._settings = settings
        self._note = note

    async def run(self) -> None:
        """Take snapshots until cancelled. If one fails, the operator is told, and the next is tried at its time."""
        while self._settings.target:
            await self._take()
            await asyncio.sleep(self._settings.every)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Take snapshots while the block lasts."""
        timing = asyncio.ensure_future(self.run())
        try:
            yield
        finally:
            timing.cancel()
            await asyncio.gather(timing, return_exceptions=True)

    async def _take(self) -> None:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=python.environment(),
            start_new_session=True,
        )
        try:
            _, said = await process.communicate()
        except asyncio.CancelledError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            raise
        if process.returncode:
            words = said.decode(errors="replace").strip().splitlines()
            self._note(f"no snapshot was taken: {words[-1] if words else f'exit {process.returncode}'}")


def main(words: Sequence[str]) -> int:
    """Take one snapshot; return the exit code."""
    directory, place, keep = Path(words[0]), target(words[1]), int(words[2])
    shards = [shard_path(directory, int(agent)) for agent in words[3:]]
    try:
        if shards:
            take_shards(directory, shards, place, keep=keep, marks=True)
        else:
            take(directory, place, keep=keep)
    except ThresherError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
