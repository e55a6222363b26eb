"""One of two agents, to which the other writes whatever a message may hold: every type, valid contents, any order, twice.

A story is a list of steps: a message as it travels, or a page or a redirect of the agent's own, from which its filters learn. Contents are
drawn from what types and their bounds allow (`msgspec.inspect`); keys, names and URLs are of a small web, so that messages meet what others
have left. The short form is test_messages.py, the long one `python -m benchmarks.proofs.message_fuzz`.
"""

from __future__ import annotations

import asyncio
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
from hypothesis import strategies as st
from msgspec import inspect
from msgspec.structs import replace
from subjects import SPACE, page, pair
from webs import settings

from thresher.config.settings import LimitSettings, NearReplicaSettings, ScopeSettings, Settings
from thresher.crawler.agent.agent import Agent
from thresher.crawler.cluster.address_file import create
from thresher.crawler.cluster.member import Team
from thresher.crawler.cluster.shared_addresses import SharedAddresses
from thresher.crawler.core.messages import Answered, Ask, ChainEnd, Edge, Message, News, RobotsAnswer, RobotsAsk, Submitted, encode
from thresher.crawler.core.model import FILTERS_OWN, Cause, Flag, Page, Reason, RedirectPair
from thresher.crawler.core.ownership import Ownership, divided
from thresher.crawler.core.url import origin_of
from thresher.filters.near_replica import compare
from thresher.filters.near_replica.filter import ReplicaGate
from thresher.filters.near_replica.records import KnownPage
from thresher.filters.registry import specs
from thresher.filters.soft_error.judging import Reduced
from thresher.filters.soft_error.kinds import ErrorKind
from thresher.storage.records import QuarantineRecord
from thresher.storage.store import Store
from thresher.storage.verify import problems
from thresher.storage.view import View

ME, OTHER = 0, 1
_INT = (1 << 63) - 1
NOW = 1_700_000_000.0
_SECRET = bytes(16)  # that of SPACE
_OWNERS = Ownership(divided(2), ME)
Step = bytes | Page | RedirectPair


def _sites(agent: int, n: int) -> list[str]:
    names = [f"s{i}.example" for i in range(99)]
    return [name for name in names if _OWNERS.owner(SPACE.site_key(name)) == agent][:n]


_PATHS = ("/", "/1", "/2", "/1?ref=x", "/dir/3", "/dir/4", "/login?next=/1", "/cal/2024/05/")
_OWN, _FOREIGN = ([f"http://{site}{path}" for site in _sites(agent, 2) for path in _PATHS] for agent in (ME, OTHER))
_URLS = [*_OWN, *_FOREIGN]
_KEYS = [SPACE.key(url) for url in _URLS]
_TEXTS = ("sorry: page not found, it is no more", *(" ".join(f"{word}{i}" for i in range(12)) for word in ("pear", "plum", "fig")))
_GATE = ReplicaGate(NearReplicaSettings(min_tokens=4), tells_copies=True)


def _known(url: str, text: str, links: Sequence[str], at: float, canonical: str, seed_distance: int) -> KnownPage:
    """Return a page as near_replica knows it."""
    shown = replace(page(url, text, canonical=canonical, seed_distance=seed_distance), links=tuple(links), at=at)
    known = _GATE.measure(shown).known
    assert known is not None
    return known


_urls = st.sampled_from(_URLS)
_links = st.lists(_urls, max_size=6, unique=True)
_moments = st.sampled_from((NOW - 9.0, NOW, NOW + 9.0))
_knowns = st.builds(
    _known, _urls, st.sampled_from(_TEXTS), _links, _moments, st.sampled_from(("", *_OWN[:2], *_FOREIGN[:2])), st.integers(0, 2)
)
_lent = _knowns.map(lambda known: KnownPage(known.page, known.name, b"", "", known.signature, b"", 0, b"", b""))
_tags = _knowns.map(lambda known: compare.tags_of(known, known.minima * 8, b""))


def _page(url: str, text: str, links: list[str], status: int, seed_distance: int) -> Page:
    return replace(page(url, text, status=status, seed_distance=seed_distance), links=tuple(links), at=NOW)


