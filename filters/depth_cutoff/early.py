"""What is listed of a site's first pages, in its head (filters/evidence/early.py).

As long as every page of a site was kept and new, no place of it can be cut and nothing of it is barren. So only the words of its
first pages are compared and remembered. The ledger learns the rest from them when the list is closed: when a page comes that cannot be
listed, when a redirect is learned from, or when something is asked about the site.

Time: 60 µs a page, most of it for its words, in place of 160. Memory: 100 bytes a page.
"""

from __future__ import annotations

from thresher.crawler.core.ports import Memory
from thresher.filters.depth_cutoff.ledger import DepthFetch, table_key
from thresher.filters.depth_cutoff.novelty import look
from thresher.filters.depth_cutoff.places import places
from thresher.filters.depth_cutoff.records import TABLE_WEIGHT, EarlyPage, SiteHead, first_pages
from thresher.filters.pattern_yield.vocabulary import Vocabulary


def enter(memory: Memory, site: bytes, url: str, fetch: DepthFetch) -> SiteHead | None:
    """List a page that every filter kept, if it is one of its site's first and new; return the head then, else None."""
    first = first_pages(memory, site)
    return first.head if first.enter(lambda _: _entry(memory, site, url, fetch, first.head)) else None


def _entry(memory: Memory, site: bytes, url: str, fetch: DepthFetch, head: SiteHead) -> EarlyPage | None:
    """Return what is listed of a page, and change the head accordingly; None if the page shows nothing new."""
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
    return EarlyPage(url, fetch.depth, fetch.text, fetch.n_links, fetch.key, 0, fetch.stands_for)


def enter_links(memory: Memory, site: bytes, key: bytes, n_new: int) -> SiteHead | None:
    """Count the URLs that the page listed last named first; return the head, None if another page was learned from last.

    Args:
        key: The key of its URL within the site.
    """
    first = first_pages(memory, site)
    if not first.items or first.items[-1].key != key:
        return None
    first.items[-1].new_links += n_new * first.items[-1].stands_for
    first.write()
    return first.head
