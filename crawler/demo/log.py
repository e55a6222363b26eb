r"""The server's log: what a crawler requested and when, recorded independently of the crawler.

One line per request, written when its answer was sent or its connection was lost, tab-separated, control characters as \xNN:

    start  end  address  host  connection  method  path  status  bytes  agent

start and end are seconds of the monotonic clock, which all processes of a machine share: start is when the head of the request is complete,
end is when the last byte of the answer is handed to the kernel. Status 0: the client disconnected before it was answered. `host` is the
Host header: name and port.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

ROBOTS = "/robots.txt"
_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(0x20), 0x5C, *range(0x7F, 0xA0))}


class ServedRequest(NamedTuple):
    """One line of the log."""

    start: float
    end: float
    address: str  # the server's address: 127.x.y.z
    host: str  # lower case, with the port as sent
    connection: int
    method: str
    path: str  # with query
    status: int
    n_bytes: int  # bytes of the body as sent
    agent: str

    def line(self) -> str:
        """Return the request as a line with its end."""
        text = "\t".join(field.translate(_ESCAPES) for field in (self.address, self.host))
        tail = f"{self.method.translate(_ESCAPES)}\t{self.path.translate(_ESCAPES)}\t{self.status}\t{self.n_bytes}"
        return f"{self.start:.6f}\t{self.end:.6f}\t{text}\t{self.connection}\t{tail}\t{self.agent.translate(_ESCAPES)}\n"

    @property
    def queue(self) -> str:
        """The name of the host queue, for politeness: www and bare name, and URLs with and without the default port, have one queue."""
        return self.host.removeprefix("www.").removesuffix(":80")


def parse_line(line: str) -> ServedRequest:
    """Return the request of one line.

    Raises:
        ValueError: If the line is no request.
    """
    start, end, address, host, connection, method, path, status, n_bytes, agent = line.rstrip("\n").split("\t")
    return ServedRequest(float(start), float(end), address, host, int(connection), method, path, int(status), int(n_bytes), agent)


class ServerLog:
    """All requests of a log in order of their start, and measures of politeness."""

    def __init__(self, requests: Iterable[ServedRequest]) -> None:
        self.requests = sorted(requests, key=lambda request: request.start)

    @classmethod
    def read(cls, path: str | Path) -> ServerLog:
        """Read a log, which may still be written to: an unfinished last line is left out."""
        text = Path(path).read_bytes().decode("latin-1")
        return cls(parse_line(line) for line in text[: text.rfind("\n") + 1].split("\n")[:-1])

    def __len__(self) -> int:
        return len(self.requests)

    def by(self, key: Callable[[ServedRequest], str]) -> dict[str, list[ServedRequest]]:
        """Return the requests grouped by a key, each group in order."""
        groups: dict[str, list[ServedRequest]] = {}
        for request in self.requests:
            groups.setdefault(key(request), []).append(request)
        return groups

    def queues(self) -> dict[str, list[ServedRequest]]:
        """Return the requests by queue name."""
        return self.by(lambda request: request.queue)

    def gaps(self, key: Callable[[ServedRequest], str] | None = None) -> dict[str, list[float]]:
        """Return, by queue (or other key), the seconds from the latest end so far to each next start; negative where two overlap."""
        return {name: _gaps(requests) for name, requests in (self.by(key) if key else self.queues()).items()}

    def max_concurrency(self, key: Callable[[ServedRequest], str] | None = None) -> dict[str, int]:
        """Return, by queue (or other key), the most requests that were open at once."""
        return {name: _max_open(requests) for name, requests in (self.by(key) if key else self.queues()).items()}

    def first_requests(self) -> dict[str, ServedRequest]:
        """Return the first request of every origin (Host header)."""
        first: dict[str, ServedRequest] = {}
        for request in self.requests:
            first.setdefault(request.host, request)
        return first

    def origins_without_robots_first(self) -> list[str]:
        """Return the origins whose first request was not for robots.txt."""
        return [host for host, request in self.first_requests().items() if request.path != ROBOTS]

    def forbidden(self, allows: Callable[[str, str], bool]) -> list[ServedRequest]:
        """Return the requests that `allows(host, path)` (as `Web.allows`) forbids."""
        return [request for request in self.requests if request.path != ROBOTS and not allows(request.host, request.path)]

    def counts(self) -> dict[str, int]:
        """Return how often each URL (http://host/path) was requested."""
        counts: dict[str, int] = {}
        for request in self.requests:
            url = f"http://{request.host}{request.path}"
            counts[url] = counts.get(url, 0) + 1
        return counts

    def agents(self) -> set[str]:
        """Return all values of User-Agent."""
        return {request.agent for request in self.requests}


def _gaps(requests: list[ServedRequest]) -> list[float]:
    gaps, end = [], requests[0].end
    for request in requests[1:]:
        gaps.append(request.start - end)
        end = max(end, request.end)
    return gaps


def _max_open(requests: list[ServedRequest]) -> int:
    edges = sorted([(request.start, 1) for request in requests] + [(request.end, -1) for request in requests])
    most = n_open = 0
    for _, step in edges:  # at the same time, ends (-1) come before starts
        n_open += step
        most = max(most, n_open)
    return most
