"""The interface of an HTTP/1.1 client, as the fetcher uses it: lean_client.py or aiohttp_client.py."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from thresher.crawler.core.model import Cause
from thresher.crawler.fetch.credentials import RequestHeader
from thresher.crawler.fetch.exchange import Exchange


class Body(Protocol):
    """The body of a response, as received."""

    async def readany(self) -> bytes: ...

    def is_eof(self) -> bool: ...

    def at_eof(self) -> bool: ...


class Response(Protocol):
    """A response whose head has been received."""

    @property
    def status(self) -> int: ...

    @property
    def raw_headers(self) -> tuple[tuple[bytes, bytes], ...]: ...

    @property
    def content(self) -> Body: ...

    def close(self) -> None:
        """Close the connection, with all that is unread on it."""


class Client(Protocol):
    """A client that speaks HTTP/1.1: lean_client.py or aiohttp_client.py."""

    faults: tuple[type[Exception], ...]  # exceptions that reading a response may raise

    def blame(self, error: Exception, exchange: Exchange, /) -> tuple[Cause, str]:
        """Return why the request failed."""
        ...

    def get(self, text: str, exchange: Exchange, headers: Sequence[RequestHeader] = ..., /) -> AbstractAsyncContextManager[Response]: ...

    async def close(self) -> None: ...
