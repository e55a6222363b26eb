"""Replicas on sites of other agents: signatures are sent to the owner of a band, and pages are compared where they are kept.

A page is found by its tags (compare.py). Each tag is a band of its sketch, and has an owner as a site has one. If there are several agents:

    page's agent ── NeighbourQuery: signature, tags ──► band's owner     looks for near pages of other agents in the band
                                                │ Hint
    page's agent ◄── Offered: the kept page ─── kept page's agent
        compares the two as if it had found the kept page itself, and revises the verdict on its own page. From then on it keeps the other
        page's record, too, so that the next replica is recognised at once

Two agents may keep two replicas at the same time, and each may be told of the other's page. So the result must not depend on which message
is first: there is one order of all pages (exempt ones first, then those that name themselves canonical, then the older), the first of
the two is kept, and its record is sent to the agent of the other. So no two pages are replicas of one another.

A replica of a page of the same agent is found at once, as with one agent. A page without a replica costs a message for each owner of its
bands. The fetched links of the kept page are sent with it, so that neighbourhoods can be compared.

Memory: 52 bytes a page and band at its owner, in boxes as those of collide.py; one more kept page for each replica. Time: 40 µs a page at
its band's owner.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Protocol

import msgspec
from msgspec import Meta

from thresher.config.settings import NearReplicaSettings
from thresher.crawler.core.effects import Effect, Tell
from thresher.crawler.core.model import Judgement, Page, Reason, Verdict
from thresher.crawler.core.ownership import Ownership
from thresher.crawler.core.ports import Memory
from thresher.filters.base import NO_EFFECTS, Effects, Filter
from thresher.filters.near_replica import compare
from thresher.filters.near_replica.collide import Grid
from thresher.filters.near_replica.records import (
    NAME,
    KnownPage,
    ReplicaMeasure,
    judged,
    keys_of,
    page_key,
    read,
    require_signature,
    template_key,
    write,
)

_SITE: Final = 8
_BAND: Final = 64  # pages in a box of a band
_PLACE: Final = b"\0\0\0band"  # key prefix, after one more byte: stands where other keys have a site
_encode = msgspec.msgpack.Encoder().encode
_Key = Annotated[bytes, Meta(min_length=16, max_length=16)]
_Name = Annotated[bytes, Meta(min_length=NAME, max_length=NAME)]
_Found = Annotated[bytes, Meta(min_length=compare.NAME_IN_GRID, max_length=compare.NAME_IN_GRID)]
_Tag = Annotated[bytes, Meta(min_length=_SITE + 1, max_length=64)]


class NeighbourQuery(msgspec.Struct, array_like=True, frozen=True, tag=1):
    """A kept page, as it is sent to the owner of a band."""

    page: _Key
    name: _Found  # its name with a few slots, as in the grid of compare.py
    signature: bytes
    tags: list[_Tag]  # tags under which it is entered
    asked: list[_Tag]  # tags under which others are searched; they include `tags`

    def __post_init__(self) -> None:
        require_signature(self.signature)


class ReplicaHint(msgspec.Struct, array_like=True, frozen=True, tag=2):
    """Says that a kept page of the receiver looks like a page of another agent."""

    name: _Name  # of yours
    page: _Key  # of the other one
    other: _Name  # its name
    tags: list[_Tag]  # tags by which it was found


class OfferedPage(msgspec.Struct, array_like=True, frozen=True, tag=3):
    """A page that the receiver's page may replicate."""

    name: _Name  # of yours
    original: KnownPage
    tags: list[_Tag]
    lent: list[KnownPage]  # the pages that it links to, each with its signature only

    def __post_init__(self) -> None:
        self.original.require_whole()
        for known in self.lent:
            known.require_signature()


class LocalGate(Filter[Page, ReplicaMeasure, Verdict, Judgement], Protocol):
    """The page gate of this agent's own pages (filter.py)."""

    def on_candidate(self, page: KnownPage, original: KnownPage, memory: Memory, /) -> Effects:
        """Compare a kept page with one of another agent, which takes precedence."""
        ...

    def find_by(self, known: KnownPage, tags: list[bytes], memory: Memory, /) -> None:
        """Enter a kept page of another agent under some of its tags."""
        ...


