"""Translates aiohttp's exceptions to causes of failure; causes.py translates all others."""

from __future__ import annotations

import aiohttp

from thresher.crawler.core.model import Cause
from thresher.crawler.fetch.causes import Blame, blame, blame_connect, cut
from thresher.crawler.fetch.dns import Unresolved
from thresher.crawler.fetch.exchange import Exchange

_HEADER_FAULTS = ("Got more than", "Too many headers")  # messages of aiohttp; its other messages about a head mean bad syntax


def blame_aiohttp(error: Exception, exchange: Exchange) -> Blame:
    """Return why the request failed."""
    if exchange.fault is not None:
        return exchange.fault.cause, exchange.fault.detail
    match error:
        case aiohttp.ClientConnectorDNSError(os_error=Unresolved() as unresolved):
            return blame(unresolved, exchange)
        case aiohttp.ClientConnectorCertificateError():
            return Cause.TLS_CERT, cut(getattr(error.certificate_error, "verify_message", "") or str(error.certificate_error))
        case aiohttp.ClientConnectorSSLError():
            return Cause.TLS_PROTO, cut(str(error.os_error))
        case aiohttp.ClientConnectorError():
            return blame_connect(error.os_error)
        case aiohttp.ServerDisconnectedError():
            return Cause.DISCONNECTED, f"closed after {exchange.wire_bytes} bytes, before the end of the headers"
        case aiohttp.ClientResponseError():
            return _blame_syntax(error.message)
        case aiohttp.ClientPayloadError():
            return _blame_payload(error, exchange)
        case aiohttp.ClientOSError():
            return (Cause.INCOMPLETE if exchange.head_at else Cause.CONN_RESET), cut(str(error))
        case _:
            return blame(error, exchange)


def _blame_syntax(message: str) -> Blame:
    is_size = any(text in message for text in _HEADER_FAULTS)
    return (Cause.PROTOCOL_HEADERS if is_size else Cause.PROTOCOL), cut(message)


def _blame_payload(error: aiohttp.ClientPayloadError, exchange: Exchange) -> Blame:
    if exchange.syntax_error:
        return _blame_syntax(exchange.syntax_error)
    return Cause.INCOMPLETE, cut(str(error))
