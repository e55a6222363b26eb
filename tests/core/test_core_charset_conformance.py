"""The standard's charset sniffing, by the cases of html5lib-tests (encoding). Expected failures are listed: if one passes, the test
fails.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from thresher.crawler.core.charset import FALLBACK, declared

CASES = Path(__file__).parents[2] / "../shared/data/conformance"

EXPECTED_FAILURES = {
    ("html5lib-encoding-tests1.dat", 51),  # declared after 8,192 bytes: a browser's tree builder would start again there
    ("html5lib-encoding-tests1.dat", 52),  # after 8,193
    ("html5lib-encoding-tests1.dat", 53),  # after scripts longer than the prescan
}


def cases(name: str) -> list[tuple[bytes, str]]:
    """Return (page, charset in lower case) in the order of the file."""
    path = CASES / name
    if not path.exists():
        pytest.skip(f"{path} is absent: shared test data is not part of the project")
    found = []
    for case in path.read_bytes().split(b"#data\n")[1:]:
        page, _, rest = case.partition(b"\n#encoding\n")
        found.append((page, rest.split(b"\n")[0].strip().lower().decode()))
    return found


@pytest.mark.parametrize(("name", "n_cases"), [("html5lib-encoding-tests1.dat", 59), ("html5lib-encoding-tests2.dat", 22)])
def test_byte_order_mark_and_prescan_find_what_browsers_find(name: str, n_cases: int) -> None:
    """HTML Standard 13.2.3.2; pages that declare nothing are windows-1252 to a browser."""
    found = cases(name)
    failures = {(name, i) for i, (page, charset) in enumerate(found) if (declared(page, "") or FALLBACK) != charset}
    assert len(found) == n_cases
    assert failures == {failure for failure in EXPECTED_FAILURES if failure[0] == name}
