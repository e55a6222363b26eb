"""Replicas on sites of other agents: signatures are routed by band to an owner, pages are compared where they are kept.

A page is found by its tags (compare.py): each is a band of its sketch, and has an owner as a site has one. Where there are several agents:

    page's agent ── Sought: signature, tags ──► band's owner     what is near in the band, and of another agent than the page?
                                                │ Hint
    page's agent ◄── Offered: the kept page ─── kept page's agent
        compares the two as if it had found the kept page itself, and revises the verdict on its own; from then on it has the kept page
        among its own, so that its next replica is known for one at once

Two agents may keep two replicas at the same time, and each be told of the other's: so it does not matter who is told first. Of two pages
that one is kept which is exempt, names itself canonical, came first; the agent of the other is offered it. By this order of all pages no
two call one another replicas.

What replicates a page of the same agent is found there and then as with one agent; a page that has no replica costs a message for each
owner of its bands. Links of the kept page that have been fetched are lent with it, so that neighbourhoods can be compared.

Memory: 52 bytes a page and band at its owner, in boxes as those of collide.py; a kept page more where a replica of it was met. Time: 40 µs
a page at its band's owner.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Protocol

import msgspec
from msgspec import Meta

from thresher.config.settings import NearReplica
from thresher.crawler.core.effects import Effect, Tell
from thresher.crawler.core.model import Judgement, Page, Reason, Verdict
from thresher.crawler.core.ownership import Ownership
from thresher.crawler.core.ports import Memory
from thresher.filters.base import NO_EFFECTS, Effects, Filter
from thresher.filters.near_replica import compare
from thresher.filters.near_replica.collide import Grid
from thresher.filters.near_replica.records import (
    NAME,
    Known,
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
_PLACE: Final = b"\0\0\0band"  # with a byte before it, in place of a site
_encode = msgspec.msgpack.Encoder().encode
_Key = Annotated[bytes, Meta(min_length=16, max_length=16)]
_Name = Annotated[bytes, Meta(min_length=NAME, max_length=NAME)]
_Found = Annotated[bytes, Meta(min_length=compare.NAME_IN_GRID, max_length=compare.NAME_IN_GRID)]
_Tag = Annotated[bytes, Meta(min_length=_SITE + 1, max_length=64)]


class Sought(msgspec.Struct, array_like=True, frozen=True, tag=1):
    """A kept page, as a band knows it."""

    page: _Key
    name: _Found  # with a few slots, as compare.py has it in its grid
    signature: bytes
    tags: list[_Tag]  # by which it is found from now on
    asked: list[_Tag]  # by which others may be found, those among them

    def __post_init__(self) -> None:
        require_signature(self.signature)


class Hint(msgspec.Struct, array_like=True, frozen=True, tag=2):
    """A kept page of yours looks like a page of another agent's."""

    name: _Name  # of yours
    page: _Key  # of the other one
    other: _Name  # its name
    tags: list[_Tag]  # by which it was found


class Offered(msgspec.Struct, array_like=True, frozen=True, tag=3):
    """What your page may replicate."""

    name: _Name  # of yours
    original: Known
    tags: list[_Tag]
    lent: list[Known]  # what the original links to: of each no more than its signature

    def __post_init__(self) -> None:
        self.original.require_whole()
        for known in self.lent:
            known.require_signature()


class LocalGate(Filter[Page, ReplicaMeasure, Verdict, Judgement], Protocol):
    """The page gate of this agent's own pages (filter.py)."""

    def on_candidate(self, page: Known, original: Known, memory: Memory, /) -> Effects:
        """Compare a kept page with one of another agent, which is to be kept of the two."""
        ...

    def find_by(self, known: Known, tags: list[bytes], memory: Memory, /) -> None:
        """Let a kept page of another agent be found by some of its tags."""
        ...


class Shared:
    """What the agents tell one another of their pages, and what they make of it.

    News that no agent would write is refused when it is decoded: what it says is compared with pages here, and stays among them.
    """

    def __init__(self, gate: LocalGate, settings: NearReplica, owners: Ownership) -> None:
        self.name = gate.name
        self.news_type: Any = Sought | Hint | Offered
        self._gate = gate
        self._resemblance = settings.resemblance
        self._owners = owners
        self._bands = Grid(settings.max_distance, capacity=_BAND, name_bytes=_SITE + compare.NAME_IN_GRID)

    def seek(self, page: Known, tags: list[bytes], asked: list[bytes], memory: Memory) -> Iterator[Effect]:
        """Tell the owners of a kept page's bands of it.    tags, asked: as `Sought` has them"""
        by_owner: dict[int, list[bytes]] = {}
        for tag in asked:
            by_owner.setdefault(self._owners.owner(tag), []).append(tag)
        for owner, those in by_owner.items():
            sought = Sought(page.page, compare.name_in_grid(page), page.signature, [tag for tag in those if tag in tags], those)
            if owner == self._owners.me:
                yield from self._sought(sought, memory)
            else:
                yield Tell(those[0], _encode(sought))

    def on_news(self, news: Sought | Hint | Offered, memory: Memory, /) -> Effects:
        """Learn what another agent has found."""
        match news:
            case Sought():
                return tuple(self._sought(news, memory))
            case Hint():
                return self._on_hint(news, memory)
            case Offered():
                return self._on_offer(news, memory)

    def _sought(self, news: Sought, memory: Memory) -> Iterator[Effect]:
        """Hint at what is near; from now on the page is found, too."""
        prober = self._owners.owner(news.page)
        near = sorted(
            (rp, name) for name, rp in self._bands.near(news.signature, memory, _bands(news.asked)) if self._is_like(name, news, prober)
        )
        for _, name in near[: compare.MOST_CANDIDATES]:
            yield Tell(name[:_SITE], _encode(Hint(name[_SITE:][:NAME], news.page, news.name[:NAME], news.asked)))
        self._bands.add(news.page[:_SITE] + news.name, news.signature, memory, _bands(news.tags))

    def _is_like(self, name: bytes, news: Sought, prober: int) -> bool:
        brief = news.name[NAME:]
        return self._owners.owner(name) != prober and compare.may_resemble(brief, name[_SITE:], self._resemblance)

    def _on_hint(self, news: Hint, memory: Memory) -> Effects:
        """Offer the page that is meant, or the one that it replicates itself."""
        known = judged(memory, news.name)
        if known is not None and known.replica_of:
            known = judged(memory, known.replica_of)
        if known is None or known.replica_of or known.name == news.other:
            return NO_EFFECTS
        return (_offer(known, news.page, news.other, news.tags, memory),)

    def _on_offer(self, news: Offered, memory: Memory) -> Effects:
        """Compare with what may be kept in place of a page of this agent's; if that is so, it is found here from now on."""
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


def _offer(known: Known, page: bytes, name: bytes, tags: list[bytes], memory: Memory) -> Tell:
    """Offer a kept page to another one's agent, with what is known of its links."""
    children = [read(memory, key, Known) for key in keys_of(known.links)]
    lent = [Known(child.page, child.name, b"", "", child.signature, b"", 0, b"", b"") for child in children if child is not None]
    return Tell(page, _encode(Offered(name, known, tags, lent)))


def _order(page: Known) -> tuple[bool, bool, float, bytes]:
    """Return which of two replicas is kept: the lesser one."""
    return not page.exempt, page.canonical != page.name, page.at, page.page


def _bands(tags: list[bytes]) -> list[bytes]:
    """Return where an owner keeps bands: apart from its own pages' tags, and moving with the partition of the tag."""
    return [tag[:1] + _PLACE + tag[_SITE:] for tag in tags]
