"""`thresher bench`: what a page costs on this machine."""

from __future__ import annotations

import json
import os
import platform
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from thresher.config.settings import Settings
from thresher.crawler.bench.ablations import ALL, PLAIN, ablations, names, without_tail
from thresher.crawler.bench.webs import MOST_OF_SITES, WEBS
from thresher.crawler.cli.common import ended_by_signals, folder, json_option, print_json, print_table, set_option
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.ownership import MOST_AGENTS
from thresher.crawler.demo.demo_settings import MOST_LINKS, PARTS
from thresher.crawler.version import VERSION

if TYPE_CHECKING:
    from thresher.crawler.bench.crawl_bench import BenchPlan
    from thresher.crawler.bench.filter_bench import CrawlOutcome
    from thresher.crawler.demo.process import ServerProcess

_RATIOS = ("ratio at 1/4", "at 1/2", "ratio")
_BARS = {"ratio": 1.5, "lost %": 2.0}  # least useful pages per fetch against plain breadth-first, most good pages lost
_COLUMNS = ("crawl", "fetches", "useful", "useful/fetch", *_RATIOS, "adds", "lost", "lost %", "CPU s", "ended")


@click.group()
def bench() -> None:
    """Measure the crawler's speed, and what its filters are worth."""
    click.get_current_context().with_resource(ended_by_signals())


@bench.command(epilog="Example: thresher bench crawl --pages 5000 --runs 3")
@click.option(
    "--profile",
    type=click.Choice(list(WEBS)),
    default="median",
    show_default=True,
    help="25 KB and 60 links a page, or 4 KB and 15 (small); gzip or TLS; aliases, soft errors and replicas (sites).",
)
@click.option("--pages", type=click.IntRange(100), default=10_000, show_default=True, help="Pages of each run.")
@click.option(
    "--hosts",
    type=click.IntRange(2, 2000),
    default=200,
    show_default=True,
    help="Hosts of the web; with more, each page has more new URLs.",
)
@click.option("--runs", type=click.IntRange(1, 50), default=3, show_default=True, help="Number of runs; quote their median.")
@click.option(
    "--agents",
    type=click.IntRange(1, MOST_AGENTS),
    default=1,
    show_default=True,
    help="Number of agents; several share all cores with the server.",
)
@click.option("--per-host", type=click.IntRange(1), help="Largest number of pages of a host.  [default: no limit]")
@click.option(
    "--new-links",
    type=click.IntRange(1, MOST_LINKS),
    help="Links of each page that no other page has; in the first days of a crawl of the open web, 39.  [default: those of the profile]",
)
@set_option
@json_option
def crawl(
    profile: str,
    pages: int,
    hosts: int,
    runs: int,
    agents: int,
    per_host: int | None,
    new_links: int | None,
    sets: tuple[str, ...],
    as_json: bool,
) -> int:
    """Crawl the demo web as fast as this machine can.

    Politeness is at its lowest and all filters are on. The crawler runs on one core, the server on another; on a machine with one core
    they share it, and the output says so. Prints pages per CPU second (user and system time of the agent with its writer thread and
    parsers), pages per second, peak memory, and the share of the CPU time by stage. Several agents share all cores with the server,
    which takes a third as much CPU as an agent; `python -m benchmarks.speed.agents` has a lighter server.
    """
    from thresher.crawler.bench.crawl_bench import BenchPlan, measure

    plan = BenchPlan(profile, hosts, pages, per_host, agents=agents, sets=sets, new_links=new_links)
    report = _report(plan, [measure(plan) for _ in range(runs)])
    if as_json:
        print_json(report)
    else:
        _show(report)
    return 0


