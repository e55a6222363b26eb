"""The crawlers that are compared, each with the settings that its own documentation recommends for throughput.

A contestant returns the command of a run in an empty directory, or says what must be installed first. `python -m benchmarks.peers.install`
installs the other crawlers in a directory of their own; they are no dependencies of Thresher. All of them obey robots.txt, except the
floors. They start at every host's home page and make 100 requests at once, where they have options for that.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from benchmarks.support.checkout import ROOT
from benchmarks.support.ports import free_port
from thresher.crawler.bench.ablations import names, with_filters, without_tail
from thresher.crawler.bench.crawl_bench import bench_settings
from thresher.crawler.children import python
from thresher.crawler.demo.process import ServerProcess
from thresher.crawler.start.opening import create_store

SOURCES = Path(__file__).parent / "sources"
CONCURRENCY = 100


@dataclass(frozen=True, slots=True)
class Job:
    """One run's web and place."""

    server: ServerProcess
    seeds: Path  # a file of home pages, one a line
    urls: Path  # a file of all pages
    directory: Path  # empty, of this run
    n_cores: int = 1  # of the crawler; Thresher has one agent on each


@dataclass(frozen=True, slots=True)
class Contestant:
    name: str
    what: str  # what it does, since not all do the same work
    command: Callable[[Path, Job], list[str]]  # (the peers' directory, the run) → command
    missing: Callable[[Path], str | None]  # returns what is missing, in words; None: it can run
    ok_codes: tuple[int, ...] = (0,)


def _here(_: Path) -> None:
    return None


def _needs(path: str, install: str) -> Callable[[Path], str | None]:
    def missing(peers: Path) -> str | None:
        return None if (peers / path).exists() else f"not installed: python -m benchmarks.peers.install {peers} {install}"

    return missing


def _ours(on: str) -> Callable[[Path, Job], list[str]]:
    def command(_: Path, job: Job) -> list[str]:
        settings, store = bench_settings(job.server, None), str(job.directory / "crawl")
        settings = settings if on == "default" else with_filters(without_tail(settings), names() if on == "every" else [])
        create_store(Path(store), replace(settings, agents=job.n_cores))
        if job.n_cores > 1:
            return python.command("thresher", "resume", store)
        # a shell keeps standard input open; if it were closed, the agent would conclude that its supervisor has died
        agent = shlex.join(python.command("thresher.crawler.process.agent_process", store))
        return ["bash", "-c", f"exec {agent} < <(sleep infinity) > /dev/null"]

    return command


def _floor(mode: str) -> Callable[[Path, Job], list[str]]:
    def command(_: Path, job: Job) -> list[str]:
        given = job.urls if mode == "fetch" else job.seeds
        return ["env", f"PYTHONPATH={ROOT}", *python.command("benchmarks.peers.floors", mode, str(given))]

    return command


def _python(script: str) -> Callable[[Path, Job], list[str]]:
    return lambda peers, job: [str(peers / "python/bin/python"), str(SOURCES / script), str(job.seeds), str(CONCURRENCY)]


def _binary(path: str) -> Callable[[Path, Job], list[str]]:
    return lambda peers, job: [str(peers / path), str(job.seeds), str(CONCURRENCY)]


def _spider(peers: Path, job: Job) -> list[str]:
    """Start at one URL; the star allows the crawler every other host."""
    start = job.directory / "start"
    start.write_text(job.seeds.read_text("utf-8").split("\n")[0] + "\n*\n", "utf-8")
    return [str(peers / "spider/peer"), str(start), str(CONCURRENCY)]


def _wget2(peers: Path, job: Job) -> list[str]:
    options = ["--recursive", "--level=inf", "--span-hosts", f"--max-threads={CONCURRENCY}", "--delete-after", "--quiet", "--no-verbose"]
    return ["env", f"LD_LIBRARY_PATH={_libraries(peers)}", str(peers / "wget2/usr/bin/wget2"), *options, f"--input-file={job.seeds}"]


