"""Several agents judge as one does: what is local to a site by law, over every filter of the registry."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from msgspec.structs import replace
from subjects import SPACE, batch
from team import Team
from webs import SEEDS, Subject, pages, settings, urls

from thresher.config.settings import NearReplicaSettings, SoftErrorSettings
from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.model import Page
from thresher.crawler.core.ownership import Ownership
from thresher.filters.registry import specs
from thresher.filters.spec import FilterSpec


def registered(owners: Ownership | None) -> Sequence[FilterSpec]:
    """Return all filters but those which count and compare what is of several sites."""
    of = settings()
    local = replace(of.filters, soft_error=SoftErrorSettings(mode="off"), near_replica=NearReplicaSettings(mode="off"))
    return specs(replace(of, filters=local), SEEDS, owners)


def _of_one_site(source: str, texts: list[str]) -> LinkBatch:
    site = SPACE.url(source).site
    return batch(*[text for text in texts if SPACE.url(SPACE.canonical(text)).site == site] or [source], source=source)


batches = st.builds(_of_one_site, st.sampled_from(("http://a.example/", "http://b.example/")), st.lists(urls, min_size=1, unique=True))


def said(team: Team, subject: Page | LinkBatch) -> object:
    """Return what is said of a subject."""
    deliberation = team.judge(subject)
    return (deliberation.judgement.verdicts if isinstance(subject, Page) else dict(deliberation.judgement.refused)), deliberation.effects


@examples(max_examples=20, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.one_of(pages, batches), max_size=25))
def test_what_is_local_to_a_site_is_said_as_one_agent_says_it(story: list[Subject]) -> None:
    """Mutation: a filter is asked at the agent that has another site."""
    one, several = Team(1, registered), Team(8, registered)
    assert several.at(SPACE.url(SEEDS[0])) is not several.at(SPACE.url(SEEDS[1]))
    for subject in story:
        assert isinstance(subject, Page | LinkBatch)
        assert said(several, subject) == said(one, subject)
        one.learn(subject)
        several.learn(subject)
