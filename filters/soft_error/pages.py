"""The page gate: pages answered 200 that are errors, gates or parked hosts all the same, without any redirect.

A page is a suspect if its words hint at an error or a gate (kinds.py). A suspect asks for probes of its places (probe.py) and is a soft
error if what they show looks like it, and neither what the place shows without a name nor the host's home page does (suspects.py); or if
redirects of URLs and of a probe land at it; or if pages known to be the host's error pages look like it: those of other places, and what
it answers with 404. Pages that wait for an answer are kept meanwhile, and their verdict is revised.

A page that hints at nothing is a soft error only if it says to the word what the host answers with 404, or what suspects were convicted of.

Home pages and seeds are exempt, but for gates that name themselves and parked hosts. Challenge and consent pages that do so in their title
are set aside at once, but for their few links: they teach no filter anything, and a host that shows nothing else is parked; an honest
answer to a probe takes the verdict back.

Cost of an ordinary page: its title is searched for phrases, its text too if it is short, and one record is read.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from thresher.config.settings import SoftError
from thresher.crawler.core.model import Effect, Judgement, Page, Verdict
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import is_home, origin_of
from thresher.filters.base import NO_EFFECTS, NOTHING_LEARNED, Effects
from thresher.filters.soft_error import probe
from thresher.filters.soft_error.kinds import GATES, WALLS, Kind, hint_of
from thresher.filters.soft_error.looks import AKIN, NEARLY_EQUAL, Likeness, Look, compare, look_of, may_match
from thresher.filters.soft_error.records import (
    DIRECTORIES,
    HOSTS,
    NAME,
    NO_SOFT_ERROR,
    TARGETS,
    Directory,
    Host,
    Outcome,
    Suspect,
    Target,
    Text,
    soft_error,
)
from thresher.filters.soft_error.redirects import count_walls
from thresher.filters.soft_error.suspects import Step, is_home_too, is_known_error, stand, try_suspect

_MOST_TEXTS = 4  # of a host's error pages
_ENOUGH_WORDS = 12  # of an error page that others are compared with
_FEW_WORDS = 80  # of a page that needs no long name to be known
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
    is_home: bool = False

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
        hint, at_home = hint_of(page), is_home(page.url.text)
        measure = Measure(
            page=url.key,
            host=probe.host_key(url),
            day=probe.day_of(page.at),
            status=page.status,
            n_words=n_words,
            hint=hint.kind,
            is_strong=hint.is_strong,
            is_exempt=url.seed_distance == 0 or at_home,
            is_target=url.hops > 0,
            url=url.text if hint.kind or n_words <= _FEW_WORDS else "",
            is_home=at_home,
        )
        measure.__dict__["seen"] = page
        return measure

    def decide(self, measure: Measure, memory: Memory, /) -> tuple[Verdict, Effects]:
        directory, host = _places(measure, memory)
        measure.__dict__["is_calm"] = _has_shown(measure, host) and not directory.answers_everything and _is_ordinary(measure)
        kind, word = self._find(measure, host, memory)
        if not kind:
            return NO_SOFT_ERROR, NO_EFFECTS
        return msgspec.structs.replace(soft_error(kind, word), follow=word == "none"), NO_EFFECTS

    def observe(self, measure: Measure, judgement: Judgement, memory: Memory, /) -> Effects:
        if measure.__dict__.get("is_calm") and judgement.is_new:
            return NOTHING_LEARNED
        directory, host = _places(measure, memory)
        kind, word = self._find(measure, host, memory)
        if measure.is_target and measure.status == 200:
            TARGETS.put(memory, measure.page, Target(measure.look, measure.hint))
        if kind:
            noted = tuple(self._note(measure, kind, directory, host, memory))
            return noted if word != "none" or measure.status != 200 else (*noted, *self._suspect(measure, memory, is_set_aside=True))
        if measure.status in _SAYS_SO:
            if judgement.is_new:
                _learn_error_page(measure, host, memory)
            return NO_EFFECTS
        if measure.status != 200:
            return NO_EFFECTS
        if judgement.is_new:
            _learn_good_page(measure, directory, host, memory)
        return tuple(self._suspect(measure, memory)) if _is_suspect(measure, host) else NO_EFFECTS

    def _find(self, measure: Measure, host: Host, memory: Memory) -> tuple[str, str]:
        """Return the kind of soft error that a page is, "" if nothing says so, and what the probe came to."""
        if _is_gate_at_sight(measure) and measure.status in (200, 403):
            return ("", "") if self._is_cleared(measure, host, memory) else (measure.hint, "none")
        if measure.status != 200 or (measure.is_exempt and not _may_convict_exempt(measure)):
            return "", ""
        if any(may_match(measure.n_words, text.look, text.spread) for text in host.texts):
            kind = is_known_error(measure.look, host, is_hinted=bool(measure.hint))
            if kind:
                return measure.hint or kind, "same_text"
        if not _is_suspect(measure, host) or host.day < 0:
            return "", ""
        if measure.is_target and measure.page in host.landings:
            return measure.hint, "same_target"
        standing = stand(_suspect_of(measure), host, measure.day, memory)
        if standing.step is Step.SOFT:
            return measure.hint or standing.directory.kind or Kind.NOT_FOUND, "same_text"
        return "", ""

    def _is_cleared(self, measure: Measure, host: Host, memory: Memory) -> bool:
        """Tell whether probes have shown that what a page's title says is no gate of its place."""
        if host.day < 0 or measure.status != 200:
            return False
        standing = stand(_suspect_of(measure), host, measure.day, memory)
        return standing.step is Step.GOOD and standing.directory.outcome not in (Outcome.NONE, Outcome.FAILED)

    def _note(self, measure: Measure, kind: str, directory: Directory, host: Host, memory: Memory) -> Iterator[Effect]:
        """Count a soft error."""
        if directory.answers_everything:
            directory.n_soft += 1
            DIRECTORIES.put(memory, measure.directory, directory)
        if kind in WALLS and not measure.is_target and measure.url:  # else it is the wall of those that redirect to it
            yield from count_walls(memory, measure.host, host, 1, origin_of(measure.url))

    def _suspect(self, measure: Measure, memory: Memory, *, is_set_aside: bool = False) -> Iterator[Effect]:
        """Ask what a suspect needs to be asked, if nobody has, and let it wait for the answer."""
        suspect = _suspect_of(measure, is_set_aside=is_set_aside)
        standing = stand(suspect, HOSTS.get(memory, measure.host) or Host(), measure.day, memory)
        if standing.step in (Step.PROBE, Step.CONTROL, Step.WAIT):
            yield from try_suspect(suspect, standing, measure.host, measure.day, memory, max_probes=self._max_probes)


