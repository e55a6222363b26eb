"""Checks whether a crawl with the configured archive may start."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from thresher.config.settings import Settings
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.overriding import Overriding
from thresher.crawler.terminal.extras import require
from thresher.storage.archive.earlier import sources

_NEEDS: Final = ("fastwarc", "isal")


def check_archive(settings: Settings) -> None:
    """Check the options of the archive.

    Raises:
        UsageError: If they cannot be used, or the extra `archive` is not installed.
    """
    archive = settings.archive
    has_requisites = Overriding(settings).anywhere(lambda of: of.archive.requisites)
    if archive.format == "off":
        for name, is_set, what in (
            ("requisites", has_requisites, "what pages need to be shown is fetched for an archive"),
            ("dedup", bool(archive.dedup), "what earlier archives hold is for an archive to refer to"),
        ):
            if is_set:
                raise UsageError(f"archive.{name}: {what}, expected archive.format: warc, found off. Set that, or leave archive.{name} out")
        return
    if settings.fetch.client != "lean":
        raise UsageError(
            f"archive.format: warc needs fetch.client: lean, found {settings.fetch.client}, which does not show "
            "the bytes that were sent. Leave fetch.client as it is, or archive.format: off"
        )
    for module in _NEEDS:
        require("archive.format: warc", module=module, extra="archive")
    if has_requisites:
        require("archive.requisites", module="tinycss2", extra="archive")
    for path in archive.dedup:
        if not sources(Path(path)):
            raise UsageError(f"archive.dedup: {path}: expected a CDXJ file (.cdxj), a WARC file (.warc.gz) or a folder of them, found none")
