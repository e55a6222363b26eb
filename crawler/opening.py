"""Before a crawl runs: is the configuration fit to start, is the store there, and what does a resume change?"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from config.load import load
from config.settings import Settings
from crawler.core.errors import DiskError, StoreError, UsageError
from crawler.core.model import Mode
from crawler.core.ownership import MOST_AGENTS, divided
from crawler.core.url import hostname_of, origin_of, site_of
from crawler.seeds import read_seeds, url_rules
from filters.base import Candidate
from filters.registry import plugs
from storage.env import Store, require_store
from storage.lock import CrawlLock, lock_holder
from storage.partitions import FILE as PARTITIONS
from storage.partitions import Partitions, is_shard, ranges_of, require_crawl, shard_path, shard_paths, write_partitions
from storage.rot import require_sound_pages
from storage.schema import META, STATE, Meta
from storage.view import View

_SHOWN = 5  # seeds named in a complaint about all
_EXAMPLE = "identity.contact=https://example.org/bot (or an e-mail address)"

_ADMITTING_LIMITS = ("max_depth", "max_hosts_per_site", "max_links_per_page", "max_redirects", "max_url_length")


def check_startable(settings: Settings) -> None:
    """Raise UsageError for what is a valid configuration but no crawl that may start."""
    if not settings.identity.contact:
        raise UsageError(
            "identity.contact: expected a URL or an e-mail address at which webmasters reach you, found nothing; no crawl starts without. "
            f"Write it into the configuration, or give --set {_EXAMPLE}"
        )
    if n_agents(settings) > MOST_AGENTS:
        raise UsageError(f"agents: expected at most {MOST_AGENTS}, found {settings.agents}")


def n_agents(settings: Settings) -> int:
    """Return how many agents the configuration asks for; auto is one for each core that this process may use."""
    return min(len(os.sched_getaffinity(0)), MOST_AGENTS) if settings.agents == "auto" else settings.agents


def check_seeds(settings: Settings) -> None:
    """Raise UsageError if the configuration refuses every seed: such a crawl would end before it began."""
    gates = [plug.static for plug in plugs(settings, settings.seeds) if plug.static and plug.mode is Mode.ENFORCE]
    refused: list[str] = []
    for seed in settings.seeds:
        origin = origin_of(seed)
        candidate = Candidate(seed, origin, site_of(hostname_of(origin)))
        word = next(((gate.name, reason) for gate in gates if (reason := gate.refuses(candidate))), None)
        if word is None:
            return
        if len(refused) < _SHOWN:
            refused.append(f"{seed}: {word[1]}, by {word[0]}")
    more = [f"… and {len(settings.seeds) - len(refused):,} more"] if len(settings.seeds) > len(refused) else []
    raise UsageError(
        "the configuration refuses every seed, expected at least one that may be fetched. Change scope, overrides, filters or seeds:\n"
        + "\n".join(refused + more)
    )


def create_store(path: Path, settings: Settings) -> None:
    """Make a new store that knows its configuration; raises StoreLockedError when somebody crawls into it."""
    require_crawl(path)
    if in_the_way := next((place for place in (path, *path.parents) if place.exists() and not place.is_dir()), None):
        raise UsageError(f"{path}: expected a directory for the new crawl, found that {in_the_way} is a file. Name another one with -o")
    if _holds_crawl(path):
        CrawlLock(path / "crawl.lock").release()
        raise UsageError(f"{path}: holds a crawl already. Go on with `thresher resume {path}`, or name a new directory with -o")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_foreign = not (path / STATE).exists() and any(not _is_ours(entry.name) for entry in path.iterdir())
    except OSError as error:
        raise DiskError(f"{path}: cannot be used for the new crawl: {error.strerror}. Name another directory with -o") from None
    if is_foreign:
        raise UsageError(f"{path}: expected a new or empty directory, found other files in it. Name another one with -o")
    _create_shards(path, settings)


def _is_ours(name: str) -> bool:
    """Return whether an entry of a directory may be what the creation of a crawl left that was killed."""
    return name == PARTITIONS or is_shard(name)


def _create_shards(path: Path, settings: Settings) -> None:
    """Make the stores of all agents, the first agent's last: until it is there, there is no crawl."""
    for entry in [entry for entry in path.iterdir() if _is_ours(entry.name)]:
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    n, secret, now = n_agents(settings), secrets.token_bytes(32), time.time()
    for agent in range(1, n):
        Store.create(shard_path(path, agent), settings, now, secret=secret).close()
    if n > 1:
        write_partitions(path, Partitions(n, ranges_of(divided(n))))
    Store.create(path, settings, now, secret=secret).close()


