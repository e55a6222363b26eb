"""Evidence that a wall has made void: what filters remember goes back, whatever they are, and what they say with it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from dict_memory import DictMemory
from hypothesis import example, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from subjects import SPACE, batch, page, pair
from webs import Bench, Subject, lives, pages, registered

from thresher.crawler.core.effects import Answer
from thresher.crawler.core.ports import Change, Put
from thresher.crawler.native import NATIVE, native
from thresher.filters.evidence import undo
from thresher.filters.evidence.undo import Undo

SITE, OTHER = SPACE.site_key("a.example"), SPACE.site_key("b.example")
NONE = b"word!" + bytes(3)  # begins the keys of what belongs to no site
SEVERAL = [spec.name for spec in registered() if spec.name != "canary" and (spec.learned or spec.redirect or spec.page)]
keys = st.builds(lambda site, name: site + name, st.sampled_from((SITE, OTHER, NONE)), st.sampled_from((b"k", b"l", b"m")))
steps = st.one_of(
    st.tuples(st.just("put"), st.sampled_from("fg"), keys, st.binary(max_size=2)),
    st.tuples(st.just("delete"), st.sampled_from("fg"), keys),
    st.tuples(st.sampled_from(("believe", "void")), st.sampled_from((SITE, OTHER))),
    st.tuples(st.sampled_from(("save", "kill"))),
)


@examples(max_examples=60, deadline=None, derandomize=True)
@given(story=st.lists(steps, max_size=30))
@example(story=[("put", "f", SITE + b"k", b"1"), ("kill",), ("put", "f", SITE + b"k", b"2"), ("save",), ("void", SITE)])
def test_what_is_void_is_as_it_was_when_it_was_last_believed_over_kills(story: list[tuple[object, ...]]) -> None:
    """Mutations: notes are played back oldest first; `believe` does not delete them; the second change of a record replaces the note of the
    first.
    """
    memories, log = {name: DictMemory() for name in "fg"}, DictMemory()
    undoing = Undo(log)
    over = {name: undoing.over(name, memory) for name, memory in memories.items()}
    believed: dict[bytes, dict[str, dict[bytes, bytes]]] = {SITE: {"f": {}, "g": {}}, OTHER: {"f": {}, "g": {}}}
    for what, *given_ in story:
        match what, given_:
            case "put", [str(name), bytes(key), bytes(value)]:
                over[name].put(key, value)
            case "delete", [str(name), bytes(key)]:
                over[name].delete(key)
            case "believe", [bytes(site)]:
                undoing.believe(site)
                believed[site] = {name: _of(memory, site) for name, memory in memories.items()}
            case "void", [bytes(site)]:
                undoing.void(site)
                assert {name: _of(memory, site) for name, memory in memories.items()} == believed[site]
            case _:
                undoing.save()  # with the visit: what was not committed is not in the memories either
                if what == "kill":
                    undoing = Undo(log)
                    over = {name: undoing.over(name, memory) for name, memory in memories.items()}
    assert not [key for key in log.rows if key[:8] == NONE]


class NotingMemory(DictMemory):
    """A memory over the native cache, which notes by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = native.RecordCache(self.rows.get, 4, True, SimpleNamespace(visit=1), lambda _site, grown: grown, b"tg", 1 << 20)

    def noting(self, name: str, noted: dict[bytes, set[bytes]], changes: dict[bytes, list[Change]], /) -> Put:
        self.cache.note_in(name, noted, changes)
        return self.cache.write_noted

    def get(self, key: bytes, /) -> bytes | None:
        return self.cache.get(key)

    def put(self, key: bytes, value: bytes, /, weight: float = 0.0) -> None:
        self.cache.write(key, value, weight)

    def delete(self, key: bytes, /) -> None:
        self.cache.put(key, None)


@pytest.mark.skipif(not NATIVE, reason="the extension was not built, or THRESHER_NATIVE=0")
@examples(max_examples=60, deadline=None, derandomize=True)
@given(story=st.lists(steps, max_size=30))
def test_c_notes_what_a_record_was_as_python_does(story: list[tuple[object, ...]]) -> None:
    """Mutations: the second change of a record is noted, too; a record that belongs to no site is noted."""
    logs, memories = (DictMemory(), DictMemory()), (NotingMemory(), DictMemory())
    undoing = [Undo(log) for log in logs]
    over = [each.over("f", memory) for each, memory in zip(undoing, memories, strict=True)]
    for n, (what, *given_) in enumerate([*story, ("save",)]):
        for each, memory in zip(undoing, over, strict=True):
            match what, given_:
                case "put", [_, bytes(key), bytes(value)]:
                    memory.put(key, value, weight=n / 7)
                case "delete", [_, bytes(key)]:
                    memory.delete(key)
                case "believe", [bytes(site)]:
                    each.believe(site)
                case "void", [bytes(site)]:
                    each.void(site)
                case _:
                    each.save()
        assert over[0].noted == over[1].noted
    assert logs[0].rows == logs[1].rows


