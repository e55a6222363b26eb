"""Whatever another agent writes, no exception ends the agent that reads it. Long form: `python -m benchmarks.proofs.message_fuzz`."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from messages_fuzz import Step, messages, stories, told

from thresher.crawler.core.messages import encode


def _torn(packed: bytes, at: int, other: bytes) -> bytes:
    """Return a message with some bytes replaced."""
    return packed[:at] + other + packed[at + len(other) :]


quick = examples(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("mode", ["enforce", "observe"])
def test_no_valid_message_ends_an_agent_whatever_came_before_and_twice(mode: str) -> None:
    """Every type, any order, each twice; all are done, none is quarantined, and the store keeps its invariants."""

    @quick
    @given(stories)
    def holds(story: list[Step]) -> None:
        left = told(story, mode)
        assert left.problems == []
        assert [(record.what, record.why) for record in left.quarantined] == []
        assert left.n_messages == 2 * sum(isinstance(step, bytes) for step in story)

    holds()


@quick
@given(
    st.lists(
        st.one_of(st.binary(max_size=40), st.builds(_torn, messages.map(encode), st.integers(0, 40), st.binary(max_size=3))), max_size=30
    )
)
def test_what_is_no_message_is_quarantined_at_once(story: list[bytes]) -> None:
    left = told(story)
    assert left.problems == []
    assert left.n_messages == 2 * len(story)
    assert {record.what for record in left.quarantined} | {"unreadable messages"} >= {"unreadable messages"}
