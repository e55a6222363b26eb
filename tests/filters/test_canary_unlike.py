"""What shows a wall that answers otherwise for each URL, in its host's own words, and what is fetched again after it."""

from __future__ import annotations

import itertools

import pytest
from dict_memory import DictMemory
from msgspec.structs import replace

from thresher.config.settings import CanarySettings
from thresher.crawler.core.effects import Effect, FetchAgain, NotWalled, ParkWalled, Request
from thresher.filters.canary import behind, records, samples, vocabulary
from thresher.filters.canary.filter import CanaryFilter
from thresher.filters.canary.news import CanaryRequest, Found, Seen
from thresher.filters.canary.records import Candidate, HostState, Stage, SuspectAnswer
from thresher.filters.canary.samples import Finding, Sample
from thresher.filters.soft_error.looks import Look
from thresher.filters.soft_error.records import ECHOES, Echo, forget_again

QUEUE = b"q" * 16
OWN = vocabulary.Speech.OWN


def key(n: int) -> bytes:
    return QUEUE[:8] + n.to_bytes(8, "big")


def look(first: int, n_words: int = 400, title: bytes = b"") -> Look:
    """Return the look of a page: of two of them, 60 pairs less the difference of their numbers are the same."""
    return Look(b"".join(n.to_bytes(4, "little") for n in range(first, first + 60)), n_words, title)


def asked(memory: DictMemory, n: int, found: Look, token: bytes, n_links: int = 9) -> tuple[Effect, ...]:
    """Answer to the canary of a number."""
    records.note_asked(memory, QUEUE, key(n))
    return CanaryFilter(CanarySettings()).on_answer(Found(key(n), 1.0, token, 200, found, "", was_asked=True, n_links=n_links), memory)


def host(memory: DictMemory, state: HostState, *, is_proved: bool = True) -> None:
    """Put a host with two canaries, the pages 0 and 1."""
    for n in range(2):
        page = Candidate(f"http://a/{n}", key(n), b"Ppage00%d" % n, look(100 * n), n + 1, speaks=OWN, n_links=9, is_proved=is_proved)
        records.put_candidate(memory, QUEUE, n, page)
    records.write_state(memory, QUEUE, state)


@pytest.mark.parametrize("is_proved", [True, False])
def test_a_steady_canary_that_shows_a_little_less_is_believed_only_with_another(*, is_proved: bool) -> None:
    """An old state of a site changes hardly anything on a list of links: 15 pages were lost. Mutations: what is lost by less than a
    quarter is as good as the page; a page of which it is not known whether it is steady asks for a second canary, too.
    """
    memory = DictMemory()
    host(memory, HostState(20, 9, good_at=20, stage=Stage.FIRST), is_proved=is_proved)
    effects = asked(memory, 0, look(5), b"Pless...")
    if not is_proved:
        assert effects == (NotWalled(QUEUE),)
        return
    assert [one.url for one in effects if isinstance(one, Request)] == ["http://a/1"]
    assert asked(memory, 1, look(100), b"Ppage001") == (NotWalled(QUEUE),)
    assert records.candidates(memory, QUEUE)[0].token == b"Pless...", "the page is what it is now"


@pytest.mark.parametrize("is_steady", [True, False])
def test_a_page_never_fetched_again_that_shows_less_is_no_proof_beside_a_steady_canary_that_has_failed(*, is_steady: bool) -> None:
    """An old state of a site changes few words of a short page. It counted as good three times, the steady canaries beside it were dropped,
    and what that wall had answered was kept. Mutation: whatever is like a page is that page.
    """
    memory = DictMemory()
    host(memory, HostState(20, 9, good_at=12, stage=Stage.FIRST), is_proved=is_steady)
    short = records.candidates(memory, QUEUE)[1]
    short.is_proved = False
    records.put_candidate(memory, QUEUE, 1, short)
    assert [one.url for one in asked(memory, 0, look(500), b"Pold0000") if isinstance(one, Request)] == ["http://a/1"]
    effects = asked(memory, 1, look(105), b"Pold0001")
    if not is_steady:
        assert NotWalled(QUEUE) in effects, "the first one was a page that has changed"
        return
    assert [one.url for one in effects if isinstance(one, Request)] == ["http://a/0"]
    assert any(isinstance(one, ParkWalled) for one in asked(memory, 0, look(500), b"Pold0000"))


