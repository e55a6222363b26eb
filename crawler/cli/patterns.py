"""`thresher patterns`: what the shapes of a site's URLs have yielded, and which of them are held."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thresher.config.settings import PatternYieldSettings
from thresher.crawler.cli.common import config_option, crawl_config, load_config, print_json, set_option
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.filters.evidence.intervals import at_any_time
from thresher.filters.pattern_yield.records import Pattern
from thresher.filters.pattern_yield.sites import patterns_of

if TYPE_CHECKING:
    from thresher.crawler.analysis.answer_log import AnswerLog, LoggedAnswer
    from thresher.filters.pattern_yield.replay import PatternReplay
    from thresher.storage.view import View

Row = dict[str, Any]


@click.command(epilog="Example: thresher patterns example --barren")
@click.argument("source", type=click.Path(), metavar="FILE|DIR")
@click.option("--replay", "wants_replay", is_flag=True, help="Decide about each answer in turn, and print its line with the decision.")
@click.option("--site", default=None, metavar="S", help="Only this registrable domain.")
@click.option("--barren", "only_barren", is_flag=True, help="Only barren patterns.")
@click.option(
    "--top", type=click.IntRange(0), default=0, metavar="N", help="Only the N most fetched of each site, 0 for all.  [default: 0]"
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Number that chooses which URLs of a FILE's barren patterns are audited."
)
@config_option
@set_option
def patterns(
    source: str,
    wants_replay: bool,
    site: str | None,
    only_barren: bool,
    top: int,
    seed: int,
    configs: tuple[str, ...],
    sets: tuple[str, ...],
) -> int:
    """Print what the URL patterns of each site have yielded.

    Each JSON line has a pattern's fetches, the useful ones, their share with its 95 % interval, and the pattern's standing. DIR is a
    crawl: what its filter has learned, or, if the filter was off, what the pages teach. FILE has JSON lines {"url", "status", "sketch"}
    in crawl order, - is standard input; equal sketches mean equal texts, "via" may name the URL that led there. A page that only one
    filter dropped teaches nothing, unless it is an exact copy.

    A pattern is barren after filters.pattern_yield.barren fetches in a row without anything new, until URLs drawn from it show that
    this was wrong. It is surpassed if it yields less than the rest of its site; then it is held too. Otherwise it is open. `held`
    counts the URLs that it holds.

    --replay decides about each answer in turn, knowing the earlier ones that were fetched. "pattern" is the one that holds the URL;
    "fetch" is false for held URLs, except for those drawn at once. What is fetched last is not replayed: a text that only held answers
    show counts as late.
    """
    from thresher.crawler.analysis.answer_log import read_file
    from thresher.storage.export.reading import reading

    if wants_replay and (only_barren or top):
        raise UsageError("--replay prints every answer: leave --barren and --top out")
    choice = Choice(site, only_barren=only_barren, top=top or None)
    if source == "-" or not Path(source).is_dir():
        settings = load_config(configs, sets).settings
        secret = blake2b(str(seed).encode(), digest_size=32).digest()
        space = URLSpace(secret, replace(url_rules(settings), ports=None))  # the scope of the crawl does not matter for fetched URLs
        answers = read_file(source, space)
        if answers.n_torn:
            torn = f"{answers.n_torn:,} lines are no answers and were left out, the first is line {answers.first_torn}"
            click.echo(f"{source}: {torn}", err=True)
        _print(_told(answers, settings.filters.pattern_yield, choice, wants_replay=wants_replay), choice)
        return 0
    with reading(Path(source)) as view:
        of = crawl_config(view.settings, configs, sets).filters.pattern_yield
        _print(_of_store(view, of, choice, wants_replay=wants_replay), choice)
    return 0


def _of_store(view: View, settings: PatternYieldSettings, choice: Choice, *, wants_replay: bool) -> Iterator[Row]:
    """Yield what the crawl's filter has learned. For a replay, or if it was off, yield what it learns from the stored answers now."""
    from thresher.crawler.analysis.answer_log import read_store
    from thresher.filters.pattern_yield.filter import NAME
    from thresher.filters.registry import judges

    if not wants_replay and any(True for _ in _learned(view)):
        yield from _known(view, choice)
        return
    answers = read_store(view, URLSpace(view.secret, url_rules(view.settings)))
    if not wants_replay:
        click.echo(f"{view.path}: the crawl ran without {NAME}; this is what its answers teach", err=True)
    yield from _told(answers, settings, choice, wants_replay=wants_replay, judging=judges(view.settings.filters))


