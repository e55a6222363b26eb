"""How a page looks, in a few hundred bytes: enough to distinguish pages that show the same error from pages of the same template.

Sketch: the 64 smallest different hashes of word pairs, 4 bytes each (a bottom-64 sketch [BRO97]): for texts of up to 64 different pairs the
whole set, so that resemblance is exact where it matters, on short pages; else an estimate with a standard error below .06. Words that quote
the page's own URL are removed first, since error pages name the missing URL. A word may also be in both by chance ("?ref=home"): so two
pages are compared with and without these words, and the smaller distance counts.

Two looks match if their titles and lengths agree and their distance (1 - resemblance) is within a tolerance: that between two probes of one
template if both are known [BBKT04 compares one page with one probe; thin templates make honest pages look like it], else `NEARLY_EQUAL`.
Two probes that are farther apart than `MOST_SPREAD` show no template by which a page could be known.

The sketch of a long text does not show that three of its words differ among four hundred of a template. If the look is the only evidence,
the texts must therefore be equal: `text` is a hash of all words in order, without those that quote the URL.

Time: 20 µs for a page of 100 words, 45 µs for one of 1,500; 10 µs to compare two. Memory: 280 bytes a look.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from enum import Enum
from urllib.parse import unquote

import msgspec
import numpy as np
import numpy.typing as npt
import xxhash

from thresher.crawler.core.model import U64, Page
from thresher.crawler.core.sketch import word_hash
from thresher.crawler.native import NATIVE, native

N_KEPT = 64
NEARLY_EQUAL = 0.02  # distance
AKIN = 0.2  # largest distance of two pages that differ in a clock, a name or a few links
UNLIKE = 0.5  # distance from which a second probe would be useless
MOST_SPREAD = 0.15  # distance of two probes of one template
_CLOCK = 6  # word pairs that a time of day, a name or a count changes in equal texts
_MOST_QUOTED = 60  # words of a page that quote its URL, at most
_ENOUGH = 4 * N_KEPT  # so many pairs surely contain 64 different ones
_MOST_VALUES = 4  # values of a query that a page may quote
_ECHO = 3  # words of the URL in a row that quote it
_WORD = re.compile(r"[^\W_\U00010000-\U0010FFFF]+")
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SCALE = 1 << 32
_TOP = np.uint64(32)
_LOOK = "look"  # key in a page's dict, beside its fields
_OWN_WORDS = "own words"

Bools = npt.NDArray[np.bool_]


class Look(msgspec.Struct, array_like=True, frozen=True):
    """A page as it is compared."""

    sketch: bytes  # ascending u32, at most 64; b"" of no text
    n_words: int
    title: bytes  # 8: hash of the title; b"" if it quotes the URL: then it is not compared
    text: bytes = b""  # 8: hash of all words in order; b"" of no text
    whole: bytes = b""  # sketch with the words that quote the URL; b"" if there are none

    def __post_init__(self) -> None:
        if len(self.sketch) % 4:
            raise ValueError(f"expected a sketch of hashes of 4 bytes, found {len(self.sketch)} bytes")


class ProbeLikeness(Enum):
    """The result of comparing a page with probes."""

    SAME = 1
    UNSURE = 2  # only one probe is known; it is near, but not equal
    OTHER = 3


def look_of(page: Page) -> Look:
    """Return the look of a page; it is computed once."""
    beside = vars(page)
    look: Look | None = beside.get(_LOOK)
    if look is None:
        tokens, whole = own_words(page), page.tokens
        with_quotes = sketch(whole) if whole.size > tokens.size else b""
        title = title_key(page.title, page.url.text)
        look = beside[_LOOK] = Look(sketch(tokens), int(tokens.size), title, text_of(page), with_quotes)
    return look


def text_of(page: Page) -> bytes:
    """Return the hash of all words of a page in order, without those that quote its URL; b"" if there are none."""
    tokens = own_words(page)
    return xxhash.xxh3_64_digest(np.ascontiguousarray(tokens, dtype="<u8").data) if tokens.size else b""


def own_words(page: Page) -> U64:
    """Return the words of a page without those that quote its URL; they are computed once."""
    beside = vars(page)
    own: U64 | None = beside.get(_OWN_WORDS)
    if own is None:
        own = beside[_OWN_WORDS] = _without_echo(page.tokens, page.url.text) if page.tokens.size else page.tokens
    return own


def _quotes(url: str) -> list[tuple[set[int], int]]:
    """Return what a page may quote of a URL: hashes of words, and how many of these in a row quote it; of all words, then of its names."""
    words = _url_words(url)
    if not words:
        return []
    names = [name for name in _names(url) if name and not _is_letter(name)] or [words]
    hashes = {word: word_hash(word) for word in itertools.chain(words, *names)}
    of_names = [({hashes[word] for word in name}, min(_ECHO, len(name))) for name in names]
    return [({hashes[word] for word in words}, _ECHO), *of_names]


def sketch(tokens: U64) -> bytes:
    """Return the 64 smallest different hashes of pairs of neighbouring words, ascending.

    Args:
        tokens: Hashes of words in order.
    """
    if not tokens.size:
        return b""
    if NATIVE and tokens.flags.c_contiguous:
        return native.least_pairs(tokens, N_KEPT)
    pairs = ((tokens[:-1] * _MIX + tokens[1:] if tokens.size > 1 else tokens) >> _TOP).astype(np.uint32)
    if pairs.size > _ENOUGH:
        small = pairs[pairs < _SCALE * _ENOUGH // pairs.size]
        kept = _distinct(small)
        if kept.size >= N_KEPT:
            return kept[:N_KEPT].tobytes()
    return _distinct(pairs)[:N_KEPT].tobytes()


def resemblance(a: bytes, b: bytes) -> float:
    """Return the share of word pairs that two sketches have in common, 0–1 [BRO97]."""
    if a == b:
        return 1.0
    one, two = (set(np.frombuffer(part, dtype=np.uint32).tolist()) for part in (a, b))
    union = sorted(one | two)
    if max(len(one), len(two)) >= N_KEPT:
        union = union[:N_KEPT]
    both = one & two
    return sum(pair in both for pair in union) / len(union)


def distance(a: Look, b: Look) -> float:
    """Return how far two looks are apart, 0–1."""
    apart = _distance(a.sketch, b.sketch, is_equal=a.n_words == b.n_words)
    if apart and (a.whole or b.whole):
        apart = min(apart, _distance(a.whole or a.sketch, b.whole or b.sketch, is_equal=False))
    return apart


def _distance(a: bytes, b: bytes, *, is_equal: bool) -> float:
    if not (a and b):
        return float(not is_equal or a != b)
    return 1.0 - resemblance(a, b)


def spread_of(probes: Sequence[Look]) -> float:
    """Return how far two probes of one template are from each other, `NEARLY_EQUAL` at least."""
    return max(NEARLY_EQUAL, distance(probes[0], probes[1])) if len(probes) > 1 else NEARLY_EQUAL


def compare(page: Look, probes: Sequence[Look], *, spread: float | None = None) -> ProbeLikeness:
    """Compare a page with one probe or two of one template.

    Args:
        probes: Looks of the probes' pages.
        spread: Distance of pages of the template, if it is known.
    """
    titles = {probe.title for probe in probes}
    title = titles.pop() if len(titles) == 1 else b""  # if two probes have two titles, these quote the URL or the time of day
    if title and page.title != title:
        return ProbeLikeness.OTHER
    tolerance = spread_of(probes) if spread is None else spread
    if tolerance > MOST_SPREAD:
        return ProbeLikeness.OTHER
    slack = _slack(probes[0], tolerance)
    farthest = max(distance(page, probe) for probe in probes)
    if farthest <= tolerance and all(abs(page.n_words - probe.n_words) <= slack for probe in probes):
        return ProbeLikeness.SAME
    return ProbeLikeness.UNSURE if len(probes) == 1 and spread is None and farthest < UNLIKE else ProbeLikeness.OTHER


def is_same_text(a: Look, b: Look) -> bool:
    """Return whether two pages have equal texts, word for word, and no different titles."""
    return bool(a.text) and a.text == b.text and (a.title == b.title or not (a.title and b.title))


def most_noise(look: Look) -> float:
    """Return the share of a page's word pairs that a clock, a name or a count changes at most."""
    return NEARLY_EQUAL + min(AKIN, _CLOCK / max(1, look.n_words))


