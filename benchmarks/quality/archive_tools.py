"""Do other programs accept our archives? `python -m benchmarks.quality.archive_tools [--jwarc JAR] [--wacz COMMAND]`.

A gallery (benchmarks/quality/replay.py) and a host of odd answers (chunked, gzip in chunks, HTTP/1.0 without a length, an interim answer
before the answer, a body that breaks off, an empty one, a redirect, a page twice) are archived from loopback. Then four programs by others
read every file: `warcio check`, `fastwarc check`, jwarc's `validate` (Java) and, of the export, `wacz validate`.

Maven (`mvn`) fetches jwarc unless --jwarc names its jar; wacz is a command of the package of that name, in any environment. A program that
is missing is left out, with a message. `warcio check` computes the payload digest of a chunked answer over its chunks, while the standard
wants it without them: it reports one fault in each. jwarc reports three lines for an answer that broke off, although `WARC-Truncated` marks
it. These known reports are counted, and there must be no more.

Prints files and faults for each program. Exits with 1 if a program finds a fault, or if none could run.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.quality.replay import archive, gallery, served
from benchmarks.support.loop_server import serving
from thresher.crawler.children.python import command, environment

_JWARC: Final = "org.netpreserve:jwarc:0.31.1"
_TEXT: Final = b"<!doctype html><title>t</title><p>" + b"words that fill the page " * 40
_OK: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def _sized(body: bytes, *more: bytes) -> bytes:
    return _OK + b"".join(line + b"\r\n" for line in more) + b"Content-Length: %d\r\n\r\n" % len(body) + body


def _chunked(body: bytes, *more: bytes) -> bytes:
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:50], body[50:]))
    return _OK + b"".join(line + b"\r\n" for line in more) + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


_ODD: Final = {  # path → answer, and whether the connection is closed after it
    "/chunked": (_chunked(_TEXT + b"chunked"), False),
    "/chunked-gzip": (_chunked(gzip.compress(_TEXT + b"both"), b"Content-Encoding: gzip"), False),
    "/gzip": (_sized(gzip.compress(_TEXT + b"gzip"), b"Content-Encoding: gzip"), False),
    "/old": (b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + _TEXT + b"old", True),
    "/hints": (b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n" + _sized(_TEXT + b"hints"), False),
    "/cut": (_sized(_TEXT + b"cut")[:-100], True),
    "/empty": (_sized(b""), False),
    "/moved": (b"HTTP/1.1 301 Moved\r\nLocation: /gzip\r\nContent-Length: 0\r\n\r\n", False),
    "/twice": (_sized(_TEXT + b"gzip"), False),
    "/again": (_sized(_TEXT + b"gzip"), False),
    "/missing": (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", False),
}
_N_CHUNKED: Final = 2
_OF_THE_CUT: Final = 3  # lines


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        is_last = False
        while not is_last:
            path = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1].decode()
            links = "".join(f'<a href="{name}">{name}</a>' for name in _ODD)
            home = _sized(b"<!doctype html><title>home</title>" + links.encode())
            answer, is_last = (home, False) if path == "/" else _ODD.get(path, _ODD["/missing"])
            writer.write(answer)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


@contextmanager
def odd() -> Iterator[str]:
    """Serve the odd answers; yield their origin."""
    with serving(_answer, "127.0.0.4") as port:
        yield f"http://127.0.0.4:{port}"


def judged(name: str, run: list[str], at_most: int = 0) -> bool:
    """Run a program, print its judgement, return whether it found no more faults than allowed.    at_most: lines to expect"""
    ran = subprocess.run(run, capture_output=True, text=True, check=False)
    lines = (ran.stdout + ran.stderr).splitlines() if ran.returncode else []
    said = [line for line in lines if "fail" in line.lower() or "error" in line.lower()]
    is_sound = ran.returncode == 0 or 0 < len(said) <= at_most
    print(f"{name}: {'sound' if is_sound else 'NOT SOUND'}, exit {ran.returncode}, {len(said)} lines of faults, {at_most} expected")
    for line in said[:10] if not is_sound else []:
        print(f"     {line}")
    return is_sound


def jar(named: str, folder: Path) -> str:
    """Return the jar of jwarc, or "" if it cannot be had."""
    if named or not (shutil.which("mvn") and shutil.which("java")):
        return named
    fetch = ["mvn", "-q", "dependency:copy", f"-Dartifact={_JWARC}", f"-DoutputDirectory={folder}"]
    subprocess.run(fetch, capture_output=True, check=False)
    return next((str(file) for file in folder.glob("jwarc-*.jar")), "")


def run(work: Path, jwarc: str, wacz: str) -> bool:
    """Archive both webs and let every program check them; print and return whether all found them sound."""
    (shop := work / "gallery").mkdir()
    with served(shop, "127.0.0.3") as other:
        gallery(shop, other)
        with served(shop, "127.0.0.2") as origin:
            archive(f"{origin}/", work / "shop", 20)
    with odd() as origin:
        archive(f"{origin}/", work / "odd", 100)
    verdicts = []
    for store, chunked, cut in ((work / "shop", 0, 0), (work / "odd", _N_CHUNKED, _OF_THE_CUT)):
        files = [str(file) for file in sorted(store.rglob("archive/*.warc.gz"))]
        assert files, f"{store}: no archive"
        verdicts.append(judged(f"warcio check, {store.name}", [*command("warcio.cli"), "check", *files], chunked))
        verdicts += [judged(f"fastwarc check, {store.name}", [*command("fastwarc.cli"), "check", each]) for each in files]
        if jwarc:
            tool = ["java", "-cp", jwarc, "org.netpreserve.jwarc.tools.WarcTool", "validate", *files]
            verdicts.append(judged(f"jwarc validate, {store.name}", tool, cut))
        if wacz:
            target = work / f"{store.name}.wacz"
            export = [*command("thresher.crawler.api"), "export", str(store), "--format", "wacz", "-o", str(target)]
            subprocess.run(export, env=environment(), check=True, capture_output=True)
            verdicts.append(judged(f"wacz validate, {store.name}", [wacz, "validate", "-f", str(target)]))
    return all(verdicts)


def main() -> None:
    """Run the measurement."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.archive_tools", description="Have other programs judge archives.")
    parser.add_argument("--jwarc", default="", help="jar of jwarc; default: fetched by Maven")
    parser.add_argument("--wacz", default=shutil.which("wacz") or "", help="the command of the package wacz; default: the one on the path")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="archive-tools-") as name:
        work = Path(name)
        jwarc = jar(options.jwarc, work)
        for program, there in (("jwarc", jwarc), ("wacz", options.wacz)):
            if not there:
                print(f"{program}: not here, left out")
        is_sound = run(work, jwarc, options.wacz)
    sys.exit(0 if is_sound else 1)


if __name__ == "__main__":
    main()
