"""Is this page quick to parse? An upper bound on the work of building its tree, from the source alone.

lexbor has no depth limit, cannot be interrupted and is superlinear in four things: open elements (every tag may walk the stack), open
formatting elements (each new block opens all of them again), attributes of one tag and distinct names (each is compared with the ones
before). The scan adds up these walks in steps of about two nanoseconds. A page whose bound exceeds the budget is parsed in the killable
process instead, which costs little: the scan may suspect too often, and does so on pages that leave hundreds of elements open.

It is a scan and no tokeniser: whoever studies it can hide tags from it behind comments, attributes and scripts that are none. Small pages
are bounded by their number of tags alone, which nothing can hide.

How open elements are counted: an end tag closes at most one element of its own name, so the open ones of a name are its start tags less
its end tags, never below zero; the sum over names bounds the depth. Elements that close each other (p, li, td ...) and those without an
end count nothing, except where foreign content (svg, math) suspends those rules.

Time: 26 µs per 25 KB for an ordinary page; 140 with much formatting, 250 per 100 KB, where names must be told apart.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from crawler.core.markup import measure
from crawler.core.model import U64

BUDGET: Final = 2_500_000  # steps, about 5 ms
_FORMATTING: Final = 100  # steps to open one formatting element again
_NAMES: Final = 30  # n distinct names cost n² / 30 steps
_LONG_TAG: Final = 600  # bytes; attributes of shorter tags are not counted
_MAX_TAGS: Final = 1 << 16  # more are not looked at; their index shares a word with the hash of their name

_CLOSES_ITSELF: Final = 1  # in HTML: ended by the next of its kind
_HAS_NO_END: Final = 2
_REOPENS: Final = 3  # formatting elements
_FOREIGN: Final = 4
_SCRIPT: Final = 5
_KINDS: Final = {
    _CLOSES_ITSELF: "a p li dd dt td th tr tbody thead tfoot caption colgroup option button form nobr html head body",
    _HAS_NO_END: (
        "area base br col embed hr img input link meta param source track wbr "
        "circle ellipse line path polygon polyline rect stop use"  # in svg nearly always written <path/>
    ),
    _REOPENS: "b big code em font i s small strike strong tt u",
    _FOREIGN: "svg math",
    _SCRIPT: "script",
}


I8 = npt.NDArray[np.int8]
I64 = npt.NDArray[np.int64]
_U = np.uint64
_ONES: Final = _U(0x0101010101010101)
_TOPS: Final = _ONES << _U(7)
_LOWER: Final = _ONES * _U(0x20)
_SPACES: Final = _ONES * _U(0x21)  # white space is what lies below
_SLASHES: Final = _ONES * _U(ord("/"))
_ENDS: Final = _ONES * _U(ord(">"))
_MIX: Final = _U(0x9E3779B97F4A7C15)
_SLOT_SHIFT: Final = _U(48)
_INDEX: Final = _U(_MAX_TAGS - 1)


def _kind_table() -> tuple[U64, I8]:
    """Build a hash table without collisions: slot → name, slot → kind."""
    names = np.zeros(1 << 16, dtype=np.uint64)
    kinds = np.zeros(1 << 16, dtype=np.int8)
    for kind, words in _KINDS.items():
        for word in words.split():
            name = np.frombuffer(word.encode().ljust(8, b"\0"), dtype=np.uint64)
            slot = (name * _MIX >> _SLOT_SHIFT)[0]
            assert names[slot] == 0, f"{word} shares a slot"
            names[slot], kinds[slot] = name[0], kind
    return names, kinds


def _glance_table() -> I8:
    """Build the table from the two bytes after a "<" to: 0 text, 1 markup, 2 markup that may be the start of a formatting element."""
    glance = np.zeros((256, 256), dtype=np.int8)  # [second byte, first byte]
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", dtype=np.uint8)
    glance[:, np.frombuffer(b"/!?", dtype=np.uint8)] = 1
    glance[:, letters] = 1
    glance[:, letters - 32] = 1
    for word in _KINDS[_REOPENS].split():
        for first in (ord(word[0]), ord(word[0]) - 32):
            seconds = [ord(word[1]), ord(word[1]) - 32] if len(word) > 1 else list(b"\t\n\f\r />")
            glance[seconds, first] = 2
    return glance.ravel()


_SLOT_NAMES, _SLOT_KINDS = _kind_table()
_GLANCE = _glance_table()


def bomb(body: bytes) -> str:
    """Return "" if UTF-8 `body` is quick to parse, else what makes it dangerous: tags, depth, formatting, attributes or names."""
    data = np.frombuffer(body, dtype=np.uint8)
    at = (data[:-24] == ord("<")).nonzero()[0]  # names are read in words of 8 bytes past it
    if at.size > _MAX_TAGS:
        return "tags"
    if not at.size:
        return ""
    pairs = np.ndarray((len(body) - 1,), dtype="<u2", buffer=body, strides=(1,))
    glance = _GLANCE[pairs[at + 1]]
    if not glance[glance.argmin()]:
        at, glance = at[glance > 0], glance[glance > 0]
    attributes = _attribute_steps(body, at)
    formatting = _FORMATTING * int(np.add.reduce(at.size - (glance == 2).nonzero()[0]))
    if at.size * at.size // 2 + formatting + attributes <= BUDGET:
        return ""
    return _worst(body, at, attributes)


def _attribute_steps(body: bytes, at: I64) -> int:
    """Add up n²/2 over the long tags, where n is the number of a tag's attributes."""
    steps = end = 0
    if not at.size:
        return 0
    is_long = np.empty(at.size, dtype=np.bool_)
    np.greater(at[1:] - at[:-1], _LONG_TAG, out=is_long[:-1])
    is_long[-1] = len(body) - at[-1] > _LONG_TAG
    for start in at[is_long].tolist():
        if start >= end:  # what stands inside a tag is none
            end, n_attributes = measure(body, start)
            steps += n_attributes * n_attributes // 2
    return steps