def _of(memory: DictMemory, site: bytes) -> dict[bytes, bytes]:
    return {key: value for key, value in memory.rows.items() if key.startswith(site)}


@examples(max_examples=25, deadline=None, derandomize=True)
@given(before=lives, behind=lives, then=lives)
def test_every_filter_forgets_what_it_learned_behind_a_wall(
    before: list[Subject | Answer], behind: list[Subject | Answer], then: list[Subject | Answer]
) -> None:
    """Mutations: one filter is given its memory without the notes; a note is lost."""
    bench, sober = (Bench.of(registered()) for _ in range(2))
    for each in (bench, sober):
        each.tell(before)
    bench.panel.believe(SITE)
    bench.panel.believe(OTHER)
    believed = bench.all_rows()
    bench.tell(behind)
    bench.panel.save()
    for site in (SITE, OTHER):
        bench.panel.void(site)
    assert {name: bench.rows(name) for name in SEVERAL} == {name: believed[name] for name in SEVERAL}
    for key, value in bench.memories["dust"].scan(b""):
        if key[1:5] == b"host":  # what one path shows on several hosts: it belongs to no site, so nothing of it is forgotten
            sober.memories["dust"].put(key, value)
    for each in (bench, sober):
        each.tell(then)
    assert {name: bench.rows(name) for name in SEVERAL} == {name: sober.rows(name) for name in SEVERAL}


BARREN: dict[str, list[Subject | Answer]] = {
    "path_trap": [page(f"http://a.example/dir/{n}", "log in to see this page of ours", status=404) for n in range(9)],
    "pattern_yield": [page(f"http://a.example/dir/{n}", "log in to see this page of ours", status=404) for n in range(9)],
    "exact_duplicate": [page(f"http://a.example/dir/{n}", "log in to see this page of ours, please") for n in range(3)],
    "near_replica": [page(f"http://a.example/dir/{n}", f"log in to see this page of ours, please, friend {n}") for n in range(3)],
    "dust": [page(f"http://a.example/1?ref={n}", "log in to see this page of ours, please " * 3) for n in range(9)],
    "depth_cutoff": [page(f"http://a.example/dir/{n}", "log in to see this page", via=SPACE.url("http://a.example/")) for n in range(9)],
    "soft_error": [pair(f"http://a.example/dir/{n}", "http://a.example/login") for n in range(9)],
}


@pytest.mark.parametrize("name", sorted(BARREN))
def test_each_filter_has_learned_something_behind_a_wall_that_it_forgets(name: str) -> None:
    """Without this the test above could pass because a filter had learned nothing."""
    bench = Bench.of(registered())
    bench.tell([page("http://a.example/", "home of all that is written here by us"), batch("http://a.example/1")])
    bench.panel.believe(SITE)
    before = bench.rows(name)
    bench.tell(BARREN[name])
    learned = bench.rows(name)
    bench.panel.void(SITE)
    assert learned != before
    assert bench.rows(name) == before
    assert not bench.rows(undo.NAME)


def test_that_a_page_is_fetched_again_is_no_evidence_and_stays() -> None:
    """Mutation: `Panel.again` wrote through the memory whose changes are undone: the text was once more that of the page which a wall had
    answered for.
    """
    bench = Bench.of(registered())
    text = "a page of some words, as there are many of them on this site, and more than twenty words in all, so that it counts"
    first, other = page("http://a.example/dir/1", text), page("http://a.example/dir/2", text)
    bench.tell([first])
    bench.panel.believe(SITE)
    bench.panel.again([first.url.key])
    bench.panel.void(SITE)
    assert bench.panel.page(other).judgement.keep


def test_a_filter_does_not_go_on_with_what_it_had_decoded_of_a_site() -> None:
    """On a good site pattern_yield learns from one page in sixteen; one bad page ends that, if it is believed.

    Mutation: the panel does not call `on_restored`.
    """
    bench = Bench.of([spec for spec in registered() if spec.name in ("pattern_yield", "canary")])
    good = [page(f"http://a.example/n/{n}", " ".join(f"w{n}x{i}" for i in range(40))) for n in range(60)]
    bench.tell(good[:30])
    bench.panel.believe(SITE)
    bench.tell([page("http://a.example/n/99", "gone", status=404)])
    bench.panel.void(SITE)
    before = bench.rows("pattern_yield")
    bench.tell([one for one in good[30:] if one.url.key[8] % 16])
    assert bench.rows("pattern_yield") == before


@examples(max_examples=10, deadline=None, derandomize=True)
@given(story=st.lists(pages, max_size=8))
def test_an_observing_canary_makes_nothing_void(story: list[Subject | Answer]) -> None:
    bench = Bench.of(registered("observe"))
    bench.tell(story)
    assert bench.panel.void(SITE) is bench.panel.believe(SITE) is None
    assert undo.NAME not in bench.memories
