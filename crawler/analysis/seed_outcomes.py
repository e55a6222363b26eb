"""What became of each seed: its own answer, what was found below it, and why there is no more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from thresher.crawler.core.governing import governed
from thresher.crawler.core.model import NEEDS_BROWSER, Reason, State
from thresher.crawler.core.ports import SeenRow
from thresher.crawler.core.url import URLSpace, origin_of, path_of, queue_name
from thresher.crawler.core.url_rules import url_rules
from thresher.storage.export.fields import iso
from thresher.storage.export.judged import keeps, standing
from thresher.storage.export.labels import LabelLookup
from thresher.storage.export.pages import current_pages
from thresher.storage.packing import unpack_seen
from thresher.storage.records import ALIAS, FAILURE, HOST, PAIR, REVISIONS, PageRecord
from thresher.storage.schema import ALIASES, FAILURES, HOSTS, PAIRS, SEEN, VERDICTS
from thresher.storage.tables.bare_seeds import BareSeeds, http_form
from thresher.storage.view import View

_CHUNK = 1000


class SeedOutcome(msgspec.Struct, kw_only=True):
    """One seed. A URL is "under it" if it lies in its directory, on http or https, with or without www; if the seed redirects, under its
    target.
    """

    seed: str
    outcome: str  # one of SEED_OUTCOMES in crawler/cli/choices.py
    detail: str | None = None  # the reason, the failure, the filter that dropped it, why the target of its redirect was refused
    status: int | None = None  # HTTP status of its own answer, or of the end of its redirects
    fetched_at: str | None = None
    target: str | None = None  # where it redirects to in the end, or what it is an alias of
    pages: int = 0  # pages under it
    kept: int = 0
    waiting: int = 0  # URLs under it that are still queued
    not_fetched: dict[str, int] = {}  # URLs under it that were refused, held or left out, by reason
    failed: int = 0  # URLs under it that answered with an error, or never
    why: str = ""  # why there is no more under it
    label: str | None = None


@dataclass(slots=True)
class _Place:
    """A directory of a host, and the seeds that lead there."""

    seeds: list[SeedOutcome] = field(default_factory=list)


def seed_outcomes(view: View) -> list[SeedOutcome]:
    """Return the outcome of every seed, in their order. Time: two walks over what is known. Memory: the seeds."""
    space = URLSpace(view.secret, url_rules(view.settings))
    bare = BareSeeds.of(view).urls
    found = [_own(view, space, seed, is_bare=seed in bare) for seed in view.settings.seeds]
    labels = LabelLookup.of_view(view)
    for one in found:
        key = space.seed(one.seed).key
        one.label = labels.of((key,)).get(key)
    places: dict[tuple[str, str], _Place] = {}
    for one in found:
        places.setdefault(_directory(one.target or one.seed), _Place()).seeds.append(one)
    for _, page in current_pages(view):
        is_page = _is_page(page)
        is_kept = is_page and _is_kept(view, page)
        for one in _above(places, page.url):
            one.pages += is_page
            one.kept += is_kept
            one.failed += not is_page
    _count_the_rest(view, places)
    _tell_refused_targets(view, space, found)
    for one in found:
        one.why = _why(view, space, one)
    return found


def _own(view: View, space: URLSpace, seed: str, *, is_bare: bool) -> SeedOutcome:
    """Return a seed with the outcome of its own request. A seed without a scheme may have been answered on http only."""
    for form in (seed, http_form(seed)) if is_bare and seed.startswith("https://") else (seed,):
        url = space.seed(form)
        value = view.get(SEEN, url.key)
        one = SeedOutcome(seed=seed, outcome="unknown") if value is None else _of_row(view, seed, url.key, unpack_seen(value))
        if one.outcome not in ("unknown", "failed") and one.detail != Reason.NO_HTTPS:
            break
    return one


def _of_row(view: View, seed: str, key: bytes, row: SeenRow) -> SeedOutcome:
    one = SeedOutcome(seed=seed, outcome="waiting", detail=str(row.reason) if row.reason else None)
    page = view.tables.pages.read(row.visit) if row.visit else None
    pair = view.get(PAIRS, key)
    failure = view.get(FAILURES, key)
    match row.state:
        case State.DONE if pair is not None:
            target = PAIR.decode(pair)
            one.outcome, one.target, one.status = "redirected", target.target_text, target.status or None
        case State.DONE if page is not None:
            _fill_page(view, one, page)
        case State.DONE:
            one.outcome = "failed"
            if view.tables.redirects.chain_end(key)[0] == "loop":
                one.detail = "its redirects are a loop" + (" (fetch.cookies)" if view.settings.fetch.cookies == "off" else "")
        case State.HELD | State.REFUSED:
            one.outcome = row.state.name.lower()
        case State.ALIAS:
            alias = view.get(ALIASES, key)
            one.outcome, one.target = "alias", ALIAS.decode(alias).to_text if alias is not None else None
        case _:
            pass
    if failure is not None and one.outcome in ("failed", "waiting", "refused"):
        record = FAILURE.decode(failure)
        one.detail = f"{record.reason}: {record.detail}" if record.detail else record.reason
        one.outcome = "failed" if record.final else one.outcome
    return one


def _fill_page(view: View, one: SeedOutcome, page: PageRecord) -> None:
    one.status, one.fetched_at = page.status or None, iso(page.fetched_at)
    if need := NEEDS_BROWSER.intersection(page.flags):
        one.outcome, one.detail = "needs_browser", str(min(need))
    elif not _is_page(page):
        one.outcome, one.detail = "failed", page.failed_cause or f"status {page.status}"
    else:
        one.outcome = "fetched" if _is_kept(view, page) else "dropped"


def _is_page(page: PageRecord) -> bool:
    """Return whether a page was answered; an error page is none."""
    return not page.failed_cause and page.status < 400


def _is_kept(view: View, page: PageRecord) -> bool:
    """Return whether a page is kept, and is no empty shell or challenge that needs a browser."""
    if not NEEDS_BROWSER.isdisjoint(page.flags):
        return False
    value = view.get(VERDICTS, page.key)
    return keeps(page, standing(page, () if value is None else REVISIONS.decode(value)))


def _directory(url: str) -> tuple[str, str]:
    """Return host queue and directory of a URL."""
    return queue_name(origin_of(url)), path_of(url).rpartition("/")[0] + "/"


def _above(places: dict[tuple[str, str], _Place], url: str) -> Iterator[SeedOutcome]:
    """Yield the seeds in whose directories a URL lies."""
    queue, directory = _directory(url)
    while True:
        if (place := places.get((queue, directory))) is not None:
            yield from place.seeds
        if directory == "/":
            return
        directory = directory[:-1].rpartition("/")[0] + "/"


def _count_the_rest(view: View, places: dict[tuple[str, str], _Place]) -> None:
    """Count what was not fetched, or not yet."""
    known = view.all_urls()
    while chunk := list(islice(known, _CHUNK)):
        failures = view.get_many(FAILURES, [url.key for url, _ in chunk])
        for (url, row), failure in zip(chunk, failures, strict=True):
            for one in _above(places, url.text):
                if row.state is State.QUEUED:
                    one.waiting += 1
                elif failure is not None and FAILURE.decode(failure).final and view.tables.pages.read(row.visit) is None:
                    one.failed += 1
                elif row.state is not State.DONE:
                    reason = str(row.reason or row.state.name.lower())
                    one.not_fetched = one.not_fetched | {reason: one.not_fetched.get(reason, 0) + 1}


def _tell_refused_targets(view: View, space: URLSpace, found: list[SeedOutcome]) -> None:
    """Add to redirected seeds why the crawl did not take up their target. Time: one pass over the log of skipped URLs, if there are any."""
    refused = {
        one.target: one for one in found if one.outcome == "redirected" and one.target and view.get(SEEN, space.url(one.target).key) is None
    }
    for line in view.all_skipped() if refused else ():
        if (one := refused.get(line.url)) is not None and one.detail is None:
            one.detail = f"target refused: {governed(line.reason)}"


def _why(view: View, space: URLSpace, one: SeedOutcome) -> str:
    """Return why there are no more pages of the seed; a reason of its host comes first."""
    value = view.get(HOSTS, space.queue_key(origin_of(one.target or one.seed)))
    host = HOST.decode(value) if value is not None else None
    if host is not None and host.parked:
        return f"its host is parked: {host.parked}"
    if one.waiting:
        return "one URL waits" if one.waiting == 1 else f"{one.waiting:,} URLs wait"
    if one.outcome == "redirected" and one.detail:
        return one.detail
    if one.outcome == "needs_browser":
        return "the seed itself can be read by a browser alone"
    if one.outcome == "failed" and one.detail:
        return f"the seed itself failed: {one.detail}"
    words = {"failed": "failed", "refused": "was refused", "held": "is held", "unknown": "was never met"}
    if one.outcome in words:
        return f"the seed itself {words[one.outcome]}"
    return "nothing is left under it"
