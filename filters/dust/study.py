"""The work that would block the event loop: mines a site's list and judges its rules, in another process, bytes in and bytes out.

`mine` looks for rules and judges them by the list; `judge` judges undecided rules again, when the pages that they asked for have come. The
list is studied as valid rules have it, each page under its canonical URL: `m.x/story?id=7` and `x/story_7?from=feed` are then the pair that
shows `story?id=` → `story_`, and copies that are explained take no more time.

Valid rules stay valid here: only audits decide against them later. Withdrawn rules are not learned again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from struct import Struct
from typing import Final

import msgspec

from thresher.filters.dust.canonize import Canonizer
from thresher.filters.dust.mine import Mining, mine
from thresher.filters.dust.records import sightings
from thresher.filters.dust.rules import LearnedRule
from thresher.filters.dust.urllist import UrlList
from thresher.filters.dust.validate import INLINE, judge

LENGTH: Final = Struct("<I")
_MOST_WAITING: Final = 50  # undecided rules of a site that are kept


class KnownSite(msgspec.Struct, array_like=True, frozen=True):
    """What is known of a site, without its list."""

    rules: list[LearnedRule]
    origins: dict[str, int]  # number of links to each
    mines: bool  # else the rules are only judged
    max_rules: int
    n_pages: int = 0  # pages that have entered the list; some may have been dropped


class StudyResult(msgspec.Struct, array_like=True, frozen=True):
    """The result of a study."""

    rules: list[LearnedRule] = []  # in the order in which they are applied
    wanted: list[tuple[str, str]] = []  # URLs to request, those of the best rules first, each with its alias in the list
    n_copies: int = 0  # pages of the list that show what another one shows
    n_unexplained: int = 0  # copies that no valid rule leads to the other page
    common: bytes = b""  # boilerplate of the site's pages (filters/dust/similarity.py: Codes)
    fetched: list[tuple[str, str, str]] = []  # (canonical URL that is not in the list, alias that is, the new rules that join them)
    mined: bool = True  # else rules were only judged
    open_saving: int = 0  # fetches that the undecided rules would have saved of the list
    new_saving: int = 0  # and those that the newly valid rules would have saved
    n_pages: int = 0  # that had come into the list
    waits: bool = False  # some rule only lacks pages of another block of time


_encode = msgspec.msgpack.Encoder().encode
_decode_known = msgspec.msgpack.Decoder(KnownSite).decode
_decode_pages = msgspec.msgpack.Decoder(list[bytes]).decode


def written(piece: KnownSite | list[bytes]) -> bytes:
    """Return a piece of a message to `study`: first what is known, then pages as they are stored. A piece is length 4 ‖ msgpack."""
    data = _encode(piece)
    return LENGTH.pack(len(data)) + data


def study(message: bytes) -> bytes:
    """Study a site.

    Args:
        message: Pieces as `written` returns them.

    Returns:
        A `StudyResult` in msgpack.
    """
    first, *parts = _pieces(message)
    return _encode(studied(_decode_known(first), [page for part in parts for page in _decode_pages(part)]))


def _pieces(message: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(message):
        begin = at + LENGTH.size
        at = begin + LENGTH.unpack_from(message, at)[0]
        yield message[begin:at]


def studied(given: KnownSite, pages: Sequence[bytes]) -> StudyResult:
    """Mine and judge a site's list.

    Args:
        given: What is known of the site.
        pages: As filters/dust/records.py stores them.
    """
    settled = [learned for learned in given.rules if learned.is_settled]
    taken = {learned.rule for learned in settled}
    valid = [learned.rule for learned in settled if learned.is_applied]
    canonical = Canonizer(valid)
    known, listed = _explained(pages, given.origins, canonical)
    likely = mine(known, Mining(at_most=given.max_rules, pooled=True)) if given.mines else given.rules
    candidates = [learned for learned in likely if learned.rule not in taken]
    judged = judge(candidates, known, INLINE, given=valid)
    found = [learned for learned in judged.rules if learned.standing == "valid" and learned.rule not in taken]
    waiting = [learned for learned in judged.rules if learned.standing == "undecided"][:_MOST_WAITING]
    unexplained, n_aliases = known.n_copies, len(pages) - len(known)
    wanted = [(url, listed.get(beside, beside)) for url, beside in judged.wanted.items()]
    common = known.texts.common.astype("<u4").tobytes() if known.texts is not None else b""
    fetched = _fetched(pages, canonical, [*settled, *found]) if found else []
    rules, n_copies = [*settled, *found, *waiting], n_aliases + unexplained
    savings = judged.open_saving, judged.new_saving
    return StudyResult(rules, wanted, n_copies, unexplained, common, fetched, given.mines, *savings, given.n_pages, judged.waits)


def _fetched(stored: Sequence[bytes], before: Canonizer, rules: Sequence[LearnedRule]) -> list[tuple[str, str, str]]:
    """Return canonical URLs that are not in the list, for each an alias that is, and the names of the clean rules that join them."""
    pages = list(sightings(stored))
    listed = {page.url for page in pages}
    now = Canonizer(learned.rule for learned in rules if learned.is_applied)
    clean = {learned.rule for learned in rules if learned.is_clean}
    found = {}
    for page in pages:
        settled = now.settle(page.url)
        if page.is_good and settled.url not in listed and clean.issuperset(settled.by) and before(page.url) != settled.url:
            found[settled.url] = page.url, settled.names
    return [(to, *alias) for to, alias in found.items()]


def _explained(stored: Sequence[bytes], origins: Mapping[str, int], canonical: Canonizer) -> tuple[UrlList, dict[str, str]]:
    """Return the list with each page under its canonical URL, and a map from canonical URL to the URL in the list whose page it has."""
    pages = list(sightings(stored))
    moved, own = [], []
    listed = {}
    for page in pages:
        url = canonical(page.url)
        if url == page.url:
            own.append(page)
        else:
            moved.append(msgspec.structs.replace(page, url=url))
            listed[url] = page.url
    known = UrlList.of([*moved, *own], origins)  # of equal URLs the last good one counts
    for page in own:
        listed.pop(page.url, None)
    return known, listed