@bench.command(epilog="Example: thresher bench webs --web median --pages 2000 --runs 1 --ablate --out results")
@click.option("--web", "webs", type=click.Choice(list(WEBS)), multiple=True, help="Only this web.  [default: all]")
@click.option(
    "--pages", type=click.IntRange(100), default=100_000, show_default=True, help="Pages of each crawl; of `sites` 80,000 at most."
)
@click.option("--hosts", type=click.IntRange(2, 2000), default=2_000, show_default=True, help="Hosts of each web but `sites`.")
@click.option(
    "--per-host", type=click.IntRange(1), default=50, show_default=True, help="Largest number of pages of a host, but for `sites`."
)
@click.option("--runs", type=click.IntRange(1, 50), default=3, show_default=True, help="Number of rounds; medians are printed.")
@click.option("--ablate", is_flag=True, help="Also crawl without each filter in turn.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for the result, bench_webs.json.")
@json_option
def webs(webs: tuple[str, ...], pages: int, hosts: int, per_host: int, runs: int, ablate: bool, out: Path | None, as_json: bool) -> int:
    """Crawl five webs with the configured filters, all, and none.

    These crawls take turns, and their figures become one table. A round of all webs in full size takes half an hour. If a crawl or its
    server ends early, the command ends without a result.
    """
    from thresher.crawler.bench.crawl_bench import BenchPlan, measure

    folder(out)
    rows: dict[str, list[str] | None] = {"as configured": None, **ablations(names() if ablate else [])}
    plans = [
        BenchPlan(
            web,
            hosts,
            min(pages, MOST_OF_SITES) if web == "sites" else pages,
            None if web == "sites" else per_host,
            None if on is None else tuple(on),
        )
        for web in (webs or tuple(WEBS))
        for on in rows.values()
    ]
    found: list[list[dict[str, Any]]] = [[] for _ in plans]
    for turn in range(runs):
        for plan, results, name in zip(plans, found, [*rows] * len(plans), strict=False):
            results.append(measure(plan))
            click.echo(f"{turn + 1}/{runs} {plan.web}, {name}: {results[-1]['pages_per_cpu_s']:.0f} pages per CPU second", err=True)
    reports = [{"filters": name, **_report(plan, results)} for plan, results, name in zip(plans, found, [*rows] * len(plans), strict=False)]
    if out is not None:
        (out / "bench_webs.json").write_text(json.dumps(reports, indent=1) + "\n", "utf-8")
    if as_json:
        print_json(reports)
    else:
        _show_webs(reports)
    return 0


def _show_webs(reports: list[dict[str, Any]]) -> None:
    """Print a line for each crawl: its figures, and the µs per page of the five stages that take most CPU time."""
    head = (
        "web",
        "filters",
        "pages/CPU s",
        "min-max",
        "wall/s",
        "peak MiB",
        "lag ms p99, worst",
        "server pages/CPU s",
        "µs a page by stage",
    )
    table = []
    for of in reports:
        rate = of["pages_per_cpu_s"]
        stages = ", ".join(f"{stage} {share / rate['median'] * 1e6:.0f}" for stage, share in list(of["stages"].items())[:5])
        spread, peak = f"{rate['min']:.0f}-{rate['max']:.0f}", round(of["peak_rss_bytes"] / 2**20)
        lag = f"{of['loop_lag_ms_p99']:.0f}, {of['loop_lag_ms_max']:.0f}"
        figures = (round(rate["median"]), spread, round(of["pages_per_s_wall"]), peak, lag)
        table.append((of["profile"], of["filters"], *figures, round(of["server_pages_per_cpu_s"]), stages))
    print_table(head, table)
    print(f"{reports[0]['machine']}, Python {reports[0]['python']}, thresher {reports[0]['thresher']}")


