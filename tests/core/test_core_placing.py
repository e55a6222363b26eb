"""The first place of a URL in its host's queue."""

from __future__ import annotations

from fake_queues import Queues

from thresher.crawler.core.model import Purpose
from thresher.crawler.core.order.breadth_first import BreadthFirst
from thresher.crawler.core.placing import place
from thresher.crawler.core.ports import Lane
from thresher.crawler.core.url import URLRules, URLSpace

URLS = URLSpace(bytes(32), URLRules())


def test_a_linked_url_stands_in_the_crawls_order_and_an_announced_one_in_a_lane_of_its_own() -> None:
    """Mutation: an announced URL was queued among the links."""
    order = BreadthFirst(Queues())
    linked = URLS.url("http://a.example/x", site_depth=3)
    announced = URLS.url("http://a.example/x", site_depth=3, purpose=Purpose.ANNOUNCED)
    assert place(order, linked) == (Lane.FRESH, order.rank(3, 0))
    assert place(order, announced) == (Lane.ANNOUNCED, 3)