def test_a_canary_with_another_title_is_another_page() -> None:
    """Pages of facts about other pages differ in a few words: one under another's address was as good as the other."""
    memory = DictMemory()
    host(memory, HostState(20, 9, good_at=20, stage=Stage.FIRST))
    effects = asked(memory, 0, look(0, title=b"othertit"), b"Pless...")
    assert [one.url for one in effects if isinstance(one, Request)] == ["http://a/1"]
    assert samples.differ(look(0), look(0, title=b"othertit"))


def test_where_a_canary_met_a_wall_and_another_none_what_the_wall_answered_is_fetched_again() -> None:
    """A letter was lost that a wall for every second request had answered for. Mutation: the host is well, and nothing is fetched again."""
    memory = DictMemory()
    host(memory, HostState(20, 9, good_at=18, stage=Stage.FIRST, watched_until=99))
    records.note_wall(memory, QUEUE, b"Pwalls..")
    for n, token in ((5, b"Pwalls.."), (6, b"Pown....")):
        records.put_suspect(memory, QUEUE, key(n), SuspectAnswer(token, b"", 0, n + 13))
    asked(memory, 0, look(1000), b"Pwalls..", n_links=0)
    effects = asked(memory, 1, look(100), b"Ppage001")
    assert [one.keys for one in effects if isinstance(one, FetchAgain)] == [(key(5),)]


def test_a_host_that_is_watched_is_asked_once_more_before_the_crawl_ends() -> None:
    """Its last answers had no good canary after them. Mutation: only samples and groups of alike answers were looked at then."""
    memory, part = DictMemory(), CanaryFilter(CanarySettings())
    host(memory, HostState(20, 9, good_at=20, watched_until=99))
    assert not part.is_in_doubt(QUEUE, memory)
    host(memory, HostState(20, 9, good_at=17, watched_until=99))
    assert part.is_in_doubt(QUEUE, memory)
    (request,) = part.on_news(CanaryRequest(QUEUE, is_drained=True), memory)
    assert isinstance(request, Request)


@pytest.mark.parametrize(("far", "is_wall"), [(1000, True), (20, False)])
def test_two_samples_that_show_the_same_once_were_behind_a_wall(far: int, *, is_wall: bool) -> None:
    """A wall for every second request made a site one of variants: no further sample was looked at, and 20 pages were lost. A page with one
    of six quotations is no wall's. Mutations: such samples always count as variants, or never.
    """
    memory = DictMemory()
    state = HostState(90, 40)
    host(memory, state)
    for n in (8, 16):
        samples.put(memory, QUEUE, n, Sample(f"http://a/{n}", key(n), b"Pown%04d" % n, look(0), 9))
        state = records.stored_state(memory, QUEUE) or state
        state.stage, state.sample_at, state.is_drained = Stage.SAMPLE, n, True
        records.write_state(memory, QUEUE, state)
        asked(memory, n, look(far), b"Pslowdwn")
        asked(memory, n, look(0), b"Pown%04d" % n)
    state = records.stored_state(memory, QUEUE) or state
    assert (records.is_of_wall(memory, QUEUE, b"Pslowdwn"), state.n_walls, state.n_flips) == ((True, 1, 0) if is_wall else (False, 0, 2))
    assert {one.found for at in (8, 16) if (one := samples.sample_at(memory, QUEUE, at))} == {Finding.SAME}


@pytest.mark.parametrize("shown", [look(5), look(500)])
def test_a_steady_canary_that_a_wall_made_another_page_tells_of_that_wall_once_it_has_fallen(shown: Look) -> None:
    """An old state of a site leaves a list of links as it is, which was good three times in a row; so the other page had changed, it
    seemed, and told nothing when it was itself again. Mutation: such a page is dropped, or may lose as much as it had lost from then on.
    """
    memory = DictMemory()
    host(memory, HostState(20, 9, good_at=16, stage=Stage.FIRST, watched_until=200))
    for n in range(1, 21):
        samples.note(memory, Seen(QUEUE, key(n), f"http://a/{n}", b"P%07d" % n, 3), HostState(n))
    page = records.candidates(memory, QUEUE)[0]
    page.n_failed = 2
    records.put_candidate(memory, QUEUE, 0, page)
    asked(memory, 0, shown, b"Pold0000")
    assert NotWalled(QUEUE) in asked(memory, 1, look(100), b"Ppage001")
    records.write_state(memory, QUEUE, replace(records.stored_state(memory, QUEUE) or HostState(), stage=Stage.FIRST, slot=0))
    again = [one.keys for one in asked(memory, 0, look(0), b"Ppage000") if isinstance(one, FetchAgain)]
    assert again == [tuple(key(n) for n in range(17, 21))]
    assert records.candidates(memory, QUEUE)[0].token == b"Ppage000"


