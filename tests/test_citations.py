"""What docstrings cite, a reader can find: papers in the bibliography, documents in the repository."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = ("config", "crawler", "filters", "storage", "benchmarks", "tests")
_BIBLIOGRAPHY = (ROOT / "crawler/README.md").read_text("utf-8").partition("## Bibliography\n")[2]
KEYS = re.findall(r"^- \[(\w+)\] ", _BIBLIOGRAPHY, re.MULTILINE)
_STANDARD = re.compile(r"\[(?:RFC|ISO|PEP|WHATWG|UTS|CVE)\b")


@cache
def docstrings() -> dict[str, str]:
    """Return what stands in triple quotes and in comments, by file."""
    found = {}
    for path in (path for place in PLACES for path in (ROOT / place).rglob("*.py")):
        source = path.read_text("utf-8")
        found[str(path.relative_to(ROOT))] = "\n".join(_quoted(source))
    return found


def _quoted(source: str) -> list[str]:
    return [*re.findall(r'"""(.*?)"""', source, re.DOTALL), *re.findall(r"(?:^|\s\s)# .*", source)]


def cited(text: str) -> set[str]:
    """Return the keys that stand in brackets, as in [LEE09, eq. 1] or [DKS08, DUSTER]."""
    in_brackets = re.findall(r"\[([A-Z][^\[\]]*)\]", text)
    return {key for citation in in_brackets for key in re.findall(r"(?:^|[,;] )([A-Z]{2,6}\d{2}|DUSTER|MaybeDont)(?=[,;: ]|$)", citation)}


def test_every_key_that_is_cited_stands_in_the_bibliography() -> None:
    """Mutation: an entry taken out."""
    assert len(KEYS) == len(set(KEYS)) > 30
    texts = docstrings() | {str(path): path.read_text("utf-8") for path in ROOT.glob("*/README.md")}
    assert {file: missing for file, text in texts.items() if (missing := cited(text) - set(KEYS))} == {}


def test_no_paper_is_cited_by_name_and_year_alone() -> None:
    """As "[Wilson 1927]": the bibliography has a key for it."""
    loose = re.compile(r"\[[A-Z][^\[\]\n]*(?:\b(?:18|19|20)\d\d\b|et al\.| \d\d)\s*[^\[\]\n]*\]")
    for file, text in docstrings().items():
        if file != "tests/test_citations.py":
            assert [found for found in loose.findall(text) if not _STANDARD.match(found) and not cited(found)] == [], file


def test_every_entry_of_the_bibliography_is_cited() -> None:
    readmes = [path.read_text("utf-8").partition("## Bibliography")[0] for path in ROOT.glob("*/README.md")]
    everything = "\n".join([*docstrings().values(), *readmes])
    assert [key for key in KEYS if not re.search(rf"\b{key}\b", everything)] == []


def test_every_document_that_is_cited_is_in_the_repository() -> None:
    for file, text in docstrings().items():
        for name in re.findall(r"\b[A-Z]{4,}\.md\b", text):
            assert list(ROOT.glob(f"{name}")) or list(ROOT.glob(f"*/{name}")) or list(ROOT.glob(f".github/{name}")), f"{file}: {name}"
