"""Headless Chromium, controlled by its DevTools protocol, for proofs on loopback. No name is resolved, nothing is updated."""

from __future__ import annotations

import asyncio
import base64
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp

_QUIET: Final = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps", "--mute-audio"),
    *("--hide-scrollbars", "--window-size=1000,1400"),
)
_STARTS_S: Final = 120.0
_LOADS_S: Final = 120.0
_IDLE_S: Final = 1.0  # a page is complete after so long without a request, after its load event


def found() -> str | None:
    """Return the program's path, None if it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@dataclass
class Shown:
    """The requests of a page, and a picture of it."""

    status: dict[str, int] = field(default_factory=dict)  # by URL; 0: no answer
    screenshot: bytes = b""  # PNG


class Browser:
    """One process of Chromium, which opens one page at a time."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0

    async def show(self, url: str) -> Shown:
        """Open a page without any cache; wait until it makes no more requests."""
        target = (await self._call("Target.createTarget", {"url": "about:blank"}))["targetId"]
        session = (await self._call("Target.attachToTarget", {"targetId": target, "flatten": True}))["sessionId"]
        for method in ("Network.enable", "Page.enable"):
            await self._call(method, {}, session)
        await self._call("Network.setCacheDisabled", {"cacheDisabled": True}, session)
        shown, under_way, is_loaded = Shown(), dict[str, str](), False
        await self._send("Page.navigate", {"url": url}, session)
        end = asyncio.get_running_loop().time() + _LOADS_S
        while asyncio.get_running_loop().time() < end:
            try:
                async with asyncio.timeout(_IDLE_S):
                    event = await self._socket.receive_json()
            except TimeoutError:
                if is_loaded and not under_way:
                    break
                continue
            is_loaded = is_loaded or event.get("method") == "Page.loadEventFired"
            _note(event.get("method", ""), event.get("params", {}), shown.status, under_way)
        taken = await self._call("Page.captureScreenshot", {"format": "png"}, session)
        shown.screenshot = base64.b64decode(taken["data"])
        await self._call("Target.closeTarget", {"targetId": target})
        return shown

    async def _send(self, method: str, params: dict[str, Any], session: str = "") -> int:
        self._number += 1
        beside = {"sessionId": session} if session else {}
        await self._socket.send_json({"id": self._number, "method": method, "params": params, **beside})
        return self._number

    async def _call(self, method: str, params: dict[str, Any], session: str = "") -> dict[str, Any]:
        number = await self._send(method, params, session)
        while True:
            async with asyncio.timeout(_LOADS_S):
                said = await self._socket.receive_json()
            if said.get("id") == number:
                if "error" in said:
                    raise RuntimeError(f"{method}: {said['error']}")
                found: dict[str, Any] = said.get("result", {})
                return found


def _note(method: str, params: dict[str, Any], status: dict[str, int], under_way: dict[str, str]) -> None:
    """Record what an event says about a request."""
    number = params.get("requestId", "")
    match method:
        case "Network.requestWillBeSent" if params["request"]["url"].startswith("http"):
            under_way[number] = url = params["request"]["url"]
            status.setdefault(url, 0)
        case "Network.responseReceived" if number in under_way:
            status[params["response"]["url"]] = params["response"]["status"]
        case "Network.loadingFinished" | "Network.loadingFailed":
            under_way.pop(number, None)


@asynccontextmanager
async def browser(folder: Path, proxy: str = "", hosts: dict[str, str] | None = None) -> AsyncIterator[Browser]:
    """Run Chromium with its files in a folder until the block ends.

    Args:
        proxy: `127.0.0.1:PORT`, by which everything is asked for, loopback too; "" for none.
        hosts: The addresses of names; no other name has one.
    """
    program = found()
    if program is None:
        sys.exit("no chromium on the path. Install the package chromium")
    named = "".join(f"MAP {name} {address}, " for name, address in (hosts or {}).items())
    rules = f"--host-resolver-rules={named}MAP * ~NOTFOUND, EXCLUDE 127.*"
    by = [f"--proxy-server=http://{proxy}", "--proxy-bypass-list=<-loopback>"] if proxy else []
    process = await asyncio.create_subprocess_exec(
        *(program, *_QUIET, *by, rules, f"--user-data-dir={folder}"), stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        port, path = await _devtools(folder / "DevToolsActivePort")
        async with aiohttp.ClientSession() as session, session.ws_connect(f"ws://127.0.0.1:{port}{path}", max_msg_size=0) as socket:
            yield Browser(socket)
    finally:
        process.terminate()
        await process.wait()


async def _devtools(file: Path) -> tuple[str, str]:
    """Return port and path of the protocol's socket, once the browser has written them."""
    for _ in range(int(_STARTS_S * 10)):
        lines = _lines(file)
        if len(lines) == 2:
            return lines[0], lines[1]
        await asyncio.sleep(0.1)
    sys.exit(f"chromium did not start within {_STARTS_S:g} s")


def _lines(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []
