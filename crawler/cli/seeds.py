"""`thresher seeds`: what became of each seed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from thresher.crawler.cli.choices import SEED_OUTCOMES
from thresher.crawler.cli.common import directory_argument, json_option, print_json, print_table, say_more, top_of, top_option

if TYPE_CHECKING:
    from thresher.crawler.analysis.seed_outcomes import SeedOutcome

_COLUMNS = ("seed", "outcome", "status", "leads to", "pages", "kept", "waiting", "failed", "not fetched", "why no more", "label")


@click.command(epilog="Example: thresher seeds example --outcome failed")
@directory_argument
@click.option(
    "--outcome",
    "outcomes",
    multiple=True,
    type=click.Choice(SEED_OUTCOMES),
    metavar="OUTCOME",
    help=f"Only seeds of this outcome ({', '.join(SEED_OUTCOMES)}); repeatable.",
)
@top_option
@json_option
def seeds(directory: str, outcomes: tuple[str, ...], top: int | None, as_json: bool) -> int:
    """Print what became of each seed of the crawl in DIR.

    Each row has the seed's own answer; the pages below it (in its directory, on http and https, with www and without; if it redirects,
    below its target); how many URLs there wait or were not fetched; and why there are no more. The order is that in which the seeds
    were given.
    """
    from thresher.crawler.analysis.seed_outcomes import seed_outcomes
    from thresher.storage.export.reading import reading

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
