"""A site's first pages, listed in its head until its places are needed.

As long as every page of a site was kept, followed and new, no place of it can be cut and nothing of it is barren. So of the first `EARLY`
pages that are learned from, only the words are compared and remembered. The rest of what the ledger learns from them waits until it is
opened: for the next page, for a redirect, for a reader. Then it learns from them in their order. Most hosts of the web never have more.

Time: 60 µs a page, most of it for its words, in place of 160. Memory: 100 bytes a page.
"""

from __future__ import annotations

from typing import Final

from thresher.crawler.core.ports import Memory
from thresher.filters.depth_cutoff.ledger import DepthFetch, table_key
from thresher.filters.depth_cutoff.novelty import look
from thresher.filters.depth_cutoff.places import places
from thresher.filters.depth_cutoff.records import HEAD, HEAD_WEIGHT, TABLE_WEIGHT, EarlyPage, SiteHead, encode, head_key
from thresher.filters.pattern_yield.vocabulary import Vocabulary

EARLY: Final = 16


def enter(memory: Memory, site: bytes, url: str, fetch: DepthFetch) -> SiteHead | None:
    """List a page that every filter kept and followed, if it is one of its site's first and new; return the head then, else None."""
    value = memory.get(head_key(site))
    head = HEAD.decode(value) if value else SiteHead()
    if (value and not head.early) or len(head.early) >= EARLY:
        return None
    vocabulary = Vocabulary(head.n_counted, head.counters)
    vocabulary.add(fetch.parts.words())
    if fetch.sampled:
        key = table_key(site, places(fetch.parts, vocabulary.count).directory)
        before = memory.get(key) or b""
        is_new, table = look(fetch.sampled, before)
        if not is_new:
            return None
        if table != before:
            memory.put(key, table, TABLE_WEIGHT)
    head.n_counted, head.counters = vocabulary.n_counted, vocabulary.counters
    head.taught(fetch.kind, is_new=True, is_dropped=False)
    head.awaits = fetch.key + bytes((fetch.stands_for,))
    head.early.append(EarlyPage(url, fetch.depth, fetch.text, fetch.n_links, fetch.key, 0, fetch.stands_for))
    memory.put(head_key(site), encode(head), HEAD_WEIGHT)
    return head


def enter_links(memory: Memory, site: bytes, key: bytes, n_new: int) -> SiteHead | None:
    """Count the URLs that the page listed last named first; return the head, None if another page was learned from last.

    Args:
        key: The key of its URL within the site.
    """
    value = memory.get(head_key(site))
    head = HEAD.decode(value) if value else SiteHead()
    if not head.early or head.early[-1].key != key:
        return None
    head.early[-1].new_links += n_new * head.early[-1].stands_for
    memory.put(head_key(site), encode(head), HEAD_WEIGHT)
    return head
