"""Translates exceptions to causes of failure: the one place that knows what each of them means, with aiohttp_causes.py for those of
aiohttp.

Every failure by a peer, the network or our own limits becomes a `Cause` with a line of detail. An exception in no row of the table is our
own fault: `INTERNAL_ERROR`, with its traceback.
"""

from __future__ import annotations

import errno
import re
import ssl
import traceback

from thresher.crawler.core.model import Cause
from thresher.crawler.fetch.address_guard import BlockedAddress
from thresher.crawler.fetch.dns import Unresolved
from thresher.crawler.fetch.exchange import Exchange, WireFault

Blame = tuple[Cause, str]

_DETAIL = 300  # characters
_ATTEMPT = re.compile(r"\[Errno (\d+)\](?:[^\[]*?\('([^']+)')?")  # one of several failed connections: the exception lists them in one text
_CONNECT = {
    errno.ECONNREFUSED: Cause.CONN_REFUSED,
    errno.ECONNRESET: Cause.CONN_RESET,
    errno.ECONNABORTED: Cause.CONN_RESET,
    errno.EPIPE: Cause.CONN_RESET,
    errno.ETIMEDOUT: Cause.CONN_TIMEOUT,
    errno.EHOSTUNREACH: Cause.CONN_TIMEOUT,  # its last router reports what we would otherwise find out by waiting
    errno.EHOSTDOWN: Cause.CONN_TIMEOUT,
    errno.EMFILE: Cause.NO_DESCRIPTORS,
    errno.ENFILE: Cause.NO_DESCRIPTORS,
    errno.ENOBUFS: Cause.NO_DESCRIPTORS,
    errno.ENOMEM: Cause.NO_DESCRIPTORS,
    errno.EADDRNOTAVAIL: Cause.NO_DESCRIPTORS,  # no local port left
    errno.ENETUNREACH: Cause.UNREACHABLE,
    errno.ENETDOWN: Cause.UNREACHABLE,
}
_NO_ROUTE = frozenset((errno.ENETUNREACH, errno.EADDRNOTAVAIL))  # no route to IPv6: counts only if no other address was tried
# If several addresses were tried, the one that got furthest decides.
_FURTHEST = (Cause.NO_DESCRIPTORS, Cause.CONN_RESET, Cause.CONN_REFUSED, Cause.CONN_TIMEOUT, Cause.UNREACHABLE)


def blame(error: Exception, exchange: Exchange) -> Blame:
    """Return why the request failed."""
    match error:
        case WireFault():
            return error.cause, error.detail
        case Unresolved():
            return error.failure.cause, error.failure.detail
        case ssl.SSLCertVerificationError():
            return Cause.TLS_CERT, cut(error.verify_message or str(error))
        case ssl.SSLError():
            return Cause.TLS_PROTO, cut(str(error))
        case OSError() if not exchange.sent_at:
            return blame_connect(error)
        case _:
            return Cause.INTERNAL_ERROR, "".join(traceback.format_exception(error))[-2000:]


def blame_connect(error: OSError) -> Blame:
    """Return why no connection was made."""
    if isinstance(error, BlockedAddress):
        return Cause.BLOCKED_ADDRESS, str(error)
    text = str(error)
    attempts = _ATTEMPT.findall(text.rpartition("Multiple exceptions: ")[2])
    no_route = [":" in address and int(number) in _NO_ROUTE for number, address in attempts]
    if attempts and all(no_route):  # not a network outage: on a network without IPv6 it would never end
        return Cause.CONN_TIMEOUT, cut(text)
    causes = {_CONNECT.get(int(number)) for (number, _), skip in zip(attempts, no_route, strict=True) if not skip}
    return next((cause for cause in _FURTHEST if cause in causes), Cause.CONN_REFUSED), cut(text)


def cut(text: str) -> str:
    return " ".join(text.split())[:_DETAIL]
