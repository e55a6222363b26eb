"""Media: extensions before the request, types and sizes before the body."""

import pytest
from subjects import head, refusal

from thresher.config.settings import Media
from thresher.crawler.core.model import Reason
from thresher.filters.media import ExtensionFilter, TypeFilter

TYPES = ["text/html", "application/xhtml+xml", "text/plain"]


@pytest.mark.parametrize("path", ["/a.pdf", "/x/y.JPEG", "/a.tar.gz", "/a.png?size=1"])
def test_a_media_extension_is_not_requested(path: str) -> None:
    assert refusal(ExtensionFilter(Media()), f"http://a.example{path}") is Reason.BAD_TYPE


@pytest.mark.parametrize("path", ["/", "/a.html", "/pdf", "/v1.2/notes", "/x?file=a.pdf", "/a.pdf/view", "/.png/"])
def test_other_paths_are_requested(path: str) -> None:
    assert refusal(ExtensionFilter(Media()), f"http://a.example{path}") is None


def test_a_foreign_type_ends_after_its_headers() -> None:
    """P43."""
    gate = TypeFilter(Media(), TYPES)
    assert gate.refuses(head("http://a.example/x", content_type="application/zip")) is Reason.BAD_TYPE
    assert gate.refuses(head("http://a.example/x", content_type="Text/HTML; charset=x")) is None
    assert gate.refuses(head("http://a.example/x")) is None


def test_a_declared_size_beyond_the_limit_ends_after_its_headers() -> None:
    gate = TypeFilter(Media(max_declared_size=1000), TYPES)
    assert gate.refuses(head("http://a.example/x", content_type="text/html", content_length="1001")) is Reason.TOO_LARGE
    assert gate.refuses(head("http://a.example/x", content_type="text/html", content_length="1000")) is None


def test_a_family_of_types_can_be_accepted() -> None:
    gate = TypeFilter(Media(), ["text/*"])
    assert gate.refuses(head("http://a.example/x", content_type="text/csv")) is None
    assert gate.refuses(head("http://a.example/x", content_type="image/png")) is Reason.BAD_TYPE
    assert TypeFilter(Media(), ["*/*"]).refuses(head("http://a.example/x", content_type="image/png")) is None
