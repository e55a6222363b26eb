"""What is too long for the loop: mining a site's list and judging its rules. Runs in a process of its own, bytes in and bytes out.

`mine` looks for rules and judges them by the list; `judge` judges the ones that are waiting again, when the pages they asked for have
come. Rules that are valid stay so: what speaks against them later is for the audits to tell. Withdrawn rules are not learnt again.
"""

from __future__ import annotations

from typing import Final

import msgspec

from filters.dust.mine import Mining, mine
from filters.dust.records import sightings
from filters.dust.rules import LearnedRule
from filters.dust.urllist import UrlList
from filters.dust.validate import judge

_MOST_WAITING: Final = 50  # undecided rules of a site that are kept


class Material(msgspec.Struct, array_like=True, frozen=True):
    """A site's list, as filters/dust/records.py stores it, and its rules."""

    pages: list[bytes]
    rules: list[LearnedRule]
    origins: dict[str, int]  # how much the site uses each
    mines: bool  # else the rules are only judged
    max_rules: int


class Finding(msgspec.Struct, array_like=True, frozen=True):
    """What a study came to."""

    rules: list[LearnedRule] = []  # in the order in which they are applied
    wanted: list[str] = []  # URLs whose pages would decide more cases, those of the best rules first
    n_copies: int = 0  # pages of the list that show what another one shows


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Material).decode


def study(message: bytes) -> bytes:
    """Study a site: msgpack of `Material` in, of `Finding` out."""
    return _encode(studied(_decode(message)))


def studied(material: Material) -> Finding:
    """Mine and judge."""
    known = UrlList.of(sightings(material.pages), material.origins)
    settled = [learned for learned in material.rules if learned.standing in ("valid", "withdrawn") or learned.disabled]
    taken = {learned.rule for learned in settled}
    likely = mine(known, Mining(at_most=material.max_rules)) if material.mines else material.rules
    candidates = [learned for learned in likely if learned.rule not in taken]
    valid = [learned.rule for learned in settled if learned.standing == "valid" and not learned.disabled]
    judged = judge(candidates, known, given=valid)
    found = [learned for learned in judged.rules if learned.standing == "valid" and learned.rule not in taken]
    waiting = [learned for learned in judged.rules if learned.standing == "undecided"][:_MOST_WAITING]
    return Finding([*settled, *found, *waiting], judged.wanted, _n_copies(known))


def _n_copies(known: UrlList) -> int:
    if known.texts is None:
        return 0
    labels = known.texts.labels[known.texts.labels != 0]
    return int(labels.size) - len(set(labels.tolist()))
