"""What would be decided if a URL were found today: asks every gate that needs no request, in the order of a journey; changes nothing.

With a store the learned gate uses the filters' memories, and robots.txt its stored record; without a store only the configuration is used.
The guard of addresses is asked if the host is an address, or has one in `dns.static`: any other name would have to be looked up.
"""

from __future__ import annotations

from typing import Final

import msgspec

from thresher.config.settings import Settings
from thresher.crawler.core.effects import Hold, Rewrite
from thresher.crawler.core.governing import governed, options_of
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Cause, CrawlURL, Mode, Reason, Verdict
from thresher.crawler.core.overriding import OverriddenOption, Overriding
from thresher.crawler.core.own_site import OwnSite
from thresher.crawler.core.robots import RobotsRecord
from thresher.crawler.core.url import URLSpace, hostname_of, port_of, queue_name
from thresher.crawler.core.url_rules import url_rules
from thresher.crawler.fetch.address_guard import AddressGuard
from thresher.crawler.fetch.given_addresses import GivenAddresses
from thresher.crawler.gates.link_gate import LinkGate
from thresher.crawler.gates.robots_cache import RobotsCache, RobotsStanding
from thresher.filters.base import LinkColumns
from thresher.filters.panel import Panel
from thresher.filters.registry import specs
from thresher.filters.scope import ScopeFilter
from thresher.filters.spec import FilterSpec
from thresher.storage.export.fields import iso
from thresher.storage.view import View

PASS = "pass"  # noqa: S105 - a word for people, no password
_GUARD: Final = "fetch.allow_addresses"


class Ruling(msgspec.Struct, kw_only=True):
    """One gate's answer. `by` is a filter or a setting; `answer` is "pass", a reason, or another action of the filter on the URL."""

    by: str
    gate: str
    mode: str = "enforce"
    override: str = ""  # `match` of the override by which the filter has this mode
    answer: str = PASS
    detail: str = ""

    @property
    def stops(self) -> bool:
        """Whether the URL would not be queued as it stands."""
        return self.answer != PASS and self.mode == "enforce"


class RobotsStory(msgspec.Struct, kw_only=True):
    """What the stored robots.txt of the URL's origin says about it."""

    standing: str  # allowed, denied, unreachable; unknown: never fetched, or too long ago
    kind: str | None = None  # rules; allow: there is no file; unreachable
    rules_allow: bool | None = None  # whether the rules of the last file allow it, however old that is
    status: int | None = None
    fetched_at: str | None = None
    expires_at: str | None = None
    crawl_delay: float | None = None
    detail: str | None = None


class Today(msgspec.Struct, kw_only=True):
    """The gates' answers, and their result as the end of the sentence "found today, it would …"."""

    rulings: list[Ruling]
    overrides: list[OverriddenOption] = []  # what overrides set for the URL, its host and its site
    robots: RobotsStory | None  # None without a store
    outcome: str


def decide(
    url: CrawlURL, depth: int | None, settings: Settings, space: URLSpace, view: View | None, now: float, *, is_seed: bool = False
) -> Today:
    """Ask every gate; a seed passes only the static one.

    Args:
        depth: Clicks from a seed; None if that is not known.
    """
    overriding = Overriding(settings)
    filters, said = specs(settings, settings.seeds), overriding.said(url.text)
    rulings = _static(url, filters)
    if view is None:
        rulings = [*_overridden(rulings, said), *_address(url, settings)]
        return Today(rulings=rulings, overrides=said, robots=None, outcome=_outcome(rulings, None))
    panel = Panel(
        filters,
        view.tables.memory,
        audit_share=settings.filters.audit_share,
        audit_share_of=lambda text: overriding.of(text).filters.audit_share,
    )
    gate = LinkGate(space, view.tables.seen, panel, settings)
    if not is_seed:
        rulings += [_depth(url, depth, gate), *_learned(url, panel)]
    rulings += _address(url, settings)
    rulings = [*_forgotten(url, view), *_overridden(rulings, said), *_not_asked(view)]
    robots = robots_story(url, RobotsCache(view.tables.robots, space, settings, agent=settings.identity.agent), now)
    return Today(rulings=rulings, overrides=said, robots=robots, outcome=_outcome(rulings, robots))


