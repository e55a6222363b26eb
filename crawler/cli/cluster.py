"""`thresher cluster`: the machines on which one crawl runs."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import click
import msgspec

from thresher.crawler.cli.common import directory_argument, print_json
from thresher.crawler.core.errors import UsageError
from thresher.crawler.terminal.extras import require

_PORT = 6379
_PATIENCE_S = 5.0  # for the head to answer


@click.group()
def cluster() -> None:
    """Let several machines take part in one crawl.

    Such a crawl is started by `thresher crawl … --set engine=ray`.
    """


@cluster.command(epilog="Example: thresher cluster start --head, and on the others: thresher cluster start --address 10.0.0.1")
@click.option("--head", is_flag=True, help="Begin a cluster: crawls are started on this machine.")
@click.option("--address", metavar="HOST[:PORT]", help="Join the cluster whose head has this address.")
@click.option("--name", default=socket.gethostname, metavar="NAME", help="Permanent name of this machine's disk.  [default: the host name]")
@click.option("--ip", metavar="ADDRESS", help="Address of this machine, for the others.  [default: Ray's choice]")
@click.option("--port", type=click.IntRange(1, 65_535), default=_PORT, show_default=True, help="Port of the head.")
@click.option(
    "--cores",
    type=click.IntRange(0),
    metavar="N",
    help="Cores for agents; `agents: auto` starts one on each. With 0, the next `resume` moves its shards to others.  [default: all]",
)
@click.option("--metrics", type=click.IntRange(1, 65_535), metavar="PORT", help="Figures for Prometheus at this port.  [extra: metrics]")
def start(head: bool, address: str | None, name: str, ip: str | None, port: int, cores: int | None, metrics: int | None) -> None:
    """Start Ray on this machine, until a signal ends it.

    It runs in the foreground. Every machine needs the same version of Thresher with the extra `ray`, and a copy of the head's file
    ~/.ray/auth_token: whoever has it may run code on all machines. `start --head` creates the file if it is missing. Connect the
    machines by a private network: Ray encrypts nothing.

    With --metrics, Ray shows the figures of `thresher status` of the agents here at http://ADDRESS:PORT/metrics, and on the head its
    dashboard at port 8265 of the loopback.
    """
    if head == (address is not None):
        raise UsageError("cluster start: expected either --head or --address HOST, found " + ("both" if head else "none"))
    require("cluster start", module="ray", extra="ray")
    for module in ("opentelemetry.exporter.prometheus", "prometheus_client", "aiohttp_cors") if metrics is not None else ():
        require("cluster start --metrics", module=module, extra="metrics")
    program = shutil.which("ray", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if program is None:
        raise UsageError(f"cluster start: expected the program `ray` beside {sys.executable}, found none. Install the extra `ray` anew")
    environ = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_USAGE_STATS_ENABLED": "0"}
    _require_token(program, environ, is_head=head)
    where = address if address is None or ":" in address else f"{address}:{_PORT}"
    if where is not None:
        _require_head(where)
    click.echo(f"thresher: machine {name}; in the foreground until Ctrl-C or SIGTERM", err=True)
    if head:
        there = (ip or "ADDRESS") + (f":{port}" if port != _PORT else "")
        click.echo(f"thresher: the others join by `thresher cluster start --address {there}`, not by what Ray says below", err=True)
    words = [program, "start", *ray_options(where, name, port=port, ip=ip, cores=cores, metrics=metrics)]
    os.execve(program, words, environ)  # noqa: S606 - Ray's own program, with words of ours


def ray_options(where: str | None, name: str, *, port: int, ip: str | None, cores: int | None, metrics: int | None) -> list[str]:
    """Return the options of `ray start`.

    Args:
        where: HOST:PORT of the head, None if this machine is the head.
        name: Of this machine's disk: Ray has it as a resource.
        port: Of the head.
        ip: This machine's address for the others, None for Ray's choice.
        cores: For agents, None for all.
        metrics: Port of the figures for Prometheus, None for none and no dashboard.
    """
    options = ["--block", "--disable-usage-stats", "--resources", msgspec.json.encode({_resource(name): 1}).decode()]
    if where is not None:
        options += ["--address", where]
    else:
        options += ["--head", "--port", str(port), "--include-dashboard", str(metrics is not None).lower()]
    options += ["--metrics-export-port", str(metrics)] if metrics is not None else []
    options += ["--node-ip-address", ip] if ip else []
    options += ["--num-cpus", str(cores)] if cores is not None else []
    return options


@cluster.command(epilog="Example: thresher cluster lost /data/web machine-3")
@directory_argument
@click.argument("machine")
def lost(directory: str, machine: str) -> None:
    """Give up MACHINE, whose disk is lost.

    Its last snapshot takes its place, so `snapshots.target` must have been configured. Run this on the head while the crawl in DIR is
    stopped. What the machine had found since the snapshot is fetched again; its hosts rest for `politeness.max_delay` first. If the
    disk comes back, its shards are not part of the crawl.
    """
    require(f"{directory}: cluster lost", module="ray", extra="ray")
    from thresher.crawler.machines import command

    agents = command.lost(Path(directory), machine)
    said = f"agent{'s' if len(agents) > 1 else ''} {', '.join(map(str, agents))} restored from the last snapshot of {machine}"
    click.echo(f"{said}; `thresher resume {directory}` goes on", err=True)


@cluster.command(epilog="Example: thresher cluster merge /data/web machine-3 >others.jsonl")
@directory_argument
@click.argument("machine")
def merge(directory: str, machine: str) -> None:
    """Take what only the disk of a lost machine has, now back.

    To be called on the head, while the crawl in DIR stands still. A `resume` with MACHINE is refused before that, since it may put other
    shards in the place of the returned ones. Pages, redirects and links that the crawl has still to fetch are taken from the returned disk;
    nothing is requested. What the crawl has fetched since stays; a line of JSON tells each URL to which the returned disk has another
    answer. The returned shards are not changed. After a kill, call it again.
    """
    require(f"{directory}: cluster merge", module="ray", extra="ray")
    from thresher.crawler.machines import command

    found = command.merge(Path(directory), machine)
    for other in found.others:
        print_json(other)
    for what, n in sorted(found.counts.items()):
        click.echo(f"{directory}: {n:,} {what}", err=True)
    names = ", ".join(map(str, found.shards))
    click.echo(f"agent{'s' if len(found.shards) > 1 else ''} {names} of {machine} merged; `thresher resume {directory}` goes on", err=True)


def _require_head(address: str) -> None:
    """Check that something listens at the head's address: Ray would try for minutes, and say so in its own words.

    Raises:
        UsageError: If nothing does.
    """
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE_S).close()
    except (OSError, ValueError) as error:
        start = "Start it there: `thresher cluster start --head`, and let all ports be open between the machines"
        raise UsageError(f"cluster start: expected a head at {address}, found none ({error}). {start}") from None


def _resource(name: str) -> str:
    from thresher.crawler.machines.names import resource

    return resource(name)


def _require_token(program: str, environ: dict[str, str], *, is_head: bool) -> None:
    """Make the token that every call carries if there is none.

    Raises:
        UsageError: On a machine that joins without a token.
    """
    if environ.get("RAY_AUTH_TOKEN") or environ.get("RAY_AUTH_TOKEN_PATH"):
        return
    path = Path.home() / ".ray" / "auth_token"
    if path.exists():
        return
    if not is_head:
        raise UsageError(f"cluster start: expected the head's token in {path}, found none. Copy that file from the head, for you alone")
    command = [program, "get-auth-token", "--generate"]
    subprocess.run(command, env=environ, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - Ray's own program
    path.chmod(0o600)  # Ray leaves it readable by all
