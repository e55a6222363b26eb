"""The record of one exchange (a request and its response): a client fills it in, deadlines.py times it, and causes.py explains its
failure.
"""

from __future__ import annotations

from thresher.crawler.core.model import Cause, Wire

MAX_INTERIM = 20  # most interim responses before the final one


class WireFault(Exception):  # noqa: N818 - a fault of the peer, not an error of ours
    """We ended the response because it broke one of our rules."""

    def __init__(self, cause: Cause, detail: str) -> None:
        super().__init__(detail)
        self.cause = cause
        self.detail = detail


class Recording:
    """The bytes of one exchange as they were sent and received, for an archive."""

    __slots__ = ("broken", "cipher", "pieces", "request", "sent_at", "tls")

    def __init__(self, now: float) -> None:
        """Create the recording.

        Args:
            now: Seconds since the Unix epoch.
        """
        self.sent_at = now
        self.request = b""
        self.pieces: list[bytes] = []
        self.broken: Cause | None = None
        self.tls = self.cipher = ""


class Exchange:
    """One request and the bytes that came back for it. Times are seconds of the event loop's clock."""

    __slots__ = (
        "address",
        "budget",
        "fault",
        "first_byte_at",
        "head_at",
        "is_at_proxy",
        "is_cut",
        "is_proxied",
        "is_reused",
        "is_whole",
        "n_interim",
        "read_at",
        "recording",
        "sent_at",
        "syntax_error",
        "wire_bytes",
    )

    def __init__(self, budget: int, recording: Recording | None = None, *, is_proxied: bool = False) -> None:
        """Create the exchange.

        Args:
            is_proxied: Whether the peer is a proxy; then the peer's address is not the host's.
        """
        self.budget = budget  # most wire bytes of the response
        self.is_proxied = is_proxied
        self.is_at_proxy = False  # whether the connection to the proxy is being made
        self.recording = recording
        self.wire_bytes = 0
        self.address = ""
        self.sent_at = 0.0  # 0: not connected yet
        self.first_byte_at = 0.0
        self.head_at = 0.0  # end of the final response's headers
        self.read_at = 0.0  # last byte
        self.n_interim = 0
        self.is_reused = False  # whether the connection had served another request before
        self.is_whole = False  # whether the final response is complete
        self.is_cut = False  # whether the connection broke before the body's end
        self.fault: WireFault | None = None
        self.syntax_error = ""  # the parser's message about the body

    def wire(self) -> Wire | None:
        """Return the recorded bytes; None if nothing is recorded."""
        tape = self.recording
        if tape is None:
            return None
        pieces, tape.pieces = tuple(tape.pieces), []
        return Wire(tape.request, pieces, tape.sent_at, self.address, self.n_interim, self.is_whole, tape.broken, tape.tls, tape.cipher)

    def on_bytes(self, n_bytes: int, now: float) -> WireFault | None:
        """Count received bytes; return the fault if they exceed the budget."""
        self.read_at = now
        if not self.wire_bytes:
            self.first_byte_at = now
        self.wire_bytes += n_bytes
        if self.wire_bytes <= self.budget:
            return None
        return WireFault(Cause.PROTOCOL_WIRE_BUDGET, f"{self.wire_bytes} bytes received, at most {self.budget}")


class Connections:
    """Counts open connections; if there are too many, none is kept for the next request."""

    def __init__(self, at_most: int) -> None:
        self.at_most = at_most
        self._open: set[object] = set()

    @property
    def n_open(self) -> int:
        """The number of open connections."""
        return len(self._open)

    def on_open(self, connection: object) -> None:
        """Count a connection that has been made."""
        self._open.add(connection)

    def on_lost(self, connection: object) -> None:
        """Forget a connection. Call it also when connecting fails: uvloop may call `connection_made` and then not `connection_lost`."""
        self._open.discard(connection)