def _worst(body: bytes, at: I64, attributes: int) -> str:
    """Add up the steps of all tags; return the name of the costliest part if the budget does not bear them."""
    data = np.frombuffer(body, dtype=np.uint8)
    is_end = data[at + 1] == ord("/")
    names = _names(body, at + 1 + is_end)
    slots = names * _MIX >> _SLOT_SHIFT
    kinds = np.where(_SLOT_NAMES[slots] == names, _SLOT_KINDS[slots], 0)
    weights = np.where(is_end, -1, 1)
    weights[((names & _U(0xFF)) - _U(ord("a")) > _U(25)) | (kinds == _HAS_NO_END) | _in_scripts(kinds == _SCRIPT, is_end)] = 0
    if not (kinds == _FOREIGN).any():
        weights[kinds == _CLOSES_ITSELF] = 0
    counted = np.flatnonzero(weights)
    order, opened, n_names = _open(names[counted], weights[counted])
    steps = np.zeros(at.size, dtype=np.int64)
    steps[counted[order]] = opened
    formatting = np.where(kinds == _REOPENS, steps, 0)
    cost = {
        "depth": int(steps.cumsum().sum()),
        "formatting": _FORMATTING * int(formatting.cumsum().sum()),
        "attributes": attributes,
        "names": n_names * n_names // _NAMES,
    }
    return max(cost, key=lambda part: cost[part]) if sum(cost.values()) > BUDGET else ""


def _in_scripts(is_script: npt.NDArray[np.bool_], is_end: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Tell which tags stand between the start and the end tag of a script: there "i<n" is no tag."""
    places = np.arange(is_script.size)
    last = np.maximum.accumulate(np.where(is_script, places, 0))
    inside: npt.NDArray[np.bool_] = is_script[last] & ~is_end[last] & (last != places)
    return inside


def _names(body: bytes, at: I64) -> U64:
    """Return the tag names at `at`, lower case: of long ones the first 8 bytes, mixed with the next 8."""
    words: U64 = np.ndarray((len(body) - 7,), dtype="<u8", buffer=body, strides=(1,))
    names, is_long = _word(words[at])
    if is_long.any():
        long = np.flatnonzero(is_long)
        following = _word(words[at[long] + 8])[0]
        names[long] ^= (following * _MIX) & ~_U(0xFF)  # the first byte stays a letter
    return names


def _word(words: U64) -> tuple[U64, npt.NDArray[np.bool_]]:
    """Cut each word of 8 bytes before its first white space, "/" or ">", in lower case; tell which have none of them."""
    slash, end = words ^ _SLASHES, words ^ _ENDS
    stops = ((words - _SPACES) & ~words) | ((slash - _ONES) & ~slash) | ((end - _ONES) & ~end)
    stops &= _TOPS
    stops &= ~stops + _U(1)  # the lowest: borrows make only higher ones unsure
    kept = (stops >> _U(7)) - _U(1)
    return (words | _LOWER) & kept, stops == 0


def _open(names: U64, weights: I64) -> tuple[I64, I64, int]:
    """Say for each tag whether it opens (1), closes (-1) or does nothing (0), names apart, never below none open.

    returns: the tags in an order that groups names, the answers in that order, the number of names
    """
    keys = np.sort((names * _MIX & ~_INDEX) | np.arange(names.size, dtype=np.uint64))
    order = (keys & _INDEX).astype(np.int64)
    first = np.ones(keys.size, dtype=np.bool_)
    first[1:] = (keys[1:] ^ keys[:-1]) > _INDEX
    group = first.cumsum()
    weight = weights[order]
    # One running sum serves all groups: each stands so far below the one before that no earlier minimum reaches into it.
    after = weight.cumsum() - group * (2 * keys.size + 2)
    open_after = after - np.minimum.accumulate(np.minimum(after, after - weight))
    open_before = np.concatenate((open_after[:1] * 0, open_after[:-1]))
    open_before[first] = 0
    return order, open_after - open_before, int(group[-1]) if keys.size else 0
