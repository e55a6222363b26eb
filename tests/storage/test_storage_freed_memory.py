"""Memory that a process has freed goes back to the system (storage/freed_memory.py)."""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import SimpleNamespace

import pytest

from thresher.storage import freed_memory
from thresher.storage.freed_memory import FreedMemory

_BLOCK = 64 << 10


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="not GNU's C library")
def test_what_is_freed_between_blocks_that_stay_goes_back_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Freed memory goes back to the system at the first call, and at most once a second.

    Mutations: nothing is given back; the next call within the same second gives back, too; nothing is given back a second time.
    """
    now = 100.0
    clock = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr(freed_memory, "time", clock)
    freed = FreedMemory()
    held = _kept_blocks()
    before = _anonymous_bytes()
    freed.give_back()
    after = _anonymous_bytes()
    held += _kept_blocks()
    again = _anonymous_bytes()
    now += 0.999
    freed.give_back()
    too_early = _anonymous_bytes()
    now += 0.001
    freed.give_back()
    assert after <= before - 300 * _BLOCK
    assert too_early >= again - 200 * _BLOCK
    assert _anonymous_bytes() <= again - 300 * _BLOCK
    assert len(held) == 2 * 512


def _kept_blocks() -> list[bytes]:
    """Return small blocks, between which larger ones were freed."""
    larger, small = [], []
    for _ in range(512):
        larger.append(b"x" * _BLOCK)
        small.append(b"x" * 8000)
    return small


def _anonymous_bytes() -> int:
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:")) << 10
