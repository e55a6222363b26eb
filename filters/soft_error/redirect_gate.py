"""The redirect gate: judges a pair (original, end of its chain) once it is complete, by the log, a probe, and the target's text.

The first of these rules that applies decides:
    one URL in another spelling (spelling.py)          no redirect of the log: neither counted nor judged
    the target answered with an error status           counted; no soft error, since nothing is hidden
    a probe of the host ended at the same target       soft error; of home pages and seeds only if a gate or a parked host's page is there
    the target quotes the original, and others of its
    form were errors before                            soft error
    the target's words hint at an error, it looks like
    the probe's page, and the home page does not       soft error
    the target's words name an error or a gate         soft error from the third original on
    the probe was answered by an error status          no soft error
    its URL leads there without its parameter, too     the next place of the URL decides (probe.py); none if the target is that URL itself
    σ at the threshold                                 soft error [LEE09]; σ is the score of score.py, `sigma` in verdicts

A target whose URL quotes the original ("/login?next=…", "/404.asp?404;…") is counted without the quoted part: otherwise each original would
have a target of its own. A late verdict is also given to earlier originals of the target, if the target's count is small or has reached
a power of two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from urllib.parse import unquote

import msgspec
import xxhash

from thresher.config.settings import SoftErrorSettings
from thresher.crawler.core.effects import Effect, Park, Revise
from thresher.crawler.core.model import CrawlURL, Judgement, Reason, RedirectPair, Verdict
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import hostname_of, is_home, origin_of
from thresher.filters.base import NO_EFFECTS, Effects
from thresher.filters.soft_error import probe, stream
from thresher.filters.soft_error.kinds import ERRORS, GATES, WALLS, ErrorKind, kind_of
from thresher.filters.soft_error.looks import ProbeLikeness, compare, is_nearly
from thresher.filters.soft_error.records import (
    DIRECTORIES,
    HOSTS,
    LABELS,
    NAME,
    TARGETS,
    TEMPLATES,
    FaultySites,
    ProbedHost,
    ProbedPlace,
    ProbeOutcome,
    RedirectLabel,
    RedirectTarget,
    read_places,
    soft_error,
)
from thresher.filters.soft_error.spelling import same_page
from thresher.filters.soft_error.stream import PairKeys, RedirectEvidence
from thresher.filters.soft_error.url_kind import UrlKind, is_root, url_kind

N_WALLS = 3  # a host is parked if it has shown so many challenges, consent pages or empty shells, and nothing else
_SAID_BY_TARGET = 3  # originals from which on a target's own words suffice
_FEW = 8  # up to so many originals, all are judged again with each new one
_SITE = 8
_BY_URL = frozenset(ERRORS | GATES)
_BY_TEXT = frozenset(("same_target", "same_text"))
_CLEARED = (ProbeOutcome.HONEST, ProbeOutcome.IGNORED)
_WORDS = {
    ProbeOutcome.HONEST: "honest_404",
    ProbeOutcome.TARGET: "other_target",
    ProbeOutcome.TEXT: "other_text",
    ProbeOutcome.FAILED: "failed",
    ProbeOutcome.IGNORED: "ignored",
}


class PairFeatures(msgspec.Struct, array_like=True, frozen=True):
    """What judging a pair needs of it."""

    keys: PairKeys | None  # None: one URL in another spelling
    url: str = ""  # canonical URL of the original
    target: bytes = b""  # key of the target; `keys` has the key of the form under which it is counted
    directory: bytes = b""  # key of the original's directory
    day: int = 0
    url_kind: str = ""
    is_exempt: bool = False  # the original is a home page or a seed
    is_to_root: bool = False
    is_template: bool = False  # the target quotes the original
    status: int = 0  # of the target


class SoftErrorEvidence(msgspec.Struct, frozen=True):
    """The evidence for a soft error, if there is any."""

    kind: str = ""  # an ErrorKind; "": nothing
    probe: str = ""
    is_said: bool = False  # found by the target's own words: an honest answer to the probe does not refute it


class RedirectGate:
    """Judges redirect pairs; the only part that counts them."""

    name = NAME
    measure_type = PairFeatures

    def __init__(self, settings: SoftErrorSettings, faults: FaultySites) -> None:
        self._threshold = settings.threshold
        self._max_probes = settings.max_probes
        self._faults = faults

    def measure(self, pair: RedirectPair, /) -> PairFeatures:
        original, target = pair.original, pair.target
        if same_page(original.text, target.text):
            return PairFeatures(None)
        keys = stream.pair_keys(original, target)
        key = target_key(original, target)
        return PairFeatures(
            keys=msgspec.structs.replace(keys, target=key),
            url=original.text,
            target=target.key,
            directory=probe.directory_key(original),
            day=probe.day_of(pair.at),
            url_kind=url_kind(original.text, target.text) or "",
            is_exempt=original.seed_distance == 0 or is_home(original.text),
            is_to_root=is_root(target.text),
            is_template=key != target.key,
            status=pair.status,
        )

    def decide(self, measure: PairFeatures, memory: Memory, /) -> tuple[Verdict, Effects]:
        if measure.keys is None:
            return Verdict(NAME), NO_EFFECTS
        evidence = stream.evidence(memory, measure.keys)
        found = self._find(measure, measure.keys, evidence, memory, self._threshold)
        if not found.kind:
            return Verdict(NAME, score=evidence.score), NO_EFFECTS
        return soft_error(found.kind, found.probe, evidence), NO_EFFECTS

    def observe(self, measure: PairFeatures, judgement: Judgement, memory: Memory, /) -> Effects:
        keys = measure.keys
        if keys is None:
            return NO_EFFECTS
        evidence = stream.observe(memory, keys)
        found = self._find(measure, keys, evidence, memory, self._threshold)
        LABELS.put(memory, keys.original, RedirectLabel(measure.directory, bool(found.kind), measure.is_exempt, self._threshold))
        effects = [*self._note(measure, keys, found, memory)]
        if found.kind and (evidence.rescore or evidence.n_to_target <= _FEW):
            effects += relabel(memory, keys.target, found, host=keys.host)
        if not found.kind or found.probe == "none":
            effects += self._ask(measure, keys, evidence, memory)
        return tuple(effects)

    def again(self, measure: PairFeatures, memory: Memory, /) -> Effects:
        """Judge a pair again, with the others of its target, when more is known of the target."""
        keys = measure.keys
        label = LABELS.get(memory, keys.original) if keys is not None else None
        if keys is None or label is None:
            return NO_EFFECTS
        evidence = stream.evidence(memory, keys)
        found = self._find(measure, keys, evidence, memory, label.threshold)
        effects: list[Effect] = []
        if found.kind and not label.is_soft:
            LABELS.put(memory, keys.original, msgspec.structs.replace(label, is_soft=True))
            effects += [Revise(keys.original, soft_error(found.kind, found.probe, evidence)), *self._note(measure, keys, found, memory)]
        if found.kind:
            effects += relabel(memory, keys.target, found, host=keys.host)
        if not found.kind or found.probe == "none":
            effects += self._ask(measure, keys, evidence, memory)
        return tuple(effects)

    def _find(
        self, measure: PairFeatures, keys: PairKeys, evidence: RedirectEvidence, memory: Memory, threshold: float
    ) -> SoftErrorEvidence:
        """Judge a pair by what the memory contains now."""
        if 400 <= measure.status < 600:
            return SoftErrorEvidence()
        directory, host = read_places(memory, measure.directory, keys.host)
        target = TARGETS.get(memory, measure.target)
        form = TEMPLATES.get(memory, keys.target) if measure.is_template else None
        kind = form if form is not None and target is None else _kind(measure, target)
        word = _word(directory)
        if directory.target == keys.target or keys.target in host.landings:
            return SoftErrorEvidence(kind, "same_target") if kind in GATES or not measure.is_exempt else SoftErrorEvidence()
        if form is not None:
            return SoftErrorEvidence(kind, word, is_said=True)
        if target is not None and not measure.is_exempt and is_like_missing(target, directory, host):
            return SoftErrorEvidence(kind, "same_text")
        is_said = target.hint in _BY_URL if target is not None and target.hint else measure.url_kind in _BY_URL
        if is_said and evidence.n_to_target >= _SAID_BY_TARGET and not measure.is_exempt:
            return SoftErrorEvidence(kind, word, is_said=True)
        if evidence.score >= threshold and directory.outcome not in _CLEARED and not measure.is_exempt:
            return SoftErrorEvidence(kind, word)
        return SoftErrorEvidence()

    def _note(self, measure: PairFeatures, keys: PairKeys, found: SoftErrorEvidence, memory: Memory) -> Iterator[Effect]:
        """Count the result for the directory and for the host."""
        directory, host = read_places(memory, measure.directory, keys.host)
        if directory.answers_everything:
            directory.n_soft, directory.n_good = directory.n_soft + bool(found.kind), directory.n_good + (not found.kind)
            DIRECTORIES.put(memory, measure.directory, directory)
        if found.kind and measure.is_template and found.kind != ErrorKind.ROOT:
            TEMPLATES.put(memory, keys.target, found.kind)
            self._faults.note(memory, keys.target)
        if found.kind in WALLS:
            yield from count_walls(memory, keys.host, host, 1, origin_of(measure.url))

    def _ask(self, measure: PairFeatures, keys: PairKeys, evidence: RedirectEvidence, memory: Memory) -> Effects:
        """Request a probe if the pair is suspicious and the directory was not probed lately."""
        if 400 <= measure.status < 600:
            return NO_EFFECTS
        target = TARGETS.get(memory, measure.target)
        is_repeated = evidence.n_to_target > 1 and evidence.n_from_host > evidence.n_targets
        is_shared = evidence.n_to_target >= _SAID_BY_TARGET and evidence.n_from_host == 1
        if not (measure.url_kind or (target is not None and target.hint) or is_repeated or is_shared):
            return NO_EFFECTS
        for place in probe.places(measure.url):
            key = probe.key_of_directory(place.directory, origin_of(measure.url), keys.original)
            directory = DIRECTORIES.get(memory, key) or ProbedPlace()
            if probe.is_probed(directory, measure.day) and directory.outcome == ProbeOutcome.IGNORED:
                continue
            if probe.is_probed(directory, measure.day):
                return NO_EFFECTS
            return probe.ask(memory, place, (key, keys.host), measure.day, max_probes=self._max_probes, suspect=keys.target)
        return NO_EFFECTS


def count_walls(memory: Memory, key: bytes, host: ProbedHost, n: int, origin: str) -> Iterator[Effect]:
    """Count a host's pages that are a wall without content; once it has shown nothing else, ask that the host be parked."""
    host.n_walls += n
    HOSTS.put(memory, key, host)
    if host.n_walls >= N_WALLS > host.n_walls - n and not host.is_good:
        yield Park(origin, Reason.WALLED)