def _forgotten(url: CrawlURL, view: View) -> list[Ruling]:
    """Return the ruling if the operator has had the URL or its host taken down: then no other gate is asked."""
    names = (url.text, queue_name(url.host))
    found = [record for _, record in view.tables.forgotten.all() if record.text in names]
    answer = Reason.FORGOTTEN.value
    return [
        Ruling(by="forget", gate="takedown", answer=answer, detail=", ".join(filter(None, (one.text, iso(one.at), one.by, one.why))))
        for one in found[:1]
    ]


def _not_asked(view: View) -> list[Ruling]:
    """Name the plug-ins of the crawl that are not installed here."""
    said = "the crawl was made with it; install the plug-in to know what it would decide"
    return [Ruling(by=name, gate="plug-in", mode="unknown", answer="not installed", detail=said) for name in view.absent_filters]


def _static(url: CrawlURL, filters: tuple[FilterSpec, ...]) -> list[Ruling]:
    links = LinkColumns.of(url.text, url.host, url.site)
    variants = [spec.of(url.text) for spec in filters]
    said = [(spec, spec.static.refuses(links).get(0)) for spec in variants if spec.static is not None]
    return [
        Ruling(
            by=spec.name,
            gate="static",
            mode=spec.mode.value,
            answer=str(reason or PASS),
            detail=spec.static.detail(links) if reason is Reason.UNSAFE and isinstance(spec.static, ScopeFilter) else "",
        )
        for spec, reason in said
        if spec.mode is not Mode.OFF
    ]


def _overridden(rulings: list[Ruling], said: list[OverriddenOption]) -> list[Ruling]:
    """Add to the rulings the overrides that change an option of their gate for the URL, also those of filters that are off for it."""
    of_gate = {one.key.split(".")[1 if one.key.startswith("filters.") else 0]: one.match for one in said}
    of_gate |= {"scope" if one.key == "skip" else one.key: one.match for one in said}
    named = [msgspec.structs.replace(ruling, override=of_gate.get(ruling.by, "")) for ruling in rulings]
    off = [
        Ruling(by=one.key.split(".")[1], gate="override", mode="off", override=one.match, detail="not asked")
        for one in said
        if one.key.startswith("filters.") and one.key.endswith(".mode") and one.value == "off"
    ]
    return [*named, *off]


def _depth(url: CrawlURL, depth: int | None, gate: LinkGate) -> Ruling:
    if depth is None:
        return Ruling(by="limits.max_depth", gate="depth", detail="its distance from a seed is not known")
    answer = "depth_limit" if gate.is_too_deep(depth, url.text) else PASS
    return Ruling(by="limits.max_depth", gate="depth", answer=answer, detail=f"{depth} click{'' if depth == 1 else 's'} from a seed")


def _learned(url: CrawlURL, panel: Panel) -> list[Ruling]:
    """Ask the filters that learn, with their memories as they are; they learn nothing from it."""
    deliberation = panel.links(LinkBatch.of(url))
    of_url = {spec.name: spec.mode_of(url.text) for spec in panel.specs if spec.learned is not None}
    modes = {name: mode.value for name, mode in of_url.items() if mode is not Mode.OFF}
    said: dict[str, Ruling] = {}
    for verdicts, is_audited in ((deliberation.judgement.refused, bool(deliberation.audited)), (deliberation.said or {}, False)):
        for verdict in verdicts.values():
            said[verdict.filter] = _refusal(verdict, modes[verdict.filter], is_audited=is_audited)
    for who, effect in deliberation.effects:
        if isinstance(effect, Rewrite) and effect.url == url.text:
            said[who] = Ruling(by=who, gate="learned", answer="rewritten", detail=f"to {effect.to} by rule {effect.rule}")
        elif isinstance(effect, Hold) and effect.url == url.text:
            said[who] = Ruling(by=who, gate="learned", answer="held", detail=f"by {effect.holder}")
    return [said.get(name) or Ruling(by=name, gate="learned", mode=mode) for name, mode in modes.items()]


