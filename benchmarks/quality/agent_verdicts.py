"""Do several agents judge as one does? One agent crawls the labelled web twice, then several agents do, with all filters on.

    python -m benchmarks.quality.agent_verdicts [--agents 3] [--pages 20] [--sites 3] [--part soft ...]

Verdicts can depend on the order of the crawl, so two crawls by one agent differ too: the column "one again" shows this noise. A URL counts
for a filter if, in one crawl and not in the other, the filter dropped its page, refused it, rewrote it or held it. Of two replicas the one
that is fetched first is kept; so pages that are replicas or have one are a row of their own. A minute.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import msgspec

from thresher.crawler.bench.ablations import names, with_filters, without_tail
from thresher.crawler.bench.crawl_bench import bench_settings
from thresher.crawler.cli.common import print_table
from thresher.crawler.cluster.address_file import create
from thresher.crawler.core.model import Reason, State
from thresher.crawler.demo.labelled import PARTS, LabelledWeb
from thresher.crawler.demo.process import ServerProcess
from thresher.crawler.process.supervisor import Supervisor
from thresher.crawler.start.opening import create_store
from thresher.crawler.terminal.progress import Silent
from thresher.storage.export.judged import standing
from thresher.storage.partitions import ADDRESSES, channels_path
from thresher.storage.shards import open_view

Said = dict[str, set[str]]  # filter → URLs


def main() -> None:
    """Crawl three times and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.agent_verdicts", description="Compare the verdicts of several agents."
    )
    parser.add_argument("--agents", type=int, default=3)
    parser.add_argument("--pages", type=int, default=20, help="of each planted site")
    parser.add_argument("--sites", type=int, default=3, help="of parts that may have any number")
    parser.add_argument("--part", action="append", choices=list(PARTS), help="of the web, by default all")
    parser.add_argument("--fetches", type=int, default=4000, help="at most, of a crawl")
    options = parser.parse_args()
    changes: dict[str, object] = {"part_pages": options.pages, "part_sites": options.sites}
    if options.part:
        changes["parts"] = options.part
    with tempfile.TemporaryDirectory(prefix="agent-verdicts-") as name, ServerProcess("labelled", changes=changes) as server:
        assert isinstance(server.web, LabelledWeb)
        found = [_crawl(server, Path(name) / f"{i}", n, options.fetches) for i, n in enumerate((1, 1, options.agents))]
    one, again, several = found
    rows = [
        (filter_, len(one[filter_]), len(one[filter_] ^ again[filter_]), len(several[filter_]), len(one[filter_] ^ several[filter_]))
        for filter_ in sorted({*one, *again, *several})
    ]
    print_table(("filter", "one agent", "one again differs", f"{options.agents} agents", "differ from one"), rows)


def _crawl(server: ServerProcess, path: Path, n_agents: int, fetches: int) -> Said:
    base = bench_settings(server, fetches)
    limits = msgspec.structs.replace(base.limits, max_wait=5.0, max_pages_per_host=None)
    politeness = msgspec.structs.replace(base.politeness, min_delay=0.02)
    settings = with_filters(without_tail(msgspec.structs.replace(base, limits=limits, politeness=politeness, agents=n_agents)), names())
    create_store(path, settings)
    if n_agents > 1:
        create(channels_path(path) / ADDRESSES)
    supervisor = Supervisor(path, Silent(sys.stderr), n_agents=n_agents, settings=settings)
    code = asyncio.run(supervisor.run())
    if code not in (0, 4):
        raise SystemExit(f"exit {code}: {supervisor.status.why}. A figure of this would mean nothing")
    print(f"{n_agents} agent(s): {supervisor.status.pages:,} pages, {supervisor.status.why}", file=sys.stderr)
    return _said(path)


def _said(path: Path) -> Said:
    """Return by filter the URLs that it dropped, refused, rewrote or held."""
    said: defaultdict[str, set[str]] = defaultdict(set)
    with open_view(path) as view:
        urls = {page.key: page.url for _, page in view.all_pages()}
        for _, page in view.all_pages():
            for verdict, _ in standing(page, view.tables.verdicts.revisions(page.key)):
                if not (verdict.keep and verdict.follow):
                    said[verdict.filter].add(page.url)
                if verdict.reason == Reason.NEAR_REPLICA:
                    alike = bytes.fromhex(str(verdict.evidence["replica_of"]))
                    said["near_replica: either"] |= {page.url, urls.get(alike, alike.hex())}
        for url, row in view.all_urls():
            if row.state is State.ALIAS:
                said["dust"].add(url.text)
            elif row.state is State.REFUSED:
                said[f"refused: {row.reason}"].add(url.text)
            elif row.state is State.HELD:
                for holder in view.tables.held.holders(url.key):
                    said[f"held: {holder.split()[0]}"].add(url.text)
    return said


if __name__ == "__main__":
    main()
