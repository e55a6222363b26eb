"""The page gate: pages with status 200 and without a redirect that are errors, gates or pages of parked domains.

A page is a suspect if its words hint at an error or a gate (kinds.py). For a suspect, probes of its places (probe.py) are requested. A
suspect is a soft error in three cases: the probe's page looks like it, and neither the control's page nor the host's home page does
(suspects.py); or redirects of other URLs and of a probe end at it; or it looks like known error pages of the host, those of other places
or its 404 pages.
While no probe is answered the page is kept; its verdict is revised later.

A page without such words is a suspect by its structure if its text equals that of another page of the host, apart from words that quote the
URL: a form to create a missing page, "nothing found for …", in any language. It is a soft error only if the probe's text is equal, too, and
if the page asks for text or a password, or its place has shown pages of another length; otherwise it may be a greeting, which is the same
everywhere. A page is also a soft error if its text equals the host's 404 page, or that of a convicted suspect. A short page that asks for a
password, on a host whose home page does not, is a login form, whatever its words. From the third address that shows the form on, no probe
is needed: the page behind it exists but is closed, since missing pages are answered as missing. The first address is the form itself.

Home pages and seeds are exempt, except from verdicts on gates that name themselves and on parked domains. A challenge or consent page that
says so in its title is called a gate at once, but its few links are followed. No filter learns from it, and a host that shows nothing else
is parked. If a probe is answered honestly, the verdict is taken back.

Cost of an ordinary page: a search for phrases in its title, and in its text if that is short, and one read of a record. A page that quotes
its URL in up to `_ECHOED` words costs a look and a record of 50 bytes more.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from thresher.config.settings import SoftErrorSettings
from thresher.crawler.core.effects import Effect, Revise
from thresher.crawler.core.model import Judgement, Page, Reason, Verdict
from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import is_home, origin_of
from thresher.filters.base import NO_EFFECTS, NOTHING_LEARNED, Effects
from thresher.filters.soft_error import probe
from thresher.filters.soft_error.kinds import GATES, WALLS, ErrorKind, hint_of
from thresher.filters.soft_error.looks import AKIN, NEARLY_EQUAL, Look, ProbeLikeness, compare, look_of, may_match, own_words
from thresher.filters.soft_error.records import (
    DIRECTORIES,
    ECHOES,
    HOSTS,
    LENGTHS,
    NAME,
    NO_SOFT_ERROR,
    TARGETS,
    Echo,
    ErrorText,
    ProbedHost,
    ProbedPlace,
    ProbeOutcome,
    RedirectTarget,
    SuspectPage,
    echo_key,
    soft_error,
)
from thresher.filters.soft_error.redirect_gate import count_walls
from thresher.filters.soft_error.suspects import ProbeStep, is_home_too, is_known_error, stand, try_suspect

_MOST_TEXTS = 4  # texts of a host's error pages that are remembered
_ENOUGH_WORDS = 12  # words that an error page needs to be compared with others
_ECHOED = 600  # words of a page, at most, to be tested for a template around a name
_OF_A_FORM = 300  # words of a login form, at most
_SAID_BY_FORM = 3  # from so many addresses with one login form on, no probe is needed
_MOST_NAMED = 8  # words by which pages of one template differ, at most
_SHARE_NAMED = 5  # the same as a share of the words: one fifth
_SAYS_SO = {404: ErrorKind.NOT_FOUND, 410: ErrorKind.NOT_FOUND, 403: ErrorKind.FORBIDDEN}


class PageLooks(msgspec.Struct, array_like=True, dict=True):
    """What judging a page needs of it. Its look and its directory are computed when first needed; for most pages they never are."""

    page: bytes  # key
    host: bytes
    day: int
    status: int
    n_words: int
    hint: str
    is_strong: bool
    is_exempt: bool
    is_target: bool  # a redirect led to it
    url: str = ""  # canonical URL, only for pages that may become suspects
    made_directory: bytes = b""
    made_look: Look | None = None
    is_home: bool = False
    form: str = ""  # kind of input that its form asks for
    may_echo: bool = False  # its words may be a template around its name
    is_echo: bool = False  # as `may_echo`, and it quotes its URL or asks for a password
    n_own: int = -1  # words without those that quote its URL; -1: not counted

    @property
    def directory(self) -> bytes:
        """The key of the page's directory."""
        if not self.made_directory:
            self.made_directory = probe.directory_key(self.__dict__["seen"].url)
        return self.made_directory

    @property
    def own(self) -> int:
        """Words without those that quote the page's URL."""
        return self.n_own if self.n_own >= 0 else self.look.n_words

    @property
    def look(self) -> Look:
        """The page's look. In a replay it is in the journal if it was computed in the crawl."""
        if self.made_look is None:
            self.made_look = look_of(self.__dict__["seen"])
        return self.made_look


