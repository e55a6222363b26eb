"""The soft-error filter as it is plugged in: redirect gate, page gate, learned gate, and what probes come to.

`plug` puts together RedirectGate (redirects.py), PageGate (pages.py), and here:
    LinkGate    links that lead to a known soft error only are not enqueued: those of a form ("/login?next=…") that soft errors lead to, and
                those of a directory that answers everything, once `give_up_after` soft errors were met there for each good page. What was
                queued before is asked again when its turn comes
    Prober      learns from the answer to a probe and revises the verdicts on what waited for it

The four share one memory (records.py, stream.py) and, of the same mode, one verdict name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import NoneType

import msgspec

from config.settings import SoftError
from crawler.core.model import Answer, CrawlURL, Effect, LinkBatch, Mode, Purpose, Request, Revise, Verdict
from crawler.core.ownership import Ownership
from crawler.core.ports import Memory
from crawler.core.url import origin_of
from filters.base import NO_EFFECTS, NOTHING_REFUSED, Effects, LinkJudgement, LinkRuling, Plug
from filters.soft_error import probe, stream
from filters.soft_error.abroad import Shared, SharedGate, SharedProber
from filters.soft_error.kinds import ERRORS, GATES, WALLS, Kind, hint_of, kind_of
from filters.soft_error.looks import AKIN, Likeness, Look, compare, look_of, spread_of
from filters.soft_error.pages import PageGate
from filters.soft_error.records import (
    DIRECTORIES,
    HOPS,
    HOSTS,
    LABELS,
    NAME,
    SUSPECTS,
    TARGETS,
    TEMPLATES,
    Directory,
    FaultySites,
    Hop,
    Host,
    Label,
    Outcome,
    Suspect,
    Text,
    no_soft_error,
    read_places,
    soft_error,
)
from filters.soft_error.redirects import Finding, RedirectGate, count_walls, relabel, target_key, template
from filters.soft_error.url_kind import is_root, url_kind

_MOST_HOPS = 4  # of a probe's redirects that are followed
_MOST_LANDINGS = 8  # of a host
_MOST_TEXTS = 4
_SITE = 8


def plug(settings: SoftError, owners: Ownership | None = None) -> Plug:
    """Return the filter with all its parts.    owners: of sites, where there are several agents"""
    faults = FaultySites()
    redirect, prober = RedirectGate(settings, faults), Prober(settings, faults)
    shared = Shared(redirect, faults, owners) if owners is not None else None
    return Plug(
        NAME,
        Mode(settings.mode),
        learned=LinkGate(settings, faults),
        again=faults.has,
        redirect=redirect if shared is None else SharedGate(redirect, shared),
        page=PageGate(settings),
        asker=prober if shared is None else SharedProber(prober, shared),
        correspondent=shared,
    )


class LinkGate:
    """Learned gate; it learns nothing itself. One read for each site, two for each link to a site with a fault."""

    name = NAME
    measure_type = NoneType

    def __init__(self, settings: SoftError, faults: FaultySites) -> None:
        self._give_up_after = settings.give_up_after
        self._faults = faults

    def measure(self, batch: LinkBatch, /) -> LinkBatch:
        return batch

    def decide(self, batch: LinkBatch, memory: Memory, /) -> tuple[LinkRuling, Effects]:
        faulty = {site for site in {key[:_SITE] for key in batch.keys} if self._faults.has(site, memory)}
        if not faulty:
            return NOTHING_REFUSED, NO_EFFECTS
        links = [i for i, key in enumerate(batch.keys) if key[:_SITE] in faulty]
        refused = {i: verdict for i in links if (verdict := self._refuses(batch, i, memory)) is not None}
        return (LinkRuling(refused) if refused else NOTHING_REFUSED), NO_EFFECTS

    def observe(self, batch: LinkBatch, judgement: LinkJudgement, memory: Memory, /) -> Effects:
        return NO_EFFECTS

    def _refuses(self, batch: LinkBatch, i: int, memory: Memory) -> Verdict | None:
        """Return why a link is not to be followed: its directory is closed, or it is of a form that soft errors lead to."""
        text, key, source = batch.texts[i], batch.keys[i], batch.source
        is_again = key == source.key  # a known URL whose turn has come
        if is_again and source.seed_distance == 0:
            return None
        directory = DIRECTORIES.get(memory, probe.key_of_directory(probe.directory_of(text), batch.hosts[i], key))
        if directory is not None and directory.is_closed(self._give_up_after):
            return soft_error(directory.kind or Kind.NOT_FOUND, "directory")
        if "?" not in text or is_again or template(source.text, text) == text:
            return None
        kind = TEMPLATES.get(memory, target_key(source, CrawlURL(text, batch.sites[i], batch.hosts[i], key)))
        return soft_error(kind, "target") if kind is not None else None


class Reduced(msgspec.Struct, array_like=True, frozen=True):
    """What an answer teaches."""

    url: str
    key: stream.Key
    directory: stream.Key
    host: stream.Key
    day: int
    status: int
    failure: str
    target: str = ""  # of a redirect
    target_key: bytes = b""  # its own
    counted_as: bytes = b""  # its key in the redirect log
    is_home: bool = False
    look: Look | None = None
    hint: str = ""

    def __post_init__(self) -> None:
        n_bytes = len(self.key) if self.target else 0
        if (len(self.target_key), len(self.counted_as)) != (n_bytes, n_bytes):
            raise ValueError(f"expected keys of {n_bytes} bytes of the target {self.target!r}")


class Prober:
    """Learns from answers to probes."""

    name = NAME
    answer_type = Reduced

    def __init__(self, settings: SoftError, faults: FaultySites) -> None:
        self._threshold = settings.threshold
        self._max_probes = settings.max_probes
        self._faults = faults

    def reduce(self, answer: Answer, /) -> Reduced:
        url, page, target = answer.url, answer.page, answer.target
        is_url = bool(url.host)
        return Reduced(
            url=url.text,
            key=url.key,
            directory=probe.directory_key(url) if is_url else url.key,
            host=stream.host_key(url) if is_url else url.key,
            day=probe.day_of(answer.at),
            status=answer.status,
            failure=answer.failure,
            target=target.text if target else "",
            target_key=target.key if target else b"",
            counted_as=target_key(url, target) if target else b"",
            is_home=is_root(url.text) if is_url else False,
            look=look_of(page) if page else None,
            hint=hint_of(page).kind if page else "",
        )

    def answered(self, reduced: Reduced, memory: Memory, /) -> Effects:
        hop = HOPS.get(memory, reduced.key)
        if hop is not None:
            HOPS.delete(memory, reduced.key)
        keys = (hop.directory, hop.host) if hop else (reduced.directory, reduced.host)
        return tuple(self._learn(reduced, hop, keys, memory))

    def _learn(self, answer: Reduced, hop: Hop | None, keys: tuple[bytes, bytes], memory: Memory) -> Iterator[Effect]:
        directory, host = read_places(memory, *keys)
        landings = [hop.counted_as, answer.key] if hop else []
        if answer.target:
            is_known = answer.counted_as in (directory.suspect, *host.landings) or stream.n_to_target(memory, answer.counted_as) > 0
            if not is_known and (hop is None or hop.n < _MOST_HOPS):
                HOPS.put(memory, answer.target_key, Hop(*keys, hop.n + 1 if hop else 1, hop.counted_as if hop else answer.counted_as))
                yield Request(answer.target, Purpose.PROBE)
                return
            landings = [*landings[:1], answer.counted_as]
        if answer.failure:
            yield from self._failed(directory, keys, memory)
        elif answer.status >= 400:
            yield from self._honest(directory, keys, memory)
        elif _is_home_again(answer, host):
            yield from self._failed(directory, keys, memory)
        else:
            yield from self._landed(answer, landings, (directory, host), keys, memory)

    def _failed(self, directory: Directory, keys: tuple[bytes, bytes], memory: Memory) -> Iterator[Effect]:
        """Nothing was learned; what the first of two probes said stands."""
        if directory.outcome == Outcome.NONE:
            directory.outcome = Outcome.FAILED
            DIRECTORIES.put(memory, keys[0], directory)
        _forget_suspects(keys[0], memory)
        yield from ()

    def _honest(self, directory: Directory, keys: tuple[bytes, bytes], memory: Memory) -> Iterator[Effect]:
        """What is missing is said to be missing: clear what was suspected, but for targets that name themselves an error or a gate."""
        directory.outcome = Outcome.HONEST
        directory.n_soft = directory.n_good = 0
        DIRECTORIES.put(memory, keys[0], directory)
        _forget_suspects(keys[0], memory)
        target = TARGETS.get(memory, directory.suspect) if directory.suspect else None
        if not directory.suspect or (target is not None and target.hint in ERRORS | GATES):
            return
        for original, evidence in list(stream.relabels(memory, directory.suspect)):
            label = LABELS.get(memory, original)
            if label is not None and label.is_soft and label.directory == keys[0]:
                LABELS.put(memory, original, Label(label.directory, is_soft=False, is_exempt=label.is_exempt))
                yield Revise(original, no_soft_error("honest_404", evidence))

    def _landed(
        self, answer: Reduced, landings: Sequence[bytes], places: tuple[Directory, Host], keys: tuple[bytes, bytes], memory: Memory
    ) -> Iterator[Effect]:
        """What is missing leads somewhere, or looks like something."""
        directory, host = places
        if landings:
            directory.outcome, directory.target = Outcome.TARGET, landings[0]
            host.landings = [*host.landings, *(key for key in dict.fromkeys(landings) if key not in host.landings)][-_MOST_LANDINGS:]
        else:
            directory.outcome = Outcome.TEXT
        if answer.look is not None:
            directory.looks = [*directory.looks, answer.look][-2:]
            directory.kind = answer.hint
        DIRECTORIES.put(memory, keys[0], directory)
        HOSTS.put(memory, keys[1], host)
        self._faults.note(memory, keys[0])
        found = Finding(_landing_kind(landings, answer, memory), "same_target")
        if answer.target and answer.counted_as != answer.target_key and found.kind != Kind.ROOT:
            TEMPLATES.put(memory, answer.counted_as, found.kind)
            self._faults.note(memory, answer.counted_as)
        for landing in dict.fromkeys(landings):
            yield from relabel(memory, landing, found, host=keys[1], threshold=self._threshold)
        if directory.suspect and directory.suspect not in landings:
            yield from self._compare_target(directory, keys, memory)
        yield from self._settle_suspects(answer, landings, keys, memory)

    def _compare_target(self, directory: Directory, keys: tuple[bytes, bytes], memory: Memory) -> Iterator[Effect]:
        """The probe was answered with a page: does the suspects' target look like it?"""
        target = TARGETS.get(memory, directory.suspect)
        if target is None or not directory.looks or compare(target.look, directory.looks) is not Likeness.SAME:
            return
        found = Finding(target.hint or directory.kind or Kind.NOT_FOUND, "same_text")
        yield from relabel(memory, directory.suspect, found, host=keys[1], threshold=self._threshold)

    def _settle_suspects(self, answer: Reduced, landings: Sequence[bytes], keys: tuple[bytes, bytes], memory: Memory) -> Iterator[Effect]:
        """Revise the verdicts on pages that waited; ask for a second probe if one leaves a page in doubt."""
        directory, host = read_places(memory, *keys)
        n_walls, is_unsure = 0, False
        said: Suspect | None = None
        for key, suspect in SUSPECTS.scan(memory, keys[0]):
            likeness = compare(suspect.look, directory.looks) if directory.looks else Likeness.OTHER
            if suspect.page in landings:
                likeness = Likeness.SAME
            if likeness is Likeness.UNSURE:
                is_unsure = True
                continue
            SUSPECTS.delete(memory, key)
            if likeness is Likeness.SAME and (not suspect.is_exempt or suspect.hint in GATES):
                kind = suspect.hint or directory.kind or Kind.NOT_FOUND
                yield Revise(suspect.page, soft_error(kind, "same_target" if suspect.page in landings else "same_text"))
                said = suspect
                directory.n_soft += 1
                n_walls += kind in WALLS
        if said is not None and len(host.texts) < _MOST_TEXTS and directory.looks:
            host.texts.append(Text(directory.looks[0], spread_of(directory.looks), said.hint or directory.kind or Kind.NOT_FOUND))
        DIRECTORIES.put(memory, keys[0], directory)
        HOSTS.put(memory, keys[1], host)
        if n_walls:
            yield from count_walls(memory, keys[1], host, n_walls, origin_of(answer.url))
        if is_unsure:
            again = probe.ask(memory, answer.url, keys, answer.day, max_probes=self._max_probes)
            if not again:
                _forget_suspects(keys[0], memory)
            yield from again


def _is_home_again(answer: Reduced, host: Host) -> bool:
    """Tell whether a script has shown the host's home, since it ignores what it was asked for: that says nothing about what is missing."""
    if "?" not in answer.url or answer.target or answer.hint or answer.look is None or host.home is None:
        return False
    return compare(answer.look, (host.home,), spread=AKIN) is Likeness.SAME


def _forget_suspects(directory: bytes, memory: Memory) -> None:
    for key, _ in SUSPECTS.scan(memory, directory):
        SUSPECTS.delete(memory, key)


def _landing_kind(landings: Sequence[bytes], answer: Reduced, memory: Memory) -> str:
    """Name what is missing from where it leads: what the page there says, else a home page, else a missing page."""
    hints = [target.hint for landing in landings if (target := TARGETS.get(memory, landing)) is not None and target.hint]
    hint = answer.hint or next(iter(hints), "")
    if hint not in GATES and (answer.is_home or (answer.target and is_root(answer.target))):
        return Kind.ROOT
    return kind_of(hint, url_kind(answer.url, answer.target) if answer.target else None)
