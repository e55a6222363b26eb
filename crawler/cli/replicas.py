"""`thresher replicas`: near-replicas and mirrors among the pages of a crawl or of a file [DDGMP03]."""

from __future__ import annotations

import math
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thresher.config.settings import NearReplicaSettings
from thresher.crawler.cli.choices import CANDIDATES, COUNTINGS, NEIGHBOURS
from thresher.crawler.cli.common import print_json
from thresher.crawler.core.errors import UsageError
from thresher.crawler.terminal.printable import printable

if TYPE_CHECKING:
    from thresher.crawler.analysis.replica_comparing import Wanted
    from thresher.crawler.analysis.replica_pages import PagesRead
    from thresher.crawler.analysis.tasks import Tasks
    from thresher.filters.near_replica.batch import Tolerance
    from thresher.filters.near_replica.sketching import Recipe


@dataclass(frozen=True, slots=True)
class ReplicaOptions:
    """The command's options: which output to print, and what counts as a replica."""

    pairs: bool
    mirrors: bool
    indexes: bool
    d: float
    c: float
    neighbours: str
    k: int
    gamma: float
    iterations: int
    is_sum: bool
    counting: str
    candidates: str
    resemblance: float
    whole_text: bool
    labels: str | None
    figure: str | None

    def check(self) -> None:
        """Raise UsageError if more than one output is asked for."""
        wanted = [
            flag
            for flag, is_set in (
                ("--pairs", self.pairs),
                ("--mirrors", self.mirrors),
                ("--indexes", self.indexes),
                ("--evaluate", self.labels),
            )
            if is_set
        ]
        if len(wanted) > 1:
            raise UsageError(f"{' and '.join(wanted)}: each prints lines of its own kind. Choose one")
        if self.figure is not None and self.labels is None:
            raise UsageError("--figure: there is something to draw only with --evaluate LABELS.tsv")

    def output(self) -> Wanted:
        """Return what is printed."""
        return "pairs" if self.pairs else "mirrors" if self.mirrors else "indexes" if self.indexes else "clusters"

    def recipe(self) -> Recipe:
        """Return how sketches of pages are made."""
        from thresher.filters.near_replica.random_projection import Counting
        from thresher.filters.near_replica.sketching import Recipe

        return Recipe(k=self.k, counting=Counting(self.counting), strip=not self.whole_text)

    def tolerance(self) -> Tolerance:
        """Return the thresholds of replicas, and how candidates are found."""
        from thresher.filters.near_replica.batch import Candidates, Neighbours, Tolerance

        return Tolerance(
            d=self.d,
            c=self.c,
            resemblance=self.resemblance,
            neighbours=Neighbours(self.neighbours),
            gamma=self.gamma,
            mean=not self.is_sum,
            iterations=self.iterations,
            candidates=Candidates(self.candidates),
        )


