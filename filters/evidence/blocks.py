"""Blocks of time: what is decided for good rests on evidence from several of them.

What a host answers in one stretch may be one regime: a wall, an outage, an experiment. So its answers are dealt to blocks, `BLOCK` in a
row to each, and a rule of aliases, the closing of a class and a mirror need evidence from `ENOUGH` blocks of one host. A regime of up to
`BLOCK` answers touches two at most, and decides nothing. Blocks are counted, not timed: a replay comes to the same ones.

Blocks are remembered as bits of a number of 64: what lies 64 blocks apart counts as one, which asks for more evidence and never for less.

Memory: 8 bytes. Time: under 1 µs.
"""

from __future__ import annotations

from typing import Final

BLOCK: Final = 8  # answers of a host
ENOUGH: Final = 3  # blocks
_BITS: Final = 64


def block_of(n: int) -> int:
    """Return the block, 0–63, of a host's answer.    n: answers of the host before it"""
    return n // BLOCK % _BITS


def with_block(blocks: int, block: int) -> int:
    """Return blocks with one more."""
    return blocks | 1 << block


def are_enough(blocks: int) -> bool:
    """Return whether evidence from these blocks of one host may decide something for good."""
    return blocks.bit_count() >= ENOUGH


def span(first: int, end: int) -> int:
    """Return how many blocks a row of answers touches.    first, end: answers before the first of them, and after the last"""
    return (end - 1) // BLOCK - first // BLOCK + 1 if end > first else 0
