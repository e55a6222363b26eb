"""`thresher robots`: from a file, without a request; from a server, with one request for each hop; and what it says if there is neither."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from witness import ReceivedRequest, Witness, page, text

from thresher.crawler.cli import thresher
from thresher.crawler.core.errors import UsageError

ROBOTS = """User-agent: *
Disallow: /no
Crawl-delay: 3
Sitemap: https://a.test/s.xml
Content-Signal: ai-train=no

User-agent: other
Disallow: /
"""


def robots(*words: str | Path) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(thresher, ["robots", *map(str, words)])


def told(*words: str | Path) -> dict[str, Any]:
    ran = robots(*words, "--json")
    assert ran.exit_code == 0, ran.output
    return dict(json.loads(ran.stdout))


def reaching(server: Witness) -> list[str]:
    """Return the options by which a server on loopback is reached."""
    sets = (
        "identity.contact=me@example.org",
        "fetch.allow_addresses=[127.0.0.0/8]",
        f"fetch.allow_ports=[{server.port}]",
        "dns.static={.test: 127.0.0.1}",
        "politeness.min_delay=0",
    )
    return [word for option in sets for word in ("--set", option)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "robots.txt"
    path.write_text(ROBOTS)
    return path


def test_a_file_is_judged_path_by_path_and_for_any_agent(file: Path) -> None:
    found = told(file, "/yes", "no/1", "/")
    assert found["allowed"] == {"/yes": True, "/no/1": False, "/": True}
    assert (found["crawl_delay"], found["sitemaps"], found["kind"]) == (3.0, ["https://a.test/s.xml"], "rules")
    assert found["signals"]
    assert told(file, "/yes", "--agent", "other")["allowed"] == {"/yes": False}


def test_what_is_printed_for_people_names_what_is_denied(file: Path) -> None:
    said = robots(file, "/yes", "/no").output
    assert "allowed  /yes" in said
    assert "DENIED   /no" in said


def test_a_file_that_is_not_there_is_taken_for_no_host(tmp_path: Path) -> None:
    ran = robots(tmp_path / "robot.txt", "/")
    assert isinstance(ran.exception, UsageError)
    assert "no such file" in str(ran.exception)


def test_a_server_is_asked_for_its_robots_txt_alone_and_along_redirects() -> None:
    """Each kind of answer has its meaning; redirects are followed up to five times. Mutation: they are not followed."""

    def answer(request: ReceivedRequest) -> bytes:
        match request.host:
            case "rules.test":
                return text(ROBOTS)
            case "none.test":
                return text("", "404 Not Found")
            case "ill.test":
                return text("", "503 Service Unavailable")
            case "moved.test":
                return page("", "301 Moved Permanently", f"location: {server.url('rules.test', '/robots.txt')}")
        return page("", "302 Found", f"location: {request.path}x")  # round.test

    with Witness(answer) as server:
        reach = reaching(server)
        found = {host: told(server.url(f"{host}.test", "/no/1"), "/yes", *reach) for host in ("rules", "none", "ill", "moved", "round")}
        asked = {host: server.paths(f"{host}.test") for host in found}
    assert {host: list(one["allowed"].values()) for host, one in found.items()} == {
        "rules": [False, True],
        "none": [True, True],
        "ill": [False, False],
        "moved": [False, True],
        "round": [False, False],
    }
    assert asked["none"] == asked["ill"] == asked["moved"] == ["/robots.txt"]
    assert asked["rules"] == ["/robots.txt"] * 2
    assert len(asked["round"]) == 6
    assert "redirected too often" in found["round"]["detail"]
    assert found["moved"]["crawl_delay"] == 3.0


def test_what_is_neither_file_nor_url_is_said() -> None:
    ran = robots("ftp://a.test/", "--set", "identity.contact=me@example.org")
    assert isinstance(ran.exception, UsageError)
    assert "neither a file nor a URL" in str(ran.exception)
