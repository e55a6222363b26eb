"""Before a crawl runs: checks the configuration, creates or opens the store, and writes what a resume changes."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from thresher.config.load import OptionFlag, load
from thresher.config.render import as_mapping
from thresher.config.settings import PolitenessSettings, Settings
from thresher.crawler.core.errors import DiskError, StoreError, UsageError
from thresher.crawler.core.governing import governed
from thresher.crawler.core.model import Mode, Reason
from thresher.crawler.core.overriding import Overriding
from thresher.crawler.core.own_site import OwnSite
from thresher.crawler.core.ownership import MOST_AGENTS, divided
from thresher.crawler.core.url import BadURL, URLRules, URLSpace, hostname_of, origin_of, port_of, site_of
from thresher.crawler.core.url_rules import url_rules
from thresher.crawler.fetch.credentials import read_credentials
from thresher.crawler.fetch.local_end import check_bind
from thresher.crawler.start.archive_checks import check_archive
from thresher.crawler.start.seeds import Seeds, read_seeds, whole_hosts
from thresher.crawler.terminal.extras import require
from thresher.filters.base import LinkColumns
from thresher.filters.plugin import check as check_plugins
from thresher.filters.plugin import plugged
from thresher.filters.registry import static_specs
from thresher.filters.variants import refused as refused_by
from thresher.storage.directory import require_new, require_store
from thresher.storage.forget import finish, unfinished
from thresher.storage.lock import CrawlLock, lock_holder
from thresher.storage.partitions import (
    DIRECTORY,
    Partitions,
    is_shard,
    local_shard_paths,
    ranges_of,
    read_partitions,
    require_crawl,
    shard_path,
    write_partitions,
)
from thresher.storage.partitions import FILE as PARTITIONS
from thresher.storage.rot import require_sound_pages
from thresher.storage.schema import META, STATE, Meta
from thresher.storage.snapshots.targets import is_url, target
from thresher.storage.store import Store
from thresher.storage.tables.bare_seeds import BareSeeds
from thresher.storage.unfinished import may_be_new
from thresher.storage.view import View

_SHOWN = 5  # seeds that are named in a message about all seeds
_EXAMPLE = "identity.contact=https://example.org/bot (or an e-mail address)"

Make = Callable[[Path, Settings, Collection[str]], None]  # called with directory, configuration, and seeds without a scheme

_ADMITTING_LIMITS = ("max_depth", "max_hosts_per_site", "max_links_per_page", "max_redirects", "max_url_length")


@dataclass(frozen=True, slots=True)
class Begun:
    """The start of a crawl: its settings with the seeds, the seeds as read, and messages for the operator."""

    settings: Settings
    found: Seeds
    notes: list[str]

    def words(self) -> str:
        """Return the messages for the operator, "" if there are none."""
        left_out = f"left out:\n{self.found.warning()}" if self.found.warning() else ""
        return "\n".join([*self.notes, *([left_out] if left_out else [])])


def check_startable(settings: Settings) -> None:
    """Check that a crawl with a valid configuration may start.

    Raises:
        UsageError: If not.
    """
    if not settings.identity.contact:
        raise UsageError(
            "identity.contact: expected a URL or an e-mail address at which webmasters reach you, found nothing; no crawl starts without. "
            f"Write it into the configuration, or give --set {_EXAMPLE}; `crawl`, `resume` and `check` also take it as --contact"
        )
    if Overriding(settings).anywhere(lambda of: of.parse.documents):
        require("parse.documents", module="pypdf", extra="text")
    _check_snapshots(settings.snapshots.target)
    check_plugins()
    plugged(settings)
    if n_agents(settings) > MOST_AGENTS:
        raise UsageError(f"agents: expected at most {MOST_AGENTS}, found {settings.agents}")
    if settings.engine == "ray":
        _check_far(settings)
    read_credentials(settings.fetch.credentials)
    check_bind(settings.fetch.bind)
    check_archive(settings)


def _check_snapshots(where: str) -> None:
    """Raise UsageError if the target of snapshots cannot be used here."""
    if is_url(where):
        require("snapshots.target", module="fsspec", extra="snapshots")
        try:
            target(where)
        except UsageError as error:
            raise UsageError(f"snapshots.target: {error}") from None


def _check_far(settings: Settings) -> None:
    """Raise UsageError for options that several machines do not support."""
    require("engine: ray", module="ray", extra="ray")
    if settings.fetch.client != "lean":
        raise UsageError(f"fetch.client: expected lean, which asks for its lease before each request, found {settings.fetch.client}")


def check_engine(path: Path, settings: Settings) -> None:
    """Check that a crawl that began on one machine goes on there, and one on several machines on several.

    Raises:
        UsageError: If not.
    """
    table = read_partitions(path)
    found = "ray" if table is not None and table.machines else "processes"
    if settings.engine != found:
        raise UsageError(f"engine: expected {found}, with which {path} was begun, found {settings.engine}: no command moves a crawl yet")


def n_agents(settings: Settings) -> int:
    """Return the configured number of agents; auto means one for each core that this process may use."""
    return min(len(os.sched_getaffinity(0)), MOST_AGENTS) if settings.agents == "auto" else settings.agents


def check_seeds(settings: Settings) -> None:
    """Check that the configuration allows a seed: otherwise the crawl would end at once.

    Raises:
        UsageError: If it refuses every seed.
    """
    gates = static_specs(settings, settings.seeds)
    refused: list[str] = []
    for seed in settings.seeds:
        origin = origin_of(seed)
        links = LinkColumns.of(seed, origin, site_of(hostname_of(origin)))
        word = next(((spec.name, reason) for spec in gates for _, reason in refused_by(spec, links, Mode.ENFORCE)), None)
        if word is None:
            return
        if len(refused) < _SHOWN:
            refused.append(f"{seed}: {governed(word[1])}, by {word[0]}")
    more = [f"… and {len(settings.seeds) - len(refused):,} more"] if len(settings.seeds) > len(refused) else []
    raise UsageError(
        "the configuration refuses every seed, expected at least one that may be fetched. Change scope, overrides, filters or seeds:\n"
        + "\n".join(refused + more)
    )


def with_seeds(settings: Settings, seeds: Sequence[str], files: Sequence[str], earlier: Settings | None = None) -> Begun:
    """Read the seeds and put them into the settings, pinned if they are on the operator's own site.

    Args:
        settings: The configuration.
        seeds: Seeds of the command line.
        files: Seed files.
        earlier: The configuration before, of a crawl that is resumed.

    Raises:
        UsageError: If there is no seed, or one's server is not running.
    """
    known = earlier.seeds if earlier is not None else []
    pinned = earlier.own_site.pinned if earlier is not None else {}
    is_own = settings.profile == "own-site"
    own_site = msgspec.structs.replace(settings.own_site, pinned=pinned if is_own else {})
    settings = msgspec.structs.replace(settings, own_site=own_site)
    found = Seeds()
    new = set(settings.seeds).difference(known)
    if seeds or files or new or earlier is None:
        try:
            found = read_seeds(seeds, files, [seed for seed in settings.seeds if seed in new], seed_rules(settings))
        except UsageError as error:
            raise _with_contact(settings, error) from None
    check_startable(settings)
    labels = {**(earlier.labels if earlier is not None else {}), **settings.labels, **found.labels}
    settings = msgspec.structs.replace(settings, seeds=list(dict.fromkeys([*known, *found.urls])), labels=labels)
    notes: list[str] = []
    if is_own:
        settings, notes = _pinned(settings, found.bare)
        _leave_out_ports(found, settings)
        allowed = set(found.urls)
        settings = msgspec.structs.replace(settings, seeds=[url for url in settings.seeds if url in allowed or url in known])
    return Begun(settings, found, [*notes, *whole_hosts(settings, found.urls)])


def _with_contact(settings: Settings, error: UsageError) -> UsageError:
    """Return the error with all further reasons why the crawl cannot start, so that the operator sees them together."""
    try:
        check_startable(settings)
    except UsageError as also:
        return UsageError(f"{error}\nthresher: {also}")
    return error


def seed_rules(settings: Settings) -> URLRules:
    """Return the rules for reading seeds: any port is allowed, since the operator's own site is known only after its addresses are
    pinned.
    """
    rules = url_rules(settings)
    return replace(rules, ports=None) if settings.profile == "own-site" else rules


def _pinned(settings: Settings, bare: Sequence[str]) -> tuple[Settings, list[str]]:
    """Pin the addresses of the seeds; return (settings with them, messages for the operator).

    Raises:
        UsageError: If no server is running there.
    """
    from thresher.crawler.start.pinning import pin, require_listener  # these modules import the whole network code

    result = asyncio.run(pin(settings, settings.seeds, bare))
    if not settings.fetch.proxy:
        asyncio.run(require_listener(result.addresses))
    notes = [f"own site: {name} is {addresses}" for name, addresses in result.addresses.items()]
    more = [f"own site: {len(notes) - _SHOWN:,} more"] if len(notes) > _SHOWN else []
    own_site = msgspec.structs.replace(settings.own_site, pinned=result.addresses)
    return msgspec.structs.replace(settings, own_site=own_site), [*notes[:_SHOWN], *more, *result.notes, *_own_pace(settings)]


def _own_pace(settings: Settings) -> list[str]:
    """Return a message if a longer `politeness.min_delay` was asked for than one's own site is given."""
    asked, given = settings.politeness.min_delay, settings.own_site.delay
    if asked <= max(given, PolitenessSettings().min_delay):
        return []
    told = f"politeness.min_delay ({asked:g} s) is for others' sites; here own_site.delay ({given:g} s) is in its place"
    return [f"own site: {told}. --delay {asked:g} sets both"]


