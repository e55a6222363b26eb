"""Before a crawl runs: is the configuration fit to start, is the store there, and what does a resume change?"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from config.load import load
from config.settings import Settings
from crawler.agent import url_rules
from crawler.core.errors import StoreError, UsageError
from crawler.readmit import mark
from crawler.seeds import read_seeds
from storage.env import PATIENCE_S, Store, require_store
from storage.lock import CrawlLock
from storage.view import View

_EXAMPLE = "identity.contact=https://example.org/bot (or an e-mail address)"


def check_startable(settings: Settings) -> None:
    """Raise UsageError for what is a valid configuration but no crawl that may start."""
    if not settings.identity.contact:
        raise UsageError(
            "identity.contact: expected a URL or an e-mail address at which webmasters reach you, found nothing; no crawl starts without. "
            f"Write it into the configuration, or give --set {_EXAMPLE}"
        )
    if settings.agents not in (1, "auto"):
        raise UsageError(f"agents: expected 1 or auto, found {settings.agents}: this version runs one agent")


def create_store(path: Path, settings: Settings) -> None:
    """Make a new store that knows its configuration; raises StoreLockedError when somebody crawls into it."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path}: expected a directory for the new crawl, found a file. Name another one with -o")
    if _holds_crawl(path):
        CrawlLock(path / "crawl.lock").release()
        raise UsageError(f"{path}: holds a crawl already. Go on with `thresher resume {path}`, or name a new directory with -o")
    Store.create(path, settings, time.time()).close()


def _holds_crawl(path: Path) -> bool:
    """Return whether a crawl was created here; what a creation left that was killed is none, and is created anew."""
    try:
        View(path).close()
    except StoreError:
        return False  # if it is damaged, `Store.create` says so
    return True


def open_store(path: Path, *, patience_s: float = PATIENCE_S) -> tuple[Store, Settings]:
    """Open a store for its agent, under the configuration it was left with. patience_s: how long a disk that refuses is tried again."""
    store = Store.open(path, None, time.time(), patience_s=patience_s)
    return store, store.settings


def reconfigure(path: Path, seeds: Sequence[str], files: Sequence[str], configs: Sequence[str], sets: Sequence[str]) -> None:
    """Give the crawl in `path` the configuration that a resume asks for; the agent carries the difference out."""
    require_store(path)
    with Store.open(path, None, time.time()) as store:
        old = store.settings
        changed = bool(configs or sets or any(name.startswith("THRESHER_") for name in os.environ))
        new = _merged(old, configs, sets) if changed else old
        known = dict.fromkeys(old.seeds)
        if seeds or files or new.seeds:
            known |= dict.fromkeys(read_seeds(seeds, files, new.seeds, url_rules(new)).urls)
        new = msgspec.structs.replace(new, seeds=list(known))
        check_startable(new)
        store.reconfigure(new)
        if admits_differently(old, new):
            mark(store)


def admits_differently(old: Settings, new: Settings) -> bool:
    """Return whether a URL may be admitted under one configuration and not under the other."""
    return any(
        getattr(old, name) != getattr(new, name) for name in ("scope", "limits", "robots", "filters", "overrides", "seeds", "url", "fetch")
    )


def _merged(old: Settings, configs: Sequence[str], sets: Sequence[str]) -> Settings:
    """Return the files' configuration, or the crawl's own, with environment and single options on top."""
    if configs:
        return load(configs, sets=sets, environ=os.environ).settings
    return with_sets(old, sets, os.environ)


def with_sets(settings: Settings, sets: Sequence[str], environ: Mapping[str, str] = {}) -> Settings:
    """Return settings with single options on top; all but the seeds go through the loader, which checks them."""
    own = msgspec.json.encode(msgspec.structs.replace(settings, seeds=[])).decode()
    changed = load(["-"], sets=sets, environ=environ, stdin=lambda: own).settings
    return msgspec.structs.replace(changed, seeds=changed.seeds or settings.seeds)