class _Number(click.FloatRange):
    """A number from 0 on, or above 0, but neither "nan" nor "inf"."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number.", param, ctx)
        return number


_positive = _Number(0, min_open=True)
_DEFAULTS = NearReplicaSettings()  # the filter has the same defaults


@click.command(epilog="Example: thresher replicas example --mirrors")
@click.argument("source", type=click.Path(), metavar="DIR|PAGES.jsonl")
@click.option("--pairs", is_flag=True, help="Print every colliding pair instead.")
@click.option("--mirrors", is_flag=True, help="Print instead hosts that replicate another.")
@click.option("--indexes", is_flag=True, help="Print instead pages of other text, but equal links.")
@click.option("--D", "d", type=_positive, metavar="N", default=_DEFAULTS.max_distance, show_default=True, help="Largest distance of texts.")
@click.option(
    "--C",
    "c",
    type=_positive,
    metavar="N",
    default=_DEFAULTS.max_neighbour_distance,
    show_default=True,
    help="Largest distance of neighbourhoods; 1: only texts.",
)
@click.option(
    "--neighbours",
    type=click.Choice(NEIGHBOURS),
    metavar="PAIRS",
    default=NEIGHBOURS[0],
    show_default=True,
    help="Pairs to which --C applies: equal texts, or all.",
)
@click.option("--K", "k", type=click.IntRange(1, 64), metavar="N", default=5, show_default=True, help="Components of the projection.")
@click.option("--gamma", type=_Number(0), metavar="N", default=0.8, show_default=True, help="How much children count.")
@click.option("--iterations", type=click.IntRange(0, 100), metavar="N", default=4, show_default=True, help="Levels of a neighbourhood.")
@click.option("--sum", "is_sum", is_flag=True, help="Sum over children, as in the paper: --gamma small.")
@click.option(
    "--counting",
    type=click.Choice(COUNTINGS),
    metavar="HOW",
    default=COUNTINGS[0],
    show_default=True,
    help="How repeated words count: raw, log or log_l2.",
)
@click.option(
    "--candidates",
    type=click.Choice(CANDIDATES),
    metavar="HOW",
    default=CANDIDATES[0],
    show_default=True,
    help="How pairs to compare are found: bands or grid.",
)
@click.option(
    "--resemblance",
    metavar="N",
    type=click.FloatRange(0, 1),
    default=_DEFAULTS.resemblance,
    show_default=True,
    help="Smallest share of common shingles; 0: only --D decides.",
)
@click.option("--whole-text", is_flag=True, help="Also compare what most pages of a host share.")
@click.option("--evaluate", "labels", type=click.Path(), metavar="LABELS.tsv", help="Print instead precision and recall over C and D.")
@click.option("--figure", type=click.Path(), metavar="OUT.png", help="With --evaluate: draw the curves.  [extra: report]")
def replicas(source: str, **options: Any) -> int:
    """Find pages of almost the same text.

    Prints clusters as JSON lines: a page, and those that replicate it. DIR is a crawl; PAGES.jsonl has lines of {"url", "text",
    "links": […]}, - is standard input. Two texts are replicas if they share --resemblance of their five-word shingles, without what
    most pages of a host share. Pages of equal text with different links are kept apart. random_projection (texts) and hyperlink_map
    (neighbourhoods) are distances; "confirmed" means that the neighbourhoods agree too. The filter near_replica has the same defaults.

    To compare as the paper does: --candidates grid --resemblance 0 --D 0.02 --neighbours all. There, one changed word of n different
    ones moves a text by about 0.4/√n.

    LABELS.tsv has lines of URL, tab, URL: pairs of replicas; a third field of 0 marks no replicas. If no line has one, all other pairs are
    no replicas. Tolerances up to --D and --C are tried.
    """
    from thresher.crawler.analysis.replica_comparing import compared

    wanted = ReplicaOptions(**options)
    wanted.check()
    with ExitStack() as opened:
        found, tasks = _read(source, wanted.recipe(), opened)
        if wanted.labels is not None:
            from thresher.crawler.cli.replicas_evaluate import evaluate

            return evaluate(found.sketches, wanted.tolerance(), wanted.labels, wanted.figure)
        for line in compared(found.sketches, wanted.tolerance(), wanted.output(), tasks, partial(click.echo, err=True)):
            print_json(line)
    return 0


def _read(source: str, recipe: Recipe, opened: ExitStack) -> tuple[PagesRead, Tasks | None]:
    """Read the pages; print on standard error what was left out. A crawl stays open; of one of several machines its tasks are returned.

    Raises:
        UsageError: If it has no page.
    """
    from thresher.crawler.analysis.replica_pages import read_lines, read_store
    from thresher.crawler.analysis.tasks import tasks_of
    from thresher.storage.export.reading import reading as reading_store

    tasks = None
    if source == "-":
        found = read_lines(sys.stdin.buffer, recipe)
    elif Path(source).is_dir():
        view = opened.enter_context(reading_store(Path(source)))
        found, tasks = read_store(view, recipe), tasks_of(view)
    else:
        try:
            with open(source, "rb") as file:
                found = read_lines(file, recipe)
        except OSError as error:
            raise UsageError(f"{source}: cannot be read: {error.strerror}. Name a crawl's directory, a file of JSON lines, or -") from None
    faults = "; ".join(f"{n:,} {what} (first: {printable(found.first[what])})" for what, n in found.faults.most_common())
    if faults and not found.sketches.urls:
        raise UsageError(f'{source}: nothing in it is a page, expected lines of {{"url": "http://…", "text": "…", "links": […]}}: {faults}')
    if faults:
        click.echo(f"{source}: of {found.n_read:,} some are left out or without text: {faults}", err=True)
    return found, tasks