@dataclass(frozen=True)
class Choice:
    """What to print."""

    site: str | None
    only_barren: bool
    top: int | None  # most patterns of each site

    def names(self, site: str) -> bool:
        return self.site in (None, site)

    def rows(self, site: str, found: list[Pattern]) -> Iterator[Row]:
        """Yield a site's patterns, most fetched first."""
        found = [pattern for pattern in found if pattern.evidence.barren or not self.only_barren]
        found.sort(key=lambda pattern: (-pattern.evidence.fetched, pattern.form))
        for pattern in found[: self.top]:
            if pattern.evidence.fetched:
                yield _row(site, pattern)


def _print(rows: Iterable[Row], choice: Choice) -> None:
    n = 0
    for row in rows:
        print_json(row)
        n += 1
    if not n and choice.site is not None:
        click.echo(f"--site {choice.site}: nothing is known of it; a site is a registrable domain, as in example.org", err=True)


def _learned(view: View) -> Iterator[tuple[str, list[Pattern]]]:
    """Yield what the filter of a crawl has learned, site by site."""
    from thresher.filters.pattern_yield.filter import NAME
    from thresher.storage.export.scans import hosts

    memory = view.tables.memory(NAME)
    for key, site in {queue[:8]: record.site for queue, record in hosts(view)}.items():
        if found := patterns_of(memory, key):
            yield site, found


def _known(view: View, choice: Choice) -> Iterator[Row]:
    from thresher.filters.pattern_yield.filter import holder

    for site, found in _learned(view):
        if choice.names(site):
            classes = {pattern.form: pattern.classes for pattern in found}
            for row in choice.rows(site, found):
                yield {**row, "held": sum(len(view.tables.held.keys(holder(of))) for of in classes[row["pattern"]])}


def _told(
    answers: AnswerLog, settings: PatternYieldSettings, choice: Choice, *, wants_replay: bool, judging: Collection[str] = ()
) -> Iterator[Row]:
    """Give the answers in order to a new filter; yield its decision on each, or what it has learned from all of them.

    Args:
        judging: Filters that judged the pages.
    """
    from thresher.filters.pattern_yield.replay import PatternReplay

    replay = PatternReplay(settings, judges=judging, samples=wants_replay)
    told = [answer for answer in answers.answers if choice.names(answer.url.site)]
    if wants_replay:
        yield from _decided(told, answers, replay)
        return
    for answer in told:
        _learn(answer, answers, replay)
    for key, site in {answer.url.key[:8]: answer.url.site for answer in told}.items():
        yield from choice.rows(site, replay.patterns(key))


def _decided(told: list[LoggedAnswer], answers: AnswerLog, replay: PatternReplay) -> Iterator[Row]:
    """Yield each answer's line with the decision; print the totals on standard error."""
    n_fetched, texts, kept = 0, set(), set()
    for answer in told:
        pattern, is_fetched = replay.decide(answer.url)
        text = {(answer.url.site, answer.text)} if answer.status == 200 and answer.text is not None else set()
        texts |= text
        if is_fetched:
            n_fetched += 1
            kept |= text
            _learn(answer, answers, replay)
        yield {**answer.line, "fetch": is_fetched, "pattern": pattern.form if pattern else None}
    saved = 1 - n_fetched / len(told) if told else 0.0
    found = f"{len(told):,} answers, {n_fetched:,} fetched: {saved:.1%} held"
    click.echo(f"{found}; {len(texts):,} texts, {len(texts) - len(kept):,} of them late", err=True)


def _learn(answer: LoggedAnswer, answers: AnswerLog, replay: PatternReplay) -> None:
    n_led = answers.n_led[answer.url.key]
    replay.learn(answer.url, answer.status, answer.text, judgement=answer.judgement, n_led=n_led, n_bytes=answer.n_bytes)


def _row(site: str, pattern: Pattern) -> Row:
    of = pattern.evidence
    low, high = at_any_time(of.fetched, of.worth)
    return {
        "site": site,
        "pattern": pattern.form,
        "fetched": of.fetched,
        "worth": of.worth,
        "yield": round(of.worth / of.fetched, 4),
        "low": round(low, 4),
        "high": round(high, 4),
        "standing": "surpassed" if of.is_surpassed else "barren" if of.barren else "open",
    }
