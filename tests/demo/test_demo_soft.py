"""The part "soft": its labels are what its hosts do."""

from __future__ import annotations

from collections import Counter

from labelling import check_purity, check_truth, fetch, labelled, words

from thresher.crawler.demo.demo_settings import PROFILES
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.crawler.demo.phrases import ABOUT_ERRORS
from thresher.crawler.demo.soft import HONEST, SOFT
from thresher.crawler.demo.truth import split

SMALL = {"part_pages": 20}
NEITHER = {"error_page", "login_form"}


def _sibling(url: str) -> str:
    """Return a URL in the same directory that nobody links."""
    return url.partition("?")[0].rstrip("/").rpartition("/")[0] + "/qzxwvkjyh"


def _end(web: LabelledWeb, url: str) -> str:
    """Return where a browser ends."""
    for _ in range(5):
        target = web.label(url).target
        if not target:
            return url
        url = target
    raise AssertionError(f"{url} redirects without end")


def test_truth_is_what_an_independent_walk_over_the_pages_finds() -> None:
    check_truth(labelled("soft", **SMALL))


def test_it_is_pure() -> None:
    check_purity("soft", **SMALL)


def test_every_kind_is_planted_on_some_fifty_hosts_of_300_urls() -> None:
    web = LabelledWeb(PROFILES["soft"])
    truth = web.truth()
    assert {label.kind for label in truth.urls.values()} == SOFT | HONEST | NEITHER
    assert 45 <= len(web.hosts()) <= 60
    assert {label.part for label in truth.urls.values()} == {"soft"}
    by_host = Counter(split(url)[0] for url in truth.urls)
    assert sum(250 <= n <= 450 for n in by_host.values()) > 30
    soft = [label for label in truth.urls.values() if label.kind in SOFT]
    assert 0.2 < len(soft) / len(truth.urls) < 0.5
    assert min(Counter(label.kind for label in soft).values()) >= 100


def test_no_soft_error_says_so_in_its_status_and_every_honest_error_does() -> None:
    web = labelled("soft", **SMALL)
    for url, label in web.truth().urls.items():
        assert (label.status >= 400) == (label.kind == "gone"), label
        if label.kind in SOFT:
            assert web.label(_end(web, url)).status == 200, label


def test_a_random_sibling_meets_the_same_soft_error_or_an_honest_404() -> None:
    web = labelled("soft", **SMALL)
    honest_404 = set()
    for label in web.truth().urls.values():
        if label.kind not in SOFT | HONEST:
            continue
        sibling = web.label(_sibling(label.url))
        end = web.label(_end(web, sibling.url))
        if label.kind in SOFT and end.status == 404:
            honest_404.add((label.kind, label.variant))
        elif label.kind in SOFT:
            assert (sibling.kind, sibling.variant) == (label.kind, label.variant)
    assert honest_404 == {("soft_5xx", "redirect_known")}


def test_honest_redirects_are_cleared_by_their_sibling() -> None:
    web = labelled("soft", **SMALL)
    for label in web.truth().of_kind("moved", "spelling", "shortened", "campaign"):
        end = _end(web, _sibling(label.url))
        assert web.label(end).status == 404 or end != _end(web, label.url), label


def test_error_texts_echo_the_url_so_that_no_two_are_equal() -> None:
    web = labelled("soft", **SMALL)
    labels = [label for label in web.truth().urls.values() if label.variant in ("text", "thin_text") and label.kind in SOFT]
    assert len({fetch(web, label.url).body for label in labels}) == len(labels)
    assert all(label.url in " ".join(words(web, label.url)) for label in labels)
    assert len({fetch(web, label.url).body[:40] for label in labels}) > 4, "languages"


def test_login_walls_lead_to_as_many_targets_as_there_are_pages_behind_them() -> None:
    labels = labelled("soft", **SMALL).truth().of_kind("login_wall")
    assert len({label.target for label in labels}) == len(labels)
    assert len({label.target.partition("?")[0] for label in labels}) == 2


def test_parked_hosts_answer_every_path_alike() -> None:
    web = labelled("soft", **SMALL)
    hosts = {split(label.url)[0]: label.variant for label in web.truth().of_kind("parked")}
    assert Counter(hosts.values()) == {"landing": 4, "same_page": 4}
    for host in hosts:
        answers = {(web.respond(host, path).status, web.respond(host, path).body) for path in ("/", "/a/b", "/index.php?x=1")}
        assert len(answers) == 1


def test_thin_pages_have_little_text_of_their_own_and_pages_about_errors_speak_of_them() -> None:
    web = labelled("soft", **SMALL)
    pages = web.truth().of_kind("page")
    thin = [words(web, label.url) for label in pages if label.variant == "thin"]
    common = set(thin[0]).intersection(*map(set, thin))
    assert all(sum(word in common for word in page) > 0.75 * len(page) for page in thin[1:])
    about = [" ".join(words(web, label.url)) for label in pages if label.variant == "about_errors"]
    assert about
    assert all(any(sentence in text for sentence in ABOUT_ERRORS) for text in about)


def test_robots_may_fetch_everything_and_other_hosts_are_unknown() -> None:
    web = labelled("soft", **SMALL)
    assert {web.respond(host, "/robots.txt").body for host in web.hosts()} == {b"User-agent: *\nDisallow:\n"}
    assert web.respond("elsewhere.example", "/").status == 404
