"""The soft-error filter and its parts: redirect gate, page gate, learned gate, and the prober.

`spec` puts together RedirectGate (redirect_gate.py), PageGate (pages.py), Prober (prober.py), and here:
    LinkGate    refuses links that can only lead to a known soft error: those of a form ("/login?next=…") to which soft errors lead, and
                those of a directory that answers everything, once it has shown `give_up_after` soft errors for each good page. A URL is
                judged again just before it is requested

The four share one memory (records.py, stream.py) and, in the same mode, the name under which they give verdicts.
"""

from __future__ import annotations

from types import NoneType

from thresher.config.settings import SoftErrorSettings
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import CrawlURL, Mode, Verdict
from thresher.crawler.core.ownership import Ownership
from thresher.crawler.core.ports import Memory
from thresher.filters.base import NO_EFFECTS, NOTHING_REFUSED, Effects, LinkJudgement, LinkRuling
from thresher.filters.soft_error import probe
from thresher.filters.soft_error.kinds import ErrorKind
from thresher.filters.soft_error.pages import PageGate
from thresher.filters.soft_error.prober import ProbeLearner
from thresher.filters.soft_error.records import DIRECTORIES, NAME, TEMPLATES, FaultySites, forget_again, soft_error
from thresher.filters.soft_error.redirect_gate import RedirectGate, target_key, template
from thresher.filters.soft_error.sharing import Shared, SharedGate, SharedProber
from thresher.filters.spec import FilterSpec

_SITE = 8


def spec(settings: SoftErrorSettings, owners: Ownership | None = None, *, shared: FaultySites | None = None) -> FilterSpec:
    """Return the filter with all its parts.

    Args:
        settings: Its options.
        owners: The owners of sites, if there are several agents.
        shared: Cached memory, shared with the parts of the same filter under other settings.
    """
    faults = shared or FaultySites()
    redirect, prober = RedirectGate(settings, faults), ProbeLearner(settings, faults)
    peers = Shared(redirect, faults, owners) if owners is not None else None
    return FilterSpec(
        NAME,
        Mode(settings.mode),
        learned=SoftErrorLinkGate(settings, faults),
        again=faults.has,
        redirect=redirect if peers is None else SharedGate(redirect, peers),
        page=PageGate(settings),
        prober=prober if peers is None else SharedProber(prober, peers),
        peer_filter=peers,
        on_restored=faults.drop,
        on_again=forget_again,
        shared=faults,
        learns_late=True,
    )


class SoftErrorLinkGate:
    """Learned gate; other parts write the memory that it reads. One read for each site, two for each link to a site with a fault."""

    name = NAME
    measure_type = NoneType

    def __init__(self, settings: SoftErrorSettings, faults: FaultySites) -> None:
        self._give_up_after = settings.give_up_after
        self._faults = faults

    def measure(self, batch: LinkBatch, /) -> LinkBatch:
        return batch

    def decide(self, batch: LinkBatch, memory: Memory, /) -> tuple[LinkRuling, Effects]:
        faulty = [site for site in batch.site_keys if self._faults.has(site, memory)]
        if not faulty:
            return NOTHING_REFUSED, NO_EFFECTS
        refused = {i: verdict for i in batch.of_sites(faulty) if (verdict := self._refuses(batch, i, memory)) is not None}
        return (LinkRuling(refused) if refused else NOTHING_REFUSED), NO_EFFECTS

    def observe(self, batch: LinkBatch, judgement: LinkJudgement, memory: Memory, /) -> Effects:
        return NO_EFFECTS

    def _refuses(self, batch: LinkBatch, i: int, memory: Memory) -> Verdict | None:
        """Return the verdict against a link, None if it may be followed.

        It is refused if its directory is closed, or if soft errors lead to URLs of its form.
        """
        text, key, source = batch.texts[i], batch.keys[i], batch.source
        is_again = key == source.key  # a known URL that is about to be requested
        if is_again and source.seed_distance == 0:
            return None
        directory = DIRECTORIES.get(memory, probe.key_of_directory(probe.directory_of(text), batch.hosts[i], key))
        if directory is not None and directory.is_closed(self._give_up_after):
            return soft_error(directory.kind or ErrorKind.NOT_FOUND, "directory")
        if "?" not in text or is_again or template(source.text, text) == text:
            return None
        kind = TEMPLATES.get(memory, target_key(source, CrawlURL(text, batch.sites[i], batch.hosts[i], key)))
        return soft_error(kind, "target") if kind is not None else None