def is_nearly(a: Look, b: Look) -> bool:
    """Return whether two pages differ in a clock, a name or a count at most. Titles that quote a URL are not compared."""
    if a.title and b.title and a.title != b.title:
        return False
    tolerance = most_noise(b)
    return distance(a, b) <= tolerance and abs(a.n_words - b.n_words) <= _slack(b, tolerance)


def may_match(n_words: int, probe: Look, tolerance: float) -> bool:
    """Return whether a page of so many words can match, before its look is computed."""
    slack = _slack(probe, tolerance)
    return -slack <= n_words - probe.n_words <= slack + _MOST_QUOTED


def _slack(probe: Look, tolerance: float) -> float:
    """Return by how many words a matching page may be longer or shorter."""
    return 3 + 2 * tolerance * probe.n_words


def title_key(title: str, url: str) -> bytes:
    """Return a hash of a page's title, b"" if it quotes the page's URL."""
    lowered = title.casefold()
    if not lowered or any(word in lowered for word in _url_words(url) if len(word) > 2):
        return b""
    return xxhash.xxh3_64_digest(lowered.encode("utf-8", "surrogatepass"))


def _names(url: str) -> list[list[str]]:
    """Return the words of a URL's last segment, and of each value in its query, with and without the namespace before a colon."""
    path, mark, query = url.partition("?")
    names = [_url_words("//" + path.rstrip("/").rpartition("/")[2])]
    if not mark:
        return names
    values = [unquote(parameter.rpartition("=")[2]) for parameter in query.split("&")[:_MOST_VALUES]]
    return [*names, *(_url_words("//" + name) for value in values for name in dict.fromkeys((value, value.rpartition(":")[2])))]