_own_pages = st.builds(_page, st.sampled_from(_OWN), st.sampled_from(_TEXTS), _links, st.sampled_from((200, 200, 404)), st.integers(0, 2))
_own_pairs = st.builds(lambda one, to, status: pair(one, to, status=status), st.sampled_from(_OWN), _urls, st.sampled_from((0, 200, 404)))
_BYTES = 24  # drawn at most where a type allows any number
_eights = st.one_of(st.sampled_from([key[:8] for key in _KEYS]), _knowns.map(lambda known: known.name))
_kinds = st.sampled_from(("", *map(str, ErrorKind)))
_BY_NAME: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("source", "target", "hop", "asked", "url", "texts", "sitemap", "by"), _urls),
    **dict.fromkeys(("form", "kind", "hint"), _kinds),
    **dict.fromkeys(("failure", "cause"), st.sampled_from(("", *map(str, Cause)))),
    "flags": st.sampled_from([str(flag) for flag in Flag]),
    "refused": st.sampled_from(("", *map(str, Reason))),
    "who": st.sampled_from(("soft_error", "near_replica", "dust", "nobody")),
    "origin": _urls.map(origin_of),
    "loc": st.sampled_from(_OWN),
    "signature": _knowns.map(lambda known: known.signature),
    "tags": _tags.map(lambda tags: tags[0]),
    "cell": st.one_of(
        st.lists(_eights, max_size=9).map(b"".join), st.binary(min_size=4096, max_size=4096).map(lambda cell: bytes(at % 54 for at in cell))
    ),
    **dict.fromkeys(
        ("sketch", "words"),
        st.lists(st.integers(0, 9), max_size=9, unique=True).map(lambda found: struct.pack(f"<{len(found)}I", *sorted(found))),
    ),
    **dict.fromkeys(("target_key", "counted_as"), st.sampled_from(_KEYS)),
    "n_words": st.integers(0, 300),
    "day": st.integers(0, 20_000),
}


def _of(found: inspect.Type, name: str = "") -> st.SearchStrategy[Any]:
    """Return what a type allows, of a field that is called so."""
    match found:
        case inspect.StructType(cls=cls):
            return _knowns if cls is KnownPage and name != "lent" else _lent if cls is KnownPage else _struct(found)
        case inspect.UnionType(types=types):
            return st.one_of([_of(one, name) for one in types])
        case inspect.ListType(item_type=item):
            return st.lists(_of(item, name), max_size=4)
        case inspect.TupleType(item_types=items):
            return st.tuples(*[_of(item) for item in items])
        case inspect.NoneType():
            return st.none()
        case inspect.BoolType():
            return st.booleans()
        case inspect.FloatType(ge=ge):
            return st.one_of(st.sampled_from((0.0, 1.0, NOW)), st.floats(min_value=ge, allow_nan=False))
        case inspect.IntType(ge=ge, le=le, lt=lt):
            least = -_INT if ge is None else ge
            most = le if le is not None else _INT if lt is None else lt - 1
            return _BY_NAME.get(name, st.one_of(st.integers(max(least, 0), min(most, 3)), st.integers(least, most)))
        case inspect.BytesType(min_length=least, max_length=most):
            return _bytes_of(least or 0, most, name)
        case inspect.StrType():
            return _BY_NAME.get(name, st.text(max_size=8))
        case _:
            raise AssertionError(f"nothing is drawn for {found}")


def _bytes_of(least: int, most: int | None, name: str) -> st.SearchStrategy[Any]:
    if least == most == 16:
        return st.sampled_from(_KEYS)
    if least == most == 8:
        return _eights
    if least == most == compare.NAME_IN_GRID:
        return _knowns.map(compare.name_in_grid)
    if most == 64 or name in _BY_NAME:
        return _BY_NAME["tags" if most == 64 else name]
    return st.binary(min_size=least, max_size=_BYTES if most is None else min(most, _BYTES))


