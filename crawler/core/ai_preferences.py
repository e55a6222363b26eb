"""Reads what sites and pages state about their use by AI; statements are stored unchanged.

    robots.txt    groups for crawlers that gather training data (`AGENTS`) and that disallow the URL; Content-Signal and Content-Usage
                      of the group that applies to us
    tdmrep.json   /.well-known/tdmrep.json, the TDM Reservation Protocol [TDMRep 6.1]: the first location that matches
    header        tdm-reservation, tdm-policy, content-usage, content-signal
    page          meta elements of the same names; noai and noimageai of robots meta elements and X-Robots-Tag

`reserves` answers one question: is the text excluded from training? Of several TDMRep statements the page's has priority over the header's,
and the header's over the file's (TDMRep, chapter 6). Of all other statements one is enough. noimageai concerns images only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from thresher.crawler.core.robots import MAX_SIGNALS, Rules, matcher, named_rules
from thresher.crawler.core.url import origin_of

AGENTS: Final = (
    *("AI2Bot", "Amazonbot", "Applebot-Extended", "Bytespider", "CCBot", "ClaudeBot", "Claude-Web", "anthropic-ai", "cohere-ai"),
    *("cohere-training-data-crawler", "Diffbot", "FacebookBot", "Google-Extended", "GPTBot", "img2dataset", "Meta-ExternalAgent"),
    *("omgili", "omgilibot", "PanguBot", "Timpibot", "webzio-extended"),
)
WELL_KNOWN: Final = "/.well-known/tdmrep.json"
MAX_FILE: Final = 256 << 10  # bytes of tdmrep.json
_MAX_RULES: Final = 1_000
_SHOWN: Final = 200
_HEADERS: Final = (b"tdm-reservation", b"tdm-policy", b"content-usage", b"content-signal")
_TRAINING: Final = re.compile(
    r"(?:^|[\s,;:/])(?:ai-train|train-ai|train-genai|genai|ai|all)\s*=\s*(?:no|n|\?0|0|false)(?=$|[\s,;])", re.IGNORECASE
)
_TDM: Final = re.compile(r"tdm-reservation:\s*([01])\b", re.IGNORECASE)
_MOST_SPECIFIC: Final = ("page", "header", "tdmrep.json")

Stated = tuple[str, str, float]  # (source, statement, time when it was read in seconds since the epoch; 0: with the page)


class TdmRule(NamedTuple):
    """One entry of tdmrep.json."""

    location: str  # a path with * and $ as in robots.txt
    reservation: int
    policy: str


class RobotsWords:
    """What one robots.txt states about AI. Shared by all origins with the same file."""

    def __init__(self, body: bytes, rules: Rules) -> None:
        """Create the robots words.

        Args:
            body: The robots.txt.
            rules: The rules of the group that applies to us.
        """
        self._signals = rules.signals
        self._named = named_rules(body, AGENTS)

    def of(self, url: str) -> list[str]:
        """Return what the file states about a URL."""
        denied = [agent for agent in AGENTS if agent in self._named and not self._named[agent](url)] if self._named else []
        said = [f"disallow: {', '.join(denied)}"] if denied else []
        return said + [f"signal: {signal}" for signal in self._signals if _is_for(signal, url)]


def _is_for(signal: str, url: str) -> bool:
    """Return whether a signal applies to a URL: a signal with a path, like `Content-Usage: /texts/ train-ai=n`, applies only below that
    path.
    """
    pattern = signal.partition(" ")[0]
    return not pattern.startswith("/") or not matcher([("disallow", pattern)])(url)


def of_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[str]:
    """Return what the headers of a response state about AI."""
    found = [(low, value) for name, value in headers if (low := name.lower()) in _HEADERS]
    return [f"{name.decode()}: {' '.join(value.decode('latin-1').split())}"[:_SHOWN] for name, value in found[:MAX_SIGNALS]]


def read_tdmrep(body: bytes) -> list[TdmRule]:
    """Return the rules of a tdmrep.json; no rules if the file is not valid."""
    try:
        entries = json.loads(body[:MAX_FILE])
    except (ValueError, RecursionError):
        return []
    found: list[TdmRule] = []
    for entry in entries[:_MAX_RULES] if isinstance(entries, list) else ():
        location = entry.get("location") if isinstance(entry, Mapping) else None
        reservation = entry.get("tdm-reservation") if isinstance(entry, Mapping) else None
        if isinstance(location, str) and reservation in (0, 1, "0", "1"):
            policy = entry.get("tdm-policy")
            found.append(TdmRule(location[:2048], int(reservation), policy[:_SHOWN] if isinstance(policy, str) else ""))
    return found


def of_tdmrep(rules: Sequence[TdmRule], url: str) -> list[str]:
    """Return what a tdmrep.json states about a URL of its origin."""
    origin = origin_of(url)
    for rule in rules:
        location = rule.location.removeprefix(origin)
        pattern = location if location.startswith(("/", "*")) else f"/{location}"
        if not matcher([("disallow", pattern)])(url):
            policy = [f"tdm-policy: {rule.policy}"] if rule.policy else []
            return [f"tdm-reservation: {rule.reservation}", *policy]
    return []


def reserves(stated: Iterable[Stated]) -> bool:
    """Return whether any statement excludes a page's text from training."""
    tdm: dict[str, bool] = {}
    for source, says, _ in stated:
        if (source == "robots.txt" and says.startswith("disallow:")) or says == "noai":
            return True
        if match := _TDM.match(says):
            tdm[source] = tdm.get(source, False) or match[1] == "1"
        elif not says.startswith("tdm-policy") and _TRAINING.search(says):
            return True
    return next((tdm[source] for source in _MOST_SPECIFIC if source in tdm), False)
