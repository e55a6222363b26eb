"""The panel: asks every filter at a gate, in the registry's order, and makes one judgement of their answers.

Every filter is asked, even if an earlier one has refused, so that scores are complete. Nothing here awaits: no other page of a site can be
judged between a judgement and what is learned from it. If a filter observes, its verdicts are recorded and its effects are dropped; it
changes no judgement. Overrides may give a filter another mode and other settings for some URLs (variants.py). Of what enforcing filters
refuse at the learned gate, a small share passes all the same, as an audit; it is chosen by the URL's key, so that a replay chooses the same
links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from types import NoneType
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from thresher.crawler.core.effects import Effect, Hold, Rewrite
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import NEEDS_BROWSER, CrawlURL, Head, Judgement, Mode, Page, Reason, RedirectPair, Verdict
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import hostname_of, origin_of, site_of
from thresher.filters.base import NOTHING_REFUSED, Gate, LinkColumns, LinkJudgement
from thresher.filters.capabilities import Relinks
from thresher.filters.deliberation import NO_OBJECTION, Asked, Deliberation, Learned, Turn
from thresher.filters.evidence.decay import Recent
from thresher.filters.evidence.undo import NAME as UNDO
from thresher.filters.evidence.undo import Undo, UndoableMemory
from thresher.filters.journal import JournalRecord, decode_judgement
from thresher.filters.link_rulings import audit, leave_out_changed, merge
from thresher.filters.observing import GatePart, Lessons
from thresher.filters.reports import Reports
from thresher.filters.spec import FilterSpec, Foresight
from thresher.filters.variants import may_have, ruling_on
from thresher.filters.variants import refused as refused_by

_KEY: Final = 16
_SITE: Final = 8


def _measured(spec: FilterSpec, page: Page) -> Any:
    return spec.of(page.url.text).part(Gate.PAGE).measure(page)


@lru_cache(maxsize=512)
def _all_of(n: int) -> npt.NDArray[np.bool_]:
    """Return n times True, which cannot be written to: nearly every batch of links is admitted whole."""
    mask = np.ones(n, dtype=np.bool_)
    mask.flags.writeable = False
    return mask


def _foresee(foresee: Foresight, memory: Memory, page: Page, queue: bytes) -> None:
    foresee(page, queue, memory)


class Panel:
    """The configured filters with their memories."""

    def __init__(
        self,
        specs: Sequence[FilterSpec],
        memory_of: Callable[[str], Memory],
        *,
        audit_share: float,
        audit_share_of: Callable[[str], float] | None = None,
        stands: Callable[[str], bool] = lambda _target: True,
    ) -> None:
        """Create the panel.

        Args:
            specs: The filters, in the order in which they are asked.
            memory_of: The memory of a filter, by its name.
            audit_share: Share of refused links that pass as audits, 0 to 1.
            audit_share_of: That share for a URL, if it differs by URL.
            stands: Returns whether the target of a rewrite may still lead to a page; if not, the rewrite is dropped.
        """
        self.specs = tuple(specs)
        self._stands = stands
        self._audit_share = audit_share_of or (lambda _text: audit_share)
        self._spec_of = {spec.name: spec for spec in specs}
        may_void = any(spec.voids and spec.mode is Mode.ENFORCE for spec in specs)
        self._undo = Undo(memory_of(UNDO)) if may_void else None
        self._memories = {spec.name: self._memory(spec, memory_of(spec.name)) for spec in specs}
        self.reports = Reports(self.specs, self._memories)
        self._enforcing = frozenset(spec.name for spec in specs if spec.mode is Mode.ENFORCE)
        self._recent = {spec.name: spec.recent for spec in specs if spec.recent}
        self._static = [spec for spec in specs if spec.static]
        self._static_observing = [spec for spec in self._static if spec.by_url is not None or spec.mode is Mode.OBSERVE]
        self._head = [spec for spec in specs if spec.head]
        self._learning = {
            gate: [spec for spec in specs if spec.part(gate)] for gate in (Gate.LEARNED, Gate.REDIRECT, Gate.PAGE, Gate.RELINKS)
        }
        self._learning[Gate.UNREAD] = [spec for spec in specs if spec.unread and spec.page]
        self._parts = {gate: [self._part(spec, gate) for spec in learning] for gate, learning in self._learning.items()}
        self._again = [spec for spec in specs if (spec.again or spec.by_url) and spec.learned]
        self.lessons = Lessons(self.specs, self._parts)

    def _part(self, spec: FilterSpec, gate: Gate) -> GatePart:
        part = spec.part(gate)
        is_simple = spec.by_url is None and spec.mode is Mode.ENFORCE
        return GatePart(spec, part, self._memories[spec.name], getattr(part, "measure_type", None) is not NoneType, is_simple)

    def _memory(self, spec: FilterSpec, memory: Memory) -> Memory:
        """Return a filter's memory, wrapped so that its changes can be undone.

        The memory of the filter that asks for the undoing is not wrapped.
        """
        return memory if self._undo is None or spec.voids else self._undo.over(spec.name, memory)

    def enforces(self, name: str, text: str | None = None) -> bool:
        """Return whether the filter of this name is in mode `enforce` for a URL; if no URL is given, for any URL."""
        return name in self._enforcing and (text is None or self._spec_of[name].mode_of(text) is Mode.ENFORCE)

    def finds_likeness(self, judgement: Judgement) -> bool:
        """Return whether an enforcing filter says that the page resembles a kept one."""
        return any(verdict.tells_likeness and self.enforces(verdict.filter) for verdict in judgement.standing)

    def varies(self, name: str) -> bool:
        """Return whether the mode of a filter differs by URL."""
        spec = self._spec_of.get(name)
        return spec is not None and spec.by_url is not None

    def recent(self, holder: str) -> Recent | None:
        """Return what the latest fetches of a class gave, as counted by the filter that named the class."""
        name = holder.partition(" ")[0]
        find = self._recent.get(name)
        return None if find is None else find(holder, self._memories[name])

    def static(self, links: LinkColumns) -> dict[int, tuple[Reason, str]]:
        """Return the refused links: position → (reason, filter). Pure: a caller may cache the answer for a URL."""
        refused: dict[int, tuple[Reason, str]] = {}
        for spec in self._static:
            for i, reason in refused_by(spec, links, Mode.ENFORCE):
                refused.setdefault(i, (reason, spec.name))
        return refused

    def head(self, head: Head) -> tuple[Reason, str] | None:
        """Return the reason why the body is not wanted and the filter that says so; None if it is wanted."""
        for spec in self._head:
            if (reason := self._of_head(spec, head, Mode.ENFORCE)) is not None:
                return reason, spec.name
        return None

    def static_said(self, links: LinkColumns) -> list[str]:
        """Return the filters that would refuse links but only observe, each once for a link."""
        return [spec.name for spec in self._static_observing for _ in refused_by(spec, links, Mode.OBSERVE)]

    def head_said(self, head: Head) -> list[str]:
        """Return the filters that would refuse the body but only observe."""
        return [spec.name for spec in self._head if self._of_head(spec, head, Mode.OBSERVE) is not None]

    def _of_head(self, spec: FilterSpec, head: Head, mode: Mode) -> Reason | None:
        """Return the reason why a filter refuses a body, if it is in this mode."""
        of = spec.of(head.url.text)
        return of.head.refuses(head) if of.mode is mode and of.head is not None else None

    def turn(self, url: CrawlURL) -> Turn:
        """Judge a URL once more just before it is requested: which filters now hold, rewrite or refuse it, and which observers would."""
        self.lessons.before(url.key[:_SITE])
        asked_again = [spec for spec in self._again if (again := spec.of(url.text).again) and again(url.key, self._memories[spec.name])]
        if not asked_again:
            return NO_OBJECTION
        batch = LinkBatch.of(url)
        holds: list[Asked] = []
        refused: dict[int, Verdict] = {}
        said: list[str] = []
        for spec in asked_again:
            _, against, would, effects = ruling_on(spec, batch, self._memories[spec.name])
            merge(against, into=refused)
            holds += [(spec.name, each) for each in self._standing(effects) if isinstance(each, Hold | Rewrite) and each.url == url.text]
            said += [spec.name] if would else []
        if not (holds or refused):
            return Turn((), None, tuple(said)) if said else NO_OBJECTION
        audited, kept = audit(batch, refused, holds, self._audit_share)
        return Turn(tuple(kept), None if audited else refused.get(0), tuple(said))

    def unread(self, page: Page) -> Deliberation[Judgement]:
        """Let the filters that asked for it (`FilterSpec.unread`) learn from an answer whose body was refused; return what they learned."""
        measures = tuple(spec.of(page.url.text).part(Gate.UNREAD).measure(page) for spec in self._learning[Gate.UNREAD])
        return Deliberation(Gate.UNREAD, Judgement(keep=False, follow=False, verdicts=()), (), measures, subject=page.url.text)

    def wants_relinks(self, source: CrawlURL) -> bool:
        """Return whether any filter wants to know which known URLs a page names."""
        listeners = self._learning[Gate.RELINKS]
        asked = [(spec.name, spec.of(source.text)) for spec in listeners]
        return any(of.mode is not Mode.OFF and of.part(Gate.RELINKS).listens(source, self._memories[name]) for name, of in asked)

    def relinks(self, naming: Relinks, judgement: Judgement) -> Deliberation[Judgement]:
        """Let the filters that asked for it learn from the known URLs that a page names; return what they learned.

        Args:
            judgement: The panel's judgement of the page.
        """
        measures = tuple(spec.of(naming.source.text).part(Gate.RELINKS).measure(naming) for spec in self._learning[Gate.RELINKS])
        return Deliberation(Gate.RELINKS, judgement, (), measures, subject=naming.source.text)

    def measurers(self) -> list[Callable[[Page], Any]]:
        """Return the `measure` functions of the filters at the page gate. They are pure, so a caller may measure many pages beforehand."""
        return [partial(_measured, spec) if spec.by_url else spec.part(Gate.PAGE).measure for spec in self._learning[Gate.PAGE]]

    def foreseers(self) -> list[Callable[[Page, bytes], None]]:
        """Return functions that compute beforehand what learning from a page will probably need, and keep it beside the page's fields.

        They change nothing else, and an outcome does not depend on them: a caller that has many pages at hand saves time by them, since the
        code and the tables that they need then stay in the processor's caches. Arguments: a page, and the key of its host's queue.
        """
        return [partial(_foresee, spec.foresee, self._memories[spec.name]) for spec in self.specs if spec.foresee is not None]

    def page(self, page: Page, measures: Sequence[Any] | None = None) -> Deliberation[Judgement]:
        """Judge a page; nothing is learned yet.

        Args:
            measures: By the `measurers` in their order, if they have been asked already.
        """
        self.lessons.before(page.url.key[:_SITE])
        measured = measures if measures is not None else [measure(page) for measure in self.measurers()]
        made = self._judge(Gate.PAGE, measured, page.url.text)
        if NEEDS_BROWSER.isdisjoint(page.flags):
            return made
        return msgspec.structs.replace(made, judgement=msgspec.structs.replace(made.judgement, new=False))  # there is no text to compare

    def redirect(self, pair: RedirectPair) -> Deliberation[Judgement]:
        """Judge a redirect whose end has settled; nothing is learned yet."""
        return self._judge(
            Gate.REDIRECT,
            [spec.of(pair.original.text).part(Gate.REDIRECT).measure(pair) for spec in self._learning[Gate.REDIRECT]],
            pair.original.text,
        )

    def links(self, batch: LinkBatch) -> Deliberation[LinkJudgement]:
        """Judge the new links of a page; nothing is learned yet."""
        self.lessons.before(*batch.site_keys)
        refused: dict[int, Verdict] = {}
        said: dict[int, Verdict] = {}
        effects: list[Asked] = []
        measures = []
        for spec, part, memory, _, is_simple in self._parts[Gate.LEARNED]:
            if is_simple:
                measure = part.measure(batch)
                ruling, may = part.decide(measure, memory)
                measures.append(measure)
                if ruling is NOTHING_REFUSED and not may:
                    continue
                against, would = ruling.refused, None
            else:
                measure, against, would, may = ruling_on(spec, batch, memory)
                measures.append(measure)
            if against:
                merge(against, into=refused)
            if would:
                merge(would, into=said)
            if may:
                effects += [(spec.name, effect) for effect in self._standing(may)]
        if not (refused or effects):
            judgement = LinkJudgement(_all_of(len(batch)), refused)
            return Deliberation(Gate.LEARNED, judgement, (), tuple(measures), subject=batch.source.text, said=said)
        admitted = _all_of(len(batch)).copy()
        audited, kept_effects = audit(batch, refused, effects, self._audit_share)
        if refused:
            admitted[[i for i in refused if i not in audited]] = False
        leave_out_changed(batch, kept_effects, admitted)
        judgement = LinkJudgement(admitted, refused)
        return Deliberation(Gate.LEARNED, judgement, tuple(kept_effects), tuple(measures), audited, batch.source.text, said)

    def learn(self, deliberation: Deliberation[Any]) -> Learned:
        """Let every filter at the gate observe the judgement; return the effects that they ask for and what the journal keeps."""
        return self.lessons.learn(deliberation)

    def void(self, site: bytes) -> JournalRecord | None:
        """Let the filters forget what they learned about a site since it was last believed; return the record for the journal."""
        if self._undo is None:
            return None
        self._undo.void(site)
        for spec in self.specs:
            if spec.on_restored is not None:
                spec.on_restored(site)
        return JournalRecord(Gate.VOID, site, [])

    def believe(self, site: bytes) -> JournalRecord | None:
        """Believe what the filters have learned about a site; return the record for the journal."""
        if self._undo is None:
            return None
        self._undo.believe(site)
        return JournalRecord(Gate.BELIEVED, site, [])

    def again(self, keys: Sequence[bytes]) -> JournalRecord | None:
        """Tell the filters which pages are fetched again, since a wall may have answered in their place; return the record for the journal.

        What they note of it is not undone: it is no evidence.
        """
        listeners = [(spec.on_again, self._memories[spec.name]) for spec in self.specs if spec.on_again is not None]
        if not listeners or not keys:
            return None
        for on_again, memory in listeners:
            on_again(keys, memory.memory if isinstance(memory, UndoableMemory) else memory)
        return JournalRecord(Gate.AGAIN, b"".join(keys), [])

    def save(self) -> None:
        """Write the notes for a later undo to the open group. Called at the end of each visit."""
        if self._undo is not None:
            self._undo.save()

    def replay(self, records: Iterable[JournalRecord]) -> None:
        """Teach the filters from the journal what they learned when it was written."""
        for record in records:
            match Gate(record.gate):
                case Gate.TAIL:  # changes no filter's memory; crawler/analysis/tail_replay.py replays it
                    pass
                case Gate.STUDY:
                    for name, finding in record.measures:
                        self.reports.on_finding(name, record.judgement, finding)
                case Gate.VOID:
                    self.void(record.judgement)
                case Gate.BELIEVED:
                    self.believe(record.judgement)
                case Gate.AGAIN:
                    self.again([record.judgement[at : at + _KEY] for at in range(0, len(record.judgement), _KEY)])
                case Gate.ANSWER:
                    for name, reduced in record.measures:
                        self.reports.on_reduced_answer(name, reduced)
                case Gate.NEWS:
                    for name, news in record.measures:
                        self.reports.on_news(name, news)
                case gate:
                    self._observe_again(gate, record)

    def _observe_again(self, gate: Gate, record: JournalRecord) -> None:
        judgement = decode_judgement(gate, record.judgement)
        of = {spec.name: spec.of(record.subject) if record.subject else spec for spec in self._learning[gate]}
        parts = {name: spec.part(gate) for name, spec in of.items()}
        for name, measure in record.measures:
            if name in parts:
                decoded = msgspec.msgpack.decode(measure, type=parts[name].measure_type)
                parts[name].observe(decoded, judgement, self._memories[name])

    def _judge(self, gate: Gate, measures: Sequence[Any], subject: str) -> Deliberation[Judgement]:
        verdicts, observers = [], []
        effects: list[Asked] = []
        keep = follow = new = True
        for (spec, part, memory, _, is_simple), measure in zip(self._parts[gate], measures, strict=True):
            if is_simple:
                verdict, asked = part.decide(measure, memory)
                verdicts.append(verdict)
                if not (verdict.keep and verdict.follow and verdict.new):
                    keep, follow, new = keep and verdict.keep, follow and verdict.follow, new and verdict.new
                if asked:
                    effects += [(spec.name, effect) for effect in asked]
                continue
            mode = spec.mode
            if spec.by_url is not None:
                of = spec.of(subject)
                mode, part = of.mode, of.part(gate)  # noqa: PLW2901 - the variant's
            if mode is Mode.OFF:
                continue
            verdict, asked = part.decide(measure, memory)
            verdicts.append(verdict)
            if mode is Mode.OBSERVE and spec.mode is Mode.ENFORCE:
                observers.append(spec.name)
            if mode is Mode.ENFORCE:
                keep, follow, new = keep and verdict.keep, follow and verdict.follow, new and verdict.new
                if asked:
                    effects += [(spec.name, effect) for effect in asked if may_have(spec, effect, subject)]
        judgement = Judgement(keep, follow, tuple(verdicts), new, tuple(observers))
        return Deliberation(gate, judgement, tuple(effects), tuple(measures), subject=subject)

    def _standing(self, effects: Iterable[Effect]) -> Iterator[Effect]:
        """Drop rewrites whose target is out of scope or can give no page any more; the URL is then judged as any other."""
        return (effect for effect in effects if not isinstance(effect, Rewrite) or self._may_stand(effect.to))

    def _may_stand(self, target: str) -> bool:
        origin = origin_of(target)
        return not self.static(LinkColumns.of(target, origin, site_of(hostname_of(origin)))) and self._stands(target)
