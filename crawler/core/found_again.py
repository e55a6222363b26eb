"""Decides whether a queued URL that is named again is nearer by this link, and where its row belongs now.

A URL has the fewest clicks from a seed, the fewest redirects and the smallest depth of all pages that named it. A link from its own site
gives it the depth of that page plus one; the first link from another site the depth of its directory. Its depth is 0 once a second other
site links to it, or a second redirect leads to it, so that URLs with many links are fetched soon. A URL that so far only a sitemap
announced gets the place that the link gives.
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
    """The place that a page's links, or a URL's redirect, give to their targets."""

    site: bytes  # site of the source
    seed_distance: int
    site_depth: int  # depth of targets on the source's site
    hops: int
    is_redirect: bool

    @classmethod
    def of(cls, source: CrawlURL, *, is_redirect: bool) -> FoundPlace:
        """Return the place that a source gives; a redirect is not a click."""
        step = not is_redirect
        hops = source.hops + 1 if is_redirect else 0
        return cls(source.key[:_SITE], source.seed_distance + step, source.site_depth + step, hops, is_redirect)


class Nearer(NamedTuple):
    """A known URL that must be moved forward."""

    key: bytes
    text: str
    row: SeenRow  # its present row
    nearest: SeenRow  # its new row


def found_again(
    finding: FoundPlace,
    known: Iterable[tuple[bytes, SeenRow, str]],
    state: State,
    *,
    worth: Callable[[int, int], int] | None,
    first_site: Callable[[int], bytes],
) -> Iterator[Nearer]:
    """Yield the URLs that a source moves forward, or whose worth it raises. It reads nothing for URLs that it cannot move.

    Args:
        finding: The place that the source gives.
        known: Keys, rows and texts of the URLs that it names.
        state: The state of URLs that can be moved.
        worth: Called with a URL's sequence number and its level of worth; gives it its share of the source's cash and returns its new
            level. None:
                the source gives nothing.
        first_site: Called with a URL's sequence number; returns the site of the page that named it first, b"" for a seed.
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
    """Return the better of two rows of one URL, field by field."""
    return one._replace(
        seed_distance=min(one.seed_distance, other.seed_distance),
        site_depth=min(one.site_depth, other.site_depth),
        hops=min(one.hops, other.hops),
        worth=max(one.worth, other.worth),
        purpose=min(one.purpose, other.purpose),
    )
