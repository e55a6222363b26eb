"""How well three models of surfers fit real visitors, and how many levels hold nine tenths of their page views [BC04].

    python -m benchmarks.quality.depth_fits [FILE…]

Without files: the click paths and access logs of ../shared/data. [BC04] found that nine tenths of the page views of 13 sites lie within
three to five clicks, that half of the sessions have one page, errors below 5 %, and that model C is best for blogs. Levels count from 0, so
that five levels end at k = 4. The click paths of a game go deeper than those of visitors, as players search for a page. A log without
Referers makes depths seem larger.
"""

from __future__ import annotations

import sys
from pathlib import Path

from thresher.crawler.analysis.access_log import LinesRead
from thresher.crawler.analysis.visitors import read_sessions
from thresher.crawler.cli.common import print_table
from thresher.filters.depth_cutoff.fit import best, depths, of_actions

DATA = Path(__file__).parents[2] / "../shared/data"
FILES = ("sessions/wikispeedia-paths.tsv.gz", "logs/semicomplete-2015.log.gz", "logs/nasa-1995-07-first-4000.log.gz")
COLUMNS = ("log", "sessions", "views", "a session", "of one page", "q A", "q B", "error", "q C", "error", "best")
LEVELS = ("log", "k for 90 %: measured", "actions", "A", "B", "C", "to k=4: measured")


def main() -> None:
    """Print both tables; exit 1 if there is no file."""
    files = sys.argv[1:] or [str(DATA / name) for name in FILES if (DATA / name).is_file()]
    if not files:
        sys.exit(f"no file: name access logs, or put them into {DATA}")
    fitted, levels = [], []
    for file in files:
        of = depths(read_sessions([file], LinesRead()))
        found = of.fits()
        name, shown = Path(file).name, {model: f"{fit.q:.3f}" for model, fit in found.items()}
        errors = [f"{found[model].error:.1%}" for model in ("B", "C")]
        fitted.append(
            [
                *(name, of.n_sessions, of.n_views, round(of.mean_length, 2), f"{of.single_share:.0%}"),
                *(shown["A"], shown["B"], errors[0], shown["C"], errors[1], "A, B" if best(found) == "B" else "C"),
            ]
        )
        to_fourth = of.cumulative()[min(4, len(of.by_level) - 1)]
        by_model = [fit.levels[2] for fit in found.values()]
        levels.append([name, of.levels[2], of_actions(of.actions)[1][2], *by_model, f"{to_fourth:.1%}"])
    print_table(COLUMNS, fitted)
    print()
    print_table(LEVELS, levels)


if __name__ == "__main__":
    main()
