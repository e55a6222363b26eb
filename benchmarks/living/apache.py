"""Apache as a child process: on one loopback address, with a configuration for each site; it writes only into one directory."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path("/usr/sbin/apache2")
MODULES = Path("/usr/lib/apache2/modules")
PACKAGE = "apache2-bin"
_NAMES = "alias autoindex authz_core cgi dir env mime mpm_prefork negotiation"
_SERVER_USER = "www-data"

_CONFIG = """
ServerRoot {directory}
PidFile {directory}/apache.pid
Mutex file:{directory} default
Listen {address}:{port}
ServerName {address}
{modules}
{user}
TypesConfig /etc/mime.types
ErrorLog {directory}/error.log
LogLevel warn
LogFormat "%>s %V %U%q" short
CustomLog {directory}/access.log short
StartServers 2
MinSpareServers 1
MaxSpareServers 2
MaxRequestWorkers 4
KeepAliveTimeout 60
MaxKeepAliveRequests 0
<Directory />
  Require all granted
  AllowOverride None
  Options FollowSymLinks
</Directory>
DirectoryIndex index.html index.php doku.php
{site}
"""


@dataclass(frozen=True)
class Place:
    """The directory and the address from which a site is served."""

    directory: Path  # directory of the site, for all that the server writes
    address: str
    port: int  # port of the site's addresses
    own_port: int = 0  # Apache's own port if a proxy listens on `port`; 0: the same as `port`

    @property
    def listens(self) -> int:
        return self.own_port or self.port

    def url(self, host: str, path: str = "/") -> str:
        return f"http://{host}:{self.port}{path}"


@contextmanager
def serving(place: Place, site: str, *, modules: str = "") -> Iterator[None]:
    """Serve until the block ends.

    Args:
        place: Directory and port.
        site: Apache directives of the site.
        modules: Names of modules besides those that every site has; "php": the installed version.

    Raises:
        RuntimeError: If the server does not start; with its own message.
    """
    config = place.directory / "apache.conf"
    user = f"User {_SERVER_USER}\nGroup {_SERVER_USER}" if os.geteuid() == 0 else ""
    loaded = "\n".join(f"LoadModule {name}_module {_file(name)}" for name in [*_NAMES.split(), *modules.split()])
    values = {"directory": place.directory, "address": place.address, "port": place.listens, "modules": loaded}
    config.write_text(_CONFIG.format(**values, user=user, site=site))
    _give_to_server(place.directory)
    command = [str(PROGRAM), "-f", str(config), "-D", "FOREGROUND"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)  # the server ends its process group
    try:
        _wait(server, place)
        yield
    finally:
        server.terminate()
        server.wait()
        assert server.stderr is not None
        server.stderr.close()


def php_module() -> Path:
    """Return the file of Apache's PHP module, whichever version is installed."""
    return next(MODULES.glob("libphp*.so"), MODULES / "libphp.so")


def _file(module: str) -> Path:
    return php_module() if module == "php" else MODULES / f"mod_{module}.so"


def _give_to_server(directory: Path) -> None:
    """Let the server's user read and write the directory: if root starts the server, it changes to that user."""
    if os.geteuid() != 0:
        return
    subprocess.run(["chown", "-Rh", f"{_SERVER_USER}:{_SERVER_USER}", str(directory)], check=True)
    for made in (directory, directory.parent):
        made.chmod(made.stat().st_mode | 0o011)


def _wait(server: subprocess.Popen[str], place: Place) -> None:
    for _ in range(200):
        if server.poll() is not None:
            assert server.stderr is not None
            raise RuntimeError(f"apache2 did not start: {server.stderr.read().strip()}")
        try:
            socket.create_connection((place.address, place.listens), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"apache2 does not answer at {place.address}:{place.listens}; see {place.directory}/error.log")
