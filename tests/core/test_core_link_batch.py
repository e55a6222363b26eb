"""A batch of links names its sites in the order of their first links, as sorting the links by site does."""

from __future__ import annotations

import pytest

from thresher.crawler.core.link_batch import LinkBatch
from thresher.crawler.core.url import URLRules, URLSpace

SPACE = URLSpace(bytes(16), URLRules(ports=None))


@pytest.mark.parametrize(
    "texts",
    [
        ["http://b.example/1"],
        ["http://b.example/1", "http://www.a.example/", "http://b.example/2", "http://a.example/3", "http://c.example/"],
        [f"http://{name}.example/" for name in "zyxwvutsrqponml"],
    ],
)
def test_a_batch_names_its_sites_in_the_order_of_their_first_links(texts: list[str]) -> None:
    """Law. Mutations: a set in place of the dict, which has no order; whole keys in place of their sites."""
    urls = [SPACE.url(text) for text in texts]
    batch = LinkBatch.from_urls(SPACE.url("http://a.example/page"), urls)
    assert batch.site_keys == (*batch.by_site,)
    assert len(batch.site_keys) == len({url.site for url in urls})
