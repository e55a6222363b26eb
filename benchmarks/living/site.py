"""What a living site must give to the code that builds, serves and judges it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.living import children
from benchmarks.living.apache import Place

Judge = Callable[[str], bool]


class Build(Protocol):
    def __call__(self, place: Place, /) -> str:
        """Fill the place's directory; return the directives that serve it."""


def nothing(place: Place) -> AbstractContextManager[None]:
    """Serve a site that needs nothing but Apache."""
    return nullcontext()


def as_it_is(url: str, text: str) -> str:
    """Return a page's text unchanged."""
    return text


@dataclass(frozen=True)
class Site:
    """One kind of software, and what its pages show."""

    name: str
    about: str
    address: str  # all on loopback
    hosts: tuple[str, ...]  # names in .example; the first has the seed
    seed: str  # path
    needs: dict[Path, str]  # file → Debian package that has it
    build: Build
    kind: Callable[[str], str]  # of a URL, for tables
    pip: Sequence[str] = ()  # packages of PyPI, in a virtual environment of the site's own
    maven: Sequence[str] = ()  # artifacts of Maven's repository, GROUP:NAME:VERSION:KIND
    behind: Callable[[Place], AbstractContextManager[None]] = nothing  # runs behind Apache while the site is served
    modules: str = ""  # of Apache, beyond those of every site
    settings: tuple[str, ...] = ()  # of the crawl
    shown: Callable[[str, str], str] = as_it_is  # URL, text → the part of the text that is the document's, without what every view repeats
    missing: Callable[[Path], Judge] | None = None  # directory → does this URL show that a page does not exist?
    empty: Callable[[Path], Judge] | None = None  # directory → is this URL a view of a page that does not exist, and so no document?

    def missing_packages(self) -> list[str]:
        """Return what is not installed, as shell commands."""
        debian = sorted({package for file, package in self.needs.items() if not file.exists()})
        commands = [f"apt-get install --no-install-recommends {' '.join(debian)}"] if debian else []
        if self.pip and not children.is_installed(self.name, self.pip):
            commands.append(children.how_to_install(self.name, self.pip))
        commands += [children.how_to_fetch(artifact) for artifact in self.maven if not children.maven_file(artifact).exists()]
        return commands
