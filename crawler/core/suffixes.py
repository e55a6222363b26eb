"""The public suffix list, read in a fiftieth of the time of its library: every process that works with sites reads it.

Canonical hosts are in ASCII, so rules in other scripts must be converted to Punycode; converting one takes as long as reading 10,000
others. Only a host with a label in Punycode can match such a rule, so these rules are read when the first such host appears.
"""

from __future__ import annotations

import re
from functools import cache
from typing import IO

from publicsuffixlist import PublicSuffixList

_RULE = re.compile(r"^[^/\s]\S*", re.MULTILINE)
_PUNYCODE = "xn--"


class Suffixes(PublicSuffixList):
    """The list's rules in the form of canonical hosts, in ASCII."""

    def __init__(self, *, ascii_only: bool) -> None:
        """Create the list of suffixes.

        Args:
            ascii_only: Whether to leave out the rules in other scripts.
        """
        self._ascii_only = ascii_only
        super().__init__()

    def _parse(self, source: IO[bytes], accept_encoded_idn: bool, only_icann: bool = False) -> None:
        rules = _RULE.findall(source.read().decode().lower())
        if self._ascii_only:
            encoded = [rule for rule in rules if rule.isascii()]
        else:
            encoded = [rule if rule.isascii() else rule.encode("idna").decode() for rule in rules]
        self._publicsuffix = frozenset(encoded)
        self._maxlabel = max(rule.count(".") for rule in encoded) + 1


def suffixes(hostname: str) -> Suffixes:
    """Return the list with every rule that a canonical host may match."""
    return _suffixes(ascii_only=_PUNYCODE not in hostname)


@cache
def _suffixes(*, ascii_only: bool) -> Suffixes:
    return Suffixes(ascii_only=ascii_only)
