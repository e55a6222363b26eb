"""Which memory of an agent's process is put on huge pages."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from thresher.crawler.children import python

_MAPS_MEMORY = """
import ctypes, json, mmap
from pathlib import Path
from thresher.crawler.process.huge_pages import BLOCK, HugePages

libc, address, size = ctypes.CDLL(None), ctypes.c_void_p, ctypes.c_size_t
memory = mmap.mmap(-1, 10 * BLOCK, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
at = ctypes.addressof(ctypes.c_ubyte.from_buffer(memory))
first = -(-at // BLOCK) * BLOCK
full, half = first + BLOCK, first + 5 * BLOCK  # three blocks each
for place in range(full, full + 3 * BLOCK, mmap.PAGESIZE):
    memory[place - at] = 1
for place in range(half, half + 3 * BLOCK, 2 * mmap.PAGESIZE):
    memory[place - at] = 1
for place in (first, first + 4 * BLOCK, first + 8 * BLOCK):  # the kernel then counts each three by themselves
    assert libc.mprotect(address(place), size(BLOCK), mmap.PROT_READ) == 0

def n_huge(place):
    is_there = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name = line.split()[0]
        if "-" in name:
            begin, end = (int(one, 16) for one in name.split("-"))
            is_there = begin <= place < end
        elif is_there and name == "AnonHugePages:":
            return int(line.split()[1]) * 1024 // BLOCK

pages, found = HugePages(), []
for at_most_s in (0.0, 60.0):
    pages.go_on(at_most_s)
    found.append([n_huge(full), n_huge(half)])
print(json.dumps([libc.madvise(address(full), size(BLOCK), 25) == 0, found]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is moved")
def test_blocks_in_use_are_put_on_huge_pages_while_there_is_time_and_those_with_free_memory_stay() -> None:
    """Mutations: blocks are moved however much of them is free; a call goes on when its time is over."""
    said = subprocess.run(python.code(_MAPS_MEMORY), env=python.environment(), check=True, capture_output=True)
    can_move, (without_time, with_time) = json.loads(said.stdout)
    if not can_move:
        pytest.skip("this system forbids huge pages, or its kernel is older than 6.1")
    assert without_time == [0, 0]
    assert with_time == [3, 0]