def test_samples_are_no_evidence_where_a_steady_canary_has_failed_since_the_last_good_one() -> None:
    """An old state stood while samples were fetched again that it had shown before; a list of links was good then, and so was the steady
    page soon after: nine pages were lost. Mutation: only a wall that was found puts samples in doubt.
    """
    memory = DictMemory()
    host(memory, HostState(20, 9, good_at=20, stage=Stage.FIRST, watched_until=200, unsure=[8]))
    samples.put(memory, QUEUE, 8, Sample("http://a/8", key(8), b"Pold0008", look(0), 9, Finding.SAME))
    asked(memory, 0, look(500), b"Pold0000")
    asked(memory, 1, look(100), b"Ppage001")
    sample = samples.sample_at(memory, QUEUE, 8)
    assert sample is not None
    assert sample.found is Finding.NOTHING


@pytest.mark.parametrize("first", ["itself", "another"])
def test_what_two_samples_of_a_watched_host_show_is_a_wall_s_if_the_first_was_itself_again(first: str) -> None:
    """A wall for every second request stood while samples were fetched again. One was an old state's: six times it showed that wall,
    then its page, which said nothing as long as the wall was not known. Mutations: nothing is known of a wall on a watched host; two
    pages that were deleted are a wall's.
    """
    memory = DictMemory()
    host(memory, HostState(90, 40, watched_until=500, n_walls=1))
    for n in (8, 16):
        samples.put(memory, QUEUE, n, Sample(f"http://a/{n}", key(n), b"Pown%04d" % n, look(0), 9))
    for n in (8, 16):
        state = records.stored_state(memory, QUEUE) or HostState()
        records.write_state(memory, QUEUE, replace(state, stage=Stage.SAMPLE, sample_at=n, is_drained=True))
        asked(memory, n, look(1_000), b"Pslowdwn")
        if n == 8:
            asked(memory, n, *((look(0), b"Pown0008") if first == "itself" else (look(1_000), b"Pslowdwn")))
    assert records.is_of_wall(memory, QUEUE, b"Pslowdwn") == (first == "itself")


def test_the_last_answers_may_be_a_walls_though_only_a_canary_was_in_other_words() -> None:
    """The first words of a list are those of its menu: five of nine pages of a wall were taken for the host's. Mutation: only what lies
    between two answers in the host's words.
    """
    memory = DictMemory()
    for n in range(1, 41):
        samples.note(memory, Seen(QUEUE, key(n), f"http://a/{n}", b"P%07d" % n, 3), HostState(n))
        speaks = vocabulary.Speech.STRANGE if n == 5 else OWN
        records.put_suspect(memory, QUEUE, key(n), SuspectAnswer(b"P%07d" % n, b"", speaks, n))
    samples.put(memory, QUEUE, 36, Sample("http://a/36", key(36), b"P0000036", look(0), 9))
    state = HostState(40, 30, failed=[b"Pfailed."], is_foreign=True)
    keys, _ = behind.answered(memory, QUEUE, state)
    assert sorted(keys) == [key(n) for n in (5, 37, 38, 39, 40)]
    assert state.watched_until


def test_walls_stood_at_the_same_time_only_if_their_answers_lie_close() -> None:
    """One URL of a group had been answered long before: 448 URLs between came again. Mutation: from the first one on."""
    memory = DictMemory()
    for n in range(1, 101):
        samples.note(memory, Seen(QUEUE, key(n), f"http://a/{n}", b"P%07d" % n, 3), HostState(n))
    state = HostState(100, 90, why=b"Pslow...", fell=[(40, 50, b"Pother..")])
    assert samples.beside(memory, QUEUE, state, [key(n) for n in (2, 90, 95)]) == ()
    state = HostState(100, 90, why=b"Pslow...", fell=[(92, 97, b"Pother..")])
    assert samples.beside(memory, QUEUE, state, [key(n) for n in (2, 90, 95)]) == tuple(key(n) for n in (91, 92, 93, 94, 96, 97))