def _leave_out_ports(found: Seeds, settings: Settings) -> None:
    """Leave out seeds at ports that are allowed only on the operator's own site, if they are not on it.

    Raises:
        UsageError: If none is left.
    """
    space = URLSpace(bytes(16), url_rules(settings))
    refused = [url for url in found.urls if space.fault(origin_of(url)) is not None]
    for url in refused:
        found.leave_out(f"seed {url!r}", BadURL(Reason.BAD_PORT, f"port {port_of(origin_of(url))}"))
    found.urls = [url for url in found.urls if url not in set(refused)]
    if refused and not found.urls:
        raise UsageError(f"no seed can be used:\n{found.warning()}")


def create_store(path: Path, settings: Settings, bare: Iterable[str] = (), *, make: Make | None = None) -> None:
    """Make a new store with its configuration.

    Args:
        bare: Seeds that were given without a scheme.
        make: Makes the shards, if they are not all on this machine.

    Raises:
        StoreLockedError: If a process crawls into it.
    """
    require_crawl(path)
    if in_the_way := next((place for place in (path, *path.parents) if place.exists() and not place.is_dir()), None):
        raise UsageError(f"{path}: expected a directory for the new crawl, found that {in_the_way} is a file. Name another one with -o")
    if _holds_crawl(path):
        CrawlLock(path / "crawl.lock").release()
        raise UsageError(f"{path}: holds a crawl already. Go on with `thresher resume {path}`, or name a new directory with -o")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_foreign = not (path / STATE).exists() and not may_be_new(path)
    except OSError as error:
        raise DiskError(f"{path}: cannot be used for the new crawl: {error.strerror}. Name another directory with -o") from None
    if is_foreign:
        raise UsageError(f"{path}: expected a new or empty directory, found other files in it. Name another one with -o")
    require_new(path)
    try:
        (make or _create_shards)(path, settings, frozenset(bare))
    except BaseException:
        if not (path / STATE).exists():  # otherwise it belongs to another process
            _remove_shards(path)
        raise


