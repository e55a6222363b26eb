"""`thresher explain`: why a URL was or was not fetched, and what would become of it today."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from thresher.config.settings import Settings
from thresher.crawler.cli.common import config_option, crawl_config, json_option, load_config, print_json, print_table, set_option
from thresher.crawler.cli.status import crawl_state
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.url_rules import url_rules
from thresher.crawler.start.seeds import read_seeds
from thresher.crawler.terminal.printable import printable

if TYPE_CHECKING:
    from thresher.crawler.explain.story import Story

_Row = tuple[str, object]
_HEADERS_SHOWN = 12


@click.command(epilog="Example: thresher explain https://example.org/page -o example")
@click.argument("words", nargs=-1, required=True, metavar="[DIR] URL")
@click.option("-o", "--store", "directory", metavar="DIR", help="Directory of the crawl; may also be given before the URL.")
@click.option("--seed", "seeds", multiple=True, metavar="URL", help="One more seed, beside those of the crawl and the configuration.")
@config_option
@set_option
@json_option
def explain(
    words: tuple[str, ...], directory: str | None, seeds: tuple[str, ...], configs: tuple[str, ...], sets: tuple[str, ...], as_json: bool
) -> int:
    """Explain why URL was or was not fetched by the crawl in DIR.

    Prints how it was found, what became of it, and what it waits for. Then all checks that need no request are made again, with the
    crawl's configuration or the one given: what would happen if the URL were found today? Nothing is fetched or changed, and no filter
    judges the page again. Without DIR, only the configuration is used: canonical form, scope, and other checks that need no crawl.
    """
    from thresher.crawler.explain.explain import Explainer, without_store
    from thresher.storage.export.reading import reading

    directory, url = _operands(words, directory)
    if directory is None:
        loaded = load_config(configs, sets).settings
        story = without_store(url, _with_seeds(loaded, [*loaded.seeds, *seeds]))
    else:
        with reading(Path(directory)) as view:
            settings = crawl_config(view.settings, configs, sets)
            if seeds or configs:
                settings = _with_seeds(settings, [*settings.seeds, *seeds])
            story = Explainer(view, settings, time.time(), crawl=crawl_state(Path(directory), view)).story(url)
    if as_json:
        print_json(story)
    else:
        _print(story)
    return 0


def _operands(words: tuple[str, ...], directory: str | None) -> tuple[str | None, str]:
    match words:
        case (url,) if directory is not None or not (Path(url) / "state").is_dir():
            return directory, url
        case (first,):
            raise UsageError(f"expected a URL after the crawl's directory: `thresher explain {first} URL`")
        case (first, url) if directory is None:
            return first, url
        case _:
            raise UsageError(f"expected one URL, found {len(words)}: `thresher explain DIR URL` or `thresher explain URL -o DIR`")


def _with_seeds(settings: Settings, seeds: Sequence[str]) -> Settings:
    """Return the settings with these seeds in canonical form."""
    return msgspec.structs.replace(settings, seeds=read_seeds(seeds, (), (), url_rules(settings)).urls if seeds else [])


def _print(story: Story) -> None:
    for title, rows in (
        ("", _identity(story)),
        ("the way from a seed", _way(story)),
        ("waiting", _waiting(story)),
        ("held", _held(story)),
        ("requests", _requests(story)),
        ("page", _page(story)),
        ("verdicts", _verdicts(story)),
        ("redirects", _redirects(story)),
        ("log of skipped URLs", _skips(story)),
        ("today", _today(story)),
    ):
        shown = [row for row in rows if row[1] not in (None, "", [], {})]
        if shown:
            if title:
                click.echo(f"\n{title}")
            print_table(("", ""), [(f"  {name}" if title else name, value) for name, value in shown])
    click.echo(f"\n{printable(story.answer)}")


def _identity(story: Story) -> Iterator[_Row]:
    yield "asked", story.asked
    if story.url != story.asked:
        yield "canonical form", story.url
    for step in story.steps:
        yield "by the rule", f"{step.rule}: {step.result}"
    yield "state", story.state
    yield "reason", f"{story.reason} ({story.detail})" if story.detail else story.reason
    yield "governed by", story.option
    yield "found at", story.found_at
    if story.depth is not None:
        yield "depth", f"{story.depth} from a seed, {story.site_depth} in its site, {story.hops} redirect hops"
        yield "found as", "a seed" if not story.chain and not story.depth else story.chain[0].how if story.chain else None
    if (said := story.announced) is not None:
        yield "announced by", said.by
        held = f", believed to {said.believed:.0%}" if said.lastmod else ""
        words = (("lastmod", said.lastmod and said.lastmod + held), ("changefreq", said.changefreq), ("priority", said.priority))
        yield "saying", ", ".join(f"{name} {word}" for name, word in words if word is not None)
    yield "purpose", story.purpose
    if (again := story.visited_again) is not None:
        yield "visited again", f"{again.visits} time(s), last in round {again.last_round} at {again.last_at}; {again.changes} change(s)"
        how = "conditionally" if again.is_conditional and (again.etag or again.last_modified) else "without conditions"
        yield "asked again", f"{how}; {again.versions} version(s) kept"
    yield "alias of", story.alias_of and f"{story.alias_of['url']} by rule {story.alias_of['rule']}"
    yield "held by", ", ".join(story.holders)
    yield "crashes", f"{story.crashes} process(es) of ours died while they worked on it" if story.crashes else None


def _way(story: Story) -> Iterator[_Row]:
    for hop in story.chain:
        yield f"{hop.how} from", f"{hop.url} (depth {hop.depth})"


def _held(story: Story) -> Iterator[_Row]:
    for event in story.history:
        yield str(event.at), event.what


def _waiting(story: Story) -> Iterator[_Row]:
    waiting = story.waiting
    if waiting is None:
        return
    yield "why", waiting.why
    yield "not before", waiting.due_at
    yield "host queue", waiting.host
    yield "lane", f"{waiting.lane}, rank {waiting.rank}, {waiting.attempts} requests so far"
    yield "before it", "more than can be counted" if waiting.ahead is None else waiting.ahead
    yield "crawl delay", waiting.crawl_delay and f"{waiting.crawl_delay:g} s by robots.txt"
    yield "failures", f"{waiting.failures} of the host in a row" if waiting.failures else None
    yield "parked", waiting.parked and f"{waiting.parked} until {waiting.parked_until or 'the configuration changes'}"
    yield "the crawl", story.crawl


def _requests(story: Story) -> Iterator[_Row]:
    failure = story.failure
    if failure is not None:
        yield "last failure", f"{failure['reason']}: {failure['detail']}"
        yield "at", failure["at"]
        yield "attempts", f"{failure['attempts']}, {'no more will be made' if failure['final'] else 'more will be made'}"
        yield "status", failure["status"] or None


def _page(story: Story) -> Iterator[_Row]:
    page = story.page
    if page is None:
        return
    yield "fetched at", f"{page['fetched_at']} in {page['elapsed']:.3f} s from {page['address'] or 'an unknown address'}"
    yield "status", page["status"]
    yield "type", " ".join(filter(None, (page["type"], page["charset"])))
    yield "title", page["title"]
    yield "size", f"{page['bytes']:,} bytes of content, {page['wire_bytes']:,} received"
    yield "body", "stored" if page["has_body"] else "not stored"
    yield "links", page["links"]
    for name in ("canonical", "flags", "signals"):
        value = page[name]
        yield name, ", ".join(value) if isinstance(value, list) else value
    yield "robots", ", ".join(name for name in ("noindex", "nofollow") if page[name])
    yield "kept", "no, by a later verdict; its body had been stored" if _is_late(story, "keep") and page["has_body"] else page["keep"]
    yield "links followed", "no, by a later verdict; they had been taken up" if _is_late(story, "follow") else page["follow"]
    yield "failed", page["failed"] and f"{page['failed']}: {page['failed_detail'] or ''}"
    for name, value in page["headers"][:_HEADERS_SHOWN]:
        yield "header", f"{name}: {value}"


def _is_late(story: Story, what: str) -> bool:
    """Return whether only a later verdict speaks against `keep` or `follow` of the page: it has not undone what the first ones did."""
    if story.page is None or story.page[what]:
        return False
    return all(verdict[what] for verdict in story.verdicts if "revised_at" not in verdict)


def _verdicts(story: Story) -> Iterator[_Row]:
    page = story.page
    for verdict in story.verdicts:
        fate = f"{'keep' if verdict['keep'] else 'drop'}, {'follow' if verdict['follow'] else 'do not follow'}"
        evidence = ", ".join(f"{name} {value}" for name, value in verdict["evidence"].items())
        said = ", ".join(filter(None, (fate, verdict["reason"], f"score {verdict['score']:g}", evidence)))
        is_revised = page is not None and "revised_at" in verdict
        has_effect = page is None or is_revised or (verdict["keep"] >= page["keep"] and verdict["follow"] >= page["follow"])
        observed = "" if has_effect else ", only observed"
        yield verdict["filter"], f"{said} ({'revised' if is_revised else 'given'} at {verdict['at']}{observed})"


def _redirects(story: Story) -> Iterator[_Row]:
    to, end = story.redirect, story.end_of_chain
    if to is not None:
        state = f"refused: {to['refused']}" if to["refused"] is not None else to["state"]
        yield "leads to", f"{to['to']} by {to['status']} at {to['at']} ({state})"
    if to is not None and to["refused"] is not None:
        yield "comes to", "no end: the target was refused"
    elif end is not None and end["end"] == "loop":
        yield "comes to", f"no end: a loop, which meets a URL again after {end['hops']} hop(s)"
    elif end is not None and end["url"] is None:
        yield "comes to", f"nothing yet ({end['end']}, {end['hops']} hop(s) so far)"
    elif end is not None:
        yield "comes to", f"{end['url']} in {end['hops']} hop(s), status {end['status'] or 'none'}"
    for text in story.redirected_from:
        yield "reached from", text


def _skips(story: Story) -> Iterator[_Row]:
    for skip in story.skips:
        yield (
            skip["reason"],
            " ".join(filter(None, (f"by {skip['by'] or 'us'}", f"on {skip['via']}" if skip["via"] else "", skip["detail"]))),
        )


def _today(story: Story) -> Iterator[_Row]:
    if story.today is None:
        return
    for ruling in story.today.rulings:
        by = f"override {ruling.override}" if ruling.override else ""
        said = ", ".join(filter(None, ("" if ruling.mode == "enforce" else ruling.mode, by)))
        mode = f" [{said}]" if said else ""
        yield f"{ruling.gate}: {ruling.by}{mode}", f"{ruling.answer} ({ruling.detail})" if ruling.detail else ruling.answer
    for one in story.today.overrides:
        yield f"set by {one.match}", f"{one.key}: {_value(one.value)}"
    robots: Any = story.today.robots
    if robots is not None:
        yield "robots.txt", robots.standing
        yield "  rules", None if robots.rules_allow is None else "allow it" if robots.rules_allow else "deny it"
        yield "  fetched", robots.fetched_at and f"{robots.fetched_at}, holds until {robots.expires_at}, status {robots.status or 'none'}"
        yield "  crawl delay", robots.crawl_delay and f"{robots.crawl_delay:g} s"
        yield "  note", robots.detail


def _value(value: Any) -> str:
    """Return a value of the configuration as it is read in a file."""
    return msgspec.json.encode(value).decode() if isinstance(value, list | dict | bool | None) else str(value)
