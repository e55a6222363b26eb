"""cvsweb: files under CVS, each with its revisions on one page, and every revision as text, in a page, with its authors and against others.

A file's page leads to each revision in three forms, to the difference from the one before, the one chosen and the branch's start, in four
styles of difference; revisions may be ordered in three ways and shown for one tag only, folders in four. A folder of which a file was
deleted can be shown with it. All of that stays in the query of each link that follows. The files are Perl's modules, growing part by part.
As Debian configures it, but that robots may follow links.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

CVSWEB = Path("/usr/lib/cgi-bin/cvsweb")
_DEBIAN = Path("/etc/cvsweb/cvsweb.conf")
MODULES = Path("/usr/share/perl/5.36")
_FILES = (
    *("Text/Balanced.pm", "Text/ParseWords.pm", "Text/Wrap.pm", "Text/Tabs.pm", "Text/Abbrev.pm", "Tie/Array.pm", "Tie/File.pm"),
    *("Tie/RefHash.pm", "Tie/Scalar.pm", "Time/Local.pm", "Term/ANSIColor.pm", "Term/Cap.pm", "Search/Dict.pm", "Memoize.pm", "Env.pm"),
    *("Memoize/Expire.pm", "Benchmark.pm", "Carp.pm", "File/Basename.pm", "File/Find.pm", "File/Path.pm", "File/Temp.pm", "constant.pm"),
)
N_REVISIONS = 9  # of a file
_TAGGED = 3  # revisions from one tag to the next
_DELETED = 8  # each 8th file is
_AUTHORS = ("ada", "grace", "alan")
_BEGAN = datetime(2005, 1, 3, 9, tzinfo=UTC)
_SERVED = """
SetEnv TZ UTC
Alias /cvsweb/ /usr/share/cvsweb/
ScriptAlias / {directory}/cgi/cvsweb/
"""


def build(place: Place) -> str:
    """Check in all revisions; copy Debian's configuration with this place; return Apache's directives."""
    root = place.directory / "cvs"
    (root / "CVSROOT").mkdir(parents=True)
    (root / "CVSROOT" / "config").write_text("")
    for n, name in enumerate(_FILES):
        _check_in(root / name, n)
    cgi = place.directory / "cgi"
    cgi.mkdir()
    shutil.copy(CVSWEB, cgi)
    repositories = f"@CVSrepositories = ('modules' => ['Modules', '{root}']);\n"
    settled = re.sub(r"^@CVSrepositories = \(.*?^\);\n", repositories, _DEBIAN.read_text("latin-1"), flags=re.DOTALL | re.MULTILINE)
    (cgi / "cvsweb.conf").write_text(settled, "latin-1")
    return _SERVED.format(directory=place.directory)


def _check_in(file: Path, n: int) -> None:
    """Make the file's revisions: each has one part more; of every third one, some lines are taken out again."""
    parts = (MODULES / file.relative_to(file.parents[len(Path(_FILES[n]).parts) - 1])).read_text("utf-8", "replace").split("\n\n")
    file.parent.mkdir(parents=True, exist_ok=True)
    for revision in range(1, N_REVISIONS + 1):
        shown = parts[: max(1, len(parts) * revision // N_REVISIONS)]
        file.write_text("\n\n".join(shown[: -1 if revision % 3 == 0 and len(shown) > 1 else None]) + "\n")
        at = _BEGAN + timedelta(days=29 * revision, hours=n)
        about = f"-m{' '.join(shown[-1].split())[:70] or 'next part'}"
        state = "-sdead" if revision == N_REVISIONS and n % _DELETED == _DELETED - 1 else "-sExp"
        subprocess.run(
            ["ci", "-q", "-l", f"-d{at:%Y/%m/%d %H:%M:%S} UTC", f"-w{_AUTHORS[(n + revision) % 3]}", "-t-module", about, state, str(file)],
            check=True,
            capture_output=True,
        )
        if revision % _TAGGED == 0:
            subprocess.run(["rcs", "-q", f"-nV{revision // _TAGGED}:1.{revision}", str(file)], check=True, capture_output=True)
    subprocess.run(["rcs", "-q", "-u", str(file)], check=True, capture_output=True)
    file.unlink()
    if n % _DELETED == _DELETED - 1:
        attic = file.parent / "Attic"
        attic.mkdir(exist_ok=True)
        file.with_name(f"{file.name},v").rename(attic / f"{file.name},v")


def kind(url: str) -> str:
    """Return whether it is a folder, a file or one of its views, and the query fields."""
    parts = urlsplit(url)
    view = parts.path.split("/")[1] if "~" in parts.path[:3] else ""
    what = "folder" if parts.path.endswith("/") else "file"
    return f"{view} {what} {'&'.join(sorted({field.partition('=')[0] for field in re.split('[;&]', parts.query)}))}"


REVISIONS = Site(
    name="revisions",
    about=f"cvsweb with {len(_FILES)} files of {N_REVISIONS} revisions and three tags",
    address="127.0.8.29",
    hosts=("cvs.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, CVSWEB: "cvsweb", Path("/usr/bin/rcsdiff"): "rcs", Path("/usr/bin/cvs"): "cvs", MODULES: "perl-modules-5.36"},
    build=build,
    kind=kind,
    settings=("robots.meta=false", "robots.nofollow_links=true"),
)
