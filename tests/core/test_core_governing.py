"""Every reason for which something is not fetched says which options govern it, or that none does."""

from thresher.config.options import known
from thresher.crawler.core.governing import OPTIONS, UNGOVERNED, counted, governed
from thresher.crawler.core.model import Cause, Reason


def test_every_reason_and_cause_stands_in_exactly_one_table() -> None:
    every = {str(name) for name in (*Reason, *Cause)}
    assert {*map(str, OPTIONS), *map(str, UNGOVERNED)} == every
    assert not set(OPTIONS) & UNGOVERNED


def test_every_option_that_is_named_is_one() -> None:
    assert {option for options in OPTIONS.values() for option in options} <= set(known())


def test_a_count_and_a_name_carry_their_options() -> None:
    assert counted({"bad_url": 1, "bad_port": 1_200}) == "bad_port 1,200 (fetch.allow_ports, profile), bad_url 1"
    assert governed("bad_port", "port 8000") == "bad_port (port 8000; fetch.allow_ports, profile)"
    assert governed("quarantined") == "quarantined"
