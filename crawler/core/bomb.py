"""Decides whether a page is quick to parse, by an upper bound on the work of building its tree, from the source alone.

lexbor has no depth limit, cannot be interrupted and is superlinear in five things: open elements (every tag may walk the stack), open
formatting elements (each new block opens all of them again, with their attributes), attributes of one element (each is compared with the
ones before; html and body gather those of all their start tags), distinct names, of tags and of attributes, and comments before html, over
which the tree walks for each element that is removed from it. The scan adds up these walks in steps of about two nanoseconds. A page whose
bound exceeds the budget is parsed in a child process that can be killed, which takes little more time.

The scan does not imitate the parser: comments, scripts, quotes and the parser's many modes may hide any tag, and the scan would have to
repeat these rules without a mistake. It assumes the worst instead: every "<" before a letter opens an element that stays open to
the end of the page, as if there were no comments and no scripts. An element counts as closed in one case only: a clean tag (tags.py) is
followed by the end tag of the same name, with nothing between them but pairs of this kind. This is safe wherever the two tags are: if the
parser sees the first one, it sees the second one while the element is the innermost. The elements between them count for as long as they
are open.

Three bounds are computed, each slower and tighter than the one before: by counts alone; by the lengths of tags, the formatting elements
that differ and a few rounds of pairs (outline.py), which clears nearly all pages below 200 KB; by all pairs (nesting.py).

Time: 10 µs for a page of 6 KB, 60 for one of 12 KB, 80 for an ordinary one of 28 KB, 220 for one of 100 KB. For manuals, full of
formatting: 110 to 180 µs per 25 KB up to 50 KB, 250 to 320 up to 200 KB, and 450 above, since attributes must be counted and all names
matched.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from thresher.crawler.core.nesting import nested
from thresher.crawler.core.outline import bounds, outlined
from thresher.crawler.core.tags import (
    ANCHOR,
    ATTRIBUTE,
    BYTES_EACH,
    FORMAT,
    FORMATTING,
    I64,
    ONE_BYTE_NAMES,
    ROOT,
    SHORT_NAMES,
    U8,
    Tags,
    close,
    counted,
    glances,
    read,
    weights,
)

BUDGET: Final = 16_000_000  # steps: 35 ms mostly, 70 at most
_COMPARED: Final = 0.75  # n attributes of one element cost 0.75 n² steps
_NAMES: Final = 16  # n distinct names cost n² / 16 steps
_FEW: Final = 4_000
_MAX_TAGS: Final = 1 << 16  # a page with more tags is not scanned
# Elements that html.py removes from the tree.
_TAKEN_OUT: Final = re.compile(rb"<(?:script|style|noscript|iframe|noframes|title)", re.IGNORECASE)


def bomb(body: bytes) -> str:
    """Return "" if UTF-8 `body` is quick to read, else what makes it dangerous: "tags", "comments", "depth", "formatting", "attributes" or
    "names".
    """
    data = np.frombuffer(body, dtype=np.uint8)
    at, glance = glances(body, data)
    if at.size > _MAX_TAGS:
        return "tags"
    if not at.size or _is_small(body, data, at.size, int(np.count_nonzero(glance >= FORMATTING))):
        return ""
    if _of_comments(body, data, at) > BUDGET // 2:
        return "comments"
    tags = outlined(body, data, at, glance)
    is_clear = tags is not None
    if tags is None:
        tags = read(body, data, at, glance)
        if tags.n_attributes[0] < 0:
            return "attributes"
    n_names = _roughly(tags)
    attributes = _of_attributes(tags)
    is_counted = attributes + (at.size**2 + n_names**2) // _NAMES > BUDGET * 3 // 4
    if is_counted:
        tags, n_names = counted(tags)
        attributes = _of_attributes(tags)
    if is_clear and _is_cleared(tags, n_names, attributes):
        return ""
    cost = _believed_costs(tags, n_names, is_hopeless=is_clear)
    if sum(cost.values()) > BUDGET and not is_counted:
        cost = _believed_costs(*counted(tags), is_hopeless=is_clear)
    return max(cost, key=lambda part: cost[part]) if sum(cost.values()) > BUDGET else ""


def _of_comments(body: bytes, data: U8, at: I64) -> int:
    """Bound the steps of removing elements that show no text: for each of them the tree walks over all comments before html."""
    if at.size**2 // 4 <= BUDGET // 2:
        return 0
    second, third = data[at + 1], data[at + 2] | 0x20
    is_end = (second == ord("/")) & (third >= ord("a")) & (third <= ord("z"))
    n_comments = int(np.count_nonzero((second < ord("A")) & ~is_end))
    return n_comments * sum(1 for _ in _TAKEN_OUT.finditer(body)) if n_comments * at.size > BUDGET // 2 else 0


def _believed_costs(tags: Tags, n_names: int, *, is_hopeless: bool) -> dict[str, int]:
    """Bound each part of the work, where needed by the end tags that can be trusted.

    Args:
        is_hopeless: Whether the bound is known to exceed the budget without these.
    """
    if is_hopeless:
        attributes = _of_attributes(tags)
        return {"attributes": attributes} | _believed(tags, n_names, attributes)
    cost = _costs(tags, n_names)
    if sum(cost.values()) > BUDGET:
        cost |= _believed(tags, n_names, cost["attributes"])
    return cost


def _is_cleared(tags: Tags, n_names: int, attributes: int) -> bool:
    """Return whether the first bounds suffice. Only for a page whose tags all end where they seem to end."""
    n = tags.at.size
    left = BUDGET - attributes - (n**2 + n_names**2) // _NAMES
    for found in bounds(tags, left):
        again = n * (FORMAT * found.n_again + ATTRIBUTE * found.n_copied)
        if found.depth + found.formatting + again <= left:
            return True
    return False


def _roughly(tags: Tags) -> int:
    """Bound the number of distinct names of attributes by the bytes that they would take."""
    if len(tags.body) < 1 << 15:
        return len(tags.body) // BYTES_EACH + SHORT_NAMES
    room = np.where(tags.is_clean, tags.ends - tags.at - 2, BYTES_EACH * tags.n_attributes)
    return SHORT_NAMES + int(room[tags.is_outermost].clip(min=0).sum()) // BYTES_EACH


def _believed(tags: Tags, n_names: int, attributes: int) -> dict[str, int]:
    """Bound the open elements by the end tags that can be trusted, and the names of tags by those in the page."""
    found = nested(tags, weights(tags), BUDGET - attributes - n_names**2 // _NAMES)
    return {"depth": found.depth, "formatting": found.formatting, "names": (found.n_names**2 + n_names**2) // _NAMES}


def _costs(tags: Tags, n_names: int) -> dict[str, int]:
    """Bound each part of the work, as if nearly every element stayed open.

    Args:
        n_names: Upper bound of distinct names of attributes.
    """
    n = tags.at.size
    return {
        "depth": n**2 // 2,
        "formatting": _of_formatting(tags, weights(tags)),
        "attributes": _of_attributes(tags),
        "names": (n**2 + n_names**2) // _NAMES,
    }


def _is_small(body: bytes, data: U8, n_tags: int, n_formatting: int) -> bool:
    """Return whether a page has so few bytes and tags that its tree is built quickly in any case."""
    n_attributes = len(body) // BYTES_EACH + ONE_BYTE_NAMES
    if n_attributes < _FEW and n_attributes * n_tags * ATTRIBUTE > BUDGET // 2:  # before each attribute is white space, a "/" or a quote
        separators = np.count_nonzero(data <= ord(" ")) + np.count_nonzero(data == ord("/")) + np.count_nonzero(data & 0xFA == 0x22)
        n_attributes = min(n_attributes, int(separators))
    formatting = n_tags * (FORMAT * n_formatting + ATTRIBUTE * n_attributes) if n_formatting else 0
    return n_tags**2 // 2 + formatting + (_COMPARED + 1 / _NAMES) * n_attributes**2 <= BUDGET


def _of_formatting(tags: Tags, weights: I64) -> int:
    """Bound the steps to open formatting elements again, as if all stay open except those that contain only text, or one such element."""
    starts = (tags.glance >= FORMATTING).nonzero()[0]
    steps = _of_open(tags, weights, starts)
    if steps <= BUDGET // 2:
        return steps
    starts = starts[~close(tags, starts, starts + 1)]
    within = close(tags, starts, starts + 3)
    within[within] = close(tags, starts[within] + 1, starts[within] + 2)
    return 3 * int(weights[starts[within]].sum()) + _of_open(tags, weights, starts[~within])


def _of_open(tags: Tags, weights: I64, starts: I64) -> int:
    is_anchor = tags.glance[starts] == ANCHOR
    some, n = weights[starts], tags.at.size
    return int((some * ~is_anchor) @ (n - starts)) + n * int((some * is_anchor).max(initial=0))  # the parser keeps only one anchor open


def _of_attributes(tags: Tags) -> int:
    """Add up n² over the elements, where n is the number of an element's attributes."""
    numbers = tags.n_attributes * tags.is_outermost
    steps = int(numbers @ numbers)
    roots = (tags.glance == ROOT).nonzero()[0]
    if roots.size > 1:
        steps += int(numbers[roots].sum()) ** 2
    return int(_COMPARED * steps)