def _libraries(peers: Path) -> str:
    return ":".join(sorted({str(library.parent) for library in (peers / "wget2").rglob("*.so*")}))


def _bubing(peers: Path, job: Job) -> list[str]:
    text = (SOURCES / "bubing/bubing.properties").read_text("utf-8")
    given = {"DIRECTORY": job.directory / "crawl", "SEEDS": f"file:{job.seeds}", "THREADS": CONCURRENCY}
    for name, value in given.items():
        text = text.replace(f"={name}", f"={value}")
    properties = job.directory / "bubing.properties"
    properties.write_text(text, "utf-8")
    java = ["java", "-Xmx2G", "-XX:+UseParallelGC", "-Djava.net.preferIPv4Stack=true", "-Djgroups.bind_addr=127.0.0.1"]
    java += ["-Dcom.sun.management.jmxremote.port=0", "-Dcom.sun.management.jmxremote.host=127.0.0.1"]
    java += ["-Dcom.sun.management.jmxremote.ssl=false", "-Dcom.sun.management.jmxremote.authenticate=false"]
    java += ["--add-opens=java.base/java.lang=ALL-UNNAMED", "--add-opens=java.base/java.nio=ALL-UNNAMED"]
    java += [f"-Dlogback.configurationFile={SOURCES / 'bubing/logback.xml'}"]
    return [*java, "-cp", f"{peers}/bubing/lib/*", "it.unimi.di.law.bubing.Agent", "-n", "-g", "bench", "-P", str(properties), "agent"]


def _heritrix(peers: Path, job: Job) -> list[str]:
    folder = job.directory / "jobs/bench"
    folder.mkdir(parents=True)
    text = (SOURCES / "heritrix/crawler-beans.cxml").read_text("utf-8")
    text = text.replace('"SEEDS"', f'"{job.seeds}"').replace('"THREADS"', f'"{CONCURRENCY}"')
    (folder / "crawler-beans.cxml").write_text(text, "utf-8")
    java = ["java", "-Xmx2G", "-XX:+UseParallelGC", "-Djava.net.preferIPv4Stack=true", "-cp", f"{peers}/heritrix/lib/*"]
    web = ["--web-admin", "bench:bench", "--web-bind-hosts", "127.0.0.1", "--web-port", str(free_port("127.0.0.1"))]
    return [*java, "org.archive.crawler.Heritrix", *web, "--jobs-dir", str(folder.parent), "--run-job", "bench"]


_PYTHON = "python/bin/python"
CONTESTANTS = (
    Contestant("thresher", "filters as configured by default, durable", _ours("default"), _here),
    Contestant("thresher, every filter", "every filter enforced, durable", _ours("every"), _here),
    Contestant("thresher, no filter", "filters off, durable", _ours("none"), _here),
    Contestant("floor: fetch", "aiohttp on given URLs", _floor("fetch"), _here),
    Contestant("floor: links", "aiohttp, lexbor, a set in memory", _floor("links"), _here),
    Contestant("scrapy", "links, set and queue in memory", _python("scrapy_peer.py"), _needs(_PYTHON, "python")),
    Contestant("crawlee", "links, set and queue in memory", _python("crawlee_peer.py"), _needs(_PYTHON, "python")),
    Contestant("colly", "links, set in memory", _binary("colly/peer"), _needs("colly/peer", "colly")),
    Contestant("spider", "links, set in memory; one seed", _spider, _needs("spider/peer", "spider")),
    Contestant("bubing", "links, stored as WARC, sieve and queues on disk", _bubing, _needs("bubing/lib/bubing-0.9.15.jar", "bubing")),
    Contestant("heritrix", "links, stored as WARC, seen URLs and queues on disk", _heritrix, _needs("heritrix/lib", "heritrix")),
    Contestant("wget2", "links, each file written and deleted", _wget2, _needs("wget2/usr/bin/wget2", "wget2"), (0, 8)),
)
