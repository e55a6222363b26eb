"""Blocks of time: a decision for good needs evidence from several of them.

For a while a host may answer in a way that is not its usual one: a wall, an outage, an experiment. So its answers are divided into blocks
of `BLOCK` answers in a row. A rule of aliases, the closing of a class and a mirror need evidence from `ENOUGH` blocks of one host. A wall
of
up to `BLOCK` answers touches two blocks at most, so it decides nothing. Blocks are made of answers and not of seconds: a replay makes the
same ones.

Blocks are stored as the bits of a 64-bit number. Blocks that are 64 apart share a bit and count as one, so more evidence may be asked for,
never less.

Memory: 8 bytes. Time: under 1 µs.
"""

from __future__ import annotations

from typing import Final

BLOCK: Final = 8  # answers of a host
ENOUGH: Final = 3  # blocks
_BITS: Final = 64


def block_of(n: int) -> int:
    """Return the block of a host's answer, 0 to 63.

    Args:
        n: Answers of the host before it.
    """
    return n // BLOCK % _BITS


def with_block(blocks: int, block: int) -> int:
    """Return the blocks with one more added."""
    return blocks | 1 << block


def are_enough(blocks: int) -> bool:
    """Return whether evidence from these blocks of one host is enough to decide something for good."""
    return blocks.bit_count() >= ENOUGH


def span(first: int, end: int) -> int:
    """Return how many blocks a run of answers touches.

    Args:
        first: Answers of the host before the first of them.
        end: Answers of the host after the last of them.
    """
    return (end - 1) // BLOCK - first // BLOCK + 1 if end > first else 0
