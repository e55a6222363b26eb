"""Runs of pages that are dropped: a wall may show another page of the site in the place of each."""

from __future__ import annotations

import pytest
from dict_memory import DictMemory

from thresher.config.settings import CanarySettings
from thresher.crawler.core.effects import Effect, FetchAgain, Request
from thresher.filters.canary import copies, records, samples, vocabulary
from thresher.filters.canary.filter import CanaryFilter
from thresher.filters.canary.news import CanaryRequest, Found, Seen
from thresher.filters.canary.records import HostState
from thresher.filters.soft_error.looks import Look

QUEUE = b"q" * 16
N_OWN = 20  # kept pages before anything else
AT = "http://a.example/{}".format
OWN = vocabulary.Speech.OWN
FILTER = CanaryFilter(CanarySettings())


def key(n: int) -> bytes:
    return QUEUE[:8] + n.to_bytes(8, "big")


def token(n: int) -> bytes:
    return b"P%07d" % n


def look(n: int) -> Look:
    return Look(b"".join(i.to_bytes(4, "little") for i in range(100 * n, 100 * n + 60)), 400, b"")


def sees(memory: DictMemory, n: int, shows: int, *, is_kept: bool) -> tuple[Effect, ...]:
    """Let the filter see page `n`, which shows what page `shows` does."""
    seen = Seen(QUEUE, key(n), AT(n), token(shows), 3, is_kept=is_kept, look=look(n) if n < 3 else None, speaks=OWN, n_links=9)
    return FILTER.on_news(seen, memory)


def answers(memory: DictMemory, effects: tuple[Effect, ...], shows: dict[int, list[int]]) -> list[int]:
    """Answer each request, with what its URL shows now, one after the other, or with its own page; return the URLs fetched again."""
    asked = [one for one in effects if isinstance(one, Request)]
    again = [key for one in effects if isinstance(one, FetchAgain) for key in one.keys]
    while asked:
        n = int(asked.pop().url.rpartition("/")[2])
        now = shows[n].pop(0) if shows.get(n) else n
        found = Found(key(n), 1.0, token(now), 200, look(now), "", was_asked=True, n_links=9)
        effects = FILTER.on_answer(found, memory)
        asked += [one for one in effects if isinstance(one, Request)]
        again += [key for one in effects if isinstance(one, FetchAgain) for key in one.keys]
    return [int.from_bytes(one[8:], "big") for one in again]


def host(n_own: int = N_OWN) -> DictMemory:
    """Return the memory of a host with pages of its own."""
    memory = DictMemory()
    for n in range(n_own):
        sees(memory, n, n, is_kept=True)
    return memory


def dropped(memory: DictMemory, numbers: range, shows: dict[int, list[int]]) -> list[int]:
    """Let pages come that show older ones, and are dropped; return the URLs fetched again."""
    again = []
    for n in numbers:
        again += answers(memory, sees(memory, n, n % N_OWN, is_kept=False), shows)
    return again


def test_pages_dropped_in_a_row_are_fetched_again_if_one_is_no_copy_any_more() -> None:
    """A wiki lost 19 documents: nine URLs in a row showed other pages of the site, and were settled as copies of these. Mutation: only
    alike answers ask for a canary.
    """
    memory = host()
    again = dropped(memory, range(100, 100 + copies.LEAST), {})
    assert set(again) >= set(range(100, 100 + copies.LEAST))
    state = records.stored_state(memory, QUEUE)
    assert state is not None
    assert state.n_walls == 0, "pages that have changed are no wall"


def test_a_run_that_has_ended_is_looked_at_when_its_host_has_nothing_else_to_fetch() -> None:
    """Mutation: a run is forgotten when another page is kept."""
    memory = host(2 * N_OWN)
    spent = records.stored_state(memory, QUEUE)
    assert spent is not None
    spent.n_asked = 5  # no canary is allowed now
    records.write_state(memory, QUEUE, spent)
    numbers = range(100, 100 + copies.LEAST)
    assert dropped(memory, numbers, {}) == []
    sees(memory, 300, 300, is_kept=True)
    sees(memory, 301, 301, is_kept=True)
    again = answers(memory, FILTER.on_news(CanaryRequest(QUEUE, is_drained=True), memory), {})
    assert set(again) >= set(numbers)


@pytest.mark.parametrize("shows", ["the same", "another each time"])
def test_copies_of_the_sites_own_are_asked_for_ever_less_often(shows: str) -> None:
    """Mutation: a page that shows another quotation each time was a wall's."""
    memory = host(200)
    own = {n: [n % N_OWN] * 9 if shows == "the same" else [500 + n, n, 700 + n, n] for n in range(100, 160)}
    assert dropped(memory, range(100, 100 + 2 * copies.LEAST), own) == []
    state = records.stored_state(memory, QUEUE)
    assert state is not None
    n_asked = state.n_asked
    sees(memory, 300, 300, is_kept=True)
    assert dropped(memory, range(120, 120 + 3 * copies.LEAST), own) == []
    later = records.stored_state(memory, QUEUE)
    assert later is not None
    assert later.n_asked == n_asked > 0


def test_what_lies_among_and_around_the_answers_of_a_wall_may_be_its_own() -> None:
    """An old state of a calendar showed the same for some days and not for others: only the former were fetched again. Mutations: only
    these are; others are, however many lie between them.
    """
    memory, state = DictMemory(), HostState(every=1 << 30)
    for n in range(1, 31):
        state.n_answers = n
        samples.note(memory, Seen(QUEUE, key(n), AT(n), token(n), 3), state)
    near = samples.beside(memory, QUEUE, state, [key(n) for n in (10, 12, 13)])
    assert sorted(near) == [key(n) for n in (6, 7, 8, 9, 11, 14, 15, 16, 17)]
    state.fell = []
    assert samples.beside(memory, QUEUE, state, [key(10), key(11), key(12)]) == (), "it has answered alike"
    state.fell = []
    assert samples.beside(memory, QUEUE, state, [key(10), key(20)]) == (), "most others were the site's own"