def _refusal(verdict: Verdict, mode: str, *, is_audited: bool) -> Ruling:
    evidence = ", ".join(f"{name} {value}" for name, value in verdict.evidence.items())
    if is_audited:
        return Ruling(by=verdict.filter, gate="learned", mode="audited", answer=str(verdict.reason), detail=evidence)
    return Ruling(by=verdict.filter, gate="learned", mode=mode, answer=str(verdict.reason or "refused_by_filter"), detail=evidence)


def _address(url: CrawlURL, settings: Settings) -> list[Ruling]:
    """Ask the guard of addresses, as every connection does; no ruling if the name would have to be looked up."""
    name = hostname_of(url.host)
    address = GivenAddresses(settings.dns.static).of(name)
    if not address:
        return []
    guard = AddressGuard(settings.fetch.allow_addresses, OwnSite.of(settings), url_rules(settings).ports)
    why = guard.refuses(address, name) or guard.refuses_port(address, port_of(url.host))
    answer, detail = (str(Cause.BLOCKED_ADDRESS), f"{address}: {why}") if why else (PASS, address)
    return [Ruling(by=_GUARD, gate="address", answer=answer, detail=detail)]


def robots_story(url: CrawlURL, book: RobotsCache, now: float) -> RobotsStory:
    """Return what robots.txt says about the URL, as far as it is known."""
    standing = book.ask(url, now).standing.value
    record = book.record(url.host)
    if record is None:
        return RobotsStory(standing=standing, detail="robots.txt of this origin has not been fetched")
    has_rules = record.kind == "rules"
    return RobotsStory(
        standing=standing,
        kind=record.kind,
        rules_allow=book.rules(record).allows(url.text) if has_rules else None,
        status=record.status or None,
        fetched_at=iso(record.fetched_at),
        expires_at=iso(record.expires_at),
        crawl_delay=book.crawl_delay(record) if has_rules else None,
        detail=_robots_detail(record, now, obeys=book.obeys(url)),
    )


def _robots_detail(record: RobotsRecord, now: float, *, obeys: bool) -> str | None:
    if not obeys:
        return "robots.txt is not obeyed for this URL"
    return record.detail or ("expired: it is fetched again before the next page" if record.expires_at <= now else None)


def _outcome(rulings: list[Ruling], robots: RobotsStory | None) -> str:
    """Return the result of all answers: the first gate that stops the URL decides."""
    for ruling in rulings:
        if ruling.stops:
            if ruling.by == _GUARD:
                return f"be queued and fail when its turn comes: {governed(ruling.answer, ruling.detail)}"
            said = governed(ruling.answer, ruling.by, ruling.detail)
            return f"be {said}" if ruling.answer in ("held", "rewritten") else f"be refused: {said}"
    audited = ", as an audit" if any(ruling.mode == "audited" for ruling in rulings) else ""
    if robots is None:
        return "pass every gate that the configuration alone decides"
    match robots.standing:
        case RobotsStanding.DENIED.value:
            return f"be queued{audited} and refused when its turn comes: robots.txt denies it ({options_of(Reason.ROBOTS_DENIED)})"
        case RobotsStanding.UNREACHABLE.value:
            wait = f"nothing is fetched before {robots.expires_at} ({options_of(Reason.ROBOTS_UNREACHABLE)})"
            return f"be queued{audited} and wait: robots.txt is unreachable, so that {wait}"
        case RobotsStanding.UNKNOWN.value:
            last = "" if robots.rules_allow is not False else "; the last one that was read denies it"
            return f"be queued{audited} and fetched if robots.txt, which would be fetched first, allows it{last}"
        case _:
            return f"be queued{audited} and fetched in its turn"
