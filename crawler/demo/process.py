"""A demo server in its own process, so that it shares no core and no event loop with the crawler that it serves."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from thresher.crawler.children import python
from thresher.crawler.demo.demo_settings import PROFILES, DemoSettings, profile
from thresher.crawler.demo.log import ServerLog
from thresher.crawler.demo.opening import AnyWeb, open_web

_LONGEST_END_S = 10.0


class ServerProcess:
    """A server that runs inside `with ServerProcess("story") as server: …`, and ends with its parent process, however that ends.  `changes`
    are options that differ from the profile's; their values must be JSON. `printed`: all pages are rendered at the start, so that an answer
    takes least time.
    """

    def __init__(
        self,
        name: str,
        *,
        port: int = 0,
        log: str | Path | None = None,
        flush_lines: bool = False,
        changes: dict[str, object] | None = None,
        printed: bool = False,
        authority: str | Path | None = None,
    ) -> None:
        assert name in PROFILES, name
        self.demo_settings: DemoSettings = profile(name, **(changes or {}))
        self.log_path = Path(log) if log is not None else None
        self.port = self.pid = 0  # set on entering
        self.web: AnyWeb  # set on entering: the web that is served, with its truth; its pages contain the port
        self._process: subprocess.Popen[bytes] | None = None
        self._command = python.command("thresher.crawler.demo.server", "--profile", name, "--port", str(port))
        self._command += [f"--set={option}={json.dumps(value)}" for option, value in (changes or {}).items()]
        self._command += ["--log", str(self.log_path.resolve())] if self.log_path is not None else []
        self._command += ["--flush-lines"] if flush_lines else []
        self._command += ["--printed"] if printed else []
        self._command += ["--authority", str(authority)] if authority is not None else []

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server in a session of its own: so a terminal's Ctrl-C does not reach it, and it serves until the crawl has ended."""
        return subprocess.Popen(  # noqa: S603 - our own module
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=python.environment(), start_new_session=True
        )

    def __enter__(self) -> Self:
        self._process = self.start()
        assert self._process.stdout is not None
        try:
            line = self._process.stdout.readline()
        except KeyboardInterrupt:
            self._process.kill()  # it has served nothing yet, so no log is lost
            self.close()
            raise
        if not line:
            self.close()
            raise RuntimeError("the demo server did not start; standard error says why")
        ready = json.loads(line)
        self.port, self.pid = ready["port"], ready["pid"]
        self.web = open_web(self.demo_settings, port=self.port)
        return self

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def __exit__(self, _type: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the server; after that its log is complete."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(_LONGEST_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def read_log(self) -> ServerLog:
        """Read what is written of the log so far."""
        assert self.log_path is not None, "no log was asked for"
        return ServerLog.read(self.log_path)
