"""A first bound on the work of building a page's tree, from a few vector operations; nearly all ordinary pages pass it.

It relies on facts that no page can hide:

- A tag that the parser sees ends at the next ">", unless a quote that opens a value is before that ">" and its closing quote after it. If
  no quote of the page can be of this kind, every tag ends where it seems to.
- The parser keeps three of equal formatting elements (the Standard's "Noah's Ark clause"), and one anchor. Tags with equal source are equal
  elements.
- A start tag and the end tag of its name, with nothing but such pairs between them, are an element that is closed (see nesting.py). Here
  names are compared in place, and only of 7 bytes at most.

A page that this bound does not clear may still be harmless: it is examined more closely (tags.py, nesting.py).

Time: 45 µs for the 1,000 tags of a page of 26 KB, and 20 to 100 for the bounds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from thresher.crawler.core.markup import measure
from thresher.crawler.core.tags import (
    ANCHOR,
    BEFORE_VALUE,
    BYTES_EACH,
    FORMATTING,
    FORMATTING_NAMES,
    I8,
    I64,
    ONE_BYTE_NAMES,
    START,
    U8,
    Tags,
    close,
    weights,
)

_KEPT: Final = 3
_ROUNDS: Final = 5
_LONG: Final = 4_000  # from so many bytes on, the attributes of a tag are counted
_MOST_COUNTED: Final = 12  # most tags whose attributes are counted
_MANY_TAGS: Final = 2_500  # a page with so many tags is seldom cleared before some are matched
_MOST_QUOTES: Final = 64  # most quotes that are examined one by one
_CONTROLS: Final = bytes(range(33))
_NAME = re.compile(("<(?:" + "|".join(FORMATTING_NAMES) + r")[\t\n\f\r />]").encode(), re.IGNORECASE)


class Open(NamedTuple):
    """Upper bounds of what is open, summed over all tags, and of what may be opened again at each tag."""

    depth: int  # elements
    n_again: int  # formatting elements
    n_copied: int  # attributes of these
    formatting: int  # steps for formatting elements that are closed


def outlined(body: bytes, data: U8, at: I64, glance: I8) -> Tags | None:
    """Find where tags end; None if some may end later than they seem to.

    Args:
        at, glance: As tags.glances returns them.
    """
    marks = (((data & 0xFD) == ord("<")) | (data == ord('"'))).nonzero()[0]  # "<" and ">" differ in one bit
    kinds = data[marks]
    is_quote = kinds == ord('"')
    if _hides_an_end(body, data, marks[(is_quote[:-1] > is_quote[1:]).nonzero()[0]], b'"'):
        return None
    if _hides_an_end(body, data, (data == ord("'")).nonzero()[0], b"'"):
        return None
    closes = np.concatenate((marks[kinds == ord(">")], (len(body),)))
    ends = closes[closes.searchsorted(at)]
    is_clean = np.empty(at.size, dtype=np.bool_)
    is_clean[:-1] = ends[:-1] < at[1:]
    is_clean[-1] = ends[-1] < len(body)
    second = data[at + 1]
    is_outermost = (second != ord("!")) & (second != ord("?"))
    if not is_clean.all():  # otherwise no two tags end at the same place
        bears = is_outermost.nonzero()[0]
        is_outermost[bears[1:]] = ends[bears[1:]] != ends[bears[:-1]]
    lengths = ends - at
    numbers = np.minimum(lengths >> 1, lengths // BYTES_EACH + ONE_BYTE_NAMES)
    long = (is_outermost & (lengths > _LONG)).nonzero()[0][:_MOST_COUNTED]
    for i in long.tolist():  # no two of them share bytes
        numbers[i] = min(numbers[i], measure(body, int(at[i]))[1])
    return Tags(body, data, at, glance, ends, is_clean, numbers, is_outermost)


def _hides_an_end(body: bytes, data: U8, quotes: I64, quote: bytes) -> bool:
    """Return whether one of these quotes may open an attribute value that contains a ">"."""
    quotes = quotes[BEFORE_VALUE[data[quotes - 1]]]
    if quotes.size > _MOST_QUOTES:
        return True
    for i in quotes.tolist():
        before = body[max(0, i - 8) : i].rstrip(_CONTROLS)
        if not before or before.endswith(b"="):
            end = body.find(quote, i + 1)
            if body.find(b">", i, end if end >= 0 else len(body)) >= 0:
                return True
    return False


def bounds(tags: Tags, enough: int) -> Iterator[Open]:
    """Yield bounds of what may be open: first without matching tags, then tighter and tighter.

    Args:
        enough: Steps; a bound above this is left out.
    """
    n = tags.at.size
    is_start = tags.glance >= START
    counts: dict[bytes, int] = {}  # source of a tag → number of its attributes
    left, starts, depth, formatting = np.arange(n), is_start.nonzero()[0], 0, 0
    for level in range(_ROUNDS):
        open_depth = depth + n * starts.size - int(starts.sum())
        if open_depth + formatting <= enough and (level or n < _MANY_TAGS):
            yield Open(open_depth, *_again(tags, starts, counts, is_exact=level > 0), formatting)
        here, there = left[:-1], left[1:]
        found = is_start[here] & ~is_start[there]
        found[found] = close(tags, here[found], there[found])
        closed, spans = here[found], there[found] - here[found]
        if not closed.size:
            break
        depth += int(spans.sum())
        is_format = (tags.glance[closed] >= FORMATTING) & (spans > 1)
        formatting += int(weights(tags)[closed[is_format]] @ spans[is_format])
        stays = np.ones(left.size, dtype=np.bool_)
        stays[:-1][found] = False
        stays[1:][found] = False
        left = left[stays]
        starts = left[is_start[left]]


def _again(tags: Tags, starts: I64, counts: dict[bytes, int], *, is_exact: bool) -> tuple[int, int]:
    """Bound the formatting elements that the parser must open again at once, if none of them is closed, and their attributes."""
    kinds = tags.glance[starts]
    n, n_attributes = 0, 0
    anchors = starts[kinds == ANCHOR]
    if anchors.size:
        n, n_attributes = 1, _most_attributes(tags, anchors, _MOST_COUNTED if is_exact else 0)
    formats = starts[kinds == FORMATTING]
    if int((tags.ends[formats] - tags.at[formats]).sum()) > len(tags.body):
        return n + formats.size, n_attributes + int(tags.n_attributes[formats].sum())
    met = Counter(tags.body[at:end] for at, end in zip(tags.at[formats].tolist(), (tags.ends[formats] + 1).tolist(), strict=True))
    for source, count in met.items():
        if _NAME.match(source):
            if source not in counts:
                counts[source] = measure(source, 0)[1]
            n += min(count, _KEPT)
            n_attributes += min(count, _KEPT) * counts[source]
    return n, n_attributes


def _most_attributes(tags: Tags, anchors: I64, most_counted: int) -> int:
    """Bound the number of attributes of any of these tags; those of the longest tags are counted."""
    numbers = tags.n_attributes[anchors]
    if not most_counted:
        return int(numbers.max())
    order = numbers.argsort()
    rest = order[:-most_counted]
    longest = anchors[order[-most_counted:]]
    if int((tags.ends[longest] - tags.at[longest]).sum()) > len(tags.body):
        return int(numbers.max())
    counted = max(measure(tags.body, at)[1] for at in tags.at[longest].tolist())
    return max(counted, int(numbers[rest[-1]]) if rest.size else 0)
