"""Sessions of a site's visitors, and how deep they went: from an access log, or from recorded click paths [BC04].

A session is a series of requests of one client (address and agent) with pauses below 30 minutes. Left out are: robots (by their agent, or
because the client asked for robots.txt), attacks, objects embedded in pages, everything but GETs answered 200 or 304, and targets that
`exclude` matches, such as webmail. A frame is merged into its page: a frame is a page requested within a second of the page that refers to
it.

**Level.** The first page of a session is on level 0. A page is one level below the page that refers to it, and keeps the level on which it
was first seen. If the Referer is a page of the site but not the page before, the visitor has seen it in between, from the browser's cache:
that view is added. A page that was not seen before and to which no page of the site refers is a jump, to level 0. A log in common format
has no Referers: each new page is then taken to be linked from the page before, which makes depths too large. Views from caches that no
Referer names are estimated from those that one names (cached.py).

Memory: 60 bytes a request, and each distinct text once. Time: 12 µs a line with reading it.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from thresher.crawler.core.access_log import LoggedRequest
from thresher.filters.depth_cutoff.chains import Action
from thresher.filters.log_visitors import is_attack, is_robot, of_referer

I32 = npt.NDArray[np.int32]
I8 = npt.NDArray[np.int8]
PAUSE_S: Final = 1800
FRAME_S: Final = 1  # pages requested within so many seconds are frames: no visitor clicks that fast

_EMBEDDED: Final = re.compile(
    r"[^?]*\.(?:css|js|mjs|map|png|gif|jpe?g|jpeg|ico|svg|webp|avif|bmp|xbm|xpm|tiff?|woff2?|ttf|eot|otf|swf|class|jar|mp[34eg]|mpe?g|mov|"
    r"avi|wav|au|ogg|webm|mid|json|xml|rss|atom|rdf|txt|zip|gz|tgz|bz2|xz|tar|rpm|deb|exe|dmg|iso|pdf|ps|wrl)(?:\?|$)",
    re.IGNORECASE,
)
_NO_PAGE, _NOT_OWN, _NO_FIELD = -1, -2, -3  # in place of a page's number


@dataclass(slots=True)
class DroppedRequests:
    """Requests that are in no session, counted by reason."""

    robots: int = 0
    attacks: int = 0
    embedded: int = 0
    excluded: int = 0
    other: int = 0  # errors, redirects, other methods than GET
    frames: int = 0  # merged


@dataclass(frozen=True, slots=True)
class Sessions:
    """Page views in order, session after session.

    Attributes:
        levels: [n_views].
        reached_by: [n_views], the `Action` that led there.
        starts: [n_sessions], positions of first views.
    """

    levels: I32
    reached_by: I8  # START for the first view of a session
    starts: npt.NDArray[np.int64]
    n_filled: int = 0  # views that are known only from a Referer or a click back
    cached: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))  # positions of views known only from a Referer
    has_referers: bool = True  # if False, levels are too large
    dropped: DroppedRequests = field(default_factory=DroppedRequests)
    own_host: str = ""

    def __len__(self) -> int:
        return len(self.starts)


class _Columns:
    """The requests that may belong to sessions, as columns of numbers."""

    def __init__(self) -> None:
        self.clients: dict[tuple[str, str | None], int] = {}
        self.pages: dict[str, int] = {}  # path and query
        self.referers: dict[str | None, int] = {}
        self.client, self.time, self.page, self.referer = array("l"), array("q"), array("l"), array("l")


def from_log(requests: Iterable[LoggedRequest], *, exclude: re.Pattern[str] | None = None, host: str = "") -> Sessions:
    """Collect the sessions of a log.

    Args:
        exclude: Regular expression; targets in which it is found are left out.
        host: The host of the site; "": the one that Referers name most.
    """
    columns, dropped = _Columns(), DroppedRequests()
    named: Counter[str] = Counter()
    robots = _collect(requests, columns, dropped, named, exclude)
    own = _bare(host) or max(named, key=lambda name: (named[name], name), default="")
    clients = np.frombuffer(columns.client, dtype=np.int64) if len(columns.client) else np.zeros(0, np.int64)
    times = np.frombuffer(columns.time, dtype=np.int64) if len(columns.time) else np.zeros(0, np.int64)
    is_human = ~np.isin(clients, np.fromiter(robots, dtype=np.int64, count=len(robots)))
    dropped.robots += int((~is_human).sum())
    order = np.lexsort((times, clients))
    order = order[is_human[order]]
    refers = np.array([_own_page(text, own, columns.pages) for text in columns.referers], dtype=np.int64)
    walk = _Walk(dropped)
    rows = zip(
        clients[order].tolist(),
        times[order].tolist(),
        np.frombuffer(columns.page, dtype=np.int64)[order].tolist() if len(order) else (),
        refers[np.frombuffer(columns.referer, dtype=np.int64)[order]].tolist() if len(order) else (),
        strict=True,
    )
    for client, time, page, referer in rows:
        walk.request(client, time, page, referer)
    return walk.sessions(own, has_referers=bool(columns.referers.keys() - {None}))


def _collect(
    requests: Iterable[LoggedRequest], columns: _Columns, dropped: DroppedRequests, named: Counter[str], exclude: re.Pattern[str] | None
) -> set[int]:
    """Sort the requests into columns and `dropped`; return the clients that a single request shows to be robots."""
    robots: set[int] = set()
    kinds: dict[str, str] = {}  # target → the count of `dropped` for it, "" for a page
    hosts: dict[str | None, str] = {}
    for client, time, method, target, status, _, referer, agent in requests:
        number = columns.clients.setdefault((client, agent), len(columns.clients))
        if is_robot(agent, target):
            robots.add(number)
            dropped.robots += 1
            continue
        if target not in kinds:
            kinds[target] = _kind(target, exclude)
        kind = kinds[target]
        if not kind and (method != "GET" or status not in (200, 304)):
            kind = "other"
        if referer not in hosts:
            hosts[referer] = _host_of(referer)
        if status < 400 and hosts[referer]:
            named[hosts[referer]] += 1
        if kind:
            setattr(dropped, kind, getattr(dropped, kind) + 1)
            continue
        columns.client.append(number)
        columns.time.append(time)
        columns.page.append(columns.pages.setdefault(target.partition("#")[0], len(columns.pages)))
        columns.referer.append(columns.referers.setdefault(referer, len(columns.referers)))
    return robots


def _kind(target: str, exclude: re.Pattern[str] | None) -> str:
    """Return the count of `DroppedRequests` for a target, "" for a page."""
    if is_attack(target):
        return "attacks"
    if not target.startswith("/"):
        return "other"
    if _EMBEDDED.match(target):
        return "embedded"
    return "excluded" if exclude is not None and exclude.search(target) else ""


def _host_of(referer: str | None) -> str:
    found = of_referer(referer)
    return _bare(found[1]) if found else ""


def _bare(host: str) -> str:
    return host.lower().removeprefix("www.").removesuffix(":80")


def _own_page(referer: str | None, own: str, pages: dict[str, int]) -> int:
    """Return the number of the page that a Referer names; the page gets one if it is new."""
    if referer is None:
        return _NO_FIELD
    found = of_referer(referer)
    if found is None or _bare(found[1]) != own or _EMBEDDED.match(found[2]):
        return _NOT_OWN
    return pages.setdefault(found[2], len(pages))


class _Walk:
    """Goes through requests, client by client in order of time, and records levels and actions."""

    def __init__(self, dropped: DroppedRequests) -> None:
        self._levels, self._actions, self._starts, self._cached = array("i"), array("b"), array("q"), array("q")
        self._dropped = dropped
        self._client, self._time, self._page_time = -1, 0, 0
        self._page = self._entry = _NO_PAGE
        self._known: dict[int, int] = {}  # page → level
        self._frames: dict[int, int] = {}  # frame → page

    def request(self, client: int, time: int, page: int, referer: int) -> None:
        """Take the next request."""
        if client != self._client or time - self._time >= PAUSE_S:
            self._begin(client)
        self._time = time
        referer = self._frames.get(referer, referer)
        if self._is_frame(time, page, referer):
            self._frames[page] = self._page
            self._dropped.frames += 1
            return
        if referer >= 0 and referer not in (self._page, page):
            self._cached.append(len(self._levels))
            self._view(referer, self._known.get(referer, 0))
        if page in self._known:
            level = self._known[page]
        elif referer == _NO_FIELD:
            level = self._known[self._page] + 1 if self._known else 0
        else:
            level = self._known[referer] + 1 if referer in self._known else 0
        self._view(page, level, is_linked=referer != _NOT_OWN)
        self._page_time = time

    def _begin(self, client: int) -> None:
        self._client = client
        self._page = self._entry = _NO_PAGE
        self._known.clear()
        self._frames.clear()
        self._starts.append(len(self._levels))

    def _is_frame(self, time: int, page: int, referer: int) -> bool:
        """Return whether a page is a frame of the page before: it was requested at once, faster than a visitor could click."""
        if self._page < 0 or page == self._page:
            return False
        if referer == _NO_FIELD:
            return time == self._page_time and page not in self._known
        return referer == self._page and time - self._page_time <= FRAME_S and page not in self._known

    def _view(self, page: int, level: int, *, is_linked: bool = True) -> None:
        if self._page < 0:
            action, self._entry = Action.START, page
        elif page not in self._known and (level == 0 or not is_linked):
            action = Action.JUMP
        else:
            action = action_of(self._known[self._page], level, is_entry=page == self._entry)
        self._known.setdefault(page, level)
        self._page = page
        self._levels.append(level)
        self._actions.append(action)

    def sessions(self, own: str, *, has_referers: bool) -> Sessions:
        return Sessions(
            *_arrays(self._levels, self._actions, self._starts),
            n_filled=len(self._cached),
            cached=np.array(self._cached, dtype=np.int64),
            has_referers=has_referers,
            dropped=self._dropped,
            own_host=own,
        )


def action_of(level: int, to: int, *, is_entry: bool) -> Action:
    """Return the action that led from one level to another.

    Args:
        is_entry: Whether it led to the page where the session began.
    """
    if is_entry and level >= 2:
        return Action.START
    match to - level:
        case 0:
            return Action.STAY
        case 1:
            return Action.NEXT
        case -1:
            return Action.BACK
        case step:
            return Action.FWD if step > 0 else Action.PREV


def from_paths(paths: Iterable[Sequence[str]], *, back: str = "<") -> Sessions:
    """Collect the sessions of recorded click paths; every step is a view.

    Args:
        paths: Names of pages, in order.
        back: Stands in a path for a click on the back button.
    """
    levels, actions, starts = array("i"), array("b"), array("q")
    n_filled = 0
    for path in paths:
        level = -1
        starts.append(len(levels))
        for step in path:
            is_back = step == back
            if is_back and level <= 0:
                continue
            level += -1 if is_back else 1
            n_filled += is_back
            actions.append(Action.BACK if is_back else Action.NEXT if level else Action.START)
            levels.append(level)
    return Sessions(*_arrays(levels, actions, starts), n_filled=n_filled)


def _arrays(levels: array[int], actions: array[int], starts: array[int]) -> tuple[I32, I8, npt.NDArray[np.int64]]:
    """Return levels, actions, and the starts of sessions that have views."""
    begin = np.array(starts, dtype=np.int64)
    ends = np.append(begin[1:], len(levels))
    return np.array(levels, np.int32), np.array(actions, np.int8), begin[ends > begin]