class PageGate:
    """Judges pages."""

    name = NAME
    measure_type = PageLooks

    def __init__(self, settings: SoftErrorSettings) -> None:
        self._max_probes = settings.max_probes

    def measure(self, page: Page, /) -> PageLooks:
        url, n_words = page.url, int(page.tokens.size)
        hint, at_home = hint_of(page), is_home(page.url.text)
        measure = PageLooks(
            page=url.key,
            host=probe.host_key(url),
            day=probe.day_of(page.at),
            status=page.status,
            n_words=n_words,
            hint=hint.kind,
            is_strong=hint.is_strong,
            is_exempt=url.seed_distance == 0 or at_home,
            is_target=url.hops > 0,
            url=url.text if hint.kind or n_words <= _ECHOED else "",
            is_home=at_home,
            form=page.form,
        )
        measure.__dict__["seen"] = page
        measure.may_echo = _may_echo(measure)
        if measure.may_echo:
            measure.n_own = int(own_words(page).size)
            measure.is_echo = (measure.n_own < n_words or page.form == "password") and measure.n_own >= _ENOUGH_WORDS
        return measure

    def decide(self, measure: PageLooks, memory: Memory, /) -> tuple[Verdict, Effects]:
        directory, host = _places(measure, memory)
        measure.__dict__["is_calm"] = _has_shown(measure, host) and not directory.answers_everything and _is_ordinary(measure)
        kind, word = self._find(measure, host, memory)
        if not kind:
            return NO_SOFT_ERROR, NO_EFFECTS
        return msgspec.structs.replace(soft_error(kind, word), follow=word == "none"), NO_EFFECTS

    def observe(self, measure: PageLooks, judgement: Judgement, memory: Memory, /) -> Effects:
        if measure.__dict__.get("is_calm") and judgement.is_new and not (measure.may_echo and _is_news(measure, memory)):
            return NOTHING_LEARNED
        directory, host = _places(measure, memory)
        kind, word = self._find(measure, host, memory)
        if measure.is_target and measure.status == 200:
            TARGETS.put(
                memory, measure.page, RedirectTarget(measure.look, measure.hint or (ErrorKind.LOGIN if _asks_alone(measure, host) else ""))
            )
        if kind:
            noted = tuple(self._note(measure, kind, directory, host, memory))
            return noted if word != "none" or measure.status != 200 else (*noted, *self._suspect(measure, memory, is_gate=True))
        if measure.status in _SAYS_SO:
            if judgement.is_new:
                _learn_error_page(measure, host, memory)
            return NO_EFFECTS
        if measure.status != 200:
            return NO_EFFECTS
        if judgement.is_new:
            _learn_good_page(measure, directory, host, memory)
        if _is_suspect(measure, host):
            return tuple(self._suspect(measure, memory))
        if not measure.may_echo:
            return NO_EFFECTS
        is_copy = _is_copy(judgement) and measure.form != "password"
        return tuple(self._copy(measure, memory) if is_copy else self._echo(measure, host, memory))

    def _find(self, measure: PageLooks, host: ProbedHost, memory: Memory) -> tuple[str, str]:
        """Return the kind of soft error that a page is, "" if it is none, and the result of the probe."""
        if not (measure.hint or measure.may_echo or host.texts):  # nearly every page: neither its words nor its host give a reason to look
            return "", ""
        if _is_gate_at_sight(measure) and measure.status in (200, 403):
            return ("", "") if self._is_cleared(measure, host, memory) else (measure.hint, "none")
        if measure.status != 200 or (measure.is_exempt and not _may_convict_exempt(measure)):
            return "", ""
        if any(may_match(measure.n_words, text.look, text.spread) for text in host.texts):
            kind = is_known_error(measure.look, host, is_hinted=bool(measure.hint))
            if kind:
                return measure.hint or kind, "same_text"
        if measure.may_echo and _is_known_form(measure, host, memory):
            return ErrorKind.LOGIN, "same_text"
        if not _is_suspect(measure, host) or host.day < 0:
            return "", ""
        if measure.is_target and measure.page in host.landings:
            return measure.hint, "same_target"
        standing = stand(_suspect_of(measure), host, measure.day, memory)
        if standing.step is ProbeStep.SOFT:
            return measure.hint or standing.directory.kind or ErrorKind.NOT_FOUND, "same_text"
        return "", ""

    def _is_cleared(self, measure: PageLooks, host: ProbedHost, memory: Memory) -> bool:
        """Return whether probes have shown that the page is no gate of its place, whatever its title says."""
        if host.day < 0 or measure.status != 200:
            return False
        standing = stand(_suspect_of(measure), host, measure.day, memory)
        return standing.step is ProbeStep.GOOD and standing.directory.outcome not in (ProbeOutcome.NONE, ProbeOutcome.FAILED)

    def _note(self, measure: PageLooks, kind: str, directory: ProbedPlace, host: ProbedHost, memory: Memory) -> Iterator[Effect]:
        """Count a soft error."""
        if directory.answers_everything:
            directory.n_soft += 1
            DIRECTORIES.put(memory, measure.directory, directory)
        if kind in WALLS and not measure.is_target and measure.url:  # if a redirect led to it, the wall belongs to the hosts that redirect
            yield from count_walls(memory, measure.host, host, 1, origin_of(measure.url))

    def _echo(self, measure: PageLooks, host: ProbedHost, memory: Memory) -> Iterator[Effect]:
        """Check whether a page's text equals another page's text except for its name; remember the lengths of the pages of its place."""
        if _is_first_of_its_length(measure, memory):
            is_second = LENGTHS.get(memory, measure.directory) is not None
            LENGTHS.put(memory, measure.directory, 0 if is_second else measure.own)
        if not measure.is_echo or (measure.form == "password" and not _asks_alone(measure, host)):
            return
        echo = _repeated(measure, memory)
        if measure.form == "password" and len(echo.pages) == _SAID_BY_FORM and not echo.is_judged:
            echo.is_judged = True
            ECHOES.put(memory, echo_key(measure.host, measure.look), echo)
            for page in echo.pages[1:]:
                yield Revise(page, soft_error(ErrorKind.LOGIN, "none"))
        elif echo.pages[0] != measure.page:
            yield from self._suspect(msgspec.structs.replace(measure, hint="", made_look=measure.look), memory)

    def _copy(self, measure: PageLooks, memory: Memory) -> Iterator[Effect]:
        """Suspect a copy of a page that is suspected by its structure: what the probe shows of the one holds for the other."""
        echo = ECHOES.get(memory, echo_key(measure.host, measure.look)) if measure.is_echo else None
        if echo is not None and len(echo.pages) > 1:
            yield from self._suspect(msgspec.structs.replace(measure, hint="", made_look=measure.look), memory)

    def _suspect(self, measure: PageLooks, memory: Memory, *, is_gate: bool = False) -> Iterator[Effect]:
        """Request the probe that a suspect needs, unless it was requested, and record the suspect for its answer."""
        suspect = _suspect_of(measure, is_gate=is_gate)
        standing = stand(suspect, HOSTS.get(memory, measure.host) or ProbedHost(), measure.day, memory)
        if standing.step in (ProbeStep.PROBE, ProbeStep.CONTROL, ProbeStep.WAIT):
            yield from try_suspect(suspect, standing, measure.host, measure.day, memory, max_probes=self._max_probes)


