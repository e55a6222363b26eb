"""Limits are exact. After a resume under another configuration, the crawl is as if it had had that one from the beginning.

Judged by the server's log and by what the store holds.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from harness import Findings, Life, crawl, demo, differences, findings, options, resume, write_config
from injecting import crash_at
from server_log import refetches, unlabelled

from thresher.crawler.core.url import origin_of, queue_name
from thresher.crawler.demo.log import ROBOTS, ServerLog
from thresher.crawler.demo.process import ServerProcess
from thresher.crawler.process.supervisor import Supervisor
from thresher.crawler.start.opening import reconfigure
from thresher.crawler.terminal.progress import Silent
from thresher.storage.verify import verify

WEB: dict[str, Any] = {"n_sites": 5, "hosts_per_site": [2, 2], "pages_per_host": [11, 11], "n_seeds": 2}
ASSETS = (".pdf", ".png", ".zip", ".jpg", ".docx")


class Place(NamedTuple):
    """A server for all tests of this file, and a configuration that crawls all of it."""

    server: ServerProcess
    sections: dict[str, dict[str, Any]]
    whole: Findings

    def crawl(self, directory: Path, *sets: str) -> Life:
        config = write_config(directory, self.sections, self.server.web.seeds())
        return crawl(directory / "store", config, *(part for text in sets for part in ("--set", text)))

    def log_of(self, since: int) -> ServerLog:
        """Return what the server saw after its first `since` requests."""
        return ServerLog(self.server.read_log().requests[since:])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server without random faults, so that every crawl sees the same web."""
    directory = tmp_path_factory.mktemp("place")
    observe = {name: {"mode": "observe"} for name in ("path_trap", "exact_duplicate", "pattern_yield")}
    with demo("kill", directory, **WEB, error_share=0.0) as server:
        here = Place(server, options(server, filters=observe), Findings({}, [], 0, {}))
        with here.crawl(directory) as life:
            assert life.end() == 0, life.said
        yield here._replace(whole=findings(directory / "store"))


@pytest.fixture(scope="module")
def homes(place: Place, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ServerLog]:
    """A finished crawl of the seeds' hosts alone, to be copied, and what the server saw of it."""
    directory, before = tmp_path_factory.mktemp("homes"), len(place.server.read_log())
    with place.crawl(directory, "scope.type=host") as life:
        assert life.end() == 0, life.said
    return directory / "store", place.log_of(before)


@pytest.fixture
def seen(place: Place) -> int:
    """How many requests the server had answered before this test."""
    return len(place.server.read_log())


def pages(found: Findings) -> list[str]:
    """Return the URLs that have a page."""
    return [url for url, finding in found.urls.items() if finding.status and not finding.target]


# -- limits ---------------------------------------------------------------------------------------------------------------------------


def test_max_pages_is_exact_under_concurrency(place: Place, seen: int, tmp_path: Path) -> None:
    """The exit code is 0, and `resume` with a higher limit goes on up to it. There is never a page too many, however many requests were in
    flight.
    """
    with place.crawl(tmp_path, "limits.max_pages=37") as life:
        assert life.end() == 0
        assert "limits.max_pages reached" in life.said
    with resume(tmp_path / "store") as life:  # it ends at once, and says how the crawl would go on
        assert life.end() == 0
        assert f"with N above 37, `thresher resume {tmp_path / 'store'} --max-pages N` goes on" in life.said
    status = msgspec.json.decode((tmp_path / "store" / "status.json").read_bytes())
    assert (status["state"], status["pages"]) == ("done", 37)
    assert len(pages(findings(tmp_path / "store"))) == 37
    with resume(tmp_path / "store", "--set", "limits.max_pages=61") as life:
        assert life.end() == 0
    assert len(pages(findings(tmp_path / "store"))) == 61
    answered = [request for request in place.log_of(seen).requests if request.path != ROBOTS and request.status in (200, 404, 410)]
    assert len(answered) == 61
    assert verify(tmp_path / "store") == []


def test_no_host_gives_more_pages_than_its_budget(place: Place, seen: int, tmp_path: Path) -> None:
    """P42: the budget is exact for each host queue. With a higher one at a resume, the crawl is as if there had been none."""
    with place.crawl(tmp_path, "limits.max_pages_per_host=6") as life:
        assert life.end() == 0, life.said
        assert "host_budget" in life.said
    counts: dict[str, int] = {}
    for url in pages(findings(tmp_path / "store")):
        name = queue_name(origin_of(url))
        counts[name] = counts.get(name, 0) + 1
    assert set(counts.values()) == {6}
    assert len(counts) == 10
    with resume(tmp_path / "store", "--set", "limits.max_pages_per_host=null") as life:
        assert life.end() == 0, life.said
    assert differences(place.whole, findings(tmp_path / "store")) == ([], [], [])
    assert refetches(place.log_of(seen), unlabelled(place.server.web).truth()) == {}


