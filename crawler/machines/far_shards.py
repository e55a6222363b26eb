"""The work of a machine, for the head, on the shards on its disk: makes, counts and configures them, and looks for damage."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from thresher.config.plugins import settings_type
from thresher.config.settings import Settings
from thresher.crawler.cluster.shard import counted, progress
from thresher.crawler.core.errors import StoreError, ThresherError
from thresher.crawler.machines import far_changes, far_merges, far_moves
from thresher.crawler.machines.far_changes import ChangeShard
from thresher.crawler.machines.far_merges import AskOf
from thresher.crawler.start.archive_checks import check_archive
from thresher.crawler.start.opening import give
from thresher.storage.archive.checking import lacking_in
from thresher.storage.carrying import FetchPiece
from thresher.storage.export.reading import reading_shard
from thresher.storage.partitions import FILE as PARTITIONS
from thresher.storage.partitions import Partitions, shard_path, write_partitions
from thresher.storage.rot import damage, damaged_pages
from thresher.storage.store import Store
from thresher.storage.tables.bare_seeds import BareSeeds


class NewShard(msgspec.Struct, frozen=True):
    """Make a shard."""

    agent: int
    settings: bytes  # JSON
    secret: bytes
    bare: list[str]
    partitions: Partitions


class NewSettings(msgspec.Struct, frozen=True):
    """Change the configuration of a shard."""

    agent: int
    settings: bytes  # JSON
    bare: list[str]


class ShardAnswer(msgspec.Struct, frozen=True):
    """A machine's answer about a shard. said: JSON; fault: why the shard cannot be used, "" if it can"""

    said: msgspec.Raw = msgspec.Raw(b"null")
    fault: str = ""


class FarShards:
    """The shards of a crawl on this machine."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def answer(self, what: str, argument: bytes, fetch: FetchPiece | None = None, ask_of: AskOf | None = None) -> bytes:
        """Do what the head asks for; an error is in the answer.

        Args:
            fetch: Reads from the disk of another machine, if the step needs that.
            ask_of: Reads the shards there.
        """
        try:
            said = self._do(what, argument, fetch, ask_of)
        except ThresherError as error:
            return msgspec.json.encode(ShardAnswer(fault=str(error)))
        return msgspec.json.encode(ShardAnswer(msgspec.Raw(msgspec.json.encode(said))))

    def _do(self, what: str, argument: bytes, fetch: FetchPiece | None, ask_of: AskOf | None) -> Any:
        match what:
            case "create":
                return self._create(msgspec.json.decode(argument, type=NewShard))
            case "discard":
                return self._discard(msgspec.json.decode(argument, type=NewShard))
            case "configure":
                return self._configure(msgspec.json.decode(argument, type=NewSettings))
            case "counted" | "progress" | "damage" | "pages" | "lacking":
                return self._look(what, shard_path(self._directory, msgspec.json.decode(argument, type=int)))
            case "change":
                return far_changes.change(self._directory, msgspec.json.decode(argument, type=ChangeShard))
            case "returned" | "unmerged" | "taken" | "merge":
                return msgspec.to_builtins(far_merges.do(self._directory, what, argument, ask_of))
        return far_moves.do(self._directory, what, argument, fetch)

    def _look(self, what: str, path: Path) -> Any:
        match what:
            case "counted":
                return msgspec.to_builtins(counted(path, "starting"))
            case "progress":
                return progress(path)
            case "damage":
                return next(iter(damage(path)), "")
            case "lacking":
                return lacking_in(path)
            case _:
                return damaged_pages(path)

    def _create(self, new: NewShard) -> None:
        """Make a shard in a directory that no other crawl uses, unless a command that was killed has made it."""
        path = shard_path(self._directory, new.agent)
        if self._is_ours(path, new.secret):
            return
        settings = _settings(new.settings)
        check_archive(settings)
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_partitions(self._directory, new.partitions)
        Store.create(path, settings, time.time(), secret=new.secret, bare=BareSeeds(new.bare).encoded()).close()

    def _discard(self, new: NewShard) -> None:
        """Remove a shard that was made for a crawl whose creation has failed, unless it belongs to another crawl."""
        path = shard_path(self._directory, new.agent)
        if self._is_ours(path, new.secret):
            shutil.rmtree(path)
            (self._directory / PARTITIONS).unlink(missing_ok=True)

    @staticmethod
    def _is_ours(path: Path, secret: bytes) -> bool:
        """Return whether a shard of this crawl is there."""
        with suppress(StoreError), reading_shard(path) as view:
            return view.secret == secret
        return False

    def _configure(self, new: NewSettings) -> None:
        settings = _settings(new.settings)
        check_archive(settings)  # what an archive needs must be on this machine, too
        with Store.open(shard_path(self._directory, new.agent), None, time.time(), reserves=False) as store:
            give(store, settings, new.bare)


def _settings(encoded: bytes) -> Settings:
    return msgspec.json.decode(encoded, type=settings_type())