def test_a_neighbour_of_a_bad_sample_is_compared_though_its_url_is_fetched_again() -> None:
    """It had shown what another page within a wall did, and was dropped: two pages behind it were lost. Mutation: all are dropped."""
    memory, state = DictMemory(), HostState(40, 30, near=[16])
    for n in (8, 16):
        samples.put(memory, QUEUE, n, Sample(f"http://a/{n}", key(n), b"Pown%04d" % n, look(0), 9))
    samples.forget(memory, QUEUE, state, [key(8), key(16)])
    assert [at for at in (8, 16) if samples.sample_at(memory, QUEUE, at)] == [16]


def test_a_page_that_is_fetched_again_no_longer_has_the_text_of_a_form() -> None:
    """A wall had shown a login form there; when a third address showed the form, the page that had come back was dropped. Mutation: nothing
    is forgotten.
    """
    memory = DictMemory()
    ECHOES.put(memory, key(99), Echo([key(1), key(2)]))
    ECHOES.put(memory, key(98), Echo([key(2)]))
    ECHOES.put(memory, key(97), Echo([key(2)], is_judged=True))
    forget_again([key(2)], memory)
    found = {at: echo.pages for at, echo in ECHOES.scan(memory, QUEUE[:8])}
    assert found == {key(99): [key(1)], key(97): [key(2)]}


@pytest.mark.parametrize("n_listed", [0, 32])
@pytest.mark.parametrize(("n_redirects", "n_samples"), [(0, 24), (1, 24), (2, 24), (1_000, 0)])
def test_the_next_page_takes_the_place_of_a_sample_where_a_redirect_has_come(n_listed: int, n_redirects: int, n_samples: int) -> None:
    """Of a forum every second answer is a redirect to its login form. Mutations: no page is a sample then until the next place; none of
    that turn, although the place was the last of it.

    Args:
        n_listed: Answers before, which end the list of the host's first ones: they are learned from.
        n_redirects: So many answers in a row from each place of a sample on are redirects.
        n_samples: Of 96 answers.
    """
    memory, part, taken = DictMemory(), CanaryFilter(CanarySettings(share=0)), 0
    for n in range(1, n_listed + 105):
        is_redirect = 0 <= samples.n_since_place(n, HostState().every) < n_redirects
        token = b"R%07d" % n if is_redirect else b"P%07d" % n
        is_taken = not is_redirect and part.wanted(QUEUE, memory, OWN).sample
        seen = Seen(QUEUE, key(n), f"http://a/{n}", token, 3, is_kept=not is_redirect, speaks=OWN, sample=look(n) if is_taken else None)
        part.on_news(seen, memory)
        taken += is_taken and n > n_listed + 8
    assert taken == n_samples


def test_a_form_that_several_urls_show_does_not_say_that_what_lies_beside_it_is_sound() -> None:
    """An old state of a forum leaves its login form as it is: one of four lost pages. Mutation: any sample that is as it was ends what is
    fetched again.
    """
    memory, state = DictMemory(), HostState(watched_until=100)
    for n in range(1, 25):
        state.n_answers = n
        token = b"Plogin.." if n in (12, 13) else b"P%07d" % n
        samples.note(memory, Seen(QUEUE, key(n), f"http://a/{n}", token, 3, sample=None if n % 4 else look(n)), state)
    for at in (4, 12):
        samples.close(memory, QUEUE, state, at, Finding.SAME)
    assert samples.bad(memory, QUEUE, state, 8).keys == tuple(map(key, (5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)))


def test_a_known_wall_that_only_canaries_have_met_makes_nothing_be_fetched_again() -> None:
    """Mutation: it is taken for one that answers otherwise for each URL, and all answers since the last good canary for its own."""
    memory = DictMemory()
    for n in range(3):
        records.put_suspect(memory, QUEUE, key(n), SuspectAnswer(b"P%07d" % n, b"", at=n))
    state = HostState(40, failed=[b"Plogin..", b"Plogin.."])
    assert behind.of_wall(memory, QUEUE, state)[0] == tuple(map(key, range(3)))
    records.note_wall(memory, QUEUE, b"Plogin..")
    assert behind.of_wall(memory, QUEUE, state) == ((), {b"Plogin.."})


