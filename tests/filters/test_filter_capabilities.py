"""What filters can do beside judging: every capability of a registered filter is one, under the filter's name."""

from __future__ import annotations

import msgspec
import pytest

from thresher.config.settings import Settings
from thresher.crawler.core.ownership import Ownership, divided
from thresher.filters.capabilities import study_at
from thresher.filters.registry import specs
from thresher.filters.spec import FilterSpec

SPECS = specs(Settings(), ["https://a.example/"], Ownership(divided(2), 0))
CAPABILITIES = {"relinks": "measure_type", "prober": "answer_type", "learner": "finding_type", "peer_filter": "news_type"}


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_a_capability_has_its_filters_name_and_a_type_for_the_journal(spec: FilterSpec) -> None:
    for field, type_of in CAPABILITIES.items():
        if (part := getattr(spec, field)) is not None:
            assert part.name == spec.name
            msgspec.msgpack.Decoder(getattr(part, type_of))


def test_all_capabilities_are_in_use() -> None:
    assert {field for field in CAPABILITIES for spec in SPECS if getattr(spec, field) is not None} == set(CAPABILITIES)


def test_a_study_is_a_function_that_another_process_can_import() -> None:
    learners = [spec.learner for spec in SPECS if spec.learner is not None]
    assert learners
    assert all(callable(study_at(learner.study)) for learner in learners)


@pytest.mark.parametrize("place", ["", "json:nothing", "nowhere:study"])
def test_a_study_that_is_not_there_is_an_error(place: str) -> None:
    with pytest.raises((ImportError, AttributeError, ValueError)):
        study_at(place)
