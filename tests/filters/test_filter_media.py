"""Media: extensions before the request, types and sizes before the body."""

import pytest
from subjects import head, refusal

from thresher.config.settings import MediaSettings
from thresher.crawler.core.model import Reason
from thresher.filters.media import AnnouncedTypes, ExtensionFilter, TypeFilter

TYPES = ["text/html", "application/xhtml+xml", "text/plain"]


@pytest.mark.parametrize("path", ["/a.pdf", "/x/y.JPEG", "/a.tar.gz", "/a.png?size=1"])
def test_a_media_extension_is_not_requested(path: str) -> None:
    assert refusal(ExtensionFilter(MediaSettings()), f"http://a.example{path}") is Reason.BAD_TYPE


@pytest.mark.parametrize("path", ["/", "/a.html", "/pdf", "/v1.2/notes", "/x?file=a.pdf", "/a.pdf/view", "/.png/"])
def test_other_paths_are_requested(path: str) -> None:
    assert refusal(ExtensionFilter(MediaSettings()), f"http://a.example{path}") is None


def test_a_foreign_type_ends_after_its_headers() -> None:
    """P43."""
    gate = TypeFilter(MediaSettings(), TYPES)
    assert gate.refuses(head("http://a.example/x", content_type="application/zip")) is Reason.BAD_TYPE
    assert gate.refuses(head("http://a.example/x", content_type="Text/HTML; charset=x")) is None
    assert gate.refuses(head("http://a.example/x")) is None


def test_a_declared_size_beyond_the_limit_ends_after_its_headers() -> None:
    gate = TypeFilter(MediaSettings(max_declared_size=1000), TYPES)
    assert gate.refuses(head("http://a.example/x", content_type="text/html", content_length="1001")) is Reason.TOO_LARGE
    assert gate.refuses(head("http://a.example/x", content_type="text/html", content_length="1000")) is None


def test_a_family_of_types_can_be_accepted() -> None:
    gate = TypeFilter(MediaSettings(), ["text/*"])
    assert gate.refuses(head("http://a.example/x", content_type="text/csv")) is None
    assert gate.refuses(head("http://a.example/x", content_type="image/png")) is Reason.BAD_TYPE
    assert TypeFilter(MediaSettings(), ["*/*"]).refuses(head("http://a.example/x", content_type="image/png")) is None


@pytest.mark.parametrize(
    "announced",
    [
        "application/json",
        "Application/JSON;charset=utf-8",
        "application/json+oembed",
        "text/xml+oembed",
        "application/activity+json",
        "application/ld+json",
        "application/rss+xml",
        "application/atom+xml",
        "text/calendar",
        "application/pdf",
        "text/xml",
    ],
)
def test_a_link_that_announces_what_is_not_read_is_not_followed(announced: str) -> None:
    assert AnnouncedTypes(MediaSettings(), TYPES).are_skipped(announced)
    assert not AnnouncedTypes(MediaSettings(mode="observe"), TYPES).are_skipped(announced)
    assert not AnnouncedTypes(MediaSettings(), ["*/*"]).are_skipped(announced)
    assert not AnnouncedTypes(MediaSettings(skip_announced=[]), TYPES).are_skipped(announced)


@pytest.mark.parametrize(
    "announced",
    [
        "text/html",
        "text/html; charset=utf-8",
        "application/xhtml+xml",
        "text/plain",
        "text/css",
        "text/javascript",
        "image/jpeg",
        "button",
        "",
        "json",
    ],
)
def test_a_link_that_announces_a_page_or_nothing_that_can_be_trusted_is(announced: str) -> None:
    assert not AnnouncedTypes(MediaSettings(), TYPES).are_skipped(announced)


def test_feeds_are_followed_once_they_are_read() -> None:
    gate = AnnouncedTypes(MediaSettings(), [*TYPES, "application/rss+xml"])
    assert [gate.are_skipped(kind) for kind in ("application/rss+xml", "application/atom+xml")] == [False, True]
