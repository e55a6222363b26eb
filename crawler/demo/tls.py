"""TLS for the demo web: a certificate authority made for the run, and certificates of the hosts, signed by it.

A hundred hosts share a certificate, which is chosen by SNI: one for all hosts would be as long as a page, one for each takes long to make.
Needs the package trustme, part of the extra `dev`.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path

_HOSTS_OF_A_CERTIFICATE = 100


def server_context(hosts: Sequence[str], authority: Path) -> ssl.SSLContext:
    """Make an authority and the hosts' certificates.

    Args:
        authority: File to which the authority's certificate is written, in PEM.

    Raises:
        ImportError: If trustme is not installed.
    """
    import trustme

    maker = trustme.CA()
    contexts: list[ssl.SSLContext] = []
    of_host: dict[str, ssl.SSLContext] = {}
    for first in range(0, len(hosts), _HOSTS_OF_A_CERTIFICATE):
        some = hosts[first : first + _HOSTS_OF_A_CERTIFICATE]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        maker.issue_cert(*some).configure_cert(context)
        contexts.append(context)
        of_host |= dict.fromkeys(some, context)

    def pick(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        connection.context = of_host.get(name or "", contexts[0])

    contexts[0].sni_callback = pick
    maker.cert_pem.write_to_path(str(authority))
    return contexts[0]
