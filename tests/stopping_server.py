"""A demo server that stops itself by SIGSTOP after N answered and logged requests: `python stopping_server.py N,N… ARGUMENTS`.

So a test can act in the middle of a crawl, however slow the machine is: without answers the crawl cannot end.
"""

from __future__ import annotations

import os
import signal
import sys

from thresher.crawler.demo import server
from thresher.crawler.demo.log import ServedRequest


def main() -> None:
    """Serve as `thresher.crawler.demo.server` does, with stops."""
    counts = {int(count) for count in sys.argv.pop(1).split(",")}
    record = server.Server.record

    def recorded(self: server.Server, request: ServedRequest) -> None:
        record(self, request)
        if self.n_requests in counts:
            os.kill(os.getpid(), signal.SIGSTOP)

    server.Server.record = recorded  # type: ignore[method-assign]  # a server that stops is what is served
    server.main()


if __name__ == "__main__":
    main()
