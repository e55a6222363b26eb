"""Larger sites first: of the hosts that are ready, the one with the most URLs waiting [BCMR05].

Within a host breadth-first. It does well only under politeness, which keeps the largest host from taking every turn.
"""

from __future__ import annotations

from thresher.crawler.core.host_queue import HostQueue


class LargerSitesFirst:
    """By the number of URLs that wait, as of when the host got ready."""

    name = "larger_sites_first"
    cash_steps = 0
    counts_sites = False

    def rank(self, site_depth: int, worth: int) -> int:
        return site_depth

    def precedence(self, host: HostQueue) -> int:
        return -host.record.n_queued
