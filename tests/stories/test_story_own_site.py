"""One's own site by the real command line: what it takes to crawl a server on loopback, and what else cannot be reached then."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import ssl
from pathlib import Path

import forking
import pytest
import trustme
from harness import ROOT, Life, findings, free_port
from hostile import always, response, serve
from witness import ReceivedRequest, Witness, links, page, text

CONTACT = ("--contact", "me@example.org")
QUICK = (
    "--progress",
    "lines",
    "--set",
    "filters.soft_error.max_probes=0",
    "--set",
    "limits.min_free_disk=0",
    "--set",
    "limits.max_wait=3",
    "--set",
    "retry.scale=1e-6",
    "--set",
    "politeness.min_delay=0",
    "--set",
    "politeness.delay_factor=0",
)
NAMES = ("--set", "dns.static={own.test: 127.0.0.5, evil.test: 127.0.0.5}", "--set", "sitemaps=off")
N_PAGES = 8


def site(request: ReceivedRequest) -> bytes:
    """Serve a chain of pages."""
    if request.path == "/robots.txt":
        return page(status="404 Not Found")
    if not (request.path == "/" or re.fullmatch(r"/p\d", request.path)):
        return page(status="404 Not Found")
    number = int(request.path.strip("/p") or 0)
    return page(links(f"/p{number + 1}") if number + 1 < N_PAGES else "" + f"page {number} of a site of one's own")


def crawl(store: Path, *words: str) -> Life:
    return Life(store, "crawl", *CONTACT, *QUICK, *NAMES, "-o", store, *words)


def told(*words: str | Path) -> str:
    ran = forking.run(words, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_each_refusal_on_the_way_names_the_key_to_set_and_the_profile(tmp_path: Path) -> None:
    """Mutation: BAD_PORT or BLOCKED_ADDRESS is missing from `governing.OPTIONS`."""
    with Witness(site) as server:
        with crawl(tmp_path / "first", server.url("own.test")) as life:
            assert life.end() == 2
            assert f"bad_port: port {server.port} (fetch.allow_ports, profile)" in life.said
            assert "A site of your own? --profile own-site" in life.said
        with crawl(tmp_path / "second", server.url("own.test"), "--set", f"fetch.allow_ports=[{server.port}]") as life:
            assert life.end() == 4
            assert re.search(r"blocked_address \(\d attempts?; fetch\.allow_addresses, profile\)", life.said)
        assert server.requests == []
    rows = [json.loads(line) for line in told("stats", tmp_path / "second", "--by", "cause", "--json").splitlines()]
    assert [(row["cause"], row["option"]) for row in rows] == [("blocked_address", "fetch.allow_addresses, profile")]
    assert "blocked_address (127.0.0.5: loopback; fetch.allow_addresses, profile)" in told(
        "explain", tmp_path / "second", server.url("own.test")
    )


def test_a_refusal_of_a_link_names_its_option_in_the_summary_the_statistics_and_the_story(tmp_path: Path) -> None:
    def answer(request: ReceivedRequest) -> bytes:
        if request.path == "/robots.txt":
            return text("User-agent: *\nDisallow: /no\n")
        return page(links("/no", "http://own.test:1/", "http://other.test/"))

    with Witness(answer) as server, crawl(tmp_path / "crawl", server.url("own.test"), "--profile", "own-site") as life:
        assert life.end() == 0
        said = " ".join(life.said.split())  # as wide as it likes
    for word in ("robots_denied 1 (robots.obey)", "bad_port 1 (fetch.allow_ports, profile)", "out_of_scope 1 (scope.type, scope.include)"):
        assert word in said
    assert "fetch.allow_ports" in told("stats", tmp_path / "crawl", "--by", "reason")
    assert "robots_denied (robots.obey)" in told("explain", tmp_path / "crawl", server.url("own.test", "/no"))


@pytest.mark.parametrize(("tail_yield", "held"), [(1, "depth_cutoff 1"), (0.02, "")])
def test_what_was_held_for_a_while_and_then_fetched_is_not_told_as_held(tail_yield: float, held: str, tmp_path: Path) -> None:
    """A chain of 80 pages: depth_cutoff holds each link before it is fetched. With `tail_yield` 1 the first link that it holds is never
    fetched. Seen to fail: "held or refused: depth_cutoff 57", though all were fetched.
    """

    def answer(request: ReceivedRequest) -> bytes:
        number = int(request.path.strip("/p") or 0) if request.path != "/robots.txt" else 80
        return page(links(f"/p{number + 1}") + f"page {number} of a site of one's own") if number < 80 else page(status="404 Not Found")

    store = tmp_path / "crawl"
    limit = ("--set", f"filters.tail_yield={tail_yield}", "--set", "filters.audit_share=0")
    with Witness(answer) as server, crawl(store, server.url("own.test"), "--profile", "own-site", *limit) as life:
        assert life.end() == 0
        lines = {line.split("  ")[1]: " ".join(line.split()) for line in life.said.splitlines() if line.startswith("  ")}
    assert lines["held now"] == f"held now {f'by filters: {held}' if held else 'nothing'}"
    assert lines["refused"] == "refused nothing by filters"
    rows = [json.loads(line) for line in told("stats", store, "--by", "filter", "--json").splitlines()]
    assert [f"{row['filter']} {row['held']}" for row in rows] == ([held] if held else [])
    status = json.loads(told("status", store, "--json"))
    assert (status["held"], sum(status["held_by"].values())) == (bool(held), bool(held))
    assert ("held now        by filters: depth_cutoff 1" in told("status", store)) == bool(held)
    told("verify", store)  # exit 0: `verify` finds the counts right


def test_ones_own_site_is_one_short_command_and_opens_nothing_else(tmp_path: Path) -> None:
    """Links name another port, another name of the same address and the address itself, a redirect leads to another port: none receives a
    byte.
    """

    def answer(request: ReceivedRequest) -> bytes:
        if request.path == "/away":
            return page("", "302 Found", f"location: {inner.url('own.test', '/secret')}")
        if request.path == "/" and request.host == "own.test":
            others = [inner.url("own.test"), inner.url("127.0.0.5"), outer.url("evil.test"), outer.url("127.0.0.5"), "http://own.test/"]
            return page(links("/p1", "/away", *others))
        return site(request)

    with Witness(answer) as outer, Witness(site) as inner:
        with crawl(tmp_path / "crawl", outer.url("own.test"), "--profile", "own-site", "--scope", "any") as life:
            assert life.end() == 0
            assert f"own site: own.test:{outer.port} is 127.0.0.5" in life.said
        assert inner.requests == []
        assert {request.host for request in outer.requests} == {"own.test"}
        assert set(outer.paths("own.test")) == {"/robots.txt", "/", "/away", *(f"/p{n}" for n in range(1, N_PAGES))}
    known = findings(tmp_path / "crawl").urls
    assert known["http://own.test/"].failure == "blocked_address"  # pinned with another port


@pytest.mark.parametrize(
    ("asked", "is_told"),
    [
        (("--set", "politeness.min_delay=3"), True),
        (("--set", "politeness.min_delay=3", "--set", "own_site.delay=3"), False),
        (("--set", "politeness.min_delay=0.5"), False),
    ],
)
def test_who_asks_for_a_pace_that_does_not_hold_there_is_told(asked: tuple[str, ...], is_told: bool, tmp_path: Path) -> None:
    """Mutation: nothing is said."""
    with (
        Witness(site) as server,
        crawl(tmp_path / "crawl", server.url("own.test"), "--profile", "own-site", "--max-pages", "1", *asked) as life,
    ):
        assert life.end() == 0
    said = "politeness.min_delay (3 s) is for others' sites; here own_site.delay (0 s) is in its place. --delay 3 sets both"
    assert (said in life.said) == is_told


def test_what_was_pinned_holds_for_a_resume_with_the_profile_and_only_that(tmp_path: Path) -> None:
    """Without the profile a resume does not reach the site. With it, it does. Then the site's name gets another inner address, at which the
    same server listens: it is not reached.
    """
    store, other = tmp_path / "crawl", tmp_path / "other"
    moved = ("--set", "dns.static.own.test=127.0.0.66")
    with Witness(site) as server:
        with crawl(store, server.url("own.test"), "--profile", "own-site", "--max-pages", "2") as life:
            assert life.end() == 0
        shutil.copytree(store, other)
        n = len(server.requests)
        with Life(other, "resume", other, "--progress", "none", "--profile", "web", "--max-pages", "100") as life:
            assert life.end() in (0, 4)
        assert len(server.requests) == n
        with Life(store, "resume", store, "--progress", "none", "--max-pages", "4") as life:
            assert life.end() == 0
        n = len(server.requests)
        assert n == 1 + 4
        with Life(store, "resume", store, "--progress", "none", "--max-pages", "100", *moved) as life:
            assert life.end() in (0, 4)
            assert "blocked_address" in life.said
        assert len(server.requests) == n


def test_a_site_whose_server_is_not_running_is_told_before_the_crawl_begins(tmp_path: Path) -> None:
    """If one of several sites answers, the crawl begins. Mutation: without this check the crawl waited for four attempts at robots.txt, and
    said nothing.
    """
    seeds = [f"http://own.test:{free_port()}/", f"http://evil.test:{free_port()}/"]
    with crawl(tmp_path / "none", *seeds, "--profile", "own-site") as life:
        assert life.end() == 2
        assert f"{seeds[0][7:-1]} (127.0.0.5): the connection is refused: no server is running there, nor at 1 other. Start it" in life.said
    assert not (tmp_path / "none").exists()
    with Witness(site) as server, crawl(tmp_path / "one", seeds[0], server.url("own.test"), "--profile", "own-site") as life:
        assert life.end() in (0, 4)
        assert len(server.paths("own.test")) == 1 + N_PAGES


def test_several_agents_know_what_is_pinned(tmp_path: Path) -> None:
    with Witness(site) as server, crawl(tmp_path / "crawl", server.url("own.test"), "--profile", "own-site", "--agents", "2") as life:
        assert life.end() == 0
        assert len(server.paths("own.test")) == 1 + N_PAGES


# -- seeds without a scheme


def test_a_bare_host_is_asked_by_https_first_and_by_http_where_that_cannot_connect(tmp_path: Path) -> None:
    """The server speaks HTTP only, and waits for a request that a TLS client never sends. Mutation: `gives_way` stays False."""
    with Witness(site) as server:
        bare = f"own.test:{server.port}"
        for n in range(9):
            store = tmp_path / f"crawl-{n}"
            with crawl(store, bare, "--profile", "own-site", "--set", "fetch.connect_timeout=2", "--scope", "page") as life:
                assert life.end() == 0
                said = life.said
            if "no connection by https" in said:
                break  # else this machine has stood still for so long that nothing is held against the server
        assert f"https://{bare}/: no connection by https (conn_timeout" in said
        assert f"http://{bare}/ is asked for" in said
        assert "no_https 1" in said
        assert server.paths("own.test") == ["/robots.txt", "/"]
        assert f"http://{bare}/" in told("explain", store, bare)
        assert f"{bare}/" in told("seeds", store, "--outcome", "fetched"), "seen to fail: it was called refused"
    known = findings(store).urls
    assert (known[f"https://{bare}/"].state, known[f"https://{bare}/"].reason) == ("REFUSED", "no_https")
    assert known[f"http://{bare}/"].status == 200


def test_a_seed_with_a_scheme_is_taken_at_its_word(tmp_path: Path) -> None:
    with Witness(site) as server:
        whole = f"https://own.test:{server.port}/"
        options = ("--profile", "own-site", "--set", "fetch.connect_timeout=0.3", "--max-time", "2")
        with crawl(tmp_path / "crawl", whole, *options) as life:
            life.end()
        assert server.requests == []
    assert set(findings(tmp_path / "crawl").urls) == {whole}


async def test_a_bare_host_that_speaks_https_is_asked_by_that_alone(tmp_path: Path) -> None:
    authority, context = trustme.CA(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("own.test").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    async with serve(always(response(status="404 Not Found"), response(b"<p>a page</p>")), host="127.0.0.5", tls=context) as server:
        words = (f"own.test:{server.port}", "--profile", "own-site", "--set", f"fetch.ca_file={tmp_path / 'authority.pem'}")
        with crawl(tmp_path / "crawl", *words) as life:
            assert await asyncio.to_thread(life.end) == 0
            assert "no_https" not in life.said
    known = findings(tmp_path / "crawl").urls
    assert [(url, found.status) for url, found in known.items()] == [(f"https://own.test:{server.port}/", 200)]
