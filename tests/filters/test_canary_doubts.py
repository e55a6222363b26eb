"""Which answers are doubted, and which URLs are fetched again once a wall is known."""

from __future__ import annotations

import pytest
from dict_memory import DictMemory

from thresher.config.settings import CanarySettings
from thresher.crawler.core.effects import Effect, FetchAgain, Hurry, NotWalled, Request, Void
from thresher.crawler.core.model import Purpose
from thresher.filters.canary import behind, records, samples, vocabulary
from thresher.filters.canary.filter import CanaryFilter
from thresher.filters.canary.first_answers import FirstAnswers
from thresher.filters.canary.news import CanaryRequest, Found, Seen
from thresher.filters.canary.records import Candidate, HostState, Stage, SuspectAnswer
from thresher.filters.soft_error.looks import Look

QUEUE = b"q" * 16
SPEAKS = {"o": vocabulary.Speech.OWN, "s": vocabulary.Speech.STRANGE, "?": vocabulary.Speech.UNKNOWN}


def key(n: int) -> bytes:
    return QUEUE[:8] + n.to_bytes(8, "big")


@pytest.mark.parametrize(
    ("answers", "again"),
    [
        ("oo?o?ooss", "78"),
        ("o?s?oo?oso", "1238"),
        ("ss?", "012"),
        ("??o?", ""),
        ("o?sos?o", "12345"),
        ("osso?oso", "123456"),
        ("osooos", "15"),
    ],
)
def test_of_a_wall_in_another_language_only_what_it_may_have_answered_is_fetched_again(answers: str, again: str) -> None:
    """A letter an answer: in the host's own words, strange, or not known. Mutations: whatever is not in its own words, or all, was
    fetched again: of a forum 3,151 requests in place of 953; what lies before the last one in its own words was not; nor one in its own
    words between strange ones: a page of which first words stood there, and four that it names, were lost.
    """
    memory = DictMemory()
    for n, letter in enumerate(answers):
        records.put_suspect(memory, QUEUE, key(9 - n), SuspectAnswer(b"P%07d" % n, b"", SPEAKS[letter], n + 1))
    state = HostState(failed=[b"P1234567"], is_foreign=True)
    assert sorted(behind.of_wall(memory, QUEUE, state)[0]) == sorted(key(9 - int(n)) for n in again)


def test_the_second_of_strange_answers_in_a_row_is_fetched_again() -> None:
    """The last one was the site's own, if the wall had fallen before it: 19 listings were lost. Mutation: the last of the longest row."""
    memory = DictMemory()

    def row(first: int, n: int) -> None:
        for i in range(1, n + 1):
            records.count_run(memory, QUEUE, vocabulary.STRANGE, i, f"http://a/{first + i}", key(first + i), vocabulary.LEAST)

    def named() -> tuple[int, str]:
        one = records.counts(memory, QUEUE)[vocabulary.STRANGE]
        return one.n, one.url

    row(0, 5)
    row(10, 3)
    assert named() == (5, "http://a/2"), "a shorter row does not take the place of one in doubt"
    records.be_patient(memory, QUEUE, vocabulary.STRANGE, "http://a/2", 8)
    row(20, 6)
    assert named() == (6, "http://a/22"), "it is no longer in doubt"
    row(30, 9)
    assert named() == (9, "http://a/32")
    row(40, 12)
    assert named() == (12, "http://a/32"), "in doubt already"


def test_a_wall_that_two_canaries_have_met_has_stood_there_if_the_first_is_good_again() -> None:
    """One suspect decided before whether it had: a page of the site's own in another language, so that four listings were lost.

    Mutation: the suspect is fetched again as if both canaries had been good.
    """
    memory, part, home = DictMemory(), CanaryFilter(CanarySettings()), Look(bytes(4), 40, b"")
    records.put_candidate(memory, QUEUE, 0, Candidate("http://a/", key(0), b"Phomepag", home, 1, speaks=vocabulary.Speech.OWN))
    records.put_suspect(memory, QUEUE, key(2), SuspectAnswer(b"Pforeign", b"", vocabulary.Speech.STRANGE, 9))
    records.count_run(memory, QUEUE, vocabulary.STRANGE, vocabulary.LEAST, "http://a/own", key(3), vocabulary.LEAST)
    failed = [b"Pfirst..", b"Psecond."]
    records.write_state(memory, QUEUE, HostState(20, 9, stage=Stage.TWICE, why=vocabulary.STRANGE, failed=failed, is_foreign=True))
    records.note_asked(memory, QUEUE, key(0))
    effects = part.on_answer(Found(key(0), 1.0, b"Phomepag", 200, home, "", was_asked=True), memory)
    assert effects == (Void(QUEUE), FetchAgain(QUEUE, (key(2),)), NotWalled(QUEUE))


