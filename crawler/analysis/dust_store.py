"""Rules of a crawl's store, read while it runs and changed while it does not."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from thresher.crawler.core.ownership import N_PARTITIONS, partition
from thresher.crawler.core.url import URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.filters.dust.memory import NAME, RuleBook, all_books, merged, read_book, write_book
from thresher.filters.dust.rules import LearnedRule
from thresher.storage.changing import Change, agents, change
from thresher.storage.export.reading import reading, reading_shard
from thresher.storage.partitions import read_partitions
from thresher.storage.store import Store


def stored_rules(directory: Path) -> list[tuple[str, LearnedRule]]:
    """Return (site, rule) of every rule, site by site, in the order in which they are applied."""
    with reading(directory) as view:
        books = sorted((book for _, book in all_books(view.tables.memory(NAME))), key=lambda book: book.site)
        return [(book.site, learned) for book in books for learned in book.rules]


class NewRules(msgspec.Struct, frozen=True):
    """Rules for sites of a shard, by site."""

    rules: dict[str, list[LearnedRule]]


class Disabled(msgspec.Struct, frozen=True):
    """The names of rules that are disabled, or applied again."""

    names: list[str]
    disabled: bool


def import_rules(directory: Path, by_site: Mapping[str, Sequence[LearnedRule]]) -> None:
    """Add rules to those of a store; raises StoreLockedError while a crawl runs."""
    with reading_shard(directory) as view:
        urls = URLSpace(view.secret, url_rules(view.settings))
    table = read_partitions(directory)
    owners = table.table() if table is not None else bytes(N_PARTITIONS)
    by_agent: dict[int, NewRules] = {}
    for site, rules in by_site.items():
        by_agent.setdefault(owners[partition(urls.site_key(site))], NewRules({})).rules[site] = [*rules]
    change(directory, IMPORT, by_agent)


def _import(shard: Path, new: NewRules) -> None:
    """Add rules to those of a shard."""
    with _changing(shard) as store:
        urls, memory = URLSpace(store.secret, url_rules(store.settings)), store.tables.memory(NAME)
        for site, rules in new.rules.items():
            key = urls.site_key(site)
            book = read_book(memory, key) or RuleBook(site)
            write_book(memory, key, RuleBook(site, merged(book.rules, rules)))


def set_disabled(directory: Path, names: Iterable[str], *, disabled: bool) -> list[str]:
    """Disable rules by name, or let them be applied again; return the names that no rule has: if there are any, nothing is changed."""
    wanted, known = dict.fromkeys(names), {learned.rule.name for _, learned in stored_rules(directory)}
    missing = [name for name in wanted if name not in known]
    if not missing:
        change(directory, DISABLE, dict.fromkeys(agents(directory), Disabled([*wanted], disabled)))
    return missing


def _disable(shard: Path, order: Disabled) -> None:
    with _changing(shard) as store:
        memory = store.tables.memory(NAME)
        for key, book in [*all_books(memory)]:
            book.rules = [
                msgspec.structs.replace(learned, disabled=order.disabled) if learned.rule.name in order.names else learned
                for learned in book.rules
            ]
            write_book(memory, key, book)


@contextmanager
def _changing(shard: Path) -> Iterator[Store]:
    """Open a shard, for a change that is committed if nothing is raised."""
    with Store.open(shard, None, time.time()) as store:
        yield store
        store.end_visit()


IMPORT: Final[Change[NewRules, None]] = Change("import rules", _import, NewRules, type(None))
DISABLE: Final[Change[Disabled, None]] = Change("disable rules", _disable, Disabled, type(None))
CHANGES: Final = (IMPORT, DISABLE)
