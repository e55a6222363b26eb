"""The journal's records of the panel: from them, filters with empty memories can learn the same again (`Panel.replay`)."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from thresher.crawler.core.model import Judgement, Verdict
from thresher.filters.base import Gate, LinkJudgement

_encode = msgspec.msgpack.Encoder().encode
_GOOD: Final = _encode(Judgement(keep=True, follow=True, verdicts=()))


class JournalRecord(msgspec.Struct, array_like=True, frozen=True):
    """The journal's record of one deliberation: enough to learn from it again."""

    gate: int
    judgement: bytes
    measures: list[tuple[str, bytes]]  # filter, msgpack of its measure
    subject: str = ""  # URL of the judged subject, if the filters' settings differ by URL


def encode_judgement(judgement: Judgement | LinkJudgement) -> bytes:
    """Write a judgement for the journal. Verdicts that say nothing are left out: no filter learns from these."""
    if isinstance(judgement, LinkJudgement):
        return _encode((judgement.admitted.tobytes(), dict(judgement.refused)))
    said = [one for one in judgement.verdicts if one.evidence or one.reason or one.score or not (one.keep and one.follow and one.new)]
    if not said and judgement.is_new and judgement.follow and not judgement.observers:
        return _GOOD  # nearly every page
    return _encode(Judgement(judgement.keep, judgement.follow, tuple(said), judgement.new, judgement.observers))


def decode_judgement(gate: Gate, data: bytes) -> Judgement | LinkJudgement:
    """Read what `encode_judgement` wrote."""
    if gate is Gate.LEARNED:
        mask, refused = msgspec.msgpack.decode(data, type=tuple[bytes, dict[int, Verdict]])
        return LinkJudgement(np.frombuffer(mask, dtype=np.bool_), refused)
    return msgspec.msgpack.decode(data, type=Judgement)
