"""A fetched page becomes the alias of another page that is kept: the crawl reports it as moved, and visits it no more."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from changing_web import HOST, ChangingWeb, again, changes, counts, first, kinds
from planted import LinkScript

from thresher.config.settings import StoreSettings
from thresher.crawler.core.effects import Effect, Request, Rewrite
from thresher.crawler.core.model import Mode, Purpose, State
from thresher.filters.spec import FilterSpec, always
from thresher.storage.view import View

WORDS = " ".join(f"word{i}" for i in range(300))


class Rule:
    """A filter that rewrites URLs with `?ref=…` to those without, once it is switched on. When it sees a link to /audit, it asks for one
    request of an alias.
    """

    def __init__(self) -> None:
        self.is_on = False
        script = LinkScript("dust", asks=self._asks)
        self.spec = FilterSpec("dust", Mode.ENFORCE, learned=script, again=always)

    def _asks(self, url: str) -> Iterable[Effect]:
        if url.endswith("/audit"):
            return [Request(url.replace("/audit", "/1?ref=x"), Purpose.AUDIT, bytes(16))]
        return [Rewrite(url, url.partition("?")[0], "rule")] if self.is_on and "?ref=" in url else []


def two_addresses(web: ChangingWeb) -> str:
    """Put a page at two addresses; return the address that the rule rewrites."""
    web.put("/", WORDS, "/1", "/1?ref=x")
    web.put("/1", "one " + WORDS)
    web.put("/1?ref=x", "one " + WORDS)
    return web.url(HOST, "/1?ref=x")


async def test_what_a_rule_makes_an_alias_of_a_kept_page_has_moved_and_is_asked_no_more(tmp_path: Path) -> None:
    """It is visited again once the page that it stands for is gone. Mutations: the rule is not asked when its turn comes; the alias is not
    released, or becomes an ordinary URL.
    """
    rule = Rule()
    with ChangingWeb() as web:
        alias = two_addresses(web)
        await first(tmp_path / "c", web, [rule.spec])
        rule.is_on = True
        web.asked()
        crawled = await again(tmp_path / "c", web, plugged=[rule.spec])
        assert sorted(web.asked()) == ["/", "/1"]
        assert crawled.state(alias) is State.ALIAS
        assert counts(tmp_path / "c") == {"not_modified": 2, "moved": 1}
        (row,) = changes(tmp_path / "c")
        assert (row.kind, row.by, row.url, row.to, row.visit) == ("moved", "alias", alias, web.url(HOST, "/1"), 0)
        assert row.before
        await again(tmp_path / "c", web, plugged=[rule.spec])
        assert sorted(web.asked()) == ["/", "/1"]
        assert kinds(tmp_path / "c", "3") == {}
        web.say("/1", "410 Gone")
        crawled = await again(tmp_path / "c", web, plugged=[rule.spec])
        assert sorted(web.asked()) == ["/", "/1", "/1?ref=x"]
        assert kinds(tmp_path / "c", "4") == {"/1": "gone", "/1?ref=x": "new"}
        assert crawled.state(alias) is State.DONE


@pytest.mark.parametrize("why", ["unknown", "gone", "missing today", "redirects"])
async def test_a_page_stays_while_what_the_rule_names_is_no_page_that_is_kept(why: str, tmp_path: Path) -> None:
    """Mutation: any target of the rule is believed."""
    rule = Rule()
    with ChangingWeb() as web:
        alias = two_addresses(web)
        web.put("/2", "two " + WORDS)
        if why == "unknown":
            web.put("/", WORDS, "/1?ref=x")
        await first(tmp_path / "c", web, [rule.spec])
        match why:
            case "gone":
                web.say("/1", "410 Gone")
            case "missing today":
                web.take("/1")
            case "redirects":
                web.say("/1", "301 Moved", location="/2")
        await again(tmp_path / "c", web, plugged=[rule.spec])
        rule.is_on = True
        web.asked()
        crawled = await again(tmp_path / "c", web, plugged=[rule.spec])
        assert "/1?ref=x" in web.asked()
        assert crawled.state(alias) is State.DONE
        assert "/1?ref=x" not in kinds(tmp_path / "c", "3")


async def test_an_alias_that_its_rule_asks_for_once_more_is_an_ordinary_page_again(tmp_path: Path) -> None:
    """With one version kept of each page, as by default. Mutation: the text of the alias stayed in its row of `checks`."""
    rule = Rule()
    kept = StoreSettings(versions=1)
    with ChangingWeb() as web:
        alias = two_addresses(web)
        await first(tmp_path / "c", web, [rule.spec], store=kept)
        rule.is_on = True
        await again(tmp_path / "c", web, plugged=[rule.spec], store=kept)
        web.put("/", WORDS + " one more", "/1", "/audit")
        web.put("/audit", "audit " + WORDS)
        crawled = await again(tmp_path / "c", web, plugged=[rule.spec], store=kept)
        assert crawled.state(alias) is State.DONE
        assert kinds(tmp_path / "c", "3")["/1?ref=x"] == "new"
        rule.is_on = False
        await again(tmp_path / "c", web, plugged=[rule.spec], store=kept)
        assert kinds(tmp_path / "c", "4") == {}
        with View(tmp_path / "c") as view:
            assert [page.url for _, page in view.all_pages()].count(alias) == 1


async def test_a_page_that_has_become_the_copy_of_another_has_moved_until_the_texts_differ(tmp_path: Path) -> None:
    """Mutations: a text that the original had in an earlier version counts; a change of the original is not noticed."""
    with ChangingWeb() as web:
        web.put("/", WORDS, "/a", "/b", "/c", "/d")
        texts = {name: " ".join(f"{name}{i}" for i in range(200)) for name in "abcdxy"}
        for name in "abcd":
            web.put(f"/{name}", texts[name])
        await first(tmp_path / "c", web)
        web.put("/c", texts["x"])
        await again(tmp_path / "c", web)
        web.put("/b", texts["a"])
        web.put("/d", texts["c"])  # the earlier text of /c
        await again(tmp_path / "c", web)
        rows = {row.url.rpartition("/")[2]: row for row in changes(tmp_path / "c", "3")}
        assert {name: (row.kind, row.by) for name, row in rows.items()} == {"b": ("moved", "copy"), "d": ("changed", "")}
        assert rows["b"].to == web.url(HOST, "/a")
        await again(tmp_path / "c", web)
        assert kinds(tmp_path / "c", "4") == {}
        web.put("/a", texts["y"])
        await again(tmp_path / "c", web)
        await again(tmp_path / "c", web)
        assert kinds(tmp_path / "c", "5") == {"/a": "changed", "/b": "new"}
        web.put("/b", texts["x"] + " and its own words")
        await again(tmp_path / "c", web)
        assert kinds(tmp_path / "c", "7") == {"/b": "changed"}
