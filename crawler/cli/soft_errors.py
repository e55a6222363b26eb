"""`thresher soft-errors`: the score of every redirect of a log or a crawl [LEE09]."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from thresher.config.settings import SoftErrorSettings
from thresher.crawler.analysis.figures import require_matplotlib
from thresher.crawler.cli.common import print_table, say_more, top_of
from thresher.crawler.core.errors import UsageError
from thresher.crawler.terminal.printable import printable
from thresher.storage.export.target import replacing

if TYPE_CHECKING:
    from thresher.crawler.analysis.redirect_log import RedirectsRead
    from thresher.filters.soft_error.calibrate import Labels, Quality, Roc
    from thresher.filters.soft_error.log import Named
    from thresher.filters.soft_error.score import F64, PairCounts, Weights
    from thresher.filters.soft_error.url_kind import UrlKind

_CHUNK = 10_000
_ROC_POINTS = 10
_COLUMNS = ("score", "soft errors", "kind", "target", "originals", "hosts", "highest by", "from host", "targets", "target hosts")
_encode = msgspec.json.Encoder().encode_lines

_THRESHOLD = SoftErrorSettings().threshold


class RedirectLine(msgspec.Struct, gc=False):
    """One redirect as it is printed."""

    original: str
    target: str
    score: float
    n_to_target: int
    n_from_host: int
    n_targets: int
    n_target_hosts: int
    soft_error: bool
    kind: str | None


@dataclass(frozen=True, slots=True)
class Scored:
    """A scored log; each column has one entry per distinct pair."""

    log: Named
    counts: PairCounts
    kinds: list[UrlKind | None]
    labels: Labels  # proxy labels: the target has an error word that the original does not have
    weights: Weights
    scores: F64
    threshold: float


@click.command(epilog="Example: printf 'http://a.example/x\\thttp://a.example/404\\n' | thresher soft-errors - --threshold 2")
@click.argument("source", type=click.Path(), metavar="[FILE|DIR]", default="-")
@click.option("--weights", default="1,1,1", show_default=True, metavar="K1,K2,K3|auto", help="K1, K2 and K3 of the score; auto chooses K1.")
@click.option("--threshold", default=str(int(_THRESHOLD)), show_default=True, metavar="N|auto", help="Lowest score of a soft error.")
@click.option("--summary", is_flag=True, help="Print a table instead: a row for each target, highest scores first.")
@click.option(
    "--top", type=click.IntRange(0), default=None, metavar="N", help="With --summary: print N rows at most, 0 for all.  [default: 50]"
)
@click.option("--roc", "roc_png", type=click.Path(), metavar="OUT.png", default=None, help="Draw score curves and ROC.  [extra: report]")
def soft_errors(source: str, weights: str, threshold: str, summary: bool, top: int | None, roc_png: str | None) -> int:
    """Score redirects: how likely does each hide an error?

    FILE has lines of original URL, tab, final target; - is standard input. DIR is a crawl: the redirects that it followed to their end
    are scored. Redirects to another spelling of the same page (https, www, slash, locale …) and lines that are no pair of URLs are left
    out. An original with several targets counts once, with the last one. Standard error says how many.

    score = K1·log10(originals of the target) + K2·log10(originals of the host / its targets) - K3·log10(hosts of its targets)

    The default threshold of 3 is for logs of millions of redirects. `auto` chooses the threshold, or a smaller K1, that best finds the
    redirects whose target names an error while the original does not, and prints how well it finds them. If there are too few of these,
    or they score no higher than others, the threshold stays 3.
    """
    if top is not None and not summary:
        raise UsageError("--top: every redirect is printed, unless --summary is given. Add --summary, or leave --top out")
    k, at = _weights(weights), _threshold(threshold)
    if roc_png is not None:
        require_matplotlib("--roc")
    scored = _score(_read(source), k, at)
    if roc_png is not None or summary or k is None or at is None:
        _say_quality(scored)
    if roc_png is not None:
        _draw(scored, Path(roc_png))
    if summary:
        _print_summary(scored, top_of(top, as_json=False))
    else:
        if not len(scored.scores):
            click.echo(f"{source}: no redirects to score", err=True)
        for lines in _lines(scored):
            sys.stdout.buffer.write(lines)
        sys.stdout.buffer.flush()
    return 0


# -- options and input


def _weights(text: str) -> Weights | None:
    """Return the weights of an option's value; None for "auto"."""
    from thresher.filters.soft_error.score import Weights

    if text == "auto":
        return None
    try:
        k1, k2, k3 = map(float, text.split(","))
    except ValueError:
        raise UsageError(f"--weights: expected three numbers or auto, found {text!r}. Write 1,1,1") from None
    if not all(math.isfinite(k) and k >= 0 for k in (k1, k2, k3)):
        raise UsageError(f"--weights: expected numbers of 0 or more, found {text!r}. Write 1,1,1")
    return Weights(k1, k2, k3)


