"""The law of the courier: messages between agents of two machines arrive once and in order, whatever is lost between the machines."""

from __future__ import annotations

import asyncio
import gc
import random
import tracemalloc
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from ends import EXPECTED, End, close_sockets
from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.machines import courier as courier_module
from thresher.crawler.machines.courier import Courier
from thresher.crawler.machines.parcels import MOST_OF_PIECE, ConnectionPiece, Parcel, PieceKind, Seal, Word, cut
from thresher.storage.tables.channels import outgoing

MACHINES = ("a", "b")
SECRET = b"the secret of a crawl"
N_LONG, LONG = 4_000, 4_000  # messages that are not acknowledged, and bytes of each
N_DEATHS = 12  # of an agent or a courier, one after another as the messages are sent: however fast they cross
_PIECES = st.lists(st.builds(ConnectionPiece, st.sampled_from(PieceKind), st.integers(0, 2**64 - 1), st.binary(max_size=50)), max_size=5)
_PARCELS = st.builds(Parcel, st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), _PIECES)


class Net:
    """Carries parcels between two machines: loses some before or after they arrive, and lets some arrive again, much later."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.couriers: dict[str, Courier] = {}
        self.late: list[tuple[str, str, bytes]] = []
        self.share_lost = 0.3
        self.n_lost = 0

    def sender(self, me: str) -> Callable[[str, bytes], object]:
        async def send(to: str, parcel: bytes) -> bytes:
            await asyncio.sleep(0)
            if self.late and self.rng.random() < 0.5:
                sender, addressee, old = self.late.pop(self.rng.randrange(len(self.late)))
                if addressee in self.couriers:
                    self.couriers[addressee].receive(sender, old)
            lot = self.rng.random()
            if lot < self.share_lost or to not in self.couriers:
                self.n_lost += 1
                self.late.append((me, to, parcel))
                raise ConnectionError
            answer = self.couriers[to].receive(me, parcel)
            if lot < 2 * self.share_lost:
                self.n_lost += 1
                raise ConnectionError
            return answer

        return send


class Site:
    """One machine: an agent and its courier."""

    def __init__(self, directory: Path, me: int, net: Net, secret: bytes = SECRET) -> None:
        directory.mkdir()
        self.end = End(directory, me)
        self.name = MACHINES[me]
        self.notes: list[str] = []
        self._net, self._secret = net, secret

    def begin(self) -> None:
        send = self._net.sender(self.name)
        machines = dict(enumerate(MACHINES))
        options = {"secret": self._secret, "send": send, "note": self.notes.append}
        courier = Courier(self.end.directory, self.name, machines, **options)  # type: ignore[arg-type]  # of several types
        self._net.couriers[self.name] = courier
        self._task = asyncio.ensure_future(courier.run())

    async def stop(self) -> None:
        """End the courier as if its process were killed."""
        del self._net.couriers[self.name]
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        await close_sockets()


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pauses short: real networks need longer ones."""
    for name in ("GATHER_S", "AGAIN_S", "_REFUSED_S"):
        monkeypatch.setattr(courier_module, name, 0.001)


