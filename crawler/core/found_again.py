"""A URL that waits and is named again: is it nearer by this link, and where does it belong now?

It comes to the fewest clicks from a seed, the fewest redirects and the smallest depth of all that named it. A link of its own site gives it
the depth of that page and one, the first other site that of its directory. Its depth is 0 once a second other site links to it, or a second
redirect leads to it: what many lead to is to be known soon. What a sitemap announced, and no link has named yet, stands where the link puts
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from thresher.crawler.core.model import CrawlURL, Purpose, State
from thresher.crawler.core.ports import SeenRow
from thresher.crawler.core.url import directory_depth

_ANNOUNCED: Final = Purpose.ANNOUNCED
_SITE: Final = 8  # bytes of a key


class FoundPlace(NamedTuple):
    """What a page's links, or a URL's redirect, say of the place of what they name."""

    site: bytes  # of the source
    seed_distance: int
    site_depth: int  # of what lies on the source's site
    hops: int
    is_redirect: bool

    @classmethod
    def of(cls, source: CrawlURL, *, is_redirect: bool) -> FoundPlace:
        """Return what is said by a source: the step of a redirect is no click."""
        step = not is_redirect
        hops = source.hops + 1 if is_redirect else 0
        return cls(source.key[:_SITE], source.seed_distance + step, source.site_depth + step, hops, is_redirect)


class Nearer(NamedTuple):
    """A known URL that is to be moved forward."""

    key: bytes
    text: str
    row: SeenRow  # as it stands
    nearest: SeenRow  # as it is to stand


def found_again(
    finding: FoundPlace,
    known: Iterable[tuple[bytes, SeenRow, str]],
    state: State,
    *,
    worth: Callable[[int, int], int] | None,
    first_site: Callable[[int], bytes],
) -> Iterator[Nearer]:
    """Yield the URLs that a source moves forward, or makes worth more. It reads nothing for those that it cannot move.

    Args:
        finding: what the source says.
        known: keys, rows and texts of the URLs that it names.
        state: of those that can be moved.
        worth: called with a URL's number and its level of worth; gives it its share of the source's cash and returns its level after
            that. None: the source gives nothing.
        first_site: called with a URL's number; returns the site of the page that named it first, b"" for a seed.
    """
    site, distance, depth, hops, is_redirect = finding
    for key, row, text in known:
        row_state, _, row_depth, row_distance, row_hops, purpose, seq, _, before = row
        if row_state is not state:
            continue
        after = worth(seq, before) if worth is not None else before
        if (
            after != before
            or distance < row_distance
            or hops < row_hops
            or purpose is _ANNOUNCED
            or (row_depth and (depth < row_depth or key[:_SITE] != site or (is_redirect and row_hops)))
        ):
            nearest = _placed(finding, key, row, text, first_site)._replace(worth=after)
            if nearest != row:
                yield Nearer(key, text, row, nearest)


def _placed(finding: FoundPlace, key: bytes, row: SeenRow, text: str, first_site: Callable[[int], bytes]) -> SeenRow:
    if row.purpose is _ANNOUNCED:
        depth = _depth(finding, key, row, text, is_second_site=False)
        return row._replace(seed_distance=finding.seed_distance, site_depth=depth, hops=finding.hops, purpose=Purpose.PAGE)
    is_second = bool(row.site_depth) and key[:_SITE] != finding.site and first_site(row.seq) not in (b"", key[:_SITE], finding.site)
    depth = _depth(finding, key, row, text, is_second_site=is_second)
    return row._replace(
        seed_distance=min(finding.seed_distance, row.seed_distance),
        site_depth=min(depth, row.site_depth),
        hops=min(finding.hops, row.hops),
    )


def _depth(finding: FoundPlace, key: bytes, row: SeenRow, text: str, *, is_second_site: bool) -> int:
    if finding.is_redirect and row.hops:
        return 0
    if key[:_SITE] == finding.site:
        return finding.site_depth
    return 0 if is_second_site else directory_depth(text)


def nearest_of(one: SeenRow, other: SeenRow) -> SeenRow:
    """Return the best of what two finders say of a URL."""
    return one._replace(
        seed_distance=min(one.seed_distance, other.seed_distance),
        site_depth=min(one.site_depth, other.site_depth),
        hops=min(one.hops, other.hops),
        worth=max(one.worth, other.worth),
        purpose=min(one.purpose, other.purpose),
    )
