"""Rules of a crawl's store, read while it runs and changed while it does not."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from thresher.crawler.core.ownership import N_PARTITIONS, partition
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.filters.dust.memory import NAME, RuleBook, all_books, merged, read_book, write_book
from thresher.filters.dust.rules import LearnedRule
from thresher.storage.export.reading import reading
from thresher.storage.partitions import read_partitions, shard_paths
from thresher.storage.store import Store


def stored_rules(directory: Path) -> list[tuple[str, LearnedRule]]:
    """Return (site, rule) of every rule, site by site, in the order in which they are applied."""
    with reading(directory) as view:
        books = sorted((book for _, book in all_books(view.tables.memory(NAME))), key=lambda book: book.site)
        return [(book.site, learned) for book in books for learned in book.rules]


def import_rules(directory: Path, by_site: Mapping[str, Sequence[LearnedRule]]) -> None:
    """Add rules to those of a store; raises StoreLockedError while a crawl runs."""
    with _changing(directory) as stores:
        urls = URLSpace(stores[0].secret, url_rules(stores[0].settings))
        found = read_partitions(directory)
        owners = found.table() if found is not None else bytes(N_PARTITIONS)
        for site, rules in by_site.items():
            key = urls.site_key(site)
            memory = stores[owners[partition(key)]].tables.memory(NAME)
            book = read_book(memory, key) or RuleBook(site)
            write_book(memory, key, RuleBook(site, merged(book.rules, rules)))


def set_disabled(directory: Path, names: Iterable[str], *, disabled: bool) -> list[str]:
    """Disable rules by name, or let them be applied again; return the names that no rule has: if there are any, nothing is changed."""
    wanted = dict.fromkeys(names)
    with _changing(directory) as stores:
        memories = [store.tables.memory(NAME) for store in stores]
        books = [(memory, key, book) for memory in memories for key, book in all_books(memory)]
        missing = [name for name in wanted if not any(learned.rule.name == name for _, _, book in books for learned in book.rules)]
        for memory, key, book in books if not missing else ():
            book.rules = [
                msgspec.structs.replace(learned, disabled=disabled) if learned.rule.name in wanted else learned for learned in book.rules
            ]
            write_book(memory, key, book)
    return missing


@contextmanager
def _changing(directory: Path) -> Iterator[list[Store]]:
    """Open all shards of a crawl, for a change that is committed if nothing is raised."""
    with ExitStack() as opened:
        stores = [opened.enter_context(Store.open(path, None, time.time())) for path in shard_paths(directory)]
        yield stores
        for store in stores:
            store.end_visit()