def _struct(found: inspect.StructType) -> st.SearchStrategy[Any]:
    drawn = {field.name: _of(field.type, field.name) for field in found.fields}
    if found.cls is ChainEnd:  # of a chain that begins here; the others lead here
        drawn["original"] = st.sampled_from([SPACE.key(url) for url in _OWN])
    elif found.cls is Edge:
        drawn |= {"original": st.sampled_from([SPACE.key(url) for url in _FOREIGN]), "target": st.sampled_from(_OWN)}
    elif found.cls is RobotsAsk:
        drawn["hop"] = st.sampled_from(_OWN)
    elif found.cls is Submitted:
        drawn["sitemap"] = st.sampled_from(_OWN)
    elif found.cls is RobotsAnswer:  # either failed, or has a status
        drawn["cause"] = st.sampled_from([str(cause) for cause in Cause])
    elif found.cls is Reduced:  # with a target, or without
        without = {**drawn, **{name: st.just(type(empty)()) for name, empty in (("target", ""), ("target_key", b""), ("counted_as", b""))}}
        return st.one_of(st.builds(Reduced, **drawn), st.builds(Reduced, **without))
    return st.builds(found.cls, **drawn)


def _news(who: str, kind: Any) -> st.SearchStrategy[News]:
    return _of(inspect.type_info(kind)).map(lambda news: News(who, msgspec.msgpack.encode(news)))


def _answered(who: str, kind: Any) -> st.SearchStrategy[Answered]:
    return _of(inspect.type_info(kind)).map(lambda read: Answered(who, msgspec.msgpack.encode(read)))


def _messages() -> st.SearchStrategy[Message]:
    """Return every type of message; what filters tell and are answered is of their own types."""
    made = specs(_settings("enforce"), (), _OWNERS)
    own = [_news(spec.name, spec.peer_filter.news_type) for spec in made if spec.peer_filter]
    read = [_answered(spec.name, spec.prober.answer_type) for spec in made if spec.prober]
    types = cast("inspect.UnionType", inspect.type_info(Message)).types
    plain = [_struct(kind) for kind in types if isinstance(kind, inspect.StructType) and kind.cls not in (News, Answered, Ask)]
    ask = st.builds(Ask, st.just(OTHER), _BY_NAME["who"], st.sampled_from(_OWN), st.sampled_from(FILTERS_OWN).map(int))
    return st.one_of(*plain, ask, *own, *read, *own, *read, st.just(News("nobody", b"")))


def _settings(mode: str) -> Settings:
    return replace(settings(mode), agents=2, scope=ScopeSettings(type="any"), limits=LimitSettings(max_depth=None, min_free_disk=0))


messages = _messages()
steps: st.SearchStrategy[Step] = st.one_of(messages.map(encode), messages.map(encode), _own_pages, _own_pairs)
stories = st.lists(steps, max_size=40)


class Left:
    """What a story leaves behind."""

    def __init__(self, quarantined: list[QuarantineRecord], problems: list[str], n_messages: int) -> None:
        self.quarantined = quarantined
        self.problems = problems  # of the store
        self.n_messages = n_messages


def told(story: Sequence[Step], mode: str = "enforce") -> Left:
    """Have an agent take a story in, each message twice; an exception of its own is the caller's."""
    with tempfile.TemporaryDirectory(prefix="messages-") as name:
        return asyncio.run(_tell(Path(name), story, _settings(mode)))


async def _tell(directory: Path, story: Sequence[Step], chosen: Settings) -> Left:
    create(directory / "channels" / "addresses")
    addresses = SharedAddresses(directory / "channels" / "addresses", ME, connections=4, gap_s=0.0)
    with Store.create(directory / "store", chosen, NOW, secret=_SECRET) as store:
        agent = Agent(directory / "store", store, chosen, report=lambda _: None, team=Team(_OWNERS, addresses))
        try:
            for n, step in enumerate(story):
                _take(agent, store, step, NOW + n)
        finally:
            await agent.close()
        records = [record for _, record in store.tables.quarantine.all()]
        heard = store.tables.channels.received(OTHER)
    with View(directory / "store") as view:
        return Left(records, list(problems(view, "shard 0: ", bodies=False)), heard)


def _take(agent: Agent, store: Store, step: Step, now: float) -> None:
    if isinstance(step, bytes):
        for _ in range(2):
            agent._inbox.carry_out(OTHER, step, now)
        return
    panel = agent._context.panel
    agent._settler.learning.learn((panel.page(step) if isinstance(step, Page) else panel.redirect(step),), now)
    agent._settler.learning.write(now)
    store.end_visit()
