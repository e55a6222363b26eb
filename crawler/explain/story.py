"""What `explain` knows about a URL: the values of its JSON output."""

from __future__ import annotations

from typing import Any

import msgspec

from thresher.crawler.explain.announced import Announcement
from thresher.crawler.explain.held import HeldEvent
from thresher.crawler.explain.requisite import RequisiteStory
from thresher.crawler.explain.spelling import SpellingStep
from thresher.crawler.explain.today import Today
from thresher.crawler.explain.visited_again import VisitedAgain


class Hop(msgspec.Struct, kw_only=True):
    """One step back on the way from a seed: the URL that named the previous one."""

    url: str
    how: str  # link, redirect, alias
    depth: int | None


class QueuePlace(msgspec.Struct, kw_only=True):
    """The URL's place in its host's queue, and the host's clock."""

    host: str
    lane: str
    rank: int
    attempts: int
    ahead: int | None  # URLs of the host that come first; None: more than are counted
    due_at: str | None  # not before this time; None: at once
    why: str
    next_at: str | None
    backoff_until: str | None
    crawl_delay: float | None
    failures: int  # in a row
    parked: str | None
    parked_until: str | None


class Story(msgspec.Struct, kw_only=True):
    """Everything that is known about a URL; `answer` is a sentence."""

    asked: str
    url: str | None = None  # canonical form
    steps: list[SpellingStep] = []
    state: str = "unknown"  # unknown, bad_url, or a state of the store
    reason: str | None = None
    option: str | None = None  # the options that govern the reason, separated by commas
    detail: str | None = None
    found_at: str | None = None
    announced: Announcement | None = None
    visited_again: VisitedAgain | None = None
    requisite: RequisiteStory | None = None
    chain: list[Hop] = []  # from what named the URL back to a seed
    depth: int | None = None
    site_depth: int | None = None
    hops: int | None = None
    purpose: str | None = None
    crawl: str = ""  # what the crawl is doing, or how it ended; "" if that is not known
    waiting: QueuePlace | None = None
    failure: dict[str, Any] | None = None
    page: dict[str, Any] | None = None
    verdicts: list[dict[str, Any]] = []  # all verdicts, oldest first
    redirect: dict[str, Any] | None = None
    redirected_from: list[str] = []
    end_of_chain: dict[str, Any] | None = None
    alias_of: dict[str, str] | None = None
    holders: list[str] = []
    held_class: dict[str, str | int] | None = None  # the class in which it waits
    history: list[HeldEvent] = []  # of a URL that was held in a class
    crashes: int = 0  # crashes of our own processes while they worked on it
    skips: list[dict[str, Any]] = []
    today: Today | None = None
    answer: str = ""