def test_nothing_deeper_than_max_depth_is_asked_for(place: Place, seen: int, tmp_path: Path) -> None:
    """Only clicks from a seed count, not redirects. When the limit is taken away, URLs that were too deep are taken from the stored pages,
    and no page is fetched again.
    """
    depth_of = {url: planted.depth for url, planted in unlabelled(place.server.web).truth().urls.items()}
    with place.crawl(tmp_path, "limits.max_depth=1") as life:
        assert life.end() == 0, life.said
    asked = {url for url in place.log_of(seen).counts() if not url.endswith(ROBOTS)}
    wanted = {url for url, depth in depth_of.items() if depth <= 1 and not url.endswith(ASSETS)}
    assert asked == wanted
    with resume(tmp_path / "store", "--set", "limits.max_depth=null") as life:
        assert life.end() == 0, life.said
    assert differences(place.whole, findings(tmp_path / "store")) == ([], [], [])
    assert refetches(place.log_of(seen), unlabelled(place.server.web).truth()) == {}


# -- scope ----------------------------------------------------------------------------------------------------------------------------


def test_a_wider_scope_admits_what_was_refused_and_fetches_nothing_again(
    place: Place, homes: tuple[Path, ServerLog], tmp_path: Path
) -> None:
    """P54, P40: with the scope `host` no other host gets any request. With a wider one at a resume, the links of the stored pages are
    judged again.
    """
    finished, log = homes
    assert set(log.queues()) == {queue_name(origin_of(seed)) for seed in place.server.web.seeds()}
    shutil.copytree(finished, tmp_path / "store")
    before = len(place.server.read_log())
    with resume(tmp_path / "store", "--set", "scope.type=any") as life:
        assert life.end() == 0, life.said
    assert differences(place.whole, findings(tmp_path / "store")) == ([], [], [])
    both = ServerLog(log.requests + place.log_of(before).requests)
    assert refetches(both, unlabelled(place.server.web).truth()) == {}
    assert verify(tmp_path / "store") == []


def test_a_narrower_scope_refuses_what_still_waits(place: Place, tmp_path: Path) -> None:
    """P51, P54: a host that the narrower scope excludes gets no request; its URLs are refused, with the reason."""
    homes = {queue_name(origin_of(seed)) for seed in place.server.web.seeds()}
    with place.crawl(tmp_path, "limits.max_pages=40") as life:
        assert life.end() == 0, life.said
    before = len(place.server.read_log())
    waiting = [url for url, finding in findings(tmp_path / "store").urls.items() if finding.state == "QUEUED"]
    elsewhere = [url for url in waiting if queue_name(origin_of(url)) not in homes]
    assert elsewhere
    with resume(tmp_path / "store", "--set", "scope.type=host", "--set", "limits.max_pages=null") as life:
        assert life.end() == 0, life.said
    assert set(place.log_of(before).queues()) <= homes
    urls = findings(tmp_path / "store").urls
    assert {(urls[url].state, urls[url].reason) for url in elsewhere} == {("REFUSED", "out_of_scope")}


async def test_a_readmission_that_is_killed_is_carried_out_by_the_next_life(
    place: Place, homes: tuple[Path, ServerLog], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F81: the mark "configuration changed" stays in the store until all links are judged again."""
    shutil.copytree(homes[0], tmp_path / "store")
    reconfigure(tmp_path / "store", (), (), (), ("scope.type=any",))
    for name, value in crash_at("before_state_commit:1", once=tmp_path / "crashed").items():
        monkeypatch.setenv(name, value)
    supervisor = Supervisor(tmp_path / "store", Silent(sys.stderr))
    assert await supervisor.run() == 0
    assert supervisor.status.restarts == 1
    assert differences(place.whole, findings(tmp_path / "store")) == ([], [], [])


def test_seeds_added_to_a_crawl_are_crawled(place: Place, seen: int, tmp_path: Path) -> None:
    """The old ones are not fetched again."""
    hosts = place.server.web.hosts()
    with place.crawl(tmp_path, "scope.type=host", "limits.max_depth=1") as life:
        assert life.end() == 0, life.said
    new = place.server.web.origin(next(host for host in hosts if place.server.web.origin(host) + "/" not in place.server.web.seeds())) + "/"
    with resume(tmp_path / "store", new) as life:
        assert life.end() == 0, life.said
    assert findings(tmp_path / "store").urls[new].state == "DONE"
    assert refetches(place.log_of(seen), unlabelled(place.server.web).truth()) == {}
