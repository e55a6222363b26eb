"""From the clients' exceptions to causes: the one place that knows what each of them means.

Everything that a peer, the network or our own limits can do to a request ends in a `Cause` with a line of detail. What is in no
row is our own fault: `INTERNAL_ERROR`, with its traceback.
"""

from __future__ import annotations

import errno
import re
import ssl
import traceback

import aiohttp

from crawler.core.model import Cause
from crawler.dns import Unresolved
from crawler.exchange import Exchange, WireFault
from crawler.guard import BlockedAddress

Blame = tuple[Cause, str]

_DETAIL = 300  # characters
_HEADER_FAULTS = ("Got more than", "Too many headers")  # of aiohttp's messages; what else it says of a head is bad syntax
_ATTEMPT = re.compile(r"\[Errno (\d+)\](?:[^\[]*?\('([^']+)')?")  # one of several connects that failed: aiohttp lists them in one text
_CONNECT = {
    errno.ECONNREFUSED: Cause.CONN_REFUSED,
    errno.ECONNRESET: Cause.CONN_RESET,
    errno.ECONNABORTED: Cause.CONN_RESET,
    errno.EPIPE: Cause.CONN_RESET,
    errno.ETIMEDOUT: Cause.CONN_TIMEOUT,
    errno.EHOSTUNREACH: Cause.CONN_TIMEOUT,  # its last router says what else we would find out by waiting
    errno.EHOSTDOWN: Cause.CONN_TIMEOUT,
    errno.EMFILE: Cause.NO_DESCRIPTORS,
    errno.ENFILE: Cause.NO_DESCRIPTORS,
    errno.ENOBUFS: Cause.NO_DESCRIPTORS,
    errno.ENOMEM: Cause.NO_DESCRIPTORS,
    errno.EADDRNOTAVAIL: Cause.NO_DESCRIPTORS,  # no local port left
    errno.ENETUNREACH: Cause.UNREACHABLE,
    errno.ENETDOWN: Cause.UNREACHABLE,
}
_NO_ROUTE = frozenset((errno.ENETUNREACH, errno.EADDRNOTAVAIL))  # to IPv6: says nothing if another address was tried
# Of several addresses the one that got furthest decides.
_FURTHEST = (Cause.NO_DESCRIPTORS, Cause.CONN_RESET, Cause.CONN_REFUSED, Cause.CONN_TIMEOUT, Cause.UNREACHABLE)


def blame(error: Exception, exchange: Exchange) -> Blame:
    """Return why the request failed."""
    if exchange.fault is not None:
        return exchange.fault.cause, exchange.fault.detail
    match error:
        case WireFault():
            return error.cause, error.detail
        case Unresolved() as unresolved:
            return unresolved.failure.cause, unresolved.failure.detail
        case aiohttp.ClientConnectorDNSError(os_error=Unresolved() as unresolved):
            return unresolved.failure.cause, unresolved.failure.detail
        case aiohttp.ClientConnectorCertificateError():
            return Cause.TLS_CERT, _cut(getattr(error.certificate_error, "verify_message", "") or str(error.certificate_error))
        case aiohttp.ClientConnectorSSLError():
            return Cause.TLS_PROTO, _cut(str(error.os_error))
        case aiohttp.ClientConnectorError():
            return _blame_connect(error.os_error)
        case aiohttp.ServerDisconnectedError():
            return Cause.DISCONNECTED, f"closed after {exchange.wire_bytes} bytes, before the end of the headers"
        case aiohttp.ClientResponseError():
            return _blame_syntax(error.message)
        case aiohttp.ClientPayloadError():
            return _blame_payload(error, exchange)
        case ssl.SSLCertVerificationError():
            return Cause.TLS_CERT, _cut(error.verify_message or str(error))
        case ssl.SSLError():
            return Cause.TLS_PROTO, _cut(str(error))
        case OSError() if not exchange.sent_at and not isinstance(error, aiohttp.ClientError):
            return _blame_connect(error)
        case aiohttp.ClientOSError():
            return (Cause.INCOMPLETE if exchange.head_at else Cause.CONN_RESET), _cut(str(error))
        case _:
            return Cause.INTERNAL_ERROR, "".join(traceback.format_exception(error))[-2000:]


def _blame_connect(error: OSError) -> Blame:
    if isinstance(error, BlockedAddress):
        return Cause.BLOCKED_ADDRESS, str(error)
    text = str(error)
    attempts = _ATTEMPT.findall(text.rpartition("Multiple exceptions: ")[2])
    no_route = [":" in address and int(number) in _NO_ROUTE for number, address in attempts]
    if attempts and all(no_route):  # no outage: on a network without IPv6 nothing would ever end it
        return Cause.CONN_TIMEOUT, _cut(text)
    causes = {_CONNECT.get(int(number)) for (number, _), skip in zip(attempts, no_route, strict=True) if not skip}
    return next((cause for cause in _FURTHEST if cause in causes), Cause.CONN_REFUSED), _cut(text)


def _blame_syntax(message: str) -> Blame:
    is_size = any(text in message for text in _HEADER_FAULTS)
    return (Cause.PROTOCOL_HEADERS if is_size else Cause.PROTOCOL), _cut(message)


def _blame_payload(error: aiohttp.ClientPayloadError, exchange: Exchange) -> Blame:
    if exchange.syntax_error is not None:
        return _blame_syntax(exchange.syntax_error.message)
    return Cause.INCOMPLETE, _cut(str(error))


def _cut(text: str) -> str:
    return " ".join(text.split())[:_DETAIL]