def _threshold(text: str) -> float | None:
    """Return the threshold of an option's value; None for "auto"."""
    if text == "auto":
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"--threshold: expected a number or auto, found {text!r}. Write {_THRESHOLD:g}")
    return value


def _read(source: str) -> RedirectsRead:
    """Read the log and say on standard error what was left out.

    Raises:
        UsageError: If it has no pair.
    """
    from thresher.crawler.analysis.redirect_log import read_file, read_store
    from thresher.storage.export.reading import reading as reading_store

    if source == "-":
        found = read_file(sys.stdin.buffer)
    elif Path(source).is_dir():
        with reading_store(Path(source)) as view:
            found = read_store(view)
    else:
        try:
            with open(source, "rb") as file:
                found = read_file(file)
        except OSError as error:
            raise UsageError(f"{source}: cannot be read: {error.strerror}. Name a log of redirects, a crawl's directory, or -") from None
    faults = [f"{n:,} {what} (first: {printable(found.first[what])})" for what, n in found.faults.most_common()]
    if faults and not found.log and not found.log.spellings:
        raise UsageError(f"{source}: no line of {found.n_lines:,} is original URL, tab, target URL: {'; '.join(faults)}")
    if faults:
        click.echo(f"skipped {found.faults.total():,} of {found.n_lines:,} lines: {'; '.join(faults)}", err=True)
    if found.loops:
        click.echo(f"left out {len(found.loops):,} redirects that go round in a loop (first: {printable(found.loops[0])})", err=True)
    if found.log.spellings:
        spellings = ", ".join(f"{kind} {n:,}" for kind, n in found.log.spellings.most_common())
        click.echo(f"left out {found.log.spellings.total():,} redirects to another spelling of the same page: {spellings}", err=True)
    return found


# -- scoring


def _score(found: RedirectsRead, weights: Weights | None, threshold: float | None) -> Scored:
    import numpy as np

    from thresher.filters.soft_error.calibrate import best_threshold, best_weights, roc
    from thresher.filters.soft_error.score import count
    from thresher.filters.soft_error.url_kind import ERRORS, url_kinds

    log = found.log.finish()
    if log.n_moved:
        n = log.n_moved
        click.echo(f"{n:,} original{'s' * (n != 1)} with several targets: each counts once, with the one that comes last", err=True)
    counts = count(log.columns)
    kinds = url_kinds(log.originals, log.targets, counts.originals, counts.targets)
    labels = np.fromiter((kind in ERRORS for kind in kinds), dtype=np.bool_, count=len(kinds))
    k = best_weights(counts, labels) if weights is None else weights
    scores = counts.score(k)
    if threshold is None:
        threshold = best_threshold(roc(scores, labels)) if len(scores) else _THRESHOLD
    return Scored(log, counts, kinds, labels, k, scores, threshold)


# -- output


def _lines(scored: Scored) -> Iterator[bytes]:
    """Yield the redirects as JSON lines, in the order of the log, a chunk at a time."""
    for start in range(0, len(scored.scores), _CHUNK):
        part = slice(start, start + _CHUNK)
        originals, targets, *counted = (column[part].tolist() for column in scored.counts)
        scores = scored.scores[part]
        columns = (scores.tolist(), *counted, (scores >= scored.threshold).tolist(), scored.kinds[part])
        yield _encode(
            RedirectLine(scored.log.originals[original], scored.log.targets[target], *rest)
            for original, target, rest in zip(originals, targets, zip(*columns, strict=True), strict=True)
        )


