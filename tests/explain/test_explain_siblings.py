"""`thresher explain URL` says for which siblings a visit was brought forward."""

from __future__ import annotations

from thresher.crawler.core.revisit_plans import PagePlan
from thresher.crawler.explain.visited_again import _why


def test_a_visit_that_was_brought_forward_names_the_siblings_that_changed() -> None:
    plan = PagePlan(0.0, interval_s=86_400.0, rate=1 / 864_000.0, why="unchanged", siblings=("/doc", 7, 8))
    assert _why(plan).endswith("; brought forward since 7 of 8 siblings under /doc/ changed with it")
    plan.siblings = ("", 0, 0)
    assert _why(plan).endswith("; brought forward since one under / has changed, and they change together")
    plan.siblings = None
    assert "brought forward" not in _why(plan)
