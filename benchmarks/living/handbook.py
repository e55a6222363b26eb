"""JSPWiki: a wiki in Java, where each page has its history, every version, the differences of two of them, a comment and two skins.

Links that change something lead to forms; who is not logged in is sent to log in, and back to where he was. Versions
have the skins, too, and a list names all pages. As it comes, with two lists on the first page.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

from benchmarks.living import children, text
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site
from benchmarks.support.ports import free_port

N_PAGES = 110
_SKIPPED = 60
_VERSIONS = (8, 16, 40)  # blocks that each version shows
_AUTHORS = ("ada", "grace", "alan")
_BEGAN = 1_400_000_000
_DAY = 86_400
_COMPILES_S = 240.0
JAVA = Path("/usr/bin/java")
WIKI = "org.apache.jspwiki:jspwiki-war:2.11.2:war"
SERVER = "org.eclipse.jetty:jetty-runner:9.4.53.v20231009:jar"
_CONFIGURATION = """
jspwiki.applicationName = Handbook
jspwiki.pageProvider = VersioningFileProvider
jspwiki.fileSystemProvider.pageDir = {directory}/pages
jspwiki.basicAttachmentProvider.storageDir = {directory}/pages
jspwiki.workDir = {directory}/work
jspwiki.baseURL = {address}
"""
_COMPILER = """
<servlet><servlet-name>jsp</servlet-name><servlet-class>org.eclipse.jetty.jsp.JettyJspServlet</servlet-class>
<init-param><param-name>compilerSourceVM</param-name><param-value>1.8</param-value></init-param>
<init-param><param-name>compilerTargetVM</param-name><param-value>1.8</param-value></init-param>
</servlet>
"""  # the server's own setting is Java 7, in which the wiki's pages are not written


def build(place: Place) -> str:
    """Unpack the wiki and write its pages; return Apache's directives."""
    (place.directory / "work").mkdir()
    with zipfile.ZipFile(children.maven_file(WIKI)) as archive:
        archive.extractall(place.directory / "war")
    settings = place.directory / "war" / "WEB-INF" / "web.xml"
    settings.write_text(settings.read_text().replace("<servlet>", f"{_COMPILER}<servlet>", 1))
    (place.directory / "wiki.properties").write_text(
        _CONFIGURATION.format(directory=place.directory, address=place.url(HANDBOOK.hosts[0])),
    )
    _write_pages(place.directory / "pages")
    (place.directory / "port").write_text(str(free_port(place.address)))
    return f"ProxyPreserveHost On\nProxyPass / http://{place.address}:{_port(place)}/"


def _write_pages(pages: Path) -> None:
    """Write the pages and their older versions, each with its author."""
    names = text.pages(_SKIPPED + N_PAGES)[_SKIPPED:]
    for n, name in enumerate(names):
        blocks, title = text.blocks_of(name), _title(name)
        old = pages / "OLD" / title
        old.mkdir(parents=True)
        versions = ["\n\n".join(_marked(block, names) for block in blocks[:end]) for end in _VERSIONS if len(blocks) > end // 2]
        for version, words in enumerate(versions[:-1], 1):
            _write(old / f"{version}.txt", words, n * 3 + version)
        _write(pages / f"{title}.txt", versions[-1] if versions else blocks[0].words, n * 3 + len(versions))
        authors = [f"{version}.author={_AUTHORS[(n + version) % 3]}\n" for version in range(1, len(versions) + 1)]
        (old / "page.properties").write_text("".join(authors))
    _write(pages / "Main.txt", "!!!Handbook\n\n[{IndexPlugin}]\n\n[{RecentChangesPlugin since='20000'}]\n", 1)
    _write(pages / "LeftMenu.txt", f"* [Main]\n* [{_title(names[0])}]\n", 1)


def _title(name: str) -> str:
    return "".join(part.capitalize() for part in re.split(r"\W+", name.removesuffix(".html")))


def _marked(block: text.Block, names: list[str]) -> str:
    """Return a block in the wiki's markup, with its links to other pages of the wiki."""
    spans = [(re.sub(r"[\[\]{}|~\\_%!*]", " ", span.words), span.to) for span in block.spans]
    words = "".join(f"[{words.strip()}|{_title(to)}]" if to in names and words.strip() else words for words, to in spans)
    return f"{'!! ' if block.tag[0] == 'h' else ''}{' '.join(words.split())}"


def _write(file: Path, words: str, day: int) -> None:
    file.write_text(words, "utf-8")
    os.utime(file, (_BEGAN + day * _DAY,) * 2)


@contextmanager
def behind(place: Place) -> Iterator[None]:
    """Serve the wiki, once its first page is compiled: that takes longer than a crawler waits for an answer."""
    settings = (f"-Djspwiki.custom.config={place.directory / 'wiki.properties'}", f"-Duser.home={place.directory}", "-Duser.timezone=UTC")
    server = ("-jar", str(children.maven_file(SERVER)), "--host", place.address, "--port", str(_port(place)), str(place.directory / "war"))
    command = [str(JAVA), "-Xmx400m", *settings, *server]
    with children.running(command, (place.address, _port(place)), place.directory / "application.log"):
        urlopen(f"http://{place.address}:{_port(place)}/", timeout=_COMPILES_S).close()
        yield


def _port(place: Place) -> int:
    return int((place.directory / "port").read_text())


def kind(url: str) -> str:
    """Return the view, and the query fields that choose what it shows."""
    parts = urlsplit(url)
    return f"{parts.path.strip('/').split('/')[0]} {'&'.join(sorted(parse_qs(parts.query, keep_blank_values=True)))}"


HANDBOOK = Site(
    name="handbook",
    about=f"JSPWiki with {N_PAGES} pages in up to {len(_VERSIONS)} versions",
    address="127.0.8.32",
    hosts=("handbook.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, JAVA: "default-jre-headless", text.MANUAL: text.PACKAGE},
    maven=(WIKI, SERVER),
    build=build,
    behind=behind,
    kind=kind,
    modules="proxy proxy_http",
)
