"""However a crawl is ended, slow answers delay its end by ten seconds at most; so does a disk that is full."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from faulty import crawl, faulty_web, page
from harness import AGENT, CONTACT, until, write_config
from harness import crawl as start
from hostile import HEAD, Talk
from injecting import with_constant

from thresher.crawler.agent.agent import _GRACE_S, Agent
from thresher.storage.verify import verify


async def drip(talk: Talk) -> None:
    """Send bytes without end, twice as fast as `fetch.min_rate` asks for."""
    await talk.send(HEAD + b"\r\n")
    while True:
        await talk.send(bytes(200))
        await asyncio.sleep(0.1)


async def late(talk: Talk) -> None:
    """Answer only when the slow answers have begun."""
    await asyncio.sleep(0.3)
    await talk.send(page())


async def _stop(agent: Agent) -> None:
    await until(lambda: agent._leases.in_flight != {})
    agent.stop("stopped by SIGTERM")


HOUR = {"total_timeout": 3600.0}
ENDS: dict[str, tuple[dict[str, float], Any, int]] = {
    "time": ({"max_time": 0.5}, None, 0),
    "bytes": ({"max_bytes": 300}, None, 0),
    "signal": ({}, _stop, 3),
}


@pytest.mark.parametrize(("limits", "meanwhile", "code"), ENDS.values(), ids=ENDS)
async def test_a_drip_holds_no_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: dict[str, float], meanwhile: Any, code: int
) -> None:
    """P45, F82: requests in flight get the same ten seconds when a limit is reached as after a signal. Then they are given up, and their
    URLs stay queued.
    """
    monkeypatch.setattr("thresher.crawler.agent.agent._GRACE_S", 0.5)
    async with faulty_web() as web:
        web.say("a.test/", late)
        web.say("b.test/", drip)
        async with asyncio.timeout(600):  # an hour if the crawl waits for the slow answers
            limited = {"min_free_disk": 0, **limits}
            found = await crawl(tmp_path, web, "a.test/", "b.test/", meanwhile=meanwhile, limits=limited, fetch=HOUR)
    assert found.ending.code == code
    assert found["b.test/"].state == "queued"
    assert found["b.test/"].failure is None, "it did nothing that could be held against it"


def _two_agents(tmp_path: Path, port: int) -> Path:
    sections: dict[str, Any] = {
        "agents": 2,
        "identity": {"agent": AGENT, "contact": CONTACT},
        "scope": {"type": "any"},
        "limits": {"min_free_disk": 0, "max_time": 1},
        "politeness": {"min_delay": 0, "delay_factor": 0, "address_delay": 0, "address_connections": 100},
        "fetch": {"allow_addresses": ["127.0.0.0/8"], "allow_ports": [port], **HOUR},
        "dns": {"static": {".test": "127.0.0.1"}},
        "sitemaps": "off",
    }
    return write_config(tmp_path, sections, [f"http://s{n}.test:{port}/" for n in range(6)])


async def test_drips_hold_several_agents_no_longer(tmp_path: Path) -> None:
    """P45: the supervisor ends all agents at `limits.max_time`, although none has finished its requests."""
    assert _GRACE_S == 10.0
    shorter = with_constant("thresher.crawler.agent.agent", "_GRACE_S", 0.5)
    async with faulty_web() as web:
        for n in range(6):
            web.say(f"s{n}.test/", drip)
        with start(tmp_path / "store", _two_agents(tmp_path, web.site.port), **shorter) as life:
            assert await asyncio.to_thread(life.end) == 0, life.said  # an hour if they wait for the slow answers
            assert "limits.max_time reached" in life.said
    assert verify(tmp_path / "store") == []