@bench.command(epilog="Example: thresher bench filters --pages 60 --sites 4 --without depth_cutoff")
@click.option("--pages", type=click.IntRange(0, 10_000), default=150, show_default=True, help="Pages of each site, 0: each part's default.")
@click.option(
    "--sites",
    type=click.IntRange(0, 1_000),
    default=10,
    show_default=True,
    help="Sites of each part that can have any number, 0: its default.",
)
@click.option("--part", "parts", type=click.Choice(PARTS), multiple=True, help="Crawl only this part of the web.  [default: all]")
@click.option("--fetches", type=click.IntRange(100), help="Requests of each crawl.  [default: two for each URL outside endless parts]")
@click.option(
    "--without",
    type=click.Choice([*names(), "none"]),
    multiple=True,
    metavar="FILTER",
    help="Leave out this filter, or none.  [default: each in turn]",
)
@set_option
@json_option
def filters(
    pages: int, sites: int, parts: tuple[str, ...], fetches: int | None, without: tuple[str, ...], sets: tuple[str, ...], as_json: bool
) -> int:
    """Count useful pages for each request, with and without filters.

    A web of planted redundancy is crawled with no filter, with all, and with all but one. Every crawl may make the same number of
    requests; the web has endless parts, so a crawl that is not told where to stop uses them all. A useful page is the first kept page
    of a document, by the web's own labels. A good page is lost if it was not kept and does not wait. The ratio compares useful pages
    per request with the crawl without filters, also after a quarter and half of the requests. "adds" is by how much it falls without
    the filter.

    URLs that filters hold are never fetched here, so that wrong opinions show; --set filters.tail_yield=0.02 fetches them last, as an
    ordinary crawl does. All crawls take some 15 minutes, with --pages 40 --sites 4 two.
    """
    from thresher.crawler.bench.filter_bench import crawls
    from thresher.crawler.demo.labelled import LabelledWeb
    from thresher.crawler.demo.process import ServerProcess

    changes: dict[str, object] = {"part_pages": pages, "part_sites": sites, **({"parts": parts} if parts else {})}
    left_out = [name for name in (without or names()) if name != "none"]
    with tempfile.TemporaryDirectory(prefix="thresher-bench-") as temporary, ServerProcess("labelled", changes=changes) as server:
        web = server.web
        assert isinstance(web, LabelledWeb)
        n_urls = len(web.truth().urls)
        n = fetches or 2 * n_urls
        found = []
        for outcome in crawls(web, _labelled_settings(server, sets), ablations(left_out), n, Path(temporary)):
            if not server.is_running:
                raise UsageError(f"{outcome.name}: the server ended in the middle of the crawl: there is no result")
            click.echo(f"{outcome.name}: {len(outcome.useful_at):,} useful pages in {outcome.fetches:,} fetches", err=True)
            found.append(outcome)
        n_documents = len(web.truth().documents())
    if not found[0].useful_at:
        raise UsageError(f"the plain crawl found no useful page in {n:,} fetches: there is nothing to compare with")
    rows = _filter_rows(found, n, n_documents)
    if as_json:
        print_json({"budget": n, "finite_urls": n_urls, "documents": n_documents, "bars": _BARS, "crawls": rows})
    else:
        print_table(_COLUMNS, [[row[column] for column in _COLUMNS] for row in rows])
        _show_kinds(found[0], found[1])
        _show_bars(rows[1], n, n_urls)
    return 0


def _labelled_settings(server: ServerProcess, sets: tuple[str, ...]) -> Settings:
    """Return the benchmark's configuration: a delay in which filters can learn, and only the number of fetches as a limit."""
    from thresher.crawler.bench.crawl_bench import bench_settings
    from thresher.crawler.start.opening import with_sets

    base = bench_settings(server, None)
    limits = msgspec.structs.replace(base.limits, max_wait=5.0, max_pages_per_host=None)
    politeness = msgspec.structs.replace(base.politeness, min_delay=0.02)
    return with_sets(without_tail(msgspec.structs.replace(base, limits=limits, politeness=politeness)), sets)


