"""What the C code offers; None of it keeps what it is given, but for the tables."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeAlias, TypeVar

INTERFACE: int
_Link = TypeVar("_Link", bound=tuple[object, ...])
_Row = TypeVar("_Row", bound=tuple[object, ...])
_Change: TypeAlias = tuple[str, bytes, bytes | None, float]

def page(
    body: bytes, max_links: int, link: type[_Link], /
) -> tuple[str, str, list[_Link], int, list[tuple[int, str, dict[str, str]]]] | str:
    """Take a page in UTF-8.

    returns: title and visible text as a tree has them; at most `max_links` links of a, area, frame and iframe, (href, rel, tag) each, and
    the number of all; what else links or directs: how many of these links stand before it, its tag, its attributes. A text instead: why
    the page needs a tree.
    """

def asks(body: bytes, /) -> bool:
    """Return whether a body has "assword" or "extarea", in lower or in upper case."""

def words(text: str, most: int, /) -> bytearray | None:
    """Return the hashes of the text's words, uint64, as sketch.py has them; None if it has more than `most` UTF-16 units."""

def least(tokens: object, shingle: int, bits: int, /) -> bytearray:
    """Return the least hash, int64, of the shingles of each of 2**bits slots; the greatest int64 where none fell."""

def slots(tokens: object, shingle: int, bits: int, step: int, /) -> tuple[bytes, bytes] | None:
    """Return the lowest byte of each of what `least` returns, and every `step`-th of it whole, in the machine's order of bytes; None if no
    shingle fell into one of the slots, of which there are 1,024 at most.
    """

def least_links(urls: Iterable[str], most: int, /) -> list[int]:
    """Return the least numbers, at most `most`, ascending, of canonical URLs: the XXH32 of path and query, then that of the origin."""

def join(
    hrefs: Sequence[str], root: str, folder: str, known: dict[str, str], max_length: int, max_slashes: int, keeps_queries: bool, /
) -> list[str | None]:
    """Return what the clean ones of a page's links mean: "" the page itself, None where url.py has to look.

    root, folder: of url_spelling.root_and_folder; known: origin → its canonical form; max_slashes: in a path
    """

def origins(urls: Iterable[str], /) -> list[str]:
    """Return scheme and authority of canonical URLs; equal ones are one object."""

def keys(urls: Iterable[str], sites: Iterable[bytes], secret: bytes, person: bytes, /) -> list[bytes]:
    """Return 8 bytes of each URL's site, as given, and 8 of BLAKE2b with the secret as key: of canonical URLs."""

def crowded(urls: Iterable[str], most_slashes: int, most_ands: int, /) -> list[int]:
    """Return the places of the canonical URLs that have more of "/" or of "&"."""

def paths(urls: Iterable[str], /) -> bytes:
    """Return the different paths of canonical URLs, ascending, a line each, without the first slash and the query."""

def endings(urls: Iterable[str], extensions: object, /) -> list[int]:
    """Return the places of the canonical URLs whose path ends in one of the extensions.

    extensions: uint64, ascending; of each its letters in lower case, the first in the highest byte, at most 8
    """

def sample(tokens: object, counts: object, left_out: Iterable[int], /) -> bytes:
    """Return the sample of novelty.py, uint16.

    counts: a byte for each of 2**14 top bits, 0: words with them are left out, as are those of `left_out`, hashes of words.
    """

def look(sampled: bytes, table: bytes, /) -> tuple[int, int, bytes] | None:
    """Return of how many threes of a sample both pairs are new to a table, of how many in all, and the table with them; None if no pair
    is new.
    """

def project(tokens: object, logs: object, weights: object, /) -> list[int]:
    """Return the square of the length of a vector, then its products with k others, k being 64 at most.

    The vector has a number for each of 1,024 buckets, by the highest bits of the words: what `logs`, int32, has for its count of words, for
    larger counts its last one; 0 if there is none. weights: int32, k for each bucket
    """

def least_pairs(tokens: object, most: int, /) -> bytes:
    """Return the least distinct hashes, uint32, ascending, of pairs of neighbouring words; at most `most`, which is 256 at most."""

def end_words(tokens: object, ends: int, /) -> bytes:
    """Return the upper halves of the first and last `ends` tokens, uint32, each once, ascending; `ends` is 1 to 256."""

def shared_words(tokens: object, ends: int, words: object, /) -> int:
    """Return how many of these words, uint32, ascending, 1,024 at most, are the upper half of one of the first and last `ends` tokens."""

def common(rows: bytes, width: int, least: int, /) -> bytes:
    """Return for each place the byte that `least` of the rows have there, 0 if there is none; `least` is more than half of the rows."""

