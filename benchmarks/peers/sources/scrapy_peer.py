"""Scrapy with the settings of its chapter on broad crawls: `python scrapy_peer.py SEEDS CONCURRENCY`."""

import sys
from pathlib import Path

import scrapy
from scrapy.crawler import CrawlerProcess


class Everything(scrapy.Spider):
    name = "everything"

    def __init__(self, seeds, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.start_urls = seeds

    def parse(self, response):
        if isinstance(response, scrapy.http.TextResponse):
            for href in response.xpath("//a/@href").getall():
                yield scrapy.Request(response.urljoin(href), self.parse)


process = CrawlerProcess(
    {
        "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
        "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
        "CONCURRENT_REQUESTS": int(sys.argv[2]),
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "DOWNLOAD_DELAY": 0,
        "REACTOR_THREADPOOL_MAXSIZE": 20,
        "LOG_LEVEL": "INFO",
        "COOKIES_ENABLED": False,
        "RETRY_ENABLED": False,
        "REDIRECT_ENABLED": False,
        "DOWNLOAD_TIMEOUT": 15,
        "TELNETCONSOLE_ENABLED": False,
        "ROBOTSTXT_OBEY": True,
        "DEPTH_PRIORITY": 1,
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        "USER_AGENT": "thresher-bench-peer (+https://example.org/bench)",
    }
)
process.crawl(Everything, seeds=Path(sys.argv[1]).read_text().split())
process.start()
