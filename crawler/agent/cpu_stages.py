"""Where the CPU time of an agent goes: samples by the process's CPU clock, each counted for the innermost stage on the main thread's stack.

The kernel's profiling timer (ITIMER_PROF) counts the CPU time of all threads; the handler runs on the main thread at the next bytecode. The
store's writer thread counts its own CPU time; the samples are scaled to the remaining time. Used by the benchmark only.
"""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from types import FrameType

import msgspec

_INTERVAL_S = 0.004

# the first entry that matches the innermost file counts; if none does, the file of its caller is looked at
_STAGES = (
    ("decode", ("/crawler/fetch/content_coding.py",)),
    ("fetch", ("/crawler/fetch/", *(f"/{package}/" for package in ("aiohttp", "yarl", "multidict", "aiohappyeyeballs")))),
    ("parse", (*(f"/crawler/core/{name}.py" for name in ("html", "charset", "bomb", "outline", "tags", "nesting")), "/crawler/page/")),
    ("sketch", ("/crawler/core/sketch.py",)),
    ("urls", ("/crawler/core/url",)),
    ("robots", ("/crawler/core/robots.py", "/crawler/gates/robots_cache.py")),
    (
        "frontier",
        tuple(
            f"/crawler/core/{name}.py"
            for name in ("frontier", "workbench", "host_queue", "slots", "lines", "politeness", "lease", "waiting")
        ),
    ),
    ("filters", ("/filters/",)),
    ("store", ("/storage/",)),
    ("links", ("/crawler/gates/link_gate.py", "/crawler/settlement/admission.py")),
    ("visit", ("/crawler/visit.py", "/crawler/agent/", "/crawler/settlement/group_commit.py")),
    ("settle", ("/crawler/settlement/",)),
    ("loop", ("/asyncio/", "selectors.py")),
)


class Sampler:
    """Counts samples by stage from `start` to `stop`. One per process, on the main thread."""

    def __init__(self) -> None:
        self.samples: Counter[str] = Counter()
        self._by_file: dict[str, str] = {}

    def start(self) -> None:
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, _INTERVAL_S, _INTERVAL_S)

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0.0)

    def write(self, path: Path, *, writer_cpu_s: float, total_cpu_s: float) -> None:
        """Write {stage: share of the CPU time} as JSON."""
        writer = min(1.0, writer_cpu_s / total_cpu_s)
        n_samples = self.samples.total() or 1
        shares = {stage: n / n_samples * (1.0 - writer) for stage, n in self.samples.most_common()}
        path.write_bytes(msgspec.json.encode(shares | {"writer thread": writer}))

    def _sample(self, _number: int, frame: FrameType | None) -> None:
        while frame is not None:
            stage = self._stage(frame.f_code.co_filename)
            if stage:
                self.samples[stage] += 1
                return
            frame = frame.f_back
        self.samples["other"] += 1

    def _stage(self, file: str) -> str:
        stage = self._by_file.get(file)
        if stage is None:
            stage = next((name for name, parts in _STAGES if any(part in file for part in parts)), "")
            self._by_file[file] = stage
        return stage
