"""Labels of seeds: read from a seed file, and carried to all that is found from them."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from command import Command
from small_store import NOW, SmallStore

from thresher.config.settings import ScopeSettings, Settings
from thresher.crawler.core.model import Reason, State
from thresher.crawler.core.url import URLRules
from thresher.crawler.start.opening import reconfigure, with_seeds
from thresher.crawler.start.seeds import read_seeds
from thresher.storage.export.kinds import KINDS
from thresher.storage.store import Store
from thresher.storage.view import View

LABELS = {"https://a.example/": "museums", "https://b.example/x": "Büchereien"}


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of two labelled seeds and one without a label; pages of each site link to pages on other sites."""
    path = tmp_path_factory.mktemp("labels") / "crawl"
    seeds = [*LABELS, "https://c.example/"]
    small = SmallStore(path, Settings(seeds=seeds, labels=LABELS, scope=ScopeSettings(type="any")))
    ways = {
        "https://a.example/": "",
        "https://a.example/1": "https://a.example/",
        "https://other.example/2": "https://a.example/1",
        "https://other.example/3": "https://other.example/2",
        "https://b.example/x": "https://other.example/3",  # a seed that a page names, too
        "https://b.example/y": "https://b.example/x",
        "https://c.example/": "",
        "https://c.example/1": "https://c.example/",
    }
    for text, via in ways.items():
        url = small.url(text, via=via)
        seq = small.known(url, State.DONE)
        small.page(url, links=(seq,))
    small.store.tables.skips.add("https://d.example/", Reason.EXCLUDED, small.space.key("https://other.example/3"), "scope")
    small.store.end_visit()
    old = small.url("https://b.example/old", via="https://b.example/y")
    small.known(old, State.DONE)
    small.store.tables.redirects.put(old.key, old.key, old.text, 301, NOW)
    small.settle(old)
    small.store.close(NOW + 100)
    return path


def labels(thresher: Command, path: Path, what: str, name: str = "url") -> dict[str, str | None]:
    ran = thresher("export", path, "--what", what, "--fields", f"{name},label")
    assert ran.code == 0, ran.err
    return {row[name]: row["label"] for row in map(json.loads, ran.out.splitlines())}


def test_everything_has_the_label_of_the_seed_that_it_was_found_from(labelled: Path, thresher: Command) -> None:
    """By the way on which it was found first, whatever its site. Mutation: the label is that of the site's seed."""
    of_pages = labels(thresher, labelled, "pages")
    assert {url.removeprefix("https://"): label for url, label in of_pages.items()} == {
        "a.example/": "museums",
        "a.example/1": "museums",
        "other.example/2": "museums",
        "other.example/3": "museums",
        "b.example/x": "Büchereien",
        "b.example/y": "Büchereien",
        "c.example/": None,
        "c.example/1": None,
    }
    assert labels(thresher, labelled, "urls") == of_pages | {"https://b.example/old": "Büchereien"}
    assert labels(thresher, labelled, "links", "source") == of_pages
    assert labels(thresher, labelled, "redirects") == {"https://b.example/old": "Büchereien"}
    assert labels(thresher, labelled, "skipped") == {"https://d.example/": "museums"}
    assert labels(thresher, labelled, "versions") == of_pages
    assert {kind.name for kind in KINDS.values() if "label" not in {field.name for field in kind.fields}} == {
        *("hostgraph", "sitegraph"),  # of groups of URLs
        "forgotten",  # of URLs of which nothing is known
    }


def test_seeds_show_their_labels(labelled: Path, thresher: Command) -> None:
    rows = [json.loads(line) for line in thresher("seeds", labelled, "--json").out.splitlines()]
    assert {row["seed"]: row.get("label") for row in rows} == LABELS | {"https://c.example/": None}
    assert "Büchereien" in thresher("seeds", labelled).out


FILE = """# a comment\twith a tab
https://a.example/\tmuseums
b.example\t  libraries \t and  more

https://c.example/
https://a.example/\tanother
nonsense://\tlabel
\tno URL
"""


def test_a_seed_file_may_have_labels(tmp_path: Path) -> None:
    (tmp_path / "seeds").write_text(FILE)
    found = read_seeds([], [str(tmp_path / "seeds")], [], URLRules())
    assert found.urls == ["https://a.example/", "https://b.example/", "https://c.example/"]
    assert found.labels == {"https://a.example/": "museums", "https://b.example/": "libraries and more"}
    assert found.n_bad == 2


def test_a_resume_keeps_labels_and_takes_further_ones(tmp_path: Path) -> None:
    settings = msgspec.convert({"identity": {"contact": "me@example.org"}, "labels": {"https://b.example/": "set"}}, Settings)
    (tmp_path / "seeds").write_text("https://a.example/\tfirst\nhttps://b.example/\n")
    begun = with_seeds(settings, [], [str(tmp_path / "seeds")])
    Store.create(tmp_path / "crawl", begun.settings, NOW).close()
    (tmp_path / "more").write_text("https://c.example/\tthird\nhttps://a.example/\tnew\n")
    reconfigure(tmp_path / "crawl", [], [str(tmp_path / "more")], [], ["limits.max_pages=5"])
    with View(tmp_path / "crawl") as view:
        assert view.settings.labels == {"https://a.example/": "new", "https://b.example/": "set", "https://c.example/": "third"}
        assert view.settings.limits.max_pages == 5