def _remove_shards(path: Path) -> None:
    """Remove the stores of other agents that a failed or killed creation of a crawl has left."""
    for entry in [entry for entry in path.iterdir() if entry.name in (PARTITIONS, DIRECTORY) or is_shard(entry.name)]:
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def _create_shards(path: Path, settings: Settings, seeds: Collection[str]) -> None:
    """Make the stores of all agents; the first agent's is made last, and only with it the crawl exists."""
    _remove_shards(path)
    n, secret, now, bare = n_agents(settings), secrets.token_bytes(32), time.time(), BareSeeds(seeds).encoded()
    for agent in range(1, n):
        Store.create(shard_path(path, agent), settings, now, secret=secret, bare=bare).close()
    if n > 1:
        write_partitions(path, Partitions(n, ranges_of(divided(n))))
    Store.create(path, settings, now, secret=secret, bare=bare).close()


def _holds_crawl(path: Path) -> bool:
    """Return whether a crawl exists here; the remains of a killed creation do not count, and are created anew."""
    try:
        View(path).close()
    except StoreError:
        return False  # if it is damaged, `Store.create` says so
    return True


def reconfigure(
    path: Path, seeds: Sequence[str], files: Sequence[str], configs: Sequence[str], sets: Sequence[str], flags: Sequence[OptionFlag] = ()
) -> str:
    """Give the crawl in `path` the configuration that a resume asks for; the agent then applies the differences. Return the messages for
    the operator about left-out seeds and the own site, "" if there are none.
    """
    require_crawl(path)
    require_store(path)
    if not lock_holder(path):
        for shard in local_shard_paths(path):
            require_sound_pages(shard)
        if unfinished(path):  # a takedown that was interrupted by a kill or a full disk
            finish(path)
    with Store.open(path, None, time.time(), reserves=False) as store:
        old = store.settings
        changed = bool(configs or sets or flags or any(name.startswith("THRESHER_") for name in os.environ))
        begun = with_seeds(_merged(old, configs, sets, flags) if changed else old, seeds, files, old)
        _check_order(path, old, begun.settings)
        give(store, begun.settings, begun.found.bare)
    for shard in local_shard_paths(path)[1:]:
        with Store.open(shard, None, time.time(), reserves=False) as store:
            give(store, begun.settings, begun.found.bare)
    return begun.words()


