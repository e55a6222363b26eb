"""The page gate: pages answered 200 that are errors, gates or parked hosts all the same, without any redirect.

A page is a suspect if its words hint at an error or a gate (kinds.py), or if it is short and has title and look of the short page of its
host before it. A suspect asks for a probe of its directory (probe.py) and is a soft error if the probe's page looks like it (looks.py),
or the probe lands at it, or pages known to be the host's error pages look like it: the probes of other directories, and what it answers
with 404. Pages that wait for their probe are kept meanwhile, and their verdict is revised.

Home pages and seeds are exempt, but for gates, parked hosts and empty shells. Challenge and consent pages that name themselves are
set aside at once: they teach no filter anything, and a host that shows nothing else is parked.

Cost of an ordinary page: its title is searched for phrases, its text too if it is short, and one record is read.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from config.settings import SoftError
from crawler.core.model import Effect, Judgement, Page, Verdict
from crawler.core.ports import Memory
from crawler.core.url import is_home, origin_of
from filters.base import NO_EFFECTS, NOTHING_LEARNED, Effects
from filters.soft_error import probe
from filters.soft_error.kinds import GATES, WALLS, Kind, hint_of
from filters.soft_error.looks import AKIN, NEARLY_EQUAL, Likeness, Look, compare, look_of, may_match, spread_of
from filters.soft_error.records import (
    DIRECTORIES,
    HOSTS,
    LAST_SHORT,
    NAME,
    NO_SOFT_ERROR,
    SUSPECTS,
    TARGETS,
    Directory,
    Host,
    Outcome,
    Suspect,
    Target,
    Text,
    soft_error,
)
from filters.soft_error.redirects import count_walls, is_probed

_MOST_TEXTS = 4  # of a host's error pages
_ENOUGH_WORDS = 12  # of an error page that others are compared with
_FEW_WORDS = 80  # of a page that may be an error page although nothing in it says so
_SAYS_SO = {404: Kind.NOT_FOUND, 410: Kind.NOT_FOUND, 403: Kind.FORBIDDEN}


class Measure(msgspec.Struct, array_like=True, dict=True):
    """What judging a page needs of it. Its look and its directory are made when first needed, which for most pages they never are."""

    page: bytes  # key
    host: bytes
    day: int
    status: int
    n_words: int
    hint: str
    is_strong: bool
    is_exempt: bool
    is_target: bool  # a redirect led to it
    url: str = ""  # of pages that may become suspects
    made_directory: bytes = b""
    made_look: Look | None = None

    @property
    def directory(self) -> bytes:
        """The key of the page's directory."""
        if not self.made_directory:
            self.made_directory = probe.directory_key(self.__dict__["seen"].url)
        return self.made_directory

    @property
    def look(self) -> Look:
        """The page's look. A replay finds it in the journal wherever it was asked for."""
        if self.made_look is None:
            self.made_look = look_of(self.__dict__["seen"])
        return self.made_look


