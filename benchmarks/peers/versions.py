"""What a result was measured on: the machine, its load, and the versions of the crawlers."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

from thresher.crawler.version import VERSION


def machine() -> dict[str, object]:
    """Return what a reader must know about the machine."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text("utf-8"))
    memory = re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text("ascii"))
    cores = sorted(os.sched_getaffinity(0))
    return {
        "cpu": cpu[1] if cpu else platform.machine(),
        "cores": len(cores),
        "memory_gib": round(int(memory[1]) / 2**20, 1) if memory else None,
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_1_min": round(os.getloadavg()[0], 2),
    }


def versions(peers: Path) -> dict[str, str]:
    """Return the version of each crawler that is there."""
    found = {"thresher": VERSION}
    python = peers / "python/bin/python"
    if python.exists():
        code = "from importlib.metadata import version as v; print(v('scrapy'), v('crawlee'), v('twisted'))"
        names = ("scrapy", "crawlee", "twisted")
        said = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False).stdout
        found |= dict(zip(names, said.split(), strict=False))
    found |= _named(peers / "colly/go.mod", "colly", r"gocolly/colly/v2 v(\S+)")
    found |= _named(peers / "spider/Cargo.lock", "spider", r'name = "spider"\nversion = "([^"]+)"')
    found |= _named(peers / "bubing/pom.xml", "bubing", r"<artifactId>bubing</artifactId>\s*<version>([^<]+)")
    found |= _named(peers / "heritrix/pom.xml", "heritrix", r"<artifactId>heritrix-engine</artifactId>\s*<version>([^<]+)")
    wget2 = next(iter(peers.glob("wget2/wget2_*.deb")), None)
    return found | ({"wget2": wget2.name.split("_")[1]} if wget2 else {})


def _named(path: Path, name: str, pattern: str) -> dict[str, str]:
    if not path.exists():
        return {}
    match = re.search(pattern, path.read_text("utf-8"))
    return {name: match[1]} if match else {}