async def test_every_message_crosses_once_and_in_order_whatever_is_lost_and_whoever_dies(tmp_path: Path) -> None:
    """Mutations: a parcel that follows a lost one is taken; connections are ended silently when an old parcel comes late."""
    rng = random.Random(5)
    net = Net(rng)
    sites = [Site(tmp_path / name, me, net) for me, name in enumerate(MACHINES)]
    for site in sites:
        site.end.begin()
        site.begin()
    n_deaths = 0
    async with asyncio.timeout(600):
        while not all(site.end.is_done for site in sites):
            site = rng.choice(sites)
            site.end.send(rng.randint(0, 20))
            n_sent = sum(one.end.store.tables.channels.sent(1 - one.end.me) for one in sites)
            if n_deaths < N_DEATHS and n_sent >= (n_deaths + 1) * (2 * len(EXPECTED) // (N_DEATHS + 1)):
                if rng.random() < 0.5:
                    await site.stop()
                    site.begin()
                else:
                    await site.end.die()
                    site.end.begin()
                n_deaths += 1
            elif rng.random() < 0.8:
                await site.end.commit()
            net.share_lost = 0.3 if n_deaths < N_DEATHS else 0.02
            await asyncio.sleep(rng.choice((0.002, 0.01, 0.05)))
            assert all(one.end.received() == EXPECTED[: len(one.end.received())] for one in sites)
    assert n_deaths == N_DEATHS
    assert net.n_lost > 10
    for site in sites:
        await site.end.commit()
        await site.end.die()
        await site.stop()
        assert site.end.failures == []


async def test_what_a_machine_does_not_acknowledge_waits_on_the_senders_disk_and_not_in_memory(tmp_path: Path) -> None:
    """Nor does the sender wait. When the receiver's commits are no longer late, all of it arrives. Mutation: no window."""
    net = Net(random.Random(1))
    net.share_lost = 0.0
    sites = [Site(tmp_path / name, me, net) for me, name in enumerate(MACHINES)]
    sender, receiver = (site.end for site in sites)
    is_behind = True
    for site in sites:
        site.end.begin()
    receiver.channels._behind = lambda: is_behind
    for site in sites:
        site.begin()
    texts = [b"%06d" % n + bytes(LONG) for n in range(N_LONG)]
    tracemalloc.start()
    try:
        held = [await _sent(sender, texts[n : n + N_LONG // 4]) for n in range(0, N_LONG, N_LONG // 4)]
    finally:
        tracemalloc.stop()
    assert len(outgoing(sender.store, 1, 0, N_LONG + 1)) == N_LONG
    assert receiver.received() == []
    assert max(held[1:]) - held[0] < N_LONG * 3 // 4 * LONG * 0.75, held  # of what was sent since: a window may be on its way twice
    is_behind = False
    async with asyncio.timeout(600):
        while len(receiver.received()) < N_LONG:
            await receiver.commit()
            await sender.commit()
            await asyncio.sleep(0.01)
    assert receiver.received() == texts
    for site in sites:
        await site.end.die()
        await site.stop()


async def _sent(end: End, texts: Sequence[bytes]) -> int:
    """Send messages and commit them; return the bytes that Python's objects take once they have had time to leave.

    The least of some moments counts: what is offered again is in memory while it is on its way.
    """
    for text in texts:
        end.store.tables.channels.send(1 - end.me, text)
        end.store.end_visit()
    taken = []
    for _ in range(5):
        for _ in range(10):
            await end.commit()
            await asyncio.sleep(0.01)
        gc.collect()
        taken.append(tracemalloc.get_traced_memory()[0])
    return min(taken)


async def test_a_machine_without_the_crawls_secret_is_refused_and_both_say_so(tmp_path: Path) -> None:
    net = Net(random.Random(1))
    net.share_lost = 0.0
    sites = [Site(tmp_path / "a", 0, net), Site(tmp_path / "b", 1, net, secret=b"another")]
    for site in sites:
        site.end.begin()
        site.end.send(3)
        await site.end.commit()
        site.begin()
    async with asyncio.timeout(600):
        while not all(site.notes for site in sites):  # noqa: ASYNC110 - no event comes from a courier
            await asyncio.sleep(0.01)
    assert any("is not signed with this crawl's secret" in note or "refuses what this machine sends" in note for note in sites[0].notes)
    for site in sites:
        assert site.end.received() == []
        await site.end.die()
        await site.stop()


@given(_PARCELS)
def test_a_parcel_is_read_as_it_was_packed_by_its_addressee_alone(parcel: Parcel) -> None:
    packed = Seal(SECRET, "a", "b").pack(parcel)
    assert Seal(SECRET, "a", "b").unpack(packed) == parcel
    assert Seal(SECRET, "b", "a").unpack(packed) is None
    assert Seal(SECRET, "a", "c").unpack(packed) is None
    assert Seal(b"another", "a", "b").unpack(packed) is None


@given(_PARCELS, st.integers(0, 10**6), st.integers(1, 255))
def test_a_parcel_that_was_changed_on_the_way_is_refused(parcel: Parcel, at: int, by: int) -> None:
    packed = bytearray(Seal(SECRET, "a", "b").pack(parcel))
    packed[at % len(packed)] ^= by
    assert Seal(SECRET, "a", "b").unpack(bytes(packed)) is None


def test_an_answer_counts_for_its_own_parcel_only() -> None:
    seal = Seal(SECRET, "a", "b")
    one, two = (seal.pack(Parcel(1, number, [])) for number in (1, 2))
    answer = seal.answer(one, Word.TAKEN)
    assert seal.read_answer(one, answer) is Word.TAKEN
    assert seal.read_answer(two, answer) is Word.REFUSED
    assert seal.read_answer(one, b"") is Word.REFUSED


@given(st.binary(max_size=3 * MOST_OF_PIECE))
def test_what_is_cut_into_pieces_is_whole_again(content: bytes) -> None:
    pieces = [*cut(PieceKind.DATA, 7, content)]
    assert b"".join(piece.content for piece in pieces) == content
    assert all(0 < len(piece.content) <= MOST_OF_PIECE for piece in pieces)
