"""A socket that calls back when its descriptor is closed."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any


class WatchedSocket(socket.socket):
    """A socket that calls back when its descriptor is closed, by itself or by an event loop that has taken it over."""

    on_freed: Callable[[], None] | None = None

    def _real_close(self, *how: Any) -> None:
        super()._real_close(*how)  # type: ignore[misc]  # what `close` calls once no file uses the socket
        self._free()

    def detach(self) -> int:
        descriptor = super().detach()
        self._free()
        return descriptor

    def __del__(self) -> None:
        super().__del__()  # type: ignore[misc]  # closes it, with a warning
        self._free()

    def _free(self) -> None:
        on_freed, self.on_freed = self.on_freed, None
        if on_freed is not None:
            on_freed()
