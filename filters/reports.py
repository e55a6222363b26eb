"""Reports to filters, besides judgements: answers to their own requests, findings of studies, news from other agents.

There is no verdict: each report goes to one filter, which learns from it and may ask for effects. The journal keeps the report unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from thresher.crawler.core.effects import Answer, Effect
from thresher.crawler.core.model import Mode
from thresher.crawler.core.ports import Memory
from thresher.filters.base import Gate
from thresher.filters.capabilities import NOTHING_REDUCED
from thresher.filters.deliberation import Learned
from thresher.filters.journal import JournalRecord
from thresher.filters.spec import FilterSpec
from thresher.filters.variants import may_have

_encode = msgspec.msgpack.Encoder().encode


class Reports:
    """Delivers reports to the filters that they are for."""

    def __init__(self, specs: Sequence[FilterSpec], memories: Mapping[str, Memory]) -> None:
        """Create the reports of a panel.

        Args:
            specs: The panel's filters.
            memories: Name of a filter → its memory.
        """
        self._memories = memories
        self._spec_of = {spec.name: spec for spec in specs}
        self._learners = {spec.name: spec.learner for spec in specs if spec.learner}
        self._concluders = {spec.name: part for spec in specs if (part := spec.learner or spec.concluder)}
        self._probers = {spec.name: spec.prober for spec in specs if spec.prober and spec.mode is Mode.ENFORCE}
        self._peer_filters = {spec.name: spec.peer_filter for spec in specs if spec.peer_filter}

    def on_answer(self, prober: str, answer: Answer) -> Learned:
        """Give a filter the answer to its own request; return the effects that it asks for next and what the journal keeps."""
        reduced = self.reduce(prober, answer)
        return ((), None) if reduced is None else self.on_reduced_answer(prober, reduced)

    def reduce(self, prober: str, answer: Answer) -> bytes | None:
        """Return the part of an answer that a filter learns from, as bytes that can be sent; None if it learns nothing from it."""
        part = self._probers.get(prober)
        reduced = NOTHING_REDUCED if part is None else part.reduce(answer)
        return None if reduced is NOTHING_REDUCED else _encode(reduced)

    def on_reduced_answer(self, prober: str, reduced: bytes, read: Any = None) -> Learned:
        """Give a filter the answer to its own request, which another agent may have made.

        Args:
            read: The result of `read_answer`, if the caller has it already.
        """
        part = self._probers.get(prober)
        if part is None:
            return (), None
        answer = self.read_answer(prober, reduced) if read is None else read
        part = self._of(prober, answer).prober or part
        asked = tuple((prober, effect) for effect in part.on_answer(answer, self._memories[prober]) if self._may(prober, effect))
        return asked, JournalRecord(Gate.ANSWER, b"", [(prober, reduced)])

    def read_answer(self, prober: str, reduced: bytes) -> Any:
        """Decode the reduced answer to a filter's request; return None if there is no such filter.

        Raises:
            msgspec.MsgspecError: The bytes are no such answer.
        """
        part = self._probers.get(prober)
        return None if part is None else msgspec.msgpack.decode(reduced, type=part.answer_type)

    def read_news(self, name: str, news: bytes) -> Any:
        """Decode a filter's message from another agent; return None if there is no such filter.

        Raises:
            msgspec.MsgspecError: The bytes are no such message.
        """
        part = self._peer_filters.get(name)
        return None if part is None else msgspec.msgpack.decode(news, type=part.news_type)

    def on_news(self, name: str, news: bytes, read: Any = None) -> Learned:
        """Let a filter learn from its message from another agent.

        Args:
            read: The result of `read_news`, if the caller has it already.
        """
        part = self._peer_filters.get(name)
        if part is None:
            return (), None
        said = self.read_news(name, news) if read is None else read
        of = self._of(name, said)
        if of.mode is Mode.OFF:
            return (), None
        asked = (of.peer_filter or part).on_news(said, self._memories[name])
        effects = tuple([(name, effect) for effect in asked if self._may(name, effect)]) if asked else ()
        return effects, JournalRecord(Gate.NEWS, b"", [(name, news)])

    def _may(self, name: str, effect: Effect) -> bool:
        return may_have(self._spec_of[name], effect)

    def _of(self, name: str, said: Any) -> FilterSpec:
        """Return the filter's variant for the URL that an answer or a message is about, if it is about one."""
        url = getattr(said, "url", "")
        return self._spec_of[name].of(url) if url else self._spec_of[name]

    def adopts(self, learner: str, site: bytes, finding: bytes) -> bool:
        """Return whether a finding would have permanent effects, for example the adoption of a rule."""
        spec, part = self._spec_of.get(learner), self._concluders.get(learner)
        if spec is None or spec.adopts is None or part is None or spec.mode is not Mode.ENFORCE:
            return False
        return spec.adopts(site, msgspec.msgpack.decode(finding, type=part.finding_type), self._memories[learner])

    def gather(self, learner: str, site: bytes) -> Iterator[bytes]:
        """Yield a copy of the material that a filter wants to have studied, piece by piece."""
        return self._learners[learner].gather(site, self._memories[learner])

    def study_of(self, learner: str) -> str:
        """Return the function that studies a filter's material, as `module:function`."""
        return self._learners[learner].study

    def check_finding(self, learner: str, finding: bytes) -> None:
        """Check what a study returned.

        Raises:
            msgspec.MsgspecError: It is no finding of this filter.
        """
        msgspec.msgpack.decode(finding, type=self._concluders[learner].finding_type)

    def on_finding(self, learner: str, site: bytes, finding: bytes) -> Learned:
        """Give a filter its finding; return its effects and the record for the journal.

        A filter in mode `observe` may only ask for a study.
        """
        part = self._concluders.get(learner)
        if part is None:
            return (), None
        asked = part.on_finding(site, msgspec.msgpack.decode(finding, type=part.finding_type), self._memories[learner])
        effects = tuple((learner, effect) for effect in asked if self._may(learner, effect))
        return effects, JournalRecord(Gate.STUDY, site, [(learner, finding)])