def _places(measure: PageLooks, memory: Memory) -> tuple[ProbedPlace, ProbedHost]:
    """Return the records of a page's first place and of its host. While the host was never probed, its places are not looked up."""
    host = HOSTS.get(memory, measure.host) or ProbedHost()
    return (DIRECTORIES.get(memory, measure.directory) if host.day >= 0 else None) or ProbedPlace(), host


def _suspect_of(measure: PageLooks, *, is_gate: bool = False) -> SuspectPage:
    told = (measure.look, measure.hint, measure.is_exempt, measure.url, measure.is_strong, measure.is_target)
    return SuspectPage(measure.page, *told, is_gate, measure.form)


def _is_gate_at_sight(measure: PageLooks) -> bool:
    """Return whether a page's title names a challenge or a request for consent, and its text is hardly longer."""
    return measure.is_strong and measure.hint in (ErrorKind.CHALLENGE, ErrorKind.CONSENT)


def _is_ordinary(measure: PageLooks) -> bool:
    """Return whether nothing can be learned from a page of a host that is known to be good."""
    return not (measure.hint or measure.is_target) and measure.status == 200


def _may_echo(measure: PageLooks) -> bool:
    """Return whether a page is searched for words that quote its URL."""
    is_open = measure.status == 200 and not (measure.is_exempt or measure.is_target)
    return is_open and measure.hint in ("", ErrorKind.LOGIN) and _ENOUGH_WORDS <= measure.n_words <= _ECHOED


