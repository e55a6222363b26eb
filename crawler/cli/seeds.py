"""`thresher seeds`: what became of each seed."""

from __future__ import annotations

from pathlib import Path

import click

from thresher.crawler.analysis.seed_outcomes import OUTCOMES, SeedOutcome, seed_outcomes
from thresher.crawler.cli.common import directory_argument, json_option, print_json, print_table, say_more, top_of, top_option
from thresher.storage.export.reading import reading

_COLUMNS = ("seed", "outcome", "status", "leads to", "pages", "kept", "waiting", "failed", "not fetched", "why no more", "label")


@click.command(epilog="Example: thresher seeds example --outcome failed")
@directory_argument
@click.option(
    "--outcome", "outcomes", multiple=True, type=click.Choice(OUTCOMES), help="Only seeds that came to this; more than once for several."
)
@top_option
@json_option
def seeds(directory: str, outcomes: tuple[str, ...], top: int | None, as_json: bool) -> int:
    """Print what became of each seed of the crawl in DIR, in their order.

    The seed's own answer, the pages under it (in its directory, on http and https, with and without www; where it redirects, under its
    target), what waits or was not fetched there, and why there is no more.
    """
    limit = top_of(top, as_json=as_json)
    with reading(Path(directory)) as view:
        found = [one for one in seed_outcomes(view) if not outcomes or one.outcome in outcomes]
    if as_json:
        for one in found[:limit]:
            print_json(one)
    else:
        print_table(_COLUMNS, [_cells(one) for one in found[:limit]])
        say_more(len(found), limit)
    return 0


def _cells(one: SeedOutcome) -> list[object]:
    outcome = f"{one.outcome} ({one.detail})" if one.detail else one.outcome
    skipped = ", ".join(f"{reason} {n:,}" for reason, n in sorted(one.not_fetched.items()))
    return [one.seed, outcome, one.status, one.target, one.pages, one.kept, one.waiting, one.failed, skipped, one.why, one.label]