class Shared:
    """The messages about pages between agents, and how they are handled.

    A malformed message is refused when it is decoded. A forged one can only cause comparisons of pages here.
    """

    def __init__(self, gate: LocalGate, settings: NearReplicaSettings, owners: Ownership) -> None:
        self.name = gate.name
        self.news_type: Any = NeighbourQuery | ReplicaHint | OfferedPage
        self._gate = gate
        self._resemblance = settings.resemblance
        self._owners = owners
        self._bands = Grid(settings.max_distance, capacity=_BAND, name_bytes=_SITE + compare.NAME_IN_GRID)

    def seek(self, page: KnownPage, tags: list[bytes], asked: list[bytes], memory: Memory) -> Iterator[Effect]:
        """Send a kept page to the owners of its bands.

        Args:
            tags: Tags under which it is entered.
            asked: Tags under which others are searched.
        """
        by_owner: dict[int, list[bytes]] = {}
        for tag in asked:
            by_owner.setdefault(self._owners.owner(tag), []).append(tag)
        for owner, those in by_owner.items():
            query = NeighbourQuery(page.page, compare.name_in_grid(page), page.signature, [tag for tag in those if tag in tags], those)
            if owner == self._owners.me:
                yield from self._answer(query, memory)
            else:
                yield Tell(those[0], _encode(query))

    def on_news(self, news: NeighbourQuery | ReplicaHint | OfferedPage, memory: Memory, /) -> Effects:
        """Learn from another agent's message."""
        match news:
            case NeighbourQuery():
                return tuple(self._answer(news, memory))
            case ReplicaHint():
                return self._on_hint(news, memory)
            case OfferedPage():
                return self._on_offer(news, memory)

    def _answer(self, query: NeighbourQuery, memory: Memory) -> Iterator[Effect]:
        """Send hints to the agents of near pages; enter the page, so that later ones find it."""
        prober = self._owners.owner(query.page)
        brief, fewest = query.name[NAME:], compare.fewest_alike(self._resemblance)
        close = self._bands.near(query.signature, memory, _bands(query.asked), brief, fewest)
        near = sorted((random_projection, name) for name, random_projection in close if self._owners.owner(name) != prober)
        for _, name in near[: compare.MOST_CANDIDATES]:
            yield Tell(name[:_SITE], _encode(ReplicaHint(name[_SITE:][:NAME], query.page, query.name[:NAME], query.asked)))
        self._bands.add(query.page[:_SITE] + query.name, query.signature, memory, _bands(query.tags))

    def _on_hint(self, news: ReplicaHint, memory: Memory) -> Effects:
        """Offer the page that the hint names, or the page of which it is a replica itself."""
        known = judged(memory, news.name)
        if known is not None and known.replica_of:
            known = judged(memory, known.replica_of)
        if known is None or known.replica_of or known.name == news.other:
            return NO_EFFECTS
        return (_offer(known, news.page, news.other, news.tags, memory),)

    def _on_offer(self, news: OfferedPage, memory: Memory) -> Effects:
        """Compare with a page that takes precedence over one of this agent's; if that is a replica, enter the offered page here."""
        page, original = judged(memory, news.name), news.original
        if page is None or page.replica_of or self._owners.is_own(original.page):
            return NO_EFFECTS
        if _order(page) < _order(original):
            return () if original.exempt else (_offer(page, original.page, original.name, news.tags, memory),)
        if page.exempt:
            return NO_EFFECTS
        write(memory, page_key(original.name), original)
        for known in news.lent:
            if memory.get(page_key(known.name)) is None:
                write(memory, page_key(known.name), known)
        effects = self._gate.on_candidate(page, original, memory)
        if effects:
            self._gate.find_by(original, news.tags, memory)
        return effects


class SharedGate:
    """The page gate of one of several agents."""

    def __init__(self, gate: LocalGate, shared: Shared) -> None:
        self.name = gate.name
        self.measure_type = gate.measure_type
        self._gate = gate
        self._shared = shared

    def measure(self, page: Page, /) -> ReplicaMeasure:
        return self._gate.measure(page)

    def decide(self, measure: ReplicaMeasure, memory: Memory, /) -> tuple[Verdict, Effects]:
        return self._gate.decide(measure, memory)

    def observe(self, measure: ReplicaMeasure, judgement: Judgement, memory: Memory, /) -> Effects:
        page = measure.known
        template = memory.get(template_key(page)) or b"" if page is not None else b""
        effects = self._gate.observe(measure, judgement, memory)
        if page is None or not judgement.is_new or any(verdict.reason is Reason.NEAR_REPLICA for verdict in judgement.verdicts):
            return effects
        tags, asked = (compare.tags_of(page, measure.minima, template, asks=asks) for asks in (False, True))
        return (*effects, *self._shared.seek(page, tags, asked, memory))


def _offer(known: KnownPage, page: bytes, name: bytes, tags: list[bytes], memory: Memory) -> Tell:
    """Offer a kept page to the agent of another one, with the signatures of its links."""
    children = [read(memory, key, KnownPage) for key in keys_of(known.links)]
    lent = [KnownPage(child.page, child.name, b"", "", child.signature, b"", 0, b"", b"") for child in children if child is not None]
    return Tell(page, _encode(OfferedPage(name, known, tags, lent)))


def _order(page: KnownPage) -> tuple[bool, bool, float, bytes]:
    """Return a sort key: of two replicas the one with the lesser key is kept."""
    return not page.exempt, page.canonical != page.name, page.at, page.page


def _bands(tags: list[bytes]) -> list[bytes]:
    """Return the keys under which an owner keeps bands: separate from the tags of its own pages, and in the partition of the tag."""
    return [tag[:1] + _PLACE + tag[_SITE:] for tag in tags]