def _places(measure: Measure, memory: Memory) -> tuple[Directory, Host]:
    """Return what is known of a page's first place and of its host. As long as the host was never probed, its places need no name."""
    host = HOSTS.get(memory, measure.host) or Host()
    return (DIRECTORIES.get(memory, measure.directory) if host.day >= 0 else None) or Directory(), host


def _suspect_of(measure: Measure, *, is_set_aside: bool = False) -> Suspect:
    told = (measure.look, measure.hint, measure.is_exempt, measure.url, measure.is_strong, measure.is_target)
    return Suspect(measure.page, *told, is_set_aside)


def _is_gate_at_sight(measure: Measure) -> bool:
    """Tell whether a page's title says that it is a challenge or asks for consent, and the page hardly more."""
    return measure.is_strong and measure.hint in (Kind.CHALLENGE, Kind.CONSENT)


def _is_ordinary(measure: Measure) -> bool:
    """Tell whether nothing can be learned from a page of a host that is known to be good."""
    return not measure.hint and not measure.is_target and measure.status == 200


def _is_suspect(measure: Measure, host: Host) -> bool:
    """Tell whether a page's words make it a suspect: of what needs no probe to be told apart from an error, only gates."""
    if (measure.hint == Kind.LOGIN and not measure.is_target) or (measure.hint == Kind.SHELL and host.is_good):
        return False
    return bool(measure.hint) and (not measure.is_exempt or _may_convict_exempt(measure))


def _may_convict_exempt(measure: Measure) -> bool:
    """Tell whether a home page or a seed can be called what its words say: an application's shell is its home page."""
    return measure.is_strong and measure.hint in GATES and measure.hint != Kind.SHELL


def _learn_error_page(measure: Measure, host: Host, memory: Memory) -> None:
    """Remember how the host's honest error pages look."""
    if measure.n_words < _ENOUGH_WORDS or len(host.texts) >= _MOST_TEXTS:
        return
    if is_home_too(measure.look, host):
        return
    if all(compare(measure.look, (text.look,), spread=AKIN) is not Likeness.SAME for text in host.texts):
        host.texts.append(Text(measure.look, NEARLY_EQUAL, _SAYS_SO[measure.status]))
        HOSTS.put(memory, measure.host, host)


def _has_shown(measure: Measure, host: Host) -> bool:
    """Tell whether the host has shown all that a good page could show of it."""
    return host.is_good and not _is_better_home(measure, host)


def _is_better_home(measure: Measure, host: Host) -> bool:
    """Tell whether a page stands better for the host's home page than what is known: it itself, or a seed that says nothing odd."""
    if measure.is_home:
        return not host.is_home
    return host.home is None and measure.is_exempt and measure.hint in ("", Kind.SHELL)


def _learn_good_page(measure: Measure, directory: Directory, host: Host, memory: Memory) -> None:
    is_better_home = _is_better_home(measure, host) and not _may_convict_exempt(measure)
    if is_better_home:
        host.home, host.is_home = measure.look, measure.is_home
    if is_better_home or not (measure.hint or host.is_good):
        host.is_good = host.is_good or not measure.hint
        HOSTS.put(memory, measure.host, host)
    if directory.answers_everything and not measure.hint:
        directory.n_good += 1
        DIRECTORIES.put(memory, measure.directory, directory)
