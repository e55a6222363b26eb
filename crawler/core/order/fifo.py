"""First in, first out: within a host and among hosts, the URL that was found first."""

from __future__ import annotations

from thresher.crawler.core.host_queue import HostQueue


class Fifo:
    """First in, first out over the whole crawl, as far as politeness allows."""

    name = "fifo"
    cash_steps = 0
    counts_sites = False

    def rank(self, site_depth: int, worth: int) -> int:
        return 0

    def precedence(self, host: HostQueue) -> int:
        assert host.head is not None
        return host.head.seq
