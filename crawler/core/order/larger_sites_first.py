"""Larger sites first: of the ready hosts, first the one with the most waiting URLs [BCMR05].

Within a host breadth-first. It only works well with politeness, which keeps the largest host from taking every turn.
"""

from __future__ import annotations

from thresher.crawler.core.host_queue import HostQueue


class LargerSitesFirst:
    """By the number of waiting URLs, as of the time when the host became ready."""

    name = "larger_sites_first"
    cash_steps = 0
    counts_sites = False

    def rank(self, site_depth: int, worth: int) -> int:
        return site_depth

    def precedence(self, host: HostQueue) -> int:
        return -host.record.n_queued
