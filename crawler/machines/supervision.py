"""The messages between the supervisor on the head and the machines of a crawl, as JSON: orders one way, events the other.

A machine numbers its events and keeps them until the supervisor has received them, so no event is lost with an answer. An order for, or an
event of, an agent names the start of that agent.
"""

from __future__ import annotations

import msgspec

from thresher.config.settings import SnapshotSettings
from thresher.crawler.status import AgentOrder, AgentReport


class Begin(msgspec.Struct, frozen=True):
    """The first message to a machine's life in a run of a crawl."""

    machine: str
    directory: str  # the same path on every machine
    partitions: bytes  # the head's table of partitions
    secret: bytes  # the crawl's secret
    run: str
    settle: bool
    version: str
    address_delay: float  # `politeness.address_delay`, in seconds
    snapshots: SnapshotSettings = SnapshotSettings()


class Start(msgspec.Struct, tag=True, frozen=True):
    """Start an agent; if it runs already, it goes on under the new number."""

    agent: int
    start: int
    signals: list[int] = []


class Signal(msgspec.Struct, tag=True, frozen=True):
    """Send a signal to an agent."""

    start: int
    number: int


class PassOrder(msgspec.Struct, tag=True, frozen=True):
    """Pass an order on to an agent."""

    start: int
    order: AgentOrder


class Reported(msgspec.Struct, tag=True, frozen=True):
    """An agent has reported."""

    start: int
    report: AgentReport


class Noted(msgspec.Struct, tag=True, frozen=True):
    """A message for the operator. start: that of the agent that it is about, 0 if it is about the machine"""

    start: int
    what: str


class Ended(msgspec.Struct, tag=True, frozen=True):
    """An agent has ended."""

    start: int
    code: int


MachineOrder = Start | Signal | PassOrder
MachineEvent = Reported | Noted | Ended


class MachineCall(msgspec.Struct, frozen=True):
    """A call of the supervisor.

    number: increases; a call that arrives after a later one is ignored; after: events up to this number have arrived
    """

    life: str  # that the orders are for; "" of the first call
    number: int
    orders: list[MachineOrder]
    after: int


class Events(msgspec.Struct, frozen=True):
    """The answer. first: the number of the first event"""

    life: str
    first: int
    events: list[MachineEvent]
