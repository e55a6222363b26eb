"""The form of what is stored changes only together with `VERSION` in storage/schema.py.

Otherwise a crawl that an earlier Thresher began looks sound, and then kills each agent that goes on with it. Stored are msgspec structs and
rows that are packed by hand: in the store's own tables, and in the filters' memories. If a test here fails, and older rows

    can still be read    for example since a field with a default was appended, or a filter learns something else in the same form:
                         PYTHONPATH=tests/filters python tests/storage/record_forms.py [--readable]
    cannot be read       raise `VERSION`, let `thresher migrate` carry the schema before over (storage/migrating.py), and run
                         PYTHONPATH=tests/filters python tests/storage/record_forms.py
                         PYTHONPATH=tests/stories python tests/storage/stored_crawl.py
                         The crawls of earlier schemas stay in tests/storage/crawls as long as `thresher migrate` carries them over
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from little_web import LittleWeb, crawl
from long import shortened
from record_forms import breaks, forms, pinned
from stored_crawl import CRAWLS, PLAIN, configuration, put, unpacked

from thresher.crawler.core.errors import StoreError
from thresher.crawler.core.model import State
from thresher.storage.migrating import migrate
from thresher.storage.schema import CARRIED_OVER, MEMORY, TABLES, VERSION
from thresher.storage.tables.memory import filter_tag
from thresher.storage.verify import verify
from thresher.storage.view import View

STATE, REASONS = "filters.canary.records.HostState", "storage.packing.REASONS"
LEARN = ("canary", "depth_cutoff", "dust", "exact_duplicate", "near_replica", "path_trap", "pattern_yield", "soft_error", "undo")


def test_what_is_stored_changes_only_with_the_version() -> None:
    """Mutations: a field moved, taken out, of another type, without a default; a reason put in between; other bytes of a packed row."""
    before, now = pinned(), forms()
    assert before["schema"] == VERSION, "VERSION was raised: pin the new forms, see above"
    assert breaks(before, now) == [], "rows of existing stores cannot be read any more: see above"
    assert before == now, "something was added: pin it, see above"


def test_each_change_of_a_form_is_seen() -> None:
    before = pinned()

    def changed(change: Callable[[Any, Any], object]) -> list[str]:
        now = deepcopy(before)
        change(now, now["types"][STATE])
        return breaks(before, now)

    assert changed(lambda _, state: state["fields"].append("more: int = default")) == []
    assert changed(lambda _, state: state["fields"].append("more: int")) == [
        f"{STATE}: its new field more: int has no default: rows without it cannot be read"
    ]
    assert changed(lambda _, state: state["fields"].pop())[0].endswith("is gone: gone now")
    assert len(changed(lambda _, state: state["fields"].insert(6, "more: int = default"))) > 5
    assert changed(lambda _, state: operator.setitem(state["fields"], 0, "n_answers: float = default")) == [
        f"{STATE}: its field n_answers: int is n_answers: float = default now"
    ]
    assert changed(lambda _, state: operator.setitem(state["fields"], 0, "n: int = default")) == []
    assert changed(lambda _, state: state.update(array=False)) == [f"{STATE}: is written in another way"]
    assert changed(lambda now, _: now["types"].pop(STATE)) == [f"{STATE}: gone"]
    assert changed(lambda now, state: now["types"].update({"filters.other.State": state}) or now["types"].pop(STATE)) == []
    assert changed(lambda now, _: now["types"][REASONS]["values"].update(new=999)) == []
    assert len(changed(lambda now, _: now["types"][REASONS].update(values={str(value): value + 1 for value in range(40)}))) > 0
    assert changed(lambda now, _: now["tables"].pop("held")) == ["table held: gone, or in another file"]
    assert changed(lambda now, _: now["packed"].update(undo={})) == ["packed undo: other bytes"]


@pytest.mark.parametrize("schema", shortened([CARRIED_OVER[0], VERSION, *CARRIED_OVER[1:]], 2))  # the first was changed most
async def test_a_crawl_that_was_begun_by_other_code_goes_on(schema: int, tmp_path: Path) -> None:
    """Of each schema that can be carried over, and of today's: nothing that was known is lost, and every page comes.

    Mutation: the rows of an open list of a host's first answers in the form before, under today's number.
    """
    path = unpacked(schema, tmp_path)
    if schema != VERSION:
        with pytest.raises(StoreError, match=f"schema version {schema}, expected {VERSION}. Carry the crawl over with `thresher migrate"):
            View(path)
        assert migrate(path, print) == 1
    assert verify(path) == []
    with View(path) as view:
        before = {url.text: row.state for url, row in view.all_urls()}
        held = {url for url, state in before.items() if state is State.HELD}
    async with LittleWeb() as web:
        put(web)
        crawled = await crawl(path, configuration(web, max_pages=500))
        plain = {web.url(place) for place in PLAIN}
    assert crawled.ending.is_done
    assert before.keys() <= crawled.rows.keys()
    assert {url for url, state in before.items() if state is State.DONE} <= {url for url in before if crawled.state(url) is State.DONE}
    assert plain <= crawled.pages.keys()
    assert all(crawled.state(url) is not None for url in held)


def test_a_crawl_of_each_schema_is_kept() -> None:
    assert sorted(path.name for path in CRAWLS.iterdir()) == sorted(f"{schema}.tar.xz" for schema in (*CARRIED_OVER, VERSION))


def test_the_crawl_of_today_has_rows_of_each_filter(tmp_path: Path) -> None:
    """A crawl in which a filter learned nothing would prove nothing about its rows."""
    with View(unpacked(VERSION, tmp_path)) as view:
        tags = {key[:2] for key, _ in view.rows(MEMORY)}
        tables = {name for name in TABLES if next(iter(view.rows(name)), None) is not None}
    assert {filter_tag(name) for name in LEARN} <= tags
    assert tables >= {"sites", "hosts", "seen", "urls", "queue", "due", "robots", "edges", "pairs", "held", "memory", "announced"}
