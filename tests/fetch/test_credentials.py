"""Credentials go only to their origin, come from a file that only its owner can read, and are written nowhere."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from edge import fetching, url
from hostile import always, response, serve

from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.model import Fetched
from thresher.crawler.fetch.credentials import REDACTED, Credentials, read_credentials

SECRET = "tru5tno1-Zx"


def file(folder: Path, text: str, mode: int = 0o600) -> str:
    path = folder / "secrets"
    path.write_bytes(text.encode())
    path.chmod(mode)
    return str(path)


@pytest.mark.usefixtures("each_client")
@pytest.mark.parametrize(
    ("line", "header"),
    [
        (f"basic me:{SECRET}", "Authorization: Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode()),
        ("basic zoë:pass word: with colon", "Authorization: Basic " + base64.b64encode("zoë:pass word: with colon".encode()).decode()),
        (f"bearer {SECRET}==", f"Authorization: Bearer {SECRET}=="),
        (f"header X-Api-Key: {SECRET}", f"X-Api-Key: {SECRET}"),
        (f"HEADER Cookie:  session={SECRET}; a=b", f"Cookie: session={SECRET}; a=b"),
        (f"header Authorization: Token {SECRET}", f"Authorization: Token {SECRET}"),
    ],
)
async def test_a_request_to_the_origin_carries_its_secret_and_no_other_request_does(line: str, header: str, tmp_path: Path) -> None:
    async with serve(always(response(b"x"))) as site, serve(always(response(b"x"))) as other:
        secrets = file(tmp_path, f"# of ours\n\n  {site.url('')}  {line}  \n")
        async with fetching(credentials=secrets) as fetcher:
            for page in (site.url("/a"), site.url("/robots.txt"), other.url(), site.url(host="sub.a.test"), site.url(host="b.test")):
                assert isinstance(await fetcher.fetch(url(page)), Fetched)
    carried = [header.encode() in request for request in [*site.requests, *other.requests]]
    assert carried == [True, True, False, False, False]
    assert all(SECRET.encode() not in request for request in other.requests)


def test_what_is_given_for_https_is_not_for_http_nor_another_port() -> None:
    given = Credentials({"https://a.test": ("Authorization", "x")})
    assert given.of("https://a.test") is not None
    for other in ("http://a.test", "https://a.test:8443", "https://www.a.test", "https://a.test.evil.test", "https://b.test"):
        assert given.of(other) is None


def test_default_ports_and_letters_are_those_of_canonical_urls(tmp_path: Path) -> None:
    found = read_credentials(file(tmp_path, f"HTTPS://A.Test:443/ bearer {SECRET}\nhttp://bücher.test bearer {SECRET}\n"))
    assert found.of("https://a.test") is not None
    assert found.of("http://xn--bcher-kva.test") is not None


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o666, 0o777, 0o610])
def test_a_file_that_others_may_read_is_refused(mode: int, tmp_path: Path) -> None:
    path = file(tmp_path, f"https://a.test bearer {SECRET}", mode)
    with pytest.raises(UsageError, match=f"expected mode 0600, found {mode:04o}.*chmod 600"):
        read_credentials(path)
    for right in (0o600, 0o400):
        Path(path).chmod(right)
        assert len(read_credentials(path)) == 1


def test_the_mode_is_that_of_the_file_behind_a_link(tmp_path: Path) -> None:
    path = file(tmp_path, f"https://a.test bearer {SECRET}", 0o644)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(UsageError, match="expected mode 0600"):
        read_credentials(str(tmp_path / "link"))


BAD = [
    ("a.test bearer {}", "1: expected an origin"),
    ("https://a.test/path bearer {}", "1: expected an origin"),
    ("https://user:pw@a.test bearer {}", "1: expected an origin"),
    ("https://a.test?{} bearer x", "1: expected an origin"),
    ("ftp://a.test bearer {}", "1: expected an origin"),
    ("\n\nhttps://a.test {}", "3: expected basic"),
    ("https://a.test", "1: expected basic"),
    ("https://a.test bearer", "no secret"),
    ("https://a.test digest {}", "another word"),
    ("https://a.test basic {}", "no colon"),
    ("https://a.test basic a\0:{}", "no colon"),
    ("https://a.test bearer {} x", "other characters"),
    ("https://a.test bearer {}\x0bX: y", "other characters"),
    ("https://a.test header {}", "no name"),
    ("https://a.test header Host: {}", "header Host: expected one that may be given"),
    ("https://a.test header X: {}\x01", "visible ASCII"),
    ("https://a.test header X: {}é", "visible ASCII"),
    ("https://a.test header X:", "visible ASCII"),
    ("https://a.test bearer {}\nHTTPS://a.test:443 bearer {}", "2: expected each origin once"),
    ("https://a b.test bearer {}", "expected basic"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_a_wrong_line_is_named_and_its_secret_is_not(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_credentials(file(tmp_path, text.replace("{}", SECRET)))
    assert said in str(caught.value)
    assert "secrets" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_what_is_no_file_or_no_text_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "bytes").chmod(0o600)
    (tmp_path / "long").write_bytes(b"#" * (1 << 20) + b"#")
    (tmp_path / "long").chmod(0o600)
    for name, said in (
        ("pipe", "expected a file"),
        ("bytes", "UTF-8"),
        ("long", "at most 1 MiB"),
        ("gone", "cannot be read"),
        ("a\0b", "cannot"),
    ):
        with pytest.raises(UsageError, match=said):
            read_credentials(str(tmp_path / name))


def test_nothing_shows_a_secret(tmp_path: Path) -> None:
    found = read_credentials(file(tmp_path, f"https://a.test bearer {SECRET}"))
    header = found.of("https://a.test")
    assert header is not None
    assert SECRET not in repr(found) + str(header.line(shows_secrets=False))


async def test_an_archive_has_the_name_of_the_header_and_not_the_secret(tmp_path: Path) -> None:
    async with (
        serve(always(response(b"x"))) as site,
        fetching(credentials=file(tmp_path, f"{site.url('')} bearer {SECRET}"), records=True) as fetcher,
    ):
        outcome = await fetcher.fetch(url(site.url("/a")), cookie="chain=1")
    assert SECRET.encode() in site.requests[0]
    assert b"Cookie: chain=1" in site.requests[0]
    assert outcome.wire is not None
    assert outcome.wire.request == site.requests[0].replace(f"Bearer {SECRET}".encode(), REDACTED.encode())