def _is_letter(name: Sequence[str]) -> bool:
    """Return whether a name is one letter, as "a" in `?order=A`, which is a word of pages that do not quote it."""
    return len(name) == 1 and len(name[0]) == 1 and name[0].isascii() and name[0].isalpha()


def _url_words(url: str) -> list[str]:
    """Return the words of a canonical URL that an error page may quote, in lower case: of its host, path and query."""
    text = url.partition("//")[2]
    return _WORD.findall(unquote(text).lower() if "%" in text else text.lower())


def _without_echo(tokens: U64, url: str) -> U64:
    """Return the words of a text without those that quote the URL: `_ECHO` of its words in a row, or its name.

    Single words stay, since the template may use them too: they would be missing from one page and not from the next.
    """
    if NATIVE and tokens.flags.c_contiguous:
        is_plain = url.isascii() and "%" not in url and "?" not in url
        found = native.without_url(tokens, url, _ECHO) if is_plain else native.without_runs(tokens, _quotes(url))
        return tokens if found is None else np.frombuffer(found, dtype=np.uint64)
    return _without_runs(tokens, _quotes(url))


def _without_runs(tokens: U64, runs: Sequence[tuple[set[int], int]]) -> U64:
    among: Bools = np.zeros(tokens.size, dtype=np.bool_)
    for group, n in runs:
        among |= _runs(_among(tokens, group), n)
    kept: U64 = tokens[~among] if among.any() else tokens
    return kept


def _among(tokens: U64, wanted: set[int]) -> Bools:
    """Return which words of a text are among `wanted`, of which there is one at least."""
    hashes = np.array(sorted(wanted), dtype=np.uint64)
    found: Bools = hashes.take(hashes.searchsorted(tokens), mode="clip") == tokens
    return found


def _runs(marks: Bools, least: int) -> Bools:
    """Keep the marks of which at least `least` are in a row."""
    if least < 2 or np.count_nonzero(marks) < least:
        return marks if least < 2 else np.zeros(marks.size, dtype=np.bool_)
    steps = np.diff(marks.view(np.int8), prepend=0, append=0)
    starts, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    is_long = ends - starts >= least
    steps[starts[~is_long]] = 0
    steps[ends[~is_long]] = 0
    return np.cumsum(steps[:-1]).view(np.int64).astype(np.bool_)


def _distinct(values: np.ndarray[tuple[int], np.dtype[np.uint32]]) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    values = np.sort(values)
    is_new = np.empty(values.size, dtype=np.bool_)
    is_new[:1] = True
    np.not_equal(values[1:], values[:-1], out=is_new[1:])
    return values[is_new]