def give(store: Store, new: Settings, bare: Iterable[str]) -> None:
    """Give a shard a new configuration; after a kill between two shards, the next resume does the second.

    Args:
        bare: Further seeds that were given without a scheme.
    """
    differences = admits_differently(store.settings, new)
    store.reconfigure(new)
    if more := set(bare):
        store.put(META, Meta.BARE, BareSeeds({*BareSeeds.of(store).urls, *more}).encoded())
    if differences:
        earlier = (store.get(META, Meta.READMIT) or b"").decode().split(",")
        store.put(META, Meta.READMIT, ",".join(sorted({*earlier, *differences} - {""})).encode())


def _check_order(path: Path, old: Settings, new: Settings) -> None:
    """Raise UsageError if `frontier.order` differs: the rows of all queues are sorted by the order with which the crawl began."""
    if new.frontier.order != old.frontier.order:
        raise UsageError(
            f"frontier.order: expected {old.frontier.order}, in which the queues of {path} stand, found {new.frontier.order}. "
            "Leave it as it is, or start a new crawl"
        )


def admits_differently(old: Settings, new: Settings) -> set[str]:
    """Return the sections of the configuration that may admit a URL under one configuration and not under the other."""
    sections = {name for name in ("scope", "robots", "filters", "overrides", "seeds", "url") if getattr(old, name) != getattr(new, name)}
    if any(getattr(old.limits, name) != getattr(new.limits, name) for name in _ADMITTING_LIMITS):
        sections.add("limits")
    if old.fetch.allow_ports != new.fetch.allow_ports or OwnSite.of(old).ports != OwnSite.of(new).ports:
        sections.add("fetch")
    if old.identity.agent != new.identity.agent:
        sections.add("robots")
    return sections


def _merged(old: Settings, configs: Sequence[str], sets: Sequence[str], flags: Sequence[OptionFlag]) -> Settings:
    """Return the configuration of the files, or else the crawl's own, with environment and single options on top."""
    if configs:
        return load(configs, sets=sets, environ=os.environ, stdin=sys.stdin.read, flags=flags).settings
    return with_sets(old, sets, os.environ, flags)


def with_sets(settings: Settings, sets: Sequence[str], environ: Mapping[str, str] = {}, flags: Sequence[OptionFlag] = ()) -> Settings:
    """Return settings with single options on top; the loader checks all but the seeds and their labels."""
    own = json.dumps(as_mapping(msgspec.structs.replace(settings, seeds=[], labels={})), ensure_ascii=False)
    changed = load(["-"], sets=sets, environ=environ, stdin=lambda: own, flags=flags).settings
    return msgspec.structs.replace(changed, seeds=changed.seeds or settings.seeds, labels=changed.labels or settings.labels)
