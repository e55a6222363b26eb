"""The organs of a store: each owns some tables and their meaning. `Store` has them while a crawl writes, `View` for those who only look."""

from __future__ import annotations

from config.settings import Settings
from storage.aliases import Aliases
from storage.bodies import Bodies
from storage.failures import Failures
from storage.held import Held
from storage.journal import Journal
from storage.lanes import LaneTable
from storage.links import Links
from storage.memory import Memory
from storage.pages import Pages
from storage.quarantine import Quarantine, Trials
from storage.queues import Queues
from storage.redirects import Redirects
from storage.requests import Requests
from storage.robots import RobotsTable
from storage.rows import Rows
from storage.rules import Rules
from storage.seen import SeenSet
from storage.site_links import SiteLinks
from storage.skips import Skips
from storage.suspects import SuspectTable
from storage.verdicts import Verdicts


class Organs:
    """What reads and writes which tables."""

    def __init__(self, rows: Rows, settings: Settings, *, writes: bool = False) -> None:
        self._rows = rows
        self._writes = writes
        self._site_bytes = settings.filters.site_bytes
        self.seen = SeenSet(rows)
        self.queues = Queues(rows)
        self.bodies = Bodies(rows)
        self.pages = Pages(rows, self.bodies)
        self.links = Links(rows)
        self.failures = Failures(rows)
        self.redirects = Redirects(rows)
        self.aliases = Aliases(rows)
        self._memories: dict[str, Memory] = {}
        self.rules = Rules(rows)
        self.held = Held(rows)
        self.requests = Requests(rows)
        self.site_links = SiteLinks(rows, self.queues)
        self.robots = RobotsTable(rows)
        self.suspects = SuspectTable(rows)
        self.trials = Trials(rows)
        self.quarantine = Quarantine(rows)
        self.verdicts = Verdicts(rows)
        self.journal = Journal(rows)
        self.lanes = LaneTable(rows)
        self.skips = Skips(rows, settings.store.skip_sample)

    def memory(self, filter_name: str) -> Memory:
        """Return the memory of one filter."""
        memory = self._memories.get(filter_name)
        if memory is None:
            memory = self._memories[filter_name] = Memory(self._rows, filter_name, self._site_bytes, writes=self._writes)
        return memory

    def save_memories(self) -> None:
        """Write what the memories keep back until a flush to the open group."""
        for memory in self._memories.values():
            memory.save()
