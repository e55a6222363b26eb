"""Rules of a crawl's store, read while it runs and changed while it does not."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from crawler.core.url import URLSpace
from crawler.seeds import url_rules
from filters.dust.memory import NAME, RuleBook, all_books, merged, read_book, write_book
from filters.dust.rules import LearnedRule
from storage.env import Store
from storage.export.reading import reading


def stored_rules(directory: Path) -> list[tuple[str, LearnedRule]]:
    """Return (site, rule) of every rule, site by site, in the order in which they are applied."""
    with reading(directory) as view:
        books = sorted((book for _, book in all_books(view.memory(NAME))), key=lambda book: book.site)
        return [(book.site, learned) for book in books for learned in book.rules]


def import_rules(directory: Path, by_site: Mapping[str, Sequence[LearnedRule]]) -> None:
    """Add rules to those of a store; raises StoreLockedError while a crawl runs."""
    with _changing(directory) as store:
        memory, urls = store.memory(NAME), URLSpace(store.secret, url_rules(store.settings))
        for site, rules in by_site.items():
            key = urls.site_key(site)
            book = read_book(memory, key) or RuleBook(site)
            write_book(memory, key, RuleBook(site, merged(book.rules, rules)))


def set_disabled(directory: Path, names: Iterable[str], *, disabled: bool) -> list[str]:
    """Disable rules by name, or let them be applied again; return the names that no rule has. Nothing is changed then."""
    wanted = dict.fromkeys(names)
    with _changing(directory) as store:
        memory = store.memory(NAME)
        books = list(all_books(memory))
        missing = [name for name in wanted if not any(learned.rule.name == name for _, book in books for learned in book.rules)]
        for key, book in books if not missing else ():
            book.rules = [
                msgspec.structs.replace(learned, disabled=disabled) if learned.rule.name in wanted else learned for learned in book.rules
            ]
            write_book(memory, key, book)
    return missing


@contextmanager
def _changing(directory: Path) -> Iterator[Store]:
    with Store.open(directory, None, time.time()) as store:
        yield store
        store.end_visit()
