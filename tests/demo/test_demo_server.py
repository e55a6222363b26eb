"""The demo server on real loopback sockets, and its log."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from server_log import unlabelled

from thresher.crawler.demo.demo_settings import DemoSettings, profile
from thresher.crawler.demo.log import ServerLog
from thresher.crawler.demo.plan import PathKind
from thresher.crawler.demo.process import ServerProcess
from thresher.crawler.demo.server import Server
from thresher.crawler.demo.truth import split

ROOT = Path(__file__).parents[2]
LATE = profile("story", slow_host_share=0.5, slow_delay_s=(0.05, 0.05), error_share=0.1)


class Client:
    """One raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def ask(self, host: str, path: str, *, method: str = "GET", more: str = "", version: str = "1.1") -> None:
        self.writer.write(f"{method} {path} HTTP/{version}\r\nHost: {host}\r\nUser-Agent: t/1 (+me@a.example)\r\n{more}\r\n".encode())

    async def head(self) -> tuple[int, dict[str, str]]:
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        return int(lines[0].split()[1]), {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:-2])}

    async def reply(self) -> tuple[int, dict[str, str], bytes]:
        status, headers = await self.head()
        return status, headers, await self.reader.readexactly(int(headers["content-length"]))

    async def close(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()


async def connect(server: Server, address: str = "127.0.0.1") -> Client:
    return Client(*await asyncio.open_connection(address, server.port))


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    async with Server(LATE, log=tmp_path / "log") as running:
        yield running


def read(tmp_path: Path, server: Server) -> ServerLog:
    server.flush()
    return ServerLog.read(tmp_path / "log")


async def test_every_loopback_address_serves_every_host_and_the_log_says_which_was_used(server: Server, tmp_path: Path) -> None:
    first, last = server.web.hosts()[0], server.web.seeds()[-1]
    for address, host in (("127.0.0.1", first), ("127.20.7.3", split(last)[0])):
        client = await connect(server, address)
        client.ask(f"{host}:{server.port}", "/", more="Accept-Encoding: gzip\r\n")
        status, headers, body = await client.reply()
        expected = server.web.respond(host, "/")
        assert (status, body, headers["content-type"]) == (200, expected.body, dict(expected.headers)["content-type"])
        await client.close()
    log = read(tmp_path, server)
    assert [(r.address, r.host, r.method, r.path, r.status, r.agent) for r in log.requests] == [
        ("127.0.0.1", f"{first}:{server.port}", "GET", "/", 200, "t/1 (+me@a.example)"),
        ("127.20.7.3", f"{split(last)[0]}:{server.port}", "GET", "/", 200, "t/1 (+me@a.example)"),
    ]
    assert log.requests[0].connection != log.requests[1].connection
    assert all(request.start <= request.end for request in log.requests)
    assert server.statuses == {200: 2}


async def test_pipelined_requests_are_answered_in_order_even_where_the_first_is_late(server: Server, tmp_path: Path) -> None:
    web = server.web
    slow = next(host for host in web.hosts() if web.respond(host, "/robots.txt").delay_s)
    fast = web.hosts()[0]
    client = await connect(server)
    for host in (slow, fast, fast):
        client.ask(host, "/robots.txt")
    statuses = [(await client.reply())[0] for _ in range(3)]
    assert statuses == [web.respond(host, "/robots.txt").status for host in (slow, fast, fast)]
    await client.close()
    requests = sorted(read(tmp_path, server).requests, key=lambda request: request.end)
    assert [request.host for request in requests] == [slow, fast, fast]
    assert requests[0].end - requests[0].start >= 0.045


async def test_hundreds_of_pipelined_requests_are_all_answered(server: Server) -> None:
    client = await connect(server)
    host = server.web.hosts()[0]
    for _ in range(400):
        client.ask(host, "/")
    for _ in range(400):
        assert (await client.reply())[0] == 200
    await client.close()


async def test_head_has_the_length_but_no_body(server: Server) -> None:
    client = await connect(server)
    host = server.web.hosts()[0]
    client.ask(host, "/", method="HEAD")
    status, headers = await client.head()
    client.ask(host, "/")
    assert (await client.reply())[1]["content-length"] == headers["content-length"]
    assert status == 200
    await client.close()


async def test_a_client_that_takes_no_gzip_gets_plain_bytes(server: Server) -> None:
    web = server.web
    host = next(
        host
        for host in web.hosts()
        if ("content-encoding", "gzip") in web.respond(host, "/").headers and not web.respond(host, "/").delay_s
    )
    client = await connect(server)
    client.ask(host, "/")
    _, headers, plain = await client.reply()
    client.ask(host, "/", more="Accept-Encoding: gzip, br\r\n")
    _, _, packed = await client.reply()
    assert "content-encoding" not in headers
    assert zlib.decompress(packed, 31) == plain
    await client.close()


async def test_attempts_are_counted_per_url_so_that_a_fault_recovers(server: Server) -> None:
    fault = next(fault for fault in unlabelled(server.web).truth().of_kind(PathKind.FAULT))
    host, path = split(fault.url)
    client = await connect(server)
    statuses = []
    for _ in range(fault.tries + 2):
        client.ask(host, path)
        statuses.append((await client.reply())[0])
    assert statuses == [fault.error] * fault.tries + [200, 200]
    await client.close()


@pytest.mark.parametrize("request_", [b"POST / HTTP/1.1\r\nHost: a\r\n\r\n", b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"x" * 70_000])
async def test_what_is_no_get_of_a_page_is_400_and_the_end(server: Server, request_: bytes) -> None:
    client = await connect(server)
    client.writer.write(request_)
    assert (await client.head())[0] == 400
    assert await client.reader.read() == b""
    await client.close()


async def test_connection_close_is_honoured(server: Server) -> None:
    client = await connect(server)
    client.ask(server.web.hosts()[0], "/robots.txt", more="Connection: close\r\n")
    _, headers, _ = await client.reply()
    assert headers["connection"] == "close"
    assert await client.reader.read() == b""
    await client.close()


async def test_a_request_whose_client_went_away_is_logged_without_a_status(tmp_path: Path) -> None:
    demo_settings = profile("story", slow_host_share=1.0, slow_delay_s=(30.0, 30.0))
    async with Server(demo_settings, log=tmp_path / "log") as server:
        client = await connect(server)
        client.ask(server.web.hosts()[1], "/")
        fast = await connect(server)  # its answer says that the server has looked at the first
        fast.ask(server.web.hosts()[0], "/")
        await fast.reply()
        await fast.close()
        await client.close()
    assert sorted(request.status for request in ServerLog.read(tmp_path / "log").requests) == [0, 200]


async def test_with_flush_lines_a_line_is_written_before_anything_else_happens(tmp_path: Path) -> None:
    async with Server(DemoSettings(), log=tmp_path / "log", flush_lines=True) as server:
        client = await connect(server)
        client.ask(server.web.hosts()[0], "/robots.txt")
        await client.reply()
        client.ask(server.web.hosts()[0], "/")
        await client.reply()
        assert len(ServerLog.read(tmp_path / "log")) >= 1
        await client.close()


def _fetch(server: ServerProcess, host: str) -> bytes:
    async def once() -> bytes:
        reader, writer = await asyncio.open_connection("127.1.2.3", server.port)
        writer.write(f"GET / HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return answer

    return asyncio.run(once())


def test_a_server_process_serves_the_web_that_its_parent_knows_and_leaves_a_whole_log(tmp_path: Path) -> None:
    with ServerProcess("story", log=tmp_path / "log", changes={"gzip_share": 0.0, "pages_per_host": (5, 5)}) as server:
        host = server.web.hosts()[0]
        assert _fetch(server, host).endswith(server.web.respond(host, "/").body)
    assert len(server.read_log()) == 1


def _start(*arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "thresher.crawler.demo.server", "--profile", "story", *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)


@pytest.mark.parametrize("how", ["stdin", "SIGTERM", "SIGINT"])
def test_it_ends_when_standard_input_closes_or_a_signal_comes(how: str) -> None:
    with _start() as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert b'"port"' in process.stdout.readline()
        if how == "stdin":
            process.stdin.close()
        else:
            os.kill(process.pid, signal.Signals[how])
        assert process.wait(600) == 0


def test_it_says_what_is_wrong_with_a_knob() -> None:
    with _start("--set", "n_sites=0") as process:
        assert process.stderr is not None
        assert b"at least 1" in process.stderr.read()
        assert process.wait(600) == 2