def test_a_wall_of_nine_answers_meets_a_sample_on_a_host_of_two_thousand_pages() -> None:
    """Nine answers of an old state lay between two samples of a calendar, and were kept. Mutation: half as many samples are kept."""
    memory, state = DictMemory(), HostState()
    for n in range(1, 2_001):
        seen = Seen(QUEUE, key(n), f"http://a/{n}", b"P%07d" % n, 3, is_kept=True, n_links=9)
        state.n_answers = n - 1
        is_sample = samples.is_wanted(memory, QUEUE, state)
        state.n_answers = n
        samples.note(memory, replace(seen, sample=look(n)) if is_sample else seen, state)
    at = [n for n in range(1, 2_001) if samples.sample_at(memory, QUEUE, n) is not None]
    assert max(later - earlier for earlier, later in itertools.pairwise(at)) <= 9


@pytest.mark.parametrize("oldest", ["itself", "changed"])
def test_the_oldest_sample_is_fetched_before_a_page_older_than_the_canaries_is_judged(oldest: str) -> None:
    """A wall was among a host's first answers, before it had canaries: its sample proved nothing, and seven pages of a repository behind it
    were lost. Mutations: a sample without an older page that is as it was proves nothing at once; it always does.
    """
    memory, state = DictMemory(), HostState(60, 40, is_drained=True)
    host(memory, state)
    for slot, one in records.candidates(memory, QUEUE).items():
        one.at = 50
        records.put_candidate(memory, QUEUE, slot, one)
    for n in range(1, 61):
        state.n_answers = n
        seen = Seen(QUEUE, key(n), f"http://a/{n}", b"P%07d" % n, 3, sample=look(1_000 * n) if n in (4, 8, 40) else None, n_links=9)
        samples.note(memory, seen, state)
    state.stage, state.sample_at = Stage.SAMPLE, 8
    records.write_state(memory, QUEUE, state)
    effects: tuple[Effect, ...] = ()
    own = {0: (look(0), b"Ppage000"), 1: (look(100), b"Ppage001"), 8: (look(77), b"Pother..")}
    shows = own | {4: (look(4_000), b"P0000004") if oldest == "itself" else (look(55), b"Pnews...")}
    n, again = 8, []
    while True:
        effects = asked(memory, n, *shows.get(n, (look(1_000 * n), b"P%07d" % n)))
        again += [at for one in effects if isinstance(one, FetchAgain) for at in one.keys]
        requests = [one for one in effects if isinstance(one, Request)]
        if not requests:
            break
        n = int(requests[0].url.rpartition("/")[2])
    assert (key(8) in again) == (oldest == "itself")
    assert key(40) not in again


@pytest.mark.parametrize("is_redirect", [True, False])
def test_what_redirected_to_the_page_of_a_wall_is_fetched_again_with_it(*, is_redirect: bool) -> None:
    """A login form was known as a wall's page; a wall that redirects to it fell unseen, and only the addresses of the form were fetched
    again: four weeks of a calendar were lost. Mutations: no redirect is, beside a good canary or after it; a page that named it is.
    """
    memory, state = DictMemory(), HostState(20, 9, good_at=18, stage=Stage.FIRST, watched_until=99)
    host(memory, state)
    records.note_wall(memory, QUEUE, b"Plogin..")
    for n, token in ((5, b"R/login." if is_redirect else b"P0000005"), (6, b"Plogin..")):
        samples.note(memory, Seen(QUEUE, key(n), f"http://a/{n}", token, 3), HostState(n))
        records.put_suspect(memory, QUEUE, key(n), SuspectAnswer(token, key(5) if n == 6 else b"", 0, n + 13))
    expected = (key(6), key(5)) if is_redirect else (key(6),)
    assert behind.of_wall(memory, QUEUE, HostState(40, failed=[b"Plogin.."]))[0] == expected
    asked(memory, 0, look(1000), b"Plogin..", n_links=0)
    effects = asked(memory, 1, look(100), b"Ppage001")
    assert [one.keys for one in effects if isinstance(one, FetchAgain)] == [expected]