def without(tokens: object, rows: Iterable[Iterable[int]], /) -> bytearray | None:
    """Return the words, uint64, without each row of words wherever it stands; None if none is there."""

def without_runs(tokens: object, groups: Iterable[tuple[Iterable[int], int]], /) -> bytearray | None:
    """Return the words, uint64, without those that are among a group's words, so many in a row or more; None if there are none."""

def without_url(tokens: object, url: str, least: int, /) -> bytearray | None:
    """Return the words, uint64, without those that quote a URL of ASCII: `least` of its words in a row, or those of its last segment if it
    has fewer; a segment of one letter does not count. None if there are none.
    """

def near(rows: bytes, signature: bytes, n_name: int, tolerance: float, brief: bytes, fewest: int, /) -> list[tuple[bytes, float]]:
    """Return the names, each once, of rows of a name and float32 that are all nearer to the signature's than the tolerance, and how far
    the farthest is. A name must end with bytes of which at least `fewest` are those of `brief`, each in its place.
    """

class SeenCache(Generic[_Row]):
    """Recent rows of `seen`, and a Bloom filter of all keys; see storage/tables/seen_cache.py.

    row: a class of tuples; states, reasons, purposes: what the codes of a packed row stand for; bits: 2**bits sets of four rows are kept;
    most: bitmaps of the filter, 0: none
    """

    def __init__(
        self,
        row: type[_Row],
        states: tuple[object, ...],
        reasons: tuple[object, ...],
        purposes: tuple[object, ...],
        bits: int,
        most: int,
        /,
    ) -> None: ...
    def rows(self, keys: Sequence[bytes], /) -> tuple[list[_Row | None], list[int]]: ...
    def keep(self, key: bytes, value: bytes, /) -> _Row: ...
    def add(self, keys: Sequence[bytes], /) -> None: ...

class RecordCache:
    """See storage/tables/record_cache.py."""

    unwritten: dict[bytes, bytes | None]
    used: dict[bytes, int]
    unsaved: set[bytes]

    def __init__(
        self,
        read: Callable[[bytes], bytes | None],
        generation: int,
        begins_empty: bool,
        visits: object,
        grow: Callable[[bytes, int], int],
        tag: bytes,
        most: int,
        /,
    ) -> None: ...
    def get(self, key: bytes, /) -> bytes | None: ...
    def put(self, key: bytes, value: bytes | None, /) -> bytes | None: ...
    def unread(self, keys: Iterable[bytes], /) -> list[bytes]: ...
    def write(self, key: bytes, value: bytes, /, weight: float = 0.0) -> None: ...
    def write_noted(self, key: bytes, value: bytes, /, weight: float = 0.0) -> None: ...
    def note_in(self, name: str, noted: dict[bytes, set[bytes]], changes: dict[bytes, list[_Change]], /) -> None: ...

def front_coded(texts: Sequence[str], /) -> bytes:
    """Return texts in UTF-8, of each only what differs from the one before; see storage/url_rows.py."""

def front_decoded(row: bytes, first: int, n: int, /) -> list[str]:
    """Return n texts that were front-coded, from byte `first` of a row on; raises `ValueError` on a row that ends within one."""

def new_rows(keys: Sequence[bytes], depths: Sequence[int], heads: dict[int, bytes], first: int, /) -> dict[bytes, bytes]:
    """Return rows of `seen` by their keys: the 8 bytes of each one's depth, a number, and zeros; see storage/packing.py."""

def packed_keys(keys: Sequence[bytes], /) -> tuple[int, bytes] | None:
    """Return (the number of sites, the keys as a row of `urls` has them), None for more than 256 sites; see storage/url_rows.py."""

def steps(numbers: Iterable[int], /) -> bytes:
    """Return numbers from 1, ascending, as differences; see storage/packing.py."""

def sealed(rows: Iterable[tuple[bytes, bytes]], seed: int, /) -> list[tuple[bytes, bytes]]:
    """Return rows, each value with the seal of its row behind it; see storage/seal.py."""

def opened(key: bytes, stored: bytes, seed: int, /) -> bytes | None:
    """Return the value of a row that was sealed, None if the seal is not its own."""

def word(text: str, /) -> int | None:
    """Return the hash of a text as one word; None if it has characters past U+FFFF."""

def letters(classes: object, numbers: object, base: int, /) -> None:
    """Give the tables of `words`: int8 classes and uint64 numbers of 65,536 units, and the base of the powers."""

def entities(named: dict[str, str], /) -> None:
    """Give the named character references, with or without ";"."""

def digests(bodies: Sequence[bytes], /) -> list[bytes] | None:
    """Return the SHA-256 of each body; None where hashing one after the other takes less time, or AVX2 is missing."""