def _say_quality(scored: Scored) -> None:
    """Print on standard error the weights, the threshold, and the precision and recall that they have on the proxy labels."""
    from thresher.filters.soft_error.calibrate import MIN_LABELLED, area, quality, roc

    n_labelled = int(scored.labels.sum())
    click.echo(
        f"weights {scored.weights.target:g},{scored.weights.ratio:g},{scored.weights.spread:g}   threshold {scored.threshold:.4g}", err=True
    )
    click.echo(
        f"{n_labelled:,} of {len(scored.scores):,} redirects lead to a URL that names an error which the original does not", err=True
    )
    if n_labelled < MIN_LABELLED or scored.labels.all():
        click.echo(f"too few to judge or to choose by: both kinds are needed, and {MIN_LABELLED} of the first", err=True)
        return
    curve = roc(scored.scores, scored.labels)
    click.echo(f"with these as the labels (soft errors without such a word count as false): AUC {area(curve):.4f}", err=True)
    click.echo("  threshold  precision     recall  false-positive rate", err=True)
    for found in (
        quality(scored.scores, scored.labels, at) for at in sorted({scored.threshold, _THRESHOLD, *_points(curve)}, reverse=True)
    ):
        mark = "  <- in use" if found.threshold == scored.threshold else ""
        click.echo(f"{found.threshold:11.3f}  {_shown(found)}{mark}", err=True)


def _points(curve: Roc) -> list[float]:
    """Return thresholds spread over the curve, by recall."""
    import numpy as np

    wanted = np.linspace(0.1, 1.0, _ROC_POINTS)
    at = np.minimum(np.searchsorted(curve.recall, wanted), len(curve.thresholds) - 1)
    return [float(threshold) for threshold in curve.thresholds[at]]


def _shown(found: Quality) -> str:
    return f"{found.precision:9.3f}  {found.recall:9.3f}  {found.false_positive_rate:19.3f}"


def _draw(scored: Scored, path: Path) -> None:
    import numpy as np

    from thresher.crawler.analysis.roc_figure import draw
    from thresher.filters.soft_error.calibrate import roc
    from thresher.filters.soft_error.url_kind import UrlKind

    if not len(scored.scores):
        raise UsageError("--roc: there is no redirect to draw")
    kinds = np.array([kind or "" for kind in scored.kinds])
    classes = {"all": scored.scores} | {str(kind): scored.scores[kinds == kind] for kind in UrlKind if (kinds == kind).any()}
    with replacing(path, force=True) as out:
        draw(out, classes, roc(scored.scores, scored.labels), scored.threshold)
    click.echo(f"{path}: drawn", err=True)


def _print_summary(scored: Scored, limit: int | None) -> None:
    """Print one row per target: its highest score, its originals and their hosts, and the counts of the host with the highest score."""
    import numpy as np

    if not len(scored.scores):
        return
    counts, hosts = scored.counts, scored.log.columns.host_of_original[scored.counts.originals]
    best_first = np.lexsort((np.arange(len(scored.scores)), -scored.scores))
    targets, place = np.unique(counts.targets[best_first], return_index=True)
    best = best_first[place]
    is_soft = scored.scores >= scored.threshold
    n_soft = np.bincount(counts.targets[is_soft], minlength=int(targets[-1]) + 1)[targets]
    n_hosts = np.bincount(np.unique(np.stack([counts.targets, hosts]), axis=1)[0])[targets]
    rows = []
    for i in np.lexsort((best, -counts.n_to_target[best], -scored.scores[best]))[:limit].tolist():
        at = int(best[i])
        of_host = [int(column[at]) for column in counts[3:]]
        target, host = scored.log.targets[int(targets[i])], scored.log.hosts[int(hosts[at])]
        counted = [int(counts.n_to_target[at]), int(n_hosts[i]), host, *of_host]
        rows.append([float(scored.scores[at]), int(n_soft[i]), scored.kinds[at], target, *counted])
    print_table(_COLUMNS, rows)
    say_more(len(targets), limit)
