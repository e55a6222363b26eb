"""Answers that a good canary does not clear: they were alike, and a wall that gave them may have fallen before the canary was fetched.

Each group of alike answers stays in doubt until one of its URLs was fetched again. That costs a request, and brings back the whole group
if a wall had answered. So a large group is worth it at any time; small ones, of which a site with copies has many, are settled when their
host has nothing else to fetch, the largest first, within a budget. What was found honest is in doubt again only when it has grown
`_PATIENCE` times.
"""

from __future__ import annotations

from typing import Final

from thresher.crawler.core.ports import Memory
from thresher.filters.canary import copies, records, vocabulary
from thresher.filters.canary.records import Count, HostState, SuspectAnswer
from thresher.filters.canary.vocabulary import Speech

_FEWEST: Final = 2  # least alike answers that are a group; one is enough if a wall of the host has answered the same before
LARGE: Final = 10  # alike answers that are a large group: one of them is fetched again at any time, a tenth of what the group has cost
FEW: Final = 4  # groups found honest since the last wall after which a large group has twice as many answers, then three times, and so on
_TIMES: Final = 2  # how often in a row a URL of one of the first `_FIRST` groups shows the same if it is honest
_FIRST: Final = 2
_TIMES_OF_WALL: Final = 3  # the same for what a wall of the host has shown before
_PRESSING: Final = 20  # alike answers from which that request does not wait for filters' share of the host's requests
_PATIENCE: Final = 4  # alike answers that were found honest are in doubt again once there are so many times as many of them
_MOST: Final = records.MOST_SUSPECTS // 2  # URLs that stay in doubt after a good canary


def groups(memory: Memory, queue: bytes) -> list[tuple[bytes, Count]]:
    """Return the tokens of the groups that are in doubt, the largest group first."""
    found = []
    for token, one in records.counts(memory, queue).items():
        least = one.least if records.is_of_wall(memory, queue, token) else max(_FEWEST, one.least)
        if one.n >= records.patience(memory, queue, copies.kind_of(token), one.url, least):
            found.append((token, one))
    return sorted(found, key=lambda of: (-of[1].n, of[0]))


def worth_a_request(memory: Memory, queue: bytes, state: HostState, *, small_too: bool) -> tuple[bytes, Count | None]:
    """Return the token and the count of the largest group in doubt that is worth a request; b"" and None if none is.

    Args:
        memory: The filter's memory.
        queue: Of the host.
        state: That of the host.
        small_too: Any group is; else only a large one, and what a wall has shown before if the host has nothing else to fetch.
    """
    for token, one in groups(memory, queue):
        is_walls = state.is_drained and records.is_of_wall(memory, queue, token)
        if small_too or is_walls or is_large(memory, queue, token, one.n, state.n_honest):
            return token, one
    return b"", None


def is_any_of_wall(memory: Memory, queue: bytes) -> bool:
    """Return whether a wall of a host has shown before what a group in doubt shows."""
    return any(records.is_of_wall(memory, queue, token) for token, _ in groups(memory, queue))


def wanted(least: int, n_honest: int) -> int:
    """Return how many alike answers ask for a canary: twice as many after each group that was found honest, up to a large one's.

    Args:
        n_honest: Groups that were found honest since the last wall.
    """
    return min(_large(n_honest), least << min(n_honest, LARGE))


def is_large(memory: Memory, queue: bytes, token: bytes, n: int, n_honest: int) -> bool:
    """Return whether so many answers of a token are worth a request whatever else was spent.

    Args:
        memory: The filter's memory.
        queue: Of the host.
        token: Of the answers.
        n: How many there are.
        n_honest: Groups that were found honest since the last wall.
    """
    return n >= max(_large(n_honest), records.longest_patience(memory, queue, copies.kind_of(token)))


def times(memory: Memory, queue: bytes, token: bytes, state: HostState) -> int:
    """Return how often in a row a URL must show suspected answers to be honest: a wall may answer only some requests.

    Args:
        memory: The filter's memory.
        queue: Of the host.
        token: Of the answers.
        state: That of the host.
    """
    if records.is_of_wall(memory, queue, token):
        return _TIMES_OF_WALL
    return _TIMES if state.n_honest < _FIRST or state.watched_until else 1


def is_pressing(memory: Memory, queue: bytes, token: bytes, n: int, n_honest: int) -> bool:
    """Return whether so many answers of a token are worth a request at once: where a host has few pages, that may be all of them."""
    return n >= _PRESSING and is_large(memory, queue, token, n, n_honest)


def _large(n_honest: int) -> int:
    """Return how many alike answers are a large group: of a site that has many such groups, only ever larger ones are."""
    return LARGE * (1 + n_honest // FEW)


def found_honest(memory: Memory, queue: bytes, token: bytes) -> None:
    """End the doubt about a group: one of its URLs shows the same again, while the host is well."""
    alike = records.counts(memory, queue).get(token)
    if alike is not None:
        records.be_patient(memory, queue, copies.kind_of(token), alike.url, _PATIENCE * alike.n)
        records.drop_count(memory, queue, token)


def clear(memory: Memory, queue: bytes) -> int:
    """Forget the answers until now but those of groups in doubt; return how many URLs remain."""
    kept, n = set(), 0
    for token, one in groups(memory, queue):
        n += one.n
        if n > _MOST:
            break
        kept.add(token)
    for token in records.counts(memory, queue):
        if token not in kept:
            records.drop_count(memory, queue, token)
    answers = records.suspects(memory, queue)
    of_runs = {key for token in filter(copies.is_run, kept) for key in copies.members(memory, queue, token)}
    forgotten = [key for key, one in answers.items() if key not in of_runs and not any(_is_of(token, one) for token in kept)]
    for key in forgotten:
        records.drop_suspect(memory, queue, key)
    return len(answers) - len(forgotten)


def members(memory: Memory, queue: bytes, token: bytes) -> dict[bytes, SuspectAnswer]:
    """Return the answers of a group, by the URLs' keys."""
    if copies.is_run(token):
        return copies.members(memory, queue, token)
    return {key: one for key, one in records.suspects(memory, queue).items() if _is_of(token, one)}


def _is_of(token: bytes, answer: SuspectAnswer) -> bool:
    """Return whether an answer belongs to the group of a token, which is no run."""
    return answer.speaks == Speech.STRANGE if token == vocabulary.STRANGE else answer.token == token
