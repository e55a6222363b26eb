"""Who lacks an optional part is told how it comes to their own copy, and sent to no index for a package of our name."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import pytest

from thresher.crawler.core.errors import UsageError
from thresher.crawler.terminal.extras import advice, require

ROOT = Path(__file__).parents[2]
METADATA = """Metadata-Version: 2.4
Name: thresher
Version: 0
Requires-Dist: aiohttp>=3
Requires-Dist: pyarrow>=26.0.1; extra == "parquet"
Requires-Dist: pyarrow>=26.0.1; extra == "dev"
"""
PIP = f"{sys.executable} -m pip install"


def installed(path: Path, direct_url: object) -> list[Distribution]:
    """Return a distribution of our name as pip leaves one."""
    path.mkdir()
    (path / "METADATA").write_text(METADATA)
    if direct_url is not None:
        (path / "direct_url.json").write_text(json.dumps(direct_url))
    return [PathDistribution(path)]


@pytest.mark.parametrize(
    ("direct_url", "expected"),
    [
        ({"url": "file:///opt/a%20copy", "dir_info": {"editable": True}}, f"In /opt/a copy run: {PIP} -e '.[parquet]'"),
        ({"url": "file:///opt/copy", "dir_info": {}}, f"In /opt/copy run: {PIP} '.[parquet]'"),
        (
            {"url": "https://a.example/t.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            f"Run: {PIP} 'thresher[parquet] @ git+https://a.example/t.git@abc'",
        ),
        ({"url": "file:///tmp/t.whl", "archive_info": {"hash": "x"}}, f"Run: {PIP} 'thresher[parquet] @ file:///tmp/t.whl'"),
        (None, f"Run: {PIP} 'pyarrow>=26.0.1'"),
        ([], f"Run: {PIP} 'pyarrow>=26.0.1'"),
    ],
)
def test_the_advice_is_that_of_this_copy(direct_url: object, expected: str, tmp_path: Path) -> None:
    found = installed(tmp_path / "thresher-0.dist-info", direct_url)
    assert advice("parquet", found=found, root=tmp_path) == expected


def test_a_checkout_is_named_where_nothing_is_installed(tmp_path: Path) -> None:
    assert advice("parquet", found=[], root=ROOT) == f"In {ROOT} run: {PIP} -e '.[parquet]'"
    assert advice("parquet", found=[], root=tmp_path) == "Add it as this copy of Thresher was installed"


def test_what_is_missing_is_named_with_option_and_extra() -> None:
    require("--format parquet", module="json.decoder", extra="parquet")
    with pytest.raises(UsageError, match=r"^--x: needs no_such_module, of the extra `report`, which is not installed\. (In|Run)"):
        require("--x", module="no_such_module.inner", extra="report")


def test_no_text_of_ours_names_a_package_of_an_index_as_ours() -> None:
    """Seen to fail: two messages said `pip install 'thresher[…]'`."""
    listed = subprocess.run(["git", "ls-files", "*.py", "*.md", "*.yaml"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    files = [ROOT / name for name in listed.split()] or [*ROOT.glob("*/**/*.py"), ROOT / "README.md"]
    bare = re.compile(r"""pip install (-\S+ )*["']?thresher(\[\w+\])?["']?(?! @)\b""")
    found = [str(path) for path in files if path.is_file() and path != Path(__file__) and bare.search(path.read_text("utf-8"))]
    assert found == []