def _holds_crawl(path: Path) -> bool:
    """Return whether a crawl was created here; what a creation left that was killed is none, and is created anew."""
    try:
        View(path).close()
    except StoreError:
        return False  # if it is damaged, `Store.create` says so
    return True


def reconfigure(path: Path, seeds: Sequence[str], files: Sequence[str], configs: Sequence[str], sets: Sequence[str]) -> str:
    """Give the crawl in `path` the configuration that a resume asks for; the agent carries the difference out.

    Returns what to tell the operator about seeds that were left out, "" if nothing.
    """
    require_crawl(path)
    require_store(path)
    if not lock_holder(path):
        for shard in shard_paths(path):
            require_sound_pages(shard)
    left_out = ""
    with Store.open(path, None, time.time(), reserves=False) as store:
        old = store.settings
        changed = bool(configs or sets or any(name.startswith("THRESHER_") for name in os.environ))
        new = _merged(old, configs, sets) if changed else old
        known = dict.fromkeys(old.seeds)
        if seeds or files or new.seeds:
            found = read_seeds(seeds, files, new.seeds, url_rules(new))
            known |= dict.fromkeys(found.urls)
            left_out = found.warning()
        new = msgspec.structs.replace(new, seeds=list(known))
        check_startable(new)
        _check_order(path, old, new)
        _give(store, new)
    for shard in shard_paths(path)[1:]:
        with Store.open(shard, None, time.time(), reserves=False) as store:
            _give(store, new)
    return left_out


def _give(store: Store, new: Settings) -> None:
    """Let a configuration be that of a shard; a kill between two of them leaves the second to the next resume."""
    differences = admits_differently(store.settings, new)
    store.reconfigure(new)
    if differences:
        earlier = (store.get(META, Meta.READMIT) or b"").decode().split(",")
        store.put(META, Meta.READMIT, ",".join(sorted({*earlier, *differences} - {""})).encode())


def _check_order(path: Path, old: Settings, new: Settings) -> None:
    """Raise UsageError for another order: the rows of all queues stand in the one that the crawl began with."""
    if new.frontier.order != old.frontier.order:
        raise UsageError(
            f"frontier.order: expected {old.frontier.order}, in which the queues of {path} stand, found {new.frontier.order}. "
            "Leave it as it is, or start a new crawl"
        )


def admits_differently(old: Settings, new: Settings) -> set[str]:
    """Return the sections by which a URL may be admitted under one configuration and not under the other."""
    sections = {name for name in ("scope", "robots", "filters", "overrides", "seeds", "url") if getattr(old, name) != getattr(new, name)}
    if any(getattr(old.limits, name) != getattr(new.limits, name) for name in _ADMITTING_LIMITS):
        sections.add("limits")
    if old.fetch.allow_ports != new.fetch.allow_ports:
        sections.add("fetch")
    if old.identity.agent != new.identity.agent:
        sections.add("robots")
    return sections


def _merged(old: Settings, configs: Sequence[str], sets: Sequence[str]) -> Settings:
    """Return the files' configuration, or the crawl's own, with environment and single options on top."""
    if configs:
        return load(configs, sets=sets, environ=os.environ, stdin=sys.stdin.read).settings
    return with_sets(old, sets, os.environ)


def with_sets(settings: Settings, sets: Sequence[str], environ: Mapping[str, str] = {}) -> Settings:
    """Return settings with single options on top; all but the seeds go through the loader, which checks them."""
    own = msgspec.json.encode(msgspec.structs.replace(settings, seeds=[])).decode()
    changed = load(["-"], sets=sets, environ=environ, stdin=lambda: own).settings
    return msgspec.structs.replace(changed, seeds=changed.seeds or settings.seeds)
