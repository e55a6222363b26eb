"""The tables of a store; each class reads and writes some of them.

`Store` has these objects while a crawl writes, `View` for readers.
"""

from __future__ import annotations

from thresher.config.settings import Settings
from thresher.storage.rows import Rows
from thresher.storage.tables.aliases import Aliases
from thresher.storage.tables.bodies import Bodies
from thresher.storage.tables.captures import Captures
from thresher.storage.tables.channels import ChannelTable
from thresher.storage.tables.failures import Failures
from thresher.storage.tables.forgotten import Forgotten
from thresher.storage.tables.held import Held
from thresher.storage.tables.journal import Journal
from thresher.storage.tables.links import Links
from thresher.storage.tables.memory import StoredMemory
from thresher.storage.tables.pages import Pages
from thresher.storage.tables.policies import Policies
from thresher.storage.tables.quarantine import DeathTrials, Quarantine
from thresher.storage.tables.queues import Queues
from thresher.storage.tables.redirects import Redirects
from thresher.storage.tables.requests import Requests
from thresher.storage.tables.requisites import RequisiteTables
from thresher.storage.tables.robots import RobotsTable
from thresher.storage.tables.rounds import Rounds
from thresher.storage.tables.rules import RuleCounts
from thresher.storage.tables.schedule import SchedulePlans
from thresher.storage.tables.seen import SeenSet
from thresher.storage.tables.site_links import SiteLinks
from thresher.storage.tables.sitemaps import SitemapTables
from thresher.storage.tables.skips import Skips
from thresher.storage.tables.suspects import SuspectTable
from thresher.storage.tables.tail import TailTables
from thresher.storage.tables.urls import Urls
from thresher.storage.tables.verdicts import Verdicts


class Tables:
    """All classes of tables of one store."""

    def __init__(self, rows: Rows, settings: Settings, *, writes: bool = False) -> None:
        self._rows = rows
        self._writes = writes
        self._site_bytes = settings.filters.site_bytes
        self.urls = Urls(rows)
        self.seen = SeenSet(rows, self.urls, writes=writes)
        self.queues = Queues(rows, self.urls, writes=writes)
        self.bodies = Bodies(rows)
        self.pages = Pages(rows, self.bodies)
        self.links = Links(rows)
        self.failures = Failures(rows)
        self.redirects = Redirects(rows, writes=writes)
        self.aliases = Aliases(rows)
        self.captures = Captures(rows)
        self.forgotten = Forgotten(rows)
        self._memories: dict[str, StoredMemory] = {}
        self.rules = RuleCounts(rows)
        self.rounds = Rounds(rows)
        self.plans = SchedulePlans(rows)
        self.held = Held(rows)
        self.tail = TailTables(rows)
        self.requests = Requests(rows, self.urls)
        self.sitemaps = SitemapTables(rows)
        self.requisites = RequisiteTables(rows)
        self.site_links = SiteLinks(rows, self.queues)
        self.robots = RobotsTable(rows, writes=writes)
        self.policies = Policies(rows)
        self.suspects = SuspectTable(rows)
        self.trials = DeathTrials(rows)
        self.quarantine = Quarantine(rows)
        self.verdicts = Verdicts(rows)
        self.journal = Journal(rows)
        self.channels = ChannelTable(rows)
        self.skips = Skips(rows, settings.store.skip_sample)

    def memory(self, filter_name: str) -> StoredMemory:
        """Return the memory of one filter."""
        memory = self._memories.get(filter_name)
        if memory is None:
            memory = self._memories[filter_name] = StoredMemory(self._rows, filter_name, self._site_bytes, writes=self._writes)
        return memory

    def save_memories(self) -> None:
        """Write the changes that the memories have collected to the open group."""
        for memory in self._memories.values():
            memory.save()