def relabel(memory: Memory, target: bytes, found: SoftErrorEvidence, *, host: bytes) -> Iterator[Effect]:
    """Give earlier originals of a target the verdict that was found for one of `host`.

    These originals get it: those whose σ reaches the threshold for their URL; and all of `host`, unless the verdict was found by σ.
    """
    is_by_score = not found.is_said and found.probe not in _BY_TEXT
    of_host = dict(stream.originals(memory, target))
    places: dict[bytes, ProbedPlace] = {}
    n_labelled: Counter[bytes] = Counter()
    for original, evidence in list(stream.relabels(memory, target)):
        label = LABELS.get(memory, original)
        if label is None or label.is_soft or (label.is_exempt and found.kind not in GATES):
            continue
        if evidence.score < label.threshold and (is_by_score or of_host[original] != host):
            continue
        if label.directory not in places:
            places[label.directory] = DIRECTORIES.get(memory, label.directory) or ProbedPlace()
        if found.is_said or places[label.directory].outcome != ProbeOutcome.HONEST:
            n_labelled[label.directory] += 1
            LABELS.put(memory, original, msgspec.structs.replace(label, is_soft=True))
            yield Revise(original, soft_error(found.kind, found.probe, evidence))
    for key, n in n_labelled.items():
        if places[key].answers_everything:
            places[key].n_soft += n
            DIRECTORIES.put(memory, key, places[key])