def suspected(memory: DictMemory, numbers: range, *, n_walls: int = 0) -> list[bool | str]:
    """Tell a host's answers that are alike; return of each canary that is asked for whether it can wait, and who is hurried."""
    part, home = CanaryFilter(CanarySettings()), Look(bytes(4), 40, b"")
    if not records.candidates(memory, QUEUE):
        records.put_candidate(memory, QUEUE, 0, Candidate("http://a/", key(0), b"Phomepag", home, 1))
        records.write_state(memory, QUEUE, HostState(99, 40, n_walls=n_walls))
    told = [Seen(QUEUE, key(n), f"http://a/{n}", b"Palike..", 3) for n in numbers]
    effects = [effect for seen in told for effect in part.on_news(seen, memory)]
    assert all(isinstance(effect, Request | Hurry) and effect.purpose is Purpose.CANARY for effect in effects)
    return [effect.can_wait if isinstance(effect, Request) else effect.origin for effect in effects if isinstance(effect, Request | Hurry)]


def test_the_first_canary_of_a_suspicion_can_wait_until_twenty_answers_are_alike() -> None:
    """Mutations: it never can, so that a site's own copies delay its first pages; it always can, so that a wall answers for hundreds."""
    memory = DictMemory()
    assert suspected(memory, range(1, 20)) == [True]
    assert suspected(memory, range(20, 50)) == ["http://a"], "now it is worth it"
    assert suspected(DictMemory(), range(1, 80), n_walls=1)[:1] == [False], "a host that had a wall may have one again"


def test_a_canary_that_waits_is_not_lost() -> None:
    """Mutation: after fifty answers it was taken for lost, and another one asked for."""
    memory, part = DictMemory(), CanaryFilter(CanarySettings())
    assert suspected(memory, range(1, 4)) == [True]
    others = [Seen(QUEUE, key(n), f"http://a/{n}", b"P%07d" % n, 3, is_kept=True) for n in range(100, 190)]
    one_more = Seen(QUEUE, key(4), "http://a/4", b"Palike..", 3)
    assert not [effect for seen in (*others, one_more) for effect in part.on_news(seen, memory)]


def test_a_canary_for_a_decision_does_not_wait() -> None:
    """A rule that waits for it is worth more than the request."""
    memory = DictMemory()
    suspected(memory, range(1))
    (asked,) = CanaryFilter(CanarySettings()).on_news(CanaryRequest(QUEUE), memory)
    assert isinstance(asked, Request)
    assert not asked.can_wait


def came_back(memory: DictMemory, shows: bytes) -> tuple[Effect, ...]:
    """Queue a URL again that has shown what was found honest, as four others have; return what follows from its answer."""
    for n in range(1, 6):
        samples.note(memory, Seen(QUEUE, key(n), f"http://a/{n}", b"Palike..", 3), HostState(n))
    records.be_patient(memory, QUEUE, b"Palike..", "http://a/1", 40)
    records.note_again(memory, QUEUE, key(1), 8)
    FirstAnswers(memory, QUEUE).close()
    records.write_state(memory, QUEUE, HostState(40, n_again=1))
    return CanaryFilter(CanarySettings()).on_news(Seen(QUEUE, key(1), "http://a/1", shows, 3), memory)


def test_what_was_found_honest_is_doubted_again_where_one_of_its_urls_shows_something_else() -> None:
    """A wall that answers every second request was found honest by one request, and 35 letters were lost. Mutation: no URL is fetched
    again; the URL itself is.
    """
    memory = DictMemory()
    assert came_back(memory, b"Pitsown.") == (FetchAgain(QUEUE, (key(2), key(3))),)
    assert came_back(DictMemory(), b"Palike..") == (), "it shows the same"


def test_a_url_is_queued_again_more_often_where_a_wall_is_known_to_have_answered_last() -> None:
    """One letter met walls nine times. Mutation: eight times are the most in any case."""
    memory, part = DictMemory(), CanaryFilter(CanarySettings())
    for n in (1, 2):
        samples.note(memory, Seen(QUEUE, key(n), f"http://a/{n}", b"Pwalls.." if n == 1 else b"Pits.own", 3), HostState(n))
        for _ in range(8):
            records.note_again(memory, QUEUE, key(n), 8)
            records.note_came(memory, QUEUE, key(n))
    records.note_wall(memory, QUEUE, b"Pwalls..")
    state = HostState(40, n_again=16)
    assert part._round(QUEUE, state, memory).again([key(1), key(2)]) == (FetchAgain(QUEUE, (key(1),)),)


def test_a_canary_that_was_a_walls_answer_is_not_renewed() -> None:
    """It was dropped when the wall was found. Mutation: the crawl ended with a KeyError."""
    memory, home = DictMemory(), Look(bytes(4), 40, b"")
    records.put_candidate(memory, QUEUE, 0, Candidate("http://a/", key(0), b"Phomepag", home, 1))
    state = HostState(40, changed={0: (b"Pnewhome", home), 1: (b"Pdropped", home)})
    CanaryFilter(CanarySettings())._round(QUEUE, state, memory)._renew()
    assert {slot: one.token for slot, one in records.candidates(memory, QUEUE).items()} == {0: b"Pnewhome"}
