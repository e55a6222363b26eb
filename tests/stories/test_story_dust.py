"""Aliases in whole crawls: the first crawl learns rules, the second does not fetch aliases, and fetches them again when a rule proves
wrong.
"""

from __future__ import annotations

from pathlib import Path

from little_web import Crawled, LittleWeb, crawl, settings

from thresher.config.settings import DustSettings, FilterSettings, LimitSettings, SoftErrorSettings
from thresher.crawler.analysis.dust_store import import_rules
from thresher.crawler.core.model import State
from thresher.filters.dust.filter import spec
from thresher.filters.dust.memory import NAME, all_books
from thresher.filters.dust.rules import LearnedRule, Substitution
from thresher.storage.view import View

N = 40
MANY = 40


def text(name: str) -> str:
    return " ".join(f"{name}-{i}" for i in range(40))


def forum(web: LittleWeb) -> None:
    """Put a site whose stories have two names each. Those of the later stories are linked from a page of their own."""
    for number in range(N + MANY):
        for mark in ("_", "?id="):
            web.page(f"a.test/story{mark}{number}", text=text(f"story{number}"))
    web.page("a.test/", *(f"a.test/story{mark}{number}" for number in range(N) for mark in ("_", "?id=")))
    web.page("a.test/later", *(f"a.test/story?id={number}" for number in range(N, N + MANY)))


async def told(path: Path, web: LittleWeb, *seeds: str, audit_share: float = 0.0, max_pages: int | None = None) -> Crawled:
    """Crawl with this filter alone; a store that exists goes on."""
    own = DustSettings(mode="enforce", first_mining=2 * N + 1)
    filters = FilterSettings(audit_share=audit_share, soft_error=SoftErrorSettings(max_probes=0), dust=own)
    return await crawl(
        path,
        settings(web, list(seeds), filters=filters, limits=LimitSettings(min_free_disk=0, max_wait=5.0, max_pages=max_pages)),
        (spec(own),),
    )


async def test_rules_are_learnt_by_a_crawl_and_used_by_the_next(tmp_path: Path) -> None:
    """The study that finds the rule runs beside the first crawl. Also on a busy machine it ends before the crawl's last URLs have had their
    turn.
    """
    async with LittleWeb() as web:
        forum(web)
        first = await told(tmp_path / "crawl", web, "a.test/")
        n_early = len(first.aliases)
        assert len(first.pages) == 2 * N + 1 - n_early
        assert all(canonical in first.pages for canonical in first.aliases.values())
        with View(tmp_path / "crawl") as view:
            (book,) = [book for _, book in all_books(view.tables.memory(NAME))]
        assert [learned.rule.readable for learned in book.rules if learned.standing == "valid"] == ['"story?id=" → "story_"']
        web.requests.clear()
        second = await told(tmp_path / "crawl", web, "a.test/", "a.test/later")
        assert not [place for place in web.requests if "?id=" in place]
        assert {place for place in web.requests if "story_" in place} == {f"a.test/story_{number}" for number in range(N, N + MANY)}
        alias = web.url(f"a.test/story?id={N}")
        assert second.state(alias) is State.ALIAS
        assert second.aliases[alias] == web.url(f"a.test/story_{N}")
        assert second.status.saved == {"dust": n_early + MANY}


async def test_urls_that_waited_before_a_rule_was_valid_are_rewritten_when_their_turn_comes(tmp_path: Path) -> None:
    """Mutation: `Panel.turn` asks only for holds, not for rewrites."""
    async with LittleWeb() as web:
        forum(web)
        path = tmp_path / "crawl"
        stopped = await told(path, web, "a.test/", max_pages=11)
        waiting = [url for url, row in stopped.rows.items() if row.state is State.QUEUED and "?id=" in url]
        assert len(waiting) > N - 11
        rule = Substitution(source="story?id=", target="story_")
        import_rules(path, {"a.test": [LearnedRule(rule=rule, standing="valid")]})
        web.requests.clear()
        second = await told(path, web, "a.test/")
        assert not [place for place in web.requests if "?id=" in place]
        assert {second.state(url) for url in waiting} == {State.ALIAS}
        assert {url for url in second.pages if "story_" in url} == {web.url(f"a.test/story_{number}") for number in range(N)}


async def test_a_canonical_url_that_is_an_error_has_its_alias_fetched_after_all(tmp_path: Path) -> None:
    async with LittleWeb() as web:
        forum(web)
        await told(tmp_path / "crawl", web, "a.test/")
        web.page(f"a.test/story_{N}", text="gone", status=404)
        web.requests.clear()
        second = await told(tmp_path / "crawl", web, "a.test/", "a.test/later")
        assert [place for place in web.requests if "?id=" in place] == [f"a.test/story?id={N}"]
        assert second.pages[web.url(f"a.test/story?id={N}")].status == 200


async def test_a_rule_that_turns_bad_is_withdrawn_and_what_it_rewrote_is_fetched(tmp_path: Path) -> None:
    """The site changes: from a certain number on, the two names of a story show different texts. A tenth of the rewritten URLs is fetched
    as an audit, which shows it.
    """
    async with LittleWeb() as web:
        forum(web)
        await told(tmp_path / "crawl", web, "a.test/")
        for number in range(N, N + MANY):
            web.page(f"a.test/story?id={number}", text=text(f"another{number}"))
        web.page("a.test/names", *(f"a.test/story_{number}" for number in range(N, N + MANY)), "a.test/later")
        before = set(web.requests)
        web.requests.clear()
        second = await told(tmp_path / "crawl", web, "a.test/", "a.test/names", audit_share=0.1)
        fetched = {place for place in web.requests if "?id=" in place}
        assert fetched >= {f"a.test/story?id={number}" for number in range(N, N + MANY)}
        assert not fetched & before, "nothing is fetched again"
        assert State.ALIAS not in {row.state for row in second.rows.values()}
        with View(tmp_path / "crawl") as view:
            (book,) = [book for _, book in all_books(view.tables.memory(NAME))]
        assert [learned.standing for learned in book.rules if learned.rule.readable == '"story?id=" → "story_"'] == ["withdrawn"]
