"""godoc: the packages of a language's library, as pages made of their source, with every file and every folder.

A declaration's heading links to the lines where it stands, `/src/FILE?s=FROM:TO#L…`, which is the same file with a few lines marked; so
a file has as many addresses as it declares functions, types and methods. A package has its page with and without what is not exported
(`?m=all`), and a folder of sources its list. As godoc configures it, over two dozen packages of Go's library.
"""

from __future__ import annotations

import re
import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from benchmarks.living import children
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site
from benchmarks.support.ports import free_port

GODOC = Path("/usr/bin/godoc")
LIBRARY = Path("/usr/share/go-1.19/src")
_PACKAGES = (
    *("sort", "bufio", "container/heap", "container/list", "container/ring", "text/tabwriter", "text/template/parse", "encoding/json"),
    *("encoding/csv", "encoding/hex", "net/mail", "net/textproto", "path", "path/filepath", "flag", "log", "errors", "html", "archive/tar"),
    *("compress/bzip2", "compress/lzw", "hash/crc32", "regexp/syntax", "unicode/utf8", "go/token", "go/scanner", "expvar", "mime"),
)


def build(place: Place) -> str:
    """Copy the packages' sources, without their data for tests; choose a port for godoc; return Apache's directives."""
    root = place.directory / "go"
    for name in _PACKAGES:
        (root / "src" / name).mkdir(parents=True, exist_ok=True)
        for file in (LIBRARY / name).glob("*.go"):
            shutil.copy(file, root / "src" / name)
    (place.directory / "port").write_text(str(free_port(place.address)))
    return f"ProxyPreserveHost On\nProxyPass / http://{place.address}:{_port(place)}/"


def behind(place: Place) -> AbstractContextManager[None]:
    """Serve the packages."""
    command = [str(GODOC), f"-http={place.address}:{_port(place)}", f"-goroot={place.directory / 'go'}"]
    variables = {"GO111MODULE": "off", "GOPATH": str(place.directory / "none"), "GOCACHE": str(place.directory / "cache")}
    return children.running(command, (place.address, _port(place)), place.directory / "application.log", variables)


def _port(place: Place) -> int:
    return int((place.directory / "port").read_text())


def kind(url: str) -> str:
    """Return whether it is a package, a file or a folder, and the query fields."""
    parts = urlsplit(url)
    what = parts.path.strip("/").split("/")[0] or "start"
    of = "file" if re.search(r"\.\w+$", parts.path) else "folder" if what == "src" else ""
    return f"{what} {of} {'&'.join(sorted(parse_qs(parts.query, keep_blank_values=True)))}"


PACKAGES = Site(
    name="packages",
    about=f"godoc with {len(_PACKAGES)} packages, where a file has an address for each of its declarations",
    address="127.0.8.25",
    hosts=("packages.example",),
    seed="/pkg/",
    needs={PROGRAM: PACKAGE, GODOC: "golang-golang-x-tools", LIBRARY: "golang-1.19-src"},
    build=build,
    behind=behind,
    kind=kind,
    modules="proxy proxy_http",
)
