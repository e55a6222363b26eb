"""Links of copies: followed while enough of them lead to pages that are not copies.

A copy may lead where its original does not. In the web view of a repository, a page with `?h=branch` carries that parameter on all of its
links, and the few pages by which the branch differs can be reached in no other way. But a session id is carried in the same way, and its
copies never end. So each kind of URL (host, first directory, names of parameters) has an account, and so has the site. Each new link on a
copy is a charge of one; a page found by such a link that is no copy pays for `_PAYS` links. While less than the budget is unpaid, links of
copies are followed. So an endless space of copies takes one budget. If a site shows everything twice, only links of kinds that lead to
something new are still followed.

The page gate decides and marks the copies that are followed; the learned gate beside it (`CopyLedger`) sees which of their links were new.

Memory: 8 bytes a kind, 24 for each copy that was followed. Time: 5 µs a page.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import xxhash

from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import CrawlURL
from thresher.crawler.core.ports import Memory
from thresher.filters.base import NO_EFFECTS, NOTHING_LEARNED, NOTHING_REFUSED, Effects, LinkJudgement, LinkRuling

_PAYS: Final = 10  # links for one page that is no copy
_OF_SITE: Final = 10  # the site's budget, in budgets of one kind
_LASTING: Final = 1e9  # weight: these records are the last that the memory drops
_EVERY_KIND: Final = bytes(4)


def kind_of(url: CrawlURL) -> bytes:
    """Return 4 bytes that identify the URL's host, first directory and names of parameters."""
    return _kind(url.host, url.text)


@lru_cache(maxsize=128)  # each page is asked for by every filter that finds copies, after all others of its batch
def _kind(host: str, url: str) -> bytes:
    path, _, query = url[len(host) :].partition("?")
    names = "&".join([part.partition("=")[0] for part in query.split("&")]) if query else ""
    return xxhash.xxh32_digest(f"{host}{path[: path.find('/', 1) + 1]}?{names}".encode())


def may_follow(page: bytes, kind: bytes, budget: int, memory: Memory) -> bool:
    """Return whether the links of a copy are followed.

    Args:
        page: The key of the copy.
        budget: Most unpaid links of one kind.
    """
    site = page[:8]
    return _unpaid(site, kind, memory) < budget and _unpaid(site, _EVERY_KIND, memory) < _OF_SITE * budget


def mark(page: bytes, kind: bytes, memory: Memory) -> None:
    """Record that the links of a copy are followed."""
    memory.put(_mark_key(page), kind)
    if not _has_marks(page[:8], memory):
        _charge(page[:8], kind, 0, memory)


def pay(via: bytes, memory: Memory) -> None:
    """Record that a page is not a copy.

    Args:
        via: Key of the page that led to it, b"" for a seed.
    """
    if not via or not _has_marks(via[:8], memory):
        return
    kind = memory.get(_mark_key(via))
    if kind is not None:
        _charge(via[:8], kind, -_PAYS, memory)


class CopyLedger:
    """Learned gate: refuses nothing; charges a copy's accounts for each new link on the copy."""

    measure_type = bytes

    def __init__(self, name: str) -> None:
        self.name = name

    def measure(self, batch: LinkBatch, /) -> bytes:
        return batch.source.key

    def decide(self, measure: bytes, memory: Memory, /) -> tuple[LinkRuling, Effects]:
        return NOTHING_REFUSED, NO_EFFECTS

    def observe(self, measure: bytes, judgement: LinkJudgement, memory: Memory, /) -> Effects:
        kind = memory.get(_mark_key(measure)) if _has_marks(measure[:8], memory) else None
        if kind is None:
            return NOTHING_LEARNED
        _charge(measure[:8], kind, int(judgement.admitted.sum()), memory)
        return NO_EFFECTS


def _has_marks(site: bytes, memory: Memory) -> bool:
    """Return whether any copy of the site was ever followed. Checked first: the answer is in the cache, since every page asks."""
    return memory.get(_account_key(site, _EVERY_KIND)) is not None


def _unpaid(site: bytes, kind: bytes, memory: Memory) -> int:
    value = memory.get(_account_key(site, kind))
    return 0 if value is None else int.from_bytes(value, "big")


def _charge(site: bytes, kind: bytes, n_links: int, memory: Memory) -> None:
    """Add links to the unpaid ones of an account. It never has a credit: a negative number counts as 0."""
    for account in (kind, _EVERY_KIND):
        unpaid = max(0, _unpaid(site, account, memory) + n_links)
        memory.put(_account_key(site, account), unpaid.to_bytes(8, "big"), _LASTING)


def _account_key(site: bytes, kind: bytes) -> bytes:
    return site + b"links" + kind


def _mark_key(page: bytes) -> bytes:
    return page[:8] + b"via" + page[8:]