def _filter_rows(found: list[CrawlOutcome], budget: int, n_documents: int) -> list[dict[str, Any]]:
    """Return a row for each crawl: the printed columns, and counts by kind."""
    plain = {n: found[0].rate(n) for n in (budget // 4, budget // 2, budget)}
    ratio = {of.name: [of.rate(n) / rate if rate else None for n, rate in plain.items()] for of in found}
    return [
        {
            "crawl": of.name,
            "fetches": of.fetches,
            "useful": len(of.useful_at),
            "useful/fetch": round(of.rate(budget), 3),
            **{column: value and round(value, 3) for column, value in zip(_RATIOS, ratio[of.name], strict=True)},
            "adds": None if of.name in (PLAIN, ALL) else round((found[1].rate(budget) - of.rate(budget)) / plain[budget], 3),
            "lost": of.lost.total(),
            "lost %": round(100 * of.lost.total() / n_documents, 2),
            "CPU s": round(of.cpu_s, 1),
            "ended": "budget" if of.is_cut else "nothing left",
            "wasted_by_kind": dict(of.wasted.most_common()),
            "lost_by_kind": dict(of.lost.most_common()),
        }
        for of in found
    ]


def _show_kinds(plain: CrawlOutcome, every: CrawlOutcome) -> None:
    print_table(("fetched in vain", PLAIN, ALL), [(kind, n, every.wasted[kind]) for kind, n in plain.wasted.most_common()])
    if every.lost:
        print_table(("lost with all filters", "documents"), every.lost.most_common())


def _show_bars(row: dict[str, Any], budget: int, n_urls: int) -> None:
    """Print whether all filters together reach the required ratio and losses (`_BARS`), and at which number of requests."""
    ratio, lost = row["ratio"] or 0.0, row["lost %"]
    is_met = ratio >= _BARS["ratio"] and lost <= _BARS["lost %"]
    click.echo(
        f"With a budget of {budget:,} requests, {budget / n_urls:.2g} for each of the {n_urls:,} URLs that are not endless, "
        f"all filters give {ratio:.2f} times the useful pages per fetch of plain breadth-first (wanted: {_BARS['ratio']:g}) "
        f"and lose {lost:.2f} % of the good pages (at most {_BARS['lost %']:g}): {'met' if is_met else 'not met'}"
    )


def _report(plan: BenchPlan, results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the runs of one plan as one row: the median of each figure; of figures with an upper bound, the worst."""
    rates = [result["pages_per_cpu_s"] for result in results]
    stages = {stage: statistics.median(result["stages"].get(stage, 0.0) for result in results) for stage in results[0]["stages"]}
    cores = len(os.sched_getaffinity(0))
    return {
        "profile": plan.web,
        "hosts": plan.hosts,
        "runs": len(results),
        "agents": plan.agents,
        "pages_per_cpu_s": {"median": statistics.median(rates), "min": min(rates), "max": max(rates)},
        "pages": results[0]["pages"],
        "new_links": plan.new_links,
        "known_urls": results[0]["known_urls"],
        "pages_per_s_wall": statistics.median(result["pages_per_s_wall"] for result in results),
        "peak_rss_bytes": max(result["peak_rss_bytes"] for result in results),
        "loop_lag_ms_max": max(result["loop_lag_ms_max"] for result in results),
        "loop_lag_ms_p99": max(result["loop_lag_ms_p99"] for result in results),
        "stages": dict(sorted(stages.items(), key=lambda item: -item[1])),
        "thresher": VERSION,
        "python": platform.python_version(),
        "server_pages_per_cpu_s": statistics.median(result["server_pages_per_cpu_s"] for result in results),
        "server_busy_share": max(result["server_busy_share"] for result in results),
        "machine": f"{platform.machine()}, {cores} cores" if cores > 1 else f"{platform.machine()}, one core: crawler and server share it",
    }


def _show(report: dict[str, Any]) -> None:
    rate = report["pages_per_cpu_s"]
    rows = [
        ("pages per CPU second", f"{rate['median']:.0f}  (min {rate['min']:.0f}, max {rate['max']:.0f}, {report['runs']} runs)"),
        (
            "pages",
            f"{report['pages']:,} of profile {report['profile']} on {report['hosts']:,} hosts, {report['known_urls']:,} URLs known",
        ),
        ("agents", report["agents"]),
        ("pages per second", f"{report['pages_per_s_wall']:.0f} on the wall clock"),
        ("peak memory", f"{report['peak_rss_bytes'] / 2**20:.0f} MiB"),
        ("loop lag", f"99 % of the time within {report['loop_lag_ms_p99']:.0f} ms, at worst {report['loop_lag_ms_max']:.0f} ms"),
        (
            "server",
            f"{report['server_pages_per_cpu_s']:.0f} pages per CPU second of its own; busy {report['server_busy_share']:.0%} of the time",
        ),
        ("machine", f"{report['machine']}, Python {report['python']}, thresher {report['thresher']}"),
    ]
    print_table(("", ""), rows)
    if not report["stages"]:
        return  # stages are not sampled with several agents
    print_table(
        ("stage", "share of CPU", "µs per page"), [(s, f"{n:.1%}", round(n / rate["median"] * 1e6)) for s, n in report["stages"].items()]
    )
