"""nginx on loopback, for proofs that crawl files of folders."""

from __future__ import annotations

import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_CONFIG = """
daemon off; pid {dir}/pid; error_log {dir}/error.log; worker_processes 1;
events {{ worker_connections 512; }}
http {{
  log_format times '$msec $request_time "$request_uri"'; access_log off; default_type application/octet-stream; disable_symlinks off;
  types {{ text/html html htm; text/plain txt; text/css css; application/javascript js; image/png png; image/svg+xml svg; }}
  client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy;
  fastcgi_temp_path {dir}/fcgi; uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
{servers}
}}
"""
_PATIENCE_S = 10.0


@contextmanager
def serving(directory: Path, servers: Iterable[str], urls: Sequence[str]) -> Iterator[None]:
    """Run nginx with its files in `directory` until the block ends; entered once it answers for each of `urls`.

    servers: what stands between the braces of each `server { }`
    """
    directory.mkdir(parents=True, exist_ok=True)
    config = directory / "nginx.conf"
    config.write_text(_CONFIG.format(dir=directory, servers="\n".join(f"  server {{ {server} }}" for server in servers)))
    try:
        nginx = subprocess.Popen(["nginx", "-c", str(config), "-p", str(directory)])
    except FileNotFoundError:
        raise SystemExit("nginx: no such program. Install the package nginx") from None
    try:
        for url in urls:
            _wait_for(url)
        if nginx.poll() is not None:
            raise SystemExit(f"nginx ended with exit {nginx.returncode}; another server answers in its place. Is the address free?")
        yield
    finally:
        nginx.terminate()
        nginx.wait()


def _wait_for(url: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except urllib.error.HTTPError:
            return  # an error is an answer, too
        except OSError as error:
            if time.monotonic() > deadline:
                raise SystemExit(f"{url}: nginx does not answer: {error}. Is the package nginx installed, and the address free?") from None
            time.sleep(0.05)
        else:
            return
