"""`thresher rank`: PageRank of pages, hosts or sites, of a crawl or of any link graph; and how good the crawl's order was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thresher.crawler.cli.choices import JUMP
from thresher.crawler.cli.common import print_json
from thresher.crawler.core.errors import UsageError

if TYPE_CHECKING:
    from thresher.crawler.analysis.rank_far import RankChoice
    from thresher.crawler.analysis.ranking import Ranking, Subject
    from thresher.crawler.core.places import Level
    from thresher.crawler.graph.pagerank import Variant


@click.command(epilog="Example: thresher rank example --by host --top 20")
@click.argument("source", type=click.Path(), metavar="DIR|GRAPH")
@click.option("--by", "level", type=click.Choice(["page", "host", "site"]), default="page", show_default=True, help="What to rank.")
@click.option(
    "--links",
    "variant",
    type=click.Choice(["all", "remote", "weighted"]),
    default="all",
    show_default=True,
    help="Links between pages that count: all; those to other hosts; or all, with links within a host worth a tenth.",
)
@click.option("--collapse", is_flag=True, help="Count aliases, redirects and copies as the page that they stand for; leave errors out.")
@click.option(
    "--redirects/--no-redirects",
    "with_redirects",
    default=True,
    help="Count a crawl's redirects as links to their targets.  [default: yes]",
)
@click.option("--self-links/--no-self-links", default=False, help="Count links of a page to itself.  [default: no]")
@click.option("--linked", "only_linked", is_flag=True, help="Leave out URLs without any link, which a graph file cannot hold.")
@click.option("--hits", "with_hits", is_flag=True, help="Add values as a hub and as an authority (HITS).")
@click.option("--measures", "wants_measures", is_flag=True, help="Print instead how good the order of the crawl was.")
@click.option(
    "--jump",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=JUMP,
    help="Probability of a jump to any page.  [default: 1/7]",
)
@click.option(
    "--tolerance", type=click.FloatRange(0, min_open=True), default=1e-9, show_default=True, help="Accepted mean error of a rank."
)
@click.option("--top", type=click.IntRange(0), default=0, metavar="N", help="Print the best N, 0 for all.  [default: 0]")
def rank(
    source: str,
    level: Level,
    variant: Variant,
    collapse: bool,
    with_redirects: bool,
    self_links: bool,
    only_linked: bool,
    with_hits: bool,
    wants_measures: bool,
    jump: float,
    tolerance: float,
    top: int,
) -> int:
    """Rank pages, hosts or sites by PageRank.

    Prints JSON lines, best first; the mean rank is 1. DIR is a crawl, whose URLs are ranked whether they were fetched or not. GRAPH is
    a file of `source<TAB>target` lines or a LAW ASCII graph, with or without gzip; - is standard input. In the graph of hosts or sites,
    each one has one vote for every other one that it links to.

    A crawl and its exported links get the same ranks with the same options: `rank DIR --no-redirects --linked` and, after `export DIR
    --what links --format tsv -o links.tsv`, `rank links.tsv --linked`. To count redirects too, append the output of `export DIR --what
    redirects --fields url,to --format tsv` to that file.
    """
    from thresher.crawler.analysis.rank_far import RankChoice
    from thresher.crawler.analysis.ranking import rank as ranking_of

    if level != "page" and variant != "all":
        raise UsageError(f"--links {variant}: hosts and sites are ranked over links between them alone; the option is for --by page")
    if collapse and self_links:
        raise UsageError("--self-links: with --collapse, links within a page are none. Choose one")
    choice = RankChoice(level, variant, jump, tolerance, collapse, with_redirects, self_links, only_linked, with_hits)
    if _by_machines(source, choice, top or None, wants_measures=wants_measures):
        return 0
    with _subject(source, choice, wants_measures=wants_measures) as found_subject:
        subject = found_subject.linked() if only_linked else found_subject
        if wants_measures:
            return _print_measures(subject, choice)
        found = ranking_of(subject, level=level, variant=variant, jump=jump, tolerance=tolerance, with_hits=with_hits)
        _say(source, found, choice)
        for row in _rows(found, top or None):
            print_json(row)
    return 0


def _print_measures(subject: Subject, of: RankChoice) -> int:
    from thresher.crawler.analysis.crawl_measures import measure

    for line in measure(subject, variant=of.variant, jump=of.jump, tolerance=of.tolerance).lines():
        print_json(line)
    return 0


def _by_machines(source: str, choice: RankChoice, top: int | None, *, wants_measures: bool) -> bool:
    """Rank a crawl of several machines on these, and print the ranks or measures; return whether it is one and that was possible."""
    from thresher.crawler.analysis.crawl_measures import measure_by_machines
    from thresher.crawler.analysis.ranking import rank_by_machines
    from thresher.storage.export.reading import reading

    if source == "-" or not Path(source).is_dir():
        return False
    with reading(Path(source)) as view:
        if wants_measures:
            measured = measure_by_machines(view, replace(choice, level="page", with_hits=False))
            for line in [] if measured is None else measured.lines():
                print_json(line)
            return measured is not None
        found = rank_by_machines(view, choice)
        if found is None:
            return False
        _say(source, found, choice)
        for row in _rows(found, top):
            print_json(row)
    return True


@contextmanager
def _subject(source: str, choice: RankChoice, *, wants_measures: bool) -> Iterator[Subject]:
    """Open a crawl, or read a graph file, as a graph of URLs."""
    from thresher.crawler.analysis.ranking import of_file, of_store
    from thresher.crawler.graph.reading import read_graph
    from thresher.storage.export.reading import reading

    if source != "-" and Path(source).is_dir():
        with reading(Path(source)) as view:
            yield of_store(view, collapsed=choice.collapsed, with_redirects=choice.with_redirects, self_links=choice.self_links)
        return
    for flag, is_set in (("--collapse", choice.collapsed), ("--measures", wants_measures)):
        if is_set:
            raise UsageError(f"{flag}: expected the directory of a crawl, found {source}: a link graph alone does not tell that")
    graph = read_graph(source)
    if graph.n_torn:
        click.echo(f"{source}: {graph.n_torn:,} lines are no links and were left out, the first is line {graph.first_torn}", err=True)
    yield of_file(source, graph, self_links=choice.self_links)


def _say(source: str, found: Ranking, choice: RankChoice) -> None:
    """Print on standard error how many nodes and links were ranked."""
    ranks = found.found
    n_nodes, n_links = len(ranks.ranks), found.degrees.n_links
    click.echo(f"{source}: {n_nodes:,} {found.level}s, {n_links:,} links, {ranks.n_iterations} iterations", err=True)
    if not choice.collapsed:
        counted = [
            (found.n_redirects, "redirects", choice.with_redirects, "--no-redirects", "--redirects"),
            (found.n_self_links, "links of a page to itself", choice.self_links, "--no-self-links", "--self-links"),
        ]
        said = [
            f"{n:,} {what} {'count' if counts else 'do not count'} ({no if counts else yes})" for n, what, counts, no, yes in counted if n
        ]
        if said:
            click.echo("; ".join(said), err=True)
    if not ranks.converged:
        click.echo(f"not converged: the mean error is up to {ranks.error:.1e}; raise --tolerance or --jump", err=True)


def _rows(found: Ranking, top: int | None) -> Iterator[dict[str, Any]]:
    """Yield what is printed, best first."""
    from thresher.crawler.analysis.ranking import best

    nodes = best(found.found.ranks, top).tolist()
    name = "url" if found.level == "page" else found.level
    for node, text in zip(nodes, found.names(nodes), strict=True):
        row: dict[str, Any] = {name: text, "pagerank": float(found.found.ranks[node])}
        row |= {"in": int(found.degrees.into[node]), "out": int(found.degrees.out[node])}
        if found.fetched is not None:
            row["fetched"] = bool(found.fetched[node])
        if found.members is not None:
            urls, pages = found.members
            row |= {"urls": int(urls[node])} | ({} if pages is None else {"pages": int(pages[node])})
        if found.hits is not None:
            row |= {"hub": float(found.hits.hubs[node]), "authority": float(found.hits.authorities[node])}
        yield row
