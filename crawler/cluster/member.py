"""One of several agents: its connections to the others, and the orders that it takes from the supervisor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from thresher.crawler.cluster.lease import AgentLease
from thresher.crawler.cluster.shared_addresses import SharedAddresses
from thresher.crawler.cluster.transport import PeerTransport
from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.ownership import Ownership
from thresher.crawler.settlement.group_commit import Committer
from thresher.crawler.status import AgentOrder, AgentReport
from thresher.storage.partitions import channels_path
from thresher.storage.snapshots.marks import Marks
from thresher.storage.store import Store


class Team(NamedTuple):
    """What the agents of one crawl share, as one of them sees it."""

    ownership: Ownership
    addresses: SharedAddresses
    lease: AgentLease | None = None  # on several machines: the lease without which no request begins


class Member:
    """One of several agents. Its share of `limits.max_pages` is granted; until the first grant it has none."""

    def __init__(
        self,
        directory: Path,
        store: Store,
        team: Team,
        carry_out: Callable[[int, bytes], None],
        committer: Committer,
        *,
        on_failure: Callable[[StoreError], None],
    ) -> None:
        """Prepare the connections; `run` opens them.

        Args:
            directory: The directory of the crawl; the sockets are in it.
            carry_out: Called with sender and message; does what the message asks for, as a visit.
            on_failure: Called when the shards do not fit together, because one was restored from an older backup.
        """
        self.may_have = 0  # pages that this agent may have in all
        self._grant = 0
        self._wave = 0
        self._lease = team.lease
        self._addresses = team.addresses
        self._was_leased = False
        self._channels = PeerTransport(
            channels_path(directory),
            store,
            team.ownership,
            carry_out=carry_out,
            behind=lambda: committer.behind or committer.broken,
            on_failure=on_failure,
            marks=Marks(store.path) if store.settings.engine == "ray" and store.settings.snapshots.target else None,
        )

    async def run(self, on_received: Callable[[], None]) -> None:
        """Exchange messages with the others until cancelled.

        Args:
            on_received: Called after messages were carried out.
        """
        await self._channels.run(on_received)

    def on_commit(self) -> None:
        """Send the messages that are on disk now, and acknowledge those that were carried out; called after each commit."""
        self._channels.on_commit()

    @property
    def is_quiet(self) -> bool:
        """Whether no message waits to be carried out."""
        return self._channels.is_quiet

    def obey(self, order: AgentOrder, n_pages: int) -> None:
        """Take an order of the supervisor.

        Args:
            n_pages: Pages that are fetched or in flight.
        """
        self._wave = order.wave or self._wave
        if self._lease is not None:
            self._lease.extend(order.lease_until)
        if order.grant:
            self._grant, self.may_have = order.grant, max(order.may_have, n_pages)

    @property
    def why_paused(self) -> str:
        """Why no request may start; "" if one may."""
        return "paused: no lease from the head" if self._lease is not None and not self._lease.is_held else ""

    def has_lost_lease(self) -> bool:
        """Return whether the lease has ended since the last call."""
        before, self._was_leased = self._was_leased, not self.why_paused
        return before and not self._was_leased

    def over(self) -> set[str]:
        """Return the addresses at which this machine's turn is over and this agent has connections or requests still."""
        return self._addresses.over()

    def fill(self, report: AgentReport) -> None:
        """Write into a report the counts by which the supervisor detects the end and shares out `limits.max_pages`."""
        sent, received = self._channels.counts()
        report.sent, report.received = {str(to): n for to, n in sent.items()}, {str(sender): n for sender, n in received.items()}
        report.wave, report.grant, report.may_have = self._wave, self._grant, self.may_have
