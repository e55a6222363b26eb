"""Crawlee for Python, with the faster of its parsers and storage in memory: `python crawlee_peer.py SEEDS CONCURRENCY`."""

import asyncio
import logging
import sys
from datetime import timedelta
from pathlib import Path

import uvloop
from crawlee import ConcurrencySettings, service_locator
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient


async def main(seeds: list[str]) -> None:
    service_locator.set_storage_client(MemoryStorageClient())
    n = int(sys.argv[2])
    crawler = ParselCrawler(
        concurrency_settings=ConcurrencySettings(min_concurrency=n // 2, desired_concurrency=n, max_concurrency=n),
        max_request_retries=0,
        request_handler_timeout=timedelta(seconds=60),
        respect_robots_txt_file=True,
        use_session_pool=False,
        configure_logging=False,
        statistics_log_format="inline",
    )
    logging.getLogger("crawlee").setLevel(logging.ERROR)

    @crawler.router.default_handler
    async def handle(context: ParselCrawlingContext) -> None:
        await context.enqueue_links(strategy="all")

    await crawler.run(seeds)


uvloop.install()
asyncio.run(main(Path(sys.argv[1]).read_text().split()))
