"""Two floors: aiohttp on given URLs, and aiohttp with a parser and a set. `python -m benchmarks.peers.floors fetch|links FILE`.

fetch: every URL of the file once, 100 at a time, bodies read and dropped.
links: the file's URLs are seeds; lexbor finds links, ada joins them, a set has the known ones; first come, first served, 100 at a time.
Neither reads robots.txt, waits, retries, stores or ends gracefully: no crawler on aiohttp can cost less.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from pathlib import Path

import ada_url
import aiohttp
import uvloop
from selectolax.lexbor import LexborHTMLParser

_CONCURRENCY = 100


async def crawl(urls: list[str], *, follow: bool) -> int:
    """Fetch the URLs, and with `follow` those that they link to; return how many were fetched."""
    waiting, known, n = deque(urls), set(urls), 0
    idle = asyncio.Semaphore(0)
    n_open = 0

    async def work(session: aiohttp.ClientSession) -> None:
        nonlocal n, n_open
        while True:
            await idle.acquire()
            url = waiting.popleft()
            try:
                async with session.get(url) as answer:
                    body = await answer.read()
            except aiohttp.ClientError:
                body = b""
            n += 1
            if follow:
                for link in _links(url, body):
                    if link not in known:
                        known.add(link)
                        waiting.append(link)
                        n_open += 1
                        idle.release()
            n_open -= 1
            if not n_open:
                done.set()

    done = asyncio.Event()
    n_open = len(waiting)
    for _ in range(n_open):
        idle.release()
    connector = aiohttp.TCPConnector(limit=_CONCURRENCY, limit_per_host=0)
    async with aiohttp.ClientSession(connector=connector, auto_decompress=True) as session, asyncio.TaskGroup() as group:
        workers = [group.create_task(work(session)) for _ in range(_CONCURRENCY)]
        await done.wait()
        for worker in workers:
            worker.cancel()
    return n


def _links(url: str, body: bytes) -> list[str]:
    hrefs = dict.fromkeys(node.attributes.get("href") for node in LexborHTMLParser(body).tags("a"))
    joined = []
    for href in hrefs:
        if href:
            try:
                joined.append(ada_url.join_url(url, href).partition("#")[0])
            except ValueError:
                continue
    return [link for link in joined if link.startswith("http")]


def main() -> None:
    mode, path = sys.argv[1:3]
    urls = Path(path).read_text("utf-8").split()
    print(uvloop.run(crawl(urls, follow=mode == "links")))


if __name__ == "__main__":
    main()