def target_key(original: CrawlURL, target: CrawlURL) -> bytes:
    """Return the key under which a target is counted: its own, or that of its form without the part that quotes the original."""
    form = template(original.text, target.text)
    return target.key if form == target.text else target.key[:_SITE] + xxhash.xxh3_64_digest(form.encode())


def template(original: str, target: str) -> str:
    """Return a target without the values of its query that quote the original's path or host name; the target itself if none does."""
    base, mark, query = target.partition("?")
    if not mark:
        return target
    origin = origin_of(original)
    hostname, path = hostname_of(origin), original[len(origin) :]
    quotes = [quote for quote in (hostname, path, unquote(path)) if len(quote) > 1]
    kept = []
    for field in query.split("&"):
        name, equals, value = field.partition("=")
        plain = unquote(value if equals else name)
        kept.append((name + "=" if equals else "") if any(quote in plain for quote in quotes) else field)
    return f"{base}?{'&'.join(kept)}"


def is_like_missing(target: RedirectTarget, directory: ProbedPlace, host: ProbedHost) -> bool:
    """Return whether a target whose words hint at an error or a gate looks like a missing page, and the home page does not."""
    if not target.hint or not directory.looks or (host.home is not None and is_nearly(target.look, host.home)):
        return False
    return compare(target.look, directory.looks) is ProbeLikeness.SAME


def _kind(measure: PairFeatures, target: RedirectTarget | None) -> str:
    hint = target.hint if target is not None else ""
    if measure.is_to_root and hint not in GATES:
        return ErrorKind.ROOT
    return kind_of(hint, UrlKind(measure.url_kind) if measure.url_kind else None)


def _word(directory: ProbedPlace) -> str:
    """Return the probe's result, for the record, if it did not decide."""
    return _WORDS.get(ProbeOutcome(directory.outcome), "asked" if directory.day >= 0 else "none")
