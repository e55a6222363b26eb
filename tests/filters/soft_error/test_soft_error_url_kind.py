"""What two URLs tell of a redirect."""

from __future__ import annotations

import numpy as np
import pytest

from thresher.filters.soft_error.url_kind import UrlKind, is_root, url_kind, url_kinds

KINDS = [
    (UrlKind.NOT_FOUND, "http://a.example/x", "http://a.example/404.html"),
    (UrlKind.NOT_FOUND, "http://a.example/x", "http://errdoc.gabia.example/404.html"),
    (UrlKind.NOT_FOUND, "http://a.example/x", "http://errdoc.gabia.example/doc.html"),
    (UrlKind.NOT_FOUND, "http://a.example/x", "http://a.example/PageNotFound.aspx"),
    (UrlKind.NOT_FOUND, "http://a.example/x", "http://a.example/page%20not%20found/"),
    (UrlKind.NOT_FOUND, "http://a.example/x", "http://a.example/index.php?error=404"),
    (UrlKind.NOT_FOUND, "http://a.example/x", "http://a.example/de/seite-nicht-gefunden"),
    (UrlKind.NOT_FOUND, "http://a.example/x", "http://a.example/sets/this-document-is-no-longer-here--3"),
    (UrlKind.NOT_FOUND, "http://a.example/x", "http://a.example/CustomError.html"),
    (UrlKind.FORBIDDEN, "http://a.example/x", "http://a.example/errors/403"),
    (UrlKind.FORBIDDEN, "http://a.example/x", "http://a.example/access_denied.php"),
    (UrlKind.SERVER_ERROR, "http://a.example/x", "http://a.example/error503.html"),
    (UrlKind.SERVER_ERROR, "http://a.example/x", "http://a.example/50x.html"),
    (UrlKind.SERVER_ERROR, "http://a.example/x", "http://a.example/maintenance.html"),
    (UrlKind.LOGIN, "http://a.example/x", "http://a.example/login?return=%2Fx"),
    (UrlKind.LOGIN, "http://a.example/x", "https://login.a.example/"),
    (UrlKind.LOGIN, "http://a.example/x", "http://a.example/users/sign_in"),
    (UrlKind.CHALLENGE, "http://a.example/x", "http://a.example/captcha?u=x"),
    (UrlKind.CHALLENGE, "http://a.example/x", "http://a.example/cdn-cgi/l/chk"),
    (UrlKind.CONSENT, "http://a.example/x", "https://consent.a.example/m?continue=x"),
    (UrlKind.PARKED, "http://a.example/x", "http://a.example/cgi-sys/suspendedpage.cgi"),
    (UrlKind.PARKED, "http://a.example/x", "http://www.sedoparking.com/a.example"),
    (UrlKind.ROOT, "http://a.example/x", "http://a.example/"),
    (UrlKind.ROOT, "http://a.example/x", "https://www.b.example/en/index.html"),
]
NOTHING = [
    ("http://a.example/x", "http://a.example/y"),
    ("http://a.example/", "https://b.example/"),
    ("http://a.example/404", "http://b.example/x/404"),
    ("http://a.example/x", "http://a.example/item/14043"),
    ("http://a.example/x", "http://a.example/commit/8f404ab1c"),
    ("http://a.example/x", "http://a.example/news/council-tax-benefit-fraud-and-error-through-localisation"),
    ("http://a.example/x", "http://a.example/news/police-and-terrorism"),
    ("http://a.example/x", "http://a.example/education-maintenance-allowance"),
    ("http://a.example/x", "http://a.example/news/university-challenge-and-the-future"),
    ("http://a.example/x", "http://a.example/local-authorities"),
    ("http://a.example/x", "http://missing.example/y"),
]


@pytest.mark.parametrize(("kind", "original", "target"), KINDS, ids=lambda value: str(value).replace("/", "|"))
def test_the_target_tells_its_kind(kind: UrlKind, original: str, target: str) -> None:
    """Mutation: without a stem in `_STEM` or a pattern a line fails."""
    assert url_kind(original, target) is kind


@pytest.mark.parametrize(("original", "target"), NOTHING, ids=lambda value: value.replace("/", "|"))
def test_numbers_headlines_and_words_of_the_original_tell_nothing(original: str, target: str) -> None:
    assert url_kind(original, target) is None


def test_a_word_that_the_original_has_too_is_no_sign() -> None:
    assert url_kind("http://a.example/not-found", "http://a.example/x/not-found") is None
    assert url_kind("http://a.example/error.html", "http://a.example/new/error.html") is None


def test_many_pairs_are_told_as_one_by_one() -> None:
    """Mutation: positions of the one pass shifted by one separator."""
    originals = sorted({original for _, original, _ in KINDS} | {original for original, _ in NOTHING} | {"http://a.example/captcha"})
    targets = [target for *_, target in KINDS] + [target for _, target in NOTHING]
    pairs = [(i, j) for i in range(len(originals)) for j in range(len(targets))]
    from_, to = np.array(pairs, dtype=np.int32).T
    assert url_kinds(originals, targets, from_, to) == [url_kind(originals[i], targets[j]) for i, j in pairs]
    assert url_kinds([], [], from_[:0], to[:0]) == []


def test_roots_are_home_pages_of_hosts_and_locales() -> None:
    roots = ("/", "/index.html", "/default.aspx", "/en/", "/de-at/index.php", "/home")
    assert all(is_root(f"http://a.example{path}") for path in roots)
    assert not any(is_root(f"http://a.example{path}") for path in ("/?id=3", "/news/", "/x/index.html", "/index/x", "/homes"))