def _asks_alone(measure: PageLooks, host: ProbedHost) -> bool:
    """Return whether a page asks for a password, is short, and the home page does not ask."""
    return measure.form == "password" and measure.n_words <= _OF_A_FORM and host.home is not None and not host.asks_at_home


def _is_known_form(measure: PageLooks, host: ProbedHost, memory: Memory) -> bool:
    """Return whether a page shows the login form that other addresses of the host have shown."""
    if not (measure.is_echo and _asks_alone(measure, host)):
        return False
    echo = ECHOES.get(memory, echo_key(measure.host, measure.look))
    return echo is not None and echo.is_judged and measure.page != echo.pages[0]


def _is_copy(judgement: Judgement) -> bool:
    """Return whether a page is an exact copy: then it does not quote its name. A near copy may be the same sentence with another name."""
    return any(verdict.reason is Reason.DUPLICATE_CONTENT for verdict in judgement.verdicts)


def _is_news(measure: PageLooks, memory: Memory) -> bool:
    """Return whether a page that may be a template around its name says something new about its place."""
    return measure.is_echo or _is_first_of_its_length(measure, memory)


def _is_first_of_its_length(measure: PageLooks, memory: Memory) -> bool:
    """Return whether a page is the first of its place, or the first that is longer or shorter by more than a name, a clock or a count."""
    first = LENGTHS.get(memory, measure.directory)
    return first is None or (first > 0 and abs(measure.own - first) > max(_MOST_NAMED, first // _SHARE_NAMED))


def _repeated(measure: PageLooks, memory: Memory) -> Echo:
    """Return the pages with the same text apart from words that quote their URLs; this page is one of them."""
    key = echo_key(measure.host, measure.look)
    echo = ECHOES.get(memory, key) or Echo([])
    if measure.page not in echo.pages and len(echo.pages) < _SAID_BY_FORM:
        echo.pages = [*echo.pages, measure.page]
        ECHOES.put(memory, key, echo)
    return echo


def _is_suspect(measure: PageLooks, host: ProbedHost) -> bool:
    """Return whether a page is a suspect by its words: they hint at an error or a gate.

    A login form is one only if a redirect led to it, a shell only while its host has shown no good page, an exempt page only as
    `_may_convict_exempt` allows.
    """
    if (measure.hint == ErrorKind.LOGIN and not measure.is_target) or (measure.hint == ErrorKind.SHELL and host.is_good):
        return False
    return bool(measure.hint) and (not measure.is_exempt or _may_convict_exempt(measure))


def _may_convict_exempt(measure: PageLooks) -> bool:
    """Return whether a home page or a seed can be judged by its words. Not as a shell: an application's home page is its shell."""
    return measure.is_strong and measure.hint in GATES and measure.hint != ErrorKind.SHELL


def _learn_error_page(measure: PageLooks, host: ProbedHost, memory: Memory) -> None:
    """Remember how the host's honest error pages look."""
    if measure.n_words < _ENOUGH_WORDS or len(host.texts) >= _MOST_TEXTS:
        return
    if is_home_too(measure.look, host):
        return
    if all(compare(measure.look, (text.look,), spread=AKIN) is not ProbeLikeness.SAME for text in host.texts):
        host.texts.append(ErrorText(measure.look, NEARLY_EQUAL, _SAYS_SO[measure.status]))
        HOSTS.put(memory, measure.host, host)


def _has_shown(measure: PageLooks, host: ProbedHost) -> bool:
    """Return whether a good page adds nothing to the knowledge about its host."""
    return host.is_good and not _is_better_home(measure, host)


def _is_better_home(measure: PageLooks, host: ProbedHost) -> bool:
    """Return whether a page is a better example of the host's home page than the known one: that page itself, or an ordinary seed."""
    if measure.is_home:
        return not host.is_home
    return host.home is None and measure.is_exempt and measure.hint in ("", ErrorKind.SHELL)


def _learn_good_page(measure: PageLooks, directory: ProbedPlace, host: ProbedHost, memory: Memory) -> None:
    is_better_home = _is_better_home(measure, host) and not _may_convict_exempt(measure)
    if is_better_home:
        host.home, host.is_home, host.asks_at_home = measure.look, measure.is_home, measure.form == "password"
    if is_better_home or not (measure.hint or host.is_good):
        host.is_good = host.is_good or not measure.hint
        HOSTS.put(memory, measure.host, host)
    if directory.answers_everything and not measure.hint:
        directory.n_good += 1
        DIRECTORIES.put(memory, measure.directory, directory)
