"""What is too long for the loop: mining a site's list and judging its rules. Runs in a process of its own, bytes in and bytes out.

`mine` looks for rules and judges them by the list; `judge` judges the ones that are waiting again, when the pages they asked for have
come. The list is studied with what valid rules say taken for granted, each page under its canonical URL: `m.x/story?id=7` and
`x/story_7?from=feed` are then the pair that shows `story?id=` → `story_`, and copies that are explained cost nothing any more.

Rules that are valid stay so: what speaks against them later is for the audits to tell. Withdrawn rules are not learnt again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from filters.dust.canonize import Canonizer
from filters.dust.mine import Mining, mine
from filters.dust.records import sightings
from filters.dust.rules import LearnedRule, Rule
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
    n_unexplained: int = 0  # of them those that no valid rule leads to the other one


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Material).decode


def study(message: bytes) -> bytes:
    """Study a site: msgpack of `Material` in, of `Finding` out."""
    return _encode(studied(_decode(message)))


def studied(material: Material) -> Finding:
    """Mine and judge."""
    settled = [learned for learned in material.rules if learned.is_settled]
    taken = {learned.rule for learned in settled}
    valid = [learned.rule for learned in settled if learned.standing == "valid" and not learned.disabled]
    known, n_aliases = _explained(material, valid)
    likely = mine(known, Mining(at_most=material.max_rules)) if material.mines else material.rules
    candidates = [learned for learned in likely if learned.rule not in taken]
    judged = judge(candidates, known, given=valid)
    found = [learned for learned in judged.rules if learned.standing == "valid" and learned.rule not in taken]
    waiting = [learned for learned in judged.rules if learned.standing == "undecided"][:_MOST_WAITING]
    unexplained = known.n_copies
    return Finding([*settled, *found, *waiting], judged.wanted, n_aliases + unexplained, unexplained)


def _explained(material: Material, valid: Sequence[Rule]) -> tuple[UrlList, int]:
    """Return the list with each page under its canonical URL, and how many pages went with others of the same."""
    canonical = Canonizer(valid)
    pages = list(sightings(material.pages))
    if not valid:
        return UrlList.of(pages, material.origins), 0
    moved, own = [], []
    for page in pages:
        url = canonical(page.url)
        if url == page.url:
            own.append(page)
        else:
            moved.append(msgspec.structs.replace(page, url=url))
    known = UrlList.of([*moved, *own], material.origins)  # of equal URLs the last good one counts
    return known, len(pages) - len(known)