class PageGate:
    """Judges pages."""

    name = NAME
    measure_type = Measure

    def __init__(self, settings: SoftError) -> None:
        self._max_probes = settings.max_probes

    def measure(self, page: Page, /) -> Measure:
        url, n_words = page.url, int(page.tokens.size)
        hint = hint_of(page)
        measure = Measure(
            page=url.key,
            host=probe.host_key(url),
            day=probe.day_of(page.at),
            status=page.status,
            n_words=n_words,
            hint=hint.kind,
            is_strong=hint.is_strong,
            is_exempt=url.seed_distance == 0 or is_home(url.text),
            is_target=url.hops > 0,
            url=url.text if hint.kind or n_words <= _FEW_WORDS else "",
        )
        measure.__dict__["seen"] = page
        return measure

    def decide(self, measure: Measure, memory: Memory, /) -> tuple[Verdict, Effects]:
        directory, host = _places(measure, memory)
        measure.__dict__["is_calm"] = _has_shown(measure, host) and not directory.answers_everything and _is_ordinary(measure)
        kind, word = self._find(measure, directory, host)
        return (soft_error(kind, word) if kind else NO_SOFT_ERROR), NO_EFFECTS

    def observe(self, measure: Measure, judgement: Judgement, memory: Memory, /) -> Effects:
        if measure.__dict__.get("is_calm") and judgement.keep:
            return NOTHING_LEARNED
        directory, host = _places(measure, memory)
        kind, _ = self._find(measure, directory, host)
        if measure.is_target and measure.status == 200:
            TARGETS.put(memory, measure.page, Target(measure.look, measure.hint))
        if kind:
            return tuple(self._note(measure, kind, directory, host, memory))
        if measure.status in _SAYS_SO:
            if judgement.keep:
                _learn_error_page(measure, host, memory)
            return NO_EFFECTS
        if measure.status != 200:
            return NO_EFFECTS
        if judgement.keep:
            _learn_good_page(measure, directory, host, memory)
        return self._suspect(measure, directory, memory)

    def _find(self, measure: Measure, directory: Directory, host: Host) -> tuple[str, str]:
        """Return the kind of soft error that a page is, "" if nothing says so, and what the probe came to."""
        if measure.is_strong and measure.hint in (Kind.CHALLENGE, Kind.CONSENT) and measure.status in (200, 403):
            return measure.hint, "none"
        if measure.status != 200 or (measure.is_exempt and measure.hint not in GATES):
            return "", ""
        if not (directory.looks or host.texts or host.landings):
            return "", ""
        n_words = measure.n_words
        spread = spread_of(directory.looks)
        if directory.looks and may_match(n_words, directory.looks[0], spread) and compare(measure.look, directory.looks) is Likeness.SAME:
            return measure.hint or directory.kind or Kind.NOT_FOUND, "same_text"
        for text in host.texts:
            if may_match(n_words, text.look, text.spread) and compare(measure.look, (text.look,), spread=text.spread) is Likeness.SAME:
                return measure.hint or text.kind, "same_text"
        if measure.hint and measure.page in host.landings:
            return measure.hint, "same_target"
        return "", ""

    def _note(self, measure: Measure, kind: str, directory: Directory, host: Host, memory: Memory) -> Iterator[Effect]:
        """Count a soft error."""
        if directory.answers_everything:
            directory.n_soft += 1
            DIRECTORIES.put(memory, measure.directory, directory)
        if kind in WALLS and not measure.is_target:  # else it is the wall of those that redirect to it
            yield from count_walls(memory, measure.host, host, 1, origin_of(measure.url))

    def _suspect(self, measure: Measure, directory: Directory, memory: Memory) -> Effects:
        """Let a page wait for a probe if it is a suspect, and ask for the probe if nobody has."""
        suspects = [_suspect_of(measure)] if _is_hinted(measure) else []
        if not suspects and not measure.is_exempt and measure.n_words <= _FEW_WORDS:
            suspects = _akin(measure, memory)
        if not suspects:
            return NO_EFFECTS
        is_second = directory.outcome == Outcome.TEXT and compare(measure.look, directory.looks) is Likeness.UNSURE
        is_waiting = directory.outcome == Outcome.NONE and directory.day == measure.day
        effects: Effects = NO_EFFECTS
        if is_second or not is_probed(directory, measure.day):
            keys = (measure.directory, measure.host)
            effects = probe.ask(memory, measure.url, keys, measure.day, max_probes=self._max_probes)
        if effects or is_waiting:
            for suspect in suspects:
                SUSPECTS.put(memory, measure.directory + suspect.page, suspect)
        return effects


def _places(measure: Measure, memory: Memory) -> tuple[Directory, Host]:
    """Return what is known of a page's directory and host. As long as the host was never probed, its directories need no name."""
    host = HOSTS.get(memory, measure.host) or Host()
    return (DIRECTORIES.get(memory, measure.directory) if host.day >= 0 else None) or Directory(), host


def _suspect_of(measure: Measure) -> Suspect:
    return Suspect(measure.page, measure.look, measure.hint, measure.is_exempt)


def _is_ordinary(measure: Measure) -> bool:
    """Tell whether nothing can be learned from a page of a host that is known to be good."""
    return not measure.hint and not measure.is_target and measure.status == 200 and (measure.n_words > _FEW_WORDS or measure.is_exempt)


def _is_hinted(measure: Measure) -> bool:
    """Tell whether a page's words make it a suspect: of what needs no probe to be told apart from an error, only gates."""
    if measure.hint == Kind.LOGIN and not measure.is_target:
        return False
    return bool(measure.hint) and (not measure.is_exempt or measure.hint in GATES)


def _akin(measure: Measure, memory: Memory) -> list[Suspect]:
    """Remember a short page with a title that does not quote its URL; return it and the one before it if they look alike."""
    if not measure.look.title:
        return []
    this = _suspect_of(measure)
    last = LAST_SHORT.get(memory, measure.host)
    if last is not None and last.page == this.page:
        return []
    LAST_SHORT.put(memory, measure.host, this)
    if last is None or compare(this.look, (last.look,), spread=AKIN) is not Likeness.SAME:
        return []
    return [last, this]


def _learn_error_page(measure: Measure, host: Host, memory: Memory) -> None:
    """Remember how the host's honest error pages look."""
    if measure.n_words < _ENOUGH_WORDS or len(host.texts) >= _MOST_TEXTS:
        return
    if all(compare(measure.look, (text.look,), spread=AKIN) is not Likeness.SAME for text in host.texts):
        host.texts.append(Text(measure.look, NEARLY_EQUAL, _SAYS_SO[measure.status]))
        HOSTS.put(memory, measure.host, host)


def _has_shown(measure: Measure, host: Host) -> bool:
    """Tell whether the host has shown all that a good page could show of it."""
    return host.is_good and not (measure.is_exempt and host.home is None)


def _learn_good_page(measure: Measure, directory: Directory, host: Host, memory: Memory) -> None:
    if measure.hint:
        return
    if not _has_shown(measure, host):
        host.is_good = True
        host.home = measure.look if measure.is_exempt and host.home is None else host.home
        HOSTS.put(memory, measure.host, host)
    if directory.answers_everything:
        directory.n_good += 1
        DIRECTORIES.put(memory, measure.directory, directory)
