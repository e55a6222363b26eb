"""`thresher dust`: rules by which a site's URLs are aliases of each other [BKS07]."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec

from thresher.crawler.analysis.access_log import LinesRead, read_lines
from thresher.crawler.cli.common import complain, config_option, directory_argument, load_config, print_json, print_table, set_option
from thresher.crawler.core.errors import UsageError
from thresher.crawler.terminal.printable import printable

if TYPE_CHECKING:
    from thresher.crawler.analysis.dust_lists import Lists
    from thresher.filters.dust.canonize import Canonized, Canonizer
    from thresher.filters.dust.rules import LearnedRule
    from thresher.filters.dust.urllist import Sighting

_SOURCE = "DIR|FILE"
site_option = click.option(
    "--site", default="", metavar="SITE", help="Only this registrable domain. For an access log: the server's name or origin."
)


class SiteRule(NamedTuple):
    """A rule of a file, and its site; "" if the file does not name one."""

    site: str
    learned: LearnedRule


@click.group(epilog="Example: thresher dust mine example --top 20 > rules.jsonl")
def dust() -> None:
    """Find and apply rules for URLs that lead to the same page.

    Rules are JSON lines; the first field is for people: {"rule": "\\"story?id=\\" → \\"story_\\"", "context": …, "definition": …}.
    """


@dust.command(epilog="Example: thresher dust mine example > rules.jsonl")
@click.argument("source", type=click.Path(), metavar=_SOURCE)
@site_option
@click.option("--top", type=click.IntRange(1), default=300, show_default=True, metavar="N", help="Largest number of rules for a site.")
def mine(source: str, site: str, top: int) -> int:
    """Find likely rules in a list of URLs.

    Prints JSON lines for each site, best first. Rules that the list itself refutes are left out: with 95 % certainty, more than one in
    20 of the pairs of pages that they join differ. Rules without enough evidence come last, with the "standing" "unproven": no pair is
    known, or there are few pairs and more than one in 20 differ.

    DIR is a crawl. FILE is an access log in common or combined format, or has JSON lines {"url", "status", "size", "sketch"}; - is
    standard input. `sketch` is a list of numbers (MinHash), or any text that is equal for equal pages; without it, pages are told apart
    by their sizes.
    """
    from thresher.crawler.analysis.dust_mining import mined

    for found in mined(source, site, top, partial(_say_left_out, source)):
        n_unproven = sum(learned.standing == "unproven" for learned in found.rules)
        n_likely = len(found.rules) - n_unproven
        click.echo(f"{printable(found.site)}: {found.n_urls:,} URLs, likely rules: {n_likely:,}, unproven: {n_unproven:,}", err=True)
        _print_rules(SiteRule(found.site, learned) for learned in found.rules)
    return 0


@dust.command(epilog="Example: thresher dust validate rules.jsonl example > judged.jsonl")
@click.argument("rules", type=click.Path(), metavar="RULES")
@click.argument("source", type=click.Path(), metavar=_SOURCE)
@site_option
@click.option(
    "--pairs", type=click.IntRange(1), default=100, show_default=True, metavar="N", help="Number of pairs that decide about a rule."
)
@click.option("--epsilon", type=click.FloatRange(0, 0.5), default=0.05, show_default=True, help="Share of pairs that may differ.")
@click.option("--whole", is_flag=True, help="Compare all pairs even if the result is clear, as in the paper.")
@click.option("--live", is_flag=True, help="Fetch pages that the list lacks, politely; needs identity.contact.")
@config_option
@set_option
def validate(
    rules: str,
    source: str,
    site: str,
    pairs: int,
    epsilon: float,
    whole: bool,
    live: bool,
    configs: tuple[str, ...],
    sets: tuple[str, ...],
) -> int:
    """Judge RULES by pairs of pages of a crawl or a list.

    Prints the rules with their standing. A rule is valid if the pages that it joins are alike, by enough pairs for a sequential test,
    while other pages of the site are not. It is invalid if they differ or if the canonical URL is an error. A rule that holds only in a
    part of the site is printed with that part as its context.
    """
    from thresher.crawler.analysis.dust_judging import judged
    from thresher.filters.dust.urllist import UrlList
    from thresher.filters.dust.validate import Trial

    trial = Trial(pairs, epsilon, early=not whole)
    given = _read_rules(rules)
    settings = load_config(configs, sets).settings if live else None
    for name, seen in sorted(_read(source, site).items()):
        own = [rule.learned for rule in given if rule.site in ("", name)]
        if own:
            found = judged(own, UrlList.of(seen), seen, trial, settings)
            click.echo(f"{printable(name)}: {found.summary}", err=True)
            _print_rules(SiteRule(name, learned) for learned in found.rules)
    return 0


@dust.command(epilog="Example: thresher dust canonize --rules judged.jsonl urls.txt")
@click.argument("urls", type=click.Path(), default="-", metavar="[FILE]")
@click.option("--rules", type=click.Path(), required=True, metavar="RULES", help="File of rules, from `mine`, `validate` or `export`.")
@click.option("--unproven", is_flag=True, help="Also apply rules that were not judged.")
@click.option("--json", "as_json", is_flag=True, help="Print {url, canonical, rules} instead.")
def canonize(urls: str, rules: str, unproven: bool, as_json: bool) -> int:
    """Print the canonical URL of each URL in FILE.

    Only valid rules of RULES are applied. Rules from `mine` are guesses, which `validate` judges: a file without a judged rule is
    refused, unless --unproven is given.
    """
    by_site = _Canonizers(_applied(_read_rules(rules), rules, unproven=unproven))
    for url in _lines(urls, "URLs"):
        settled = by_site.settle(url.strip())
        if as_json:
            print_json({"url": url.strip(), "canonical": settled.url, "rules": [rule.readable for rule in settled.by]})
        else:
            print(printable(settled.url))
    return 0


@dust.command("list", epilog="Example: thresher dust list example")
@directory_argument
@site_option
def list_(directory: str, site: str) -> int:
    """Show the rules that the crawl in DIR has learned or was given."""
    from thresher.filters.dust.evidence import wilson

    rows = []
    for name, learned in _stored_rules(Path(directory), site):
        low, high = wilson(learned.agree, learned.disagree)
        standing = "disabled" if learned.disabled else learned.standing
        compared = learned.agree + learned.disagree
        share = f"{low:.2f}–{high:.2f}" if compared else ""
        where = " ".join(f"{key}={value}" for key, value in learned.rule.context.items())
        rows.append((name, learned.rule.name, standing, learned.rule.readable, where, learned.support, compared, share))
    print_table(("site", "name", "standing", "rule", "context", "support", "compared", "agree"), rows)
    return 0


@dust.command(epilog="Example: thresher dust export example > rules.jsonl")
@directory_argument
@site_option
def export(directory: str, site: str) -> int:
    """Print the rules of the crawl in DIR as JSON lines."""
    _print_rules(_stored_rules(Path(directory), site))
    return 0


@dust.command("import", epilog="Example: thresher dust import example judged.jsonl")
@directory_argument
@click.argument("rules", type=click.Path(), metavar="RULES")
@site_option
def import_(directory: str, rules: str, site: str) -> int:
    """Add rules to the crawl in DIR, replacing equal ones.

    Valid rules are applied when the crawl continues. A rule belongs to the site that its line names, else to --site.
    """
    from thresher.crawler.analysis.dust_store import import_rules

    given = _read_rules(rules)
    by_site: dict[str, list[LearnedRule]] = {}
    for rule in given:
        name = rule.site or site
        if not name:
            raise UsageError(f'{rules}: expected "site" in every line, or --site; {rule.learned.rule.readable} has none')
        if site in ("", name):
            by_site.setdefault(name, []).append(rule.learned)
    import_rules(Path(directory), by_site)
    click.echo(f"{directory}: {sum(map(len, by_site.values())):,} rules of {len(by_site):,} sites", err=True)
    return 0


@dust.command(epilog="Example: thresher dust disable example 1f2e3d4c5b6a")
@directory_argument
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@click.option("--again", is_flag=True, help="Apply them again instead.")
def disable(directory: str, names: tuple[str, ...], again: bool) -> int:
    """Stop applying rules of the crawl in DIR.

    NAMEs of rules are those that `thresher dust list` shows.
    """
    from thresher.crawler.analysis.dust_store import set_disabled

    missing = set_disabled(Path(directory), names, disabled=not again)
    if missing:
        raise UsageError(
            f"{', '.join(missing)}: expected the name of a rule, found none of that name. `thresher dust list {directory}` shows them"
        )
    return 0


class _Canonizers:
    """The rules of a file, by site."""

    def __init__(self, rules: Sequence[SiteRule]) -> None:
        self._rules = rules
        self._of: dict[str, Canonizer] = {}

    def settle(self, url: str) -> Canonized:
        from thresher.filters.dust.canonize import Canonizer
        from thresher.filters.dust.rules import site_named

        site = site_named(url) if "://" in url else ""
        if site not in self._of:
            self._of[site] = Canonizer(rule.learned.rule for rule in self._rules if rule.site in ("", site))
        return self._of[site].settle(url)


def _applied(rules: Sequence[SiteRule], path: str, *, unproven: bool) -> list[SiteRule]:
    """Return the rules to apply: the valid ones, and with `unproven` also those that have not been judged.

    Raises:
        UsageError: If no rule was judged, and `unproven` is not given.
    """
    unjudged = [rule for rule in rules if rule.learned.is_unjudged and not rule.learned.disabled]
    if unjudged and not unproven:
        hint = f"Judge them with `thresher dust validate {path} DIR|FILE`, or apply them as they are with --unproven"
        if len(unjudged) == len(rules):
            raise UsageError(f"{path}: expected rules that were judged, found {len(unjudged):,} that nobody has judged. {hint}")
        click.echo(f"{path}: {len(unjudged):,} rules that nobody has judged are left out. {hint}", err=True)
    return [rule for rule in rules if rule.learned.is_applied or (unproven and rule in unjudged)]


def _read(source: str, site: str) -> dict[str, list[Sighting]]:
    """Read a list of URLs by site and say on standard error what was left out."""
    from thresher.crawler.analysis.dust_lists import read_source

    lists = read_source(source, site)
    _say_left_out(source, lists)
    return dict(lists.of)


def _say_left_out(source: str, lists: Lists) -> None:
    if lists.n_bad:
        click.echo(f"{source}: {lists.n_bad:,} of {lists.n_lines:,} lines left out; the first: {printable(lists.first_bad)}", err=True)
    if dropped := lists.dropped:
        said = f"{dropped.robots:,} by robots, {dropped.attacks:,} attacks, {dropped.other:,} others"
        click.echo(f"{source}: requests left out: {said}", err=True)


def _read_rules(path: str) -> list[SiteRule]:
    """Read a file of rules.

    Raises:
        UsageError: At the first line that is no rule.
    """
    from thresher.filters.dust.rules import RuleError, from_json

    found = []
    for number, line in enumerate(_lines(path, "rules as JSON lines"), 1):
        try:
            value = msgspec.json.decode(line)
            found.append(SiteRule(str(value.get("site", "")) if isinstance(value, dict) else "", from_json(value)))
        except (msgspec.DecodeError, RuleError) as error:
            raise UsageError(f"{path}:{number}: no rule as `thresher dust mine` prints it: {error}") from None
    if not found:
        raise UsageError(f"{path}: expected rules as JSON lines, found nothing. `thresher dust mine` prints them")
    return found


def _lines(path: str, what: str) -> Iterator[str]:
    """Yield the lines of a file that are not empty; undecodable ones are counted and left out."""
    reading = LinesRead()
    for line in read_lines(path, reading, expected=f"{what}, one a line"):
        if line.strip():
            yield line
    if reading.torn:
        complain(f"{path}: {reading.torn:,} lines left out, the first: {reading.first_torn}")


def _stored_rules(directory: Path, site: str) -> list[SiteRule]:
    from thresher.crawler.analysis.dust_store import stored_rules

    found = [SiteRule(name, learned) for name, learned in stored_rules(directory) if site in ("", name)]
    if not found:
        print(f"{directory}: no rules{f' of {site}' if site else ''}", file=sys.stderr)
    return found


def _print_rules(rules: Iterator[SiteRule] | Sequence[SiteRule]) -> None:
    from thresher.filters.dust.evidence import wilson
    from thresher.filters.dust.rules import to_json

    for rank, (site, learned) in enumerate(rules, 1):
        print_json({"site": site} | to_json(learned, rank=rank, interval=wilson(learned.agree, learned.disagree)))
