"""Imports modules of extras (optional dependencies), and gives the command that installs an extra into this copy of Thresher.

No message names `thresher` as a package of an index: another project may own the name there, and the user would install its code. So the
message names the place from which this copy was installed, by its metadata (direct_url.json, PEP 610) or by the pyproject.toml beside a
checkout. If neither is there, it names the packages of the extra, as the metadata lists them.
"""

from __future__ import annotations

import shlex
import sys
from importlib import import_module
from importlib.metadata import Distribution, distributions
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from thresher.crawler.core.errors import UsageError

_NAME = "thresher"
_ROOT = Path(__file__).resolve().parents[2]


class _Origin(msgspec.Struct):
    """The fields of direct_url.json that are used."""

    url: str
    dir_info: dict[str, bool] | None = None
    vcs_info: dict[str, str] | None = None


def require(option: str, *, module: str, extra: str) -> None:
    """Import a module of an extra.

    Args:
        option: The option of a command that needs the extra.
        module: Name of the module.
        extra: Name of the extra, as pyproject.toml has it.

    Raises:
        UsageError: If the extra is not installed; it says how to install it.
    """
    try:
        import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise UsageError(f"{option}: needs {package}, of the extra `{extra}`, which is not installed. {advice(extra)}") from None


def advice(extra: str, *, found: list[Distribution] | None = None, root: Path = _ROOT) -> str:
    """Return how to add an extra to this copy.

    Args:
        found: The distributions with our name; None: those of this process.
        root: The folder that holds our packages.
    """
    known = list(distributions(name=_NAME)) if found is None else found
    for distribution in known:
        if origin := _origin(distribution):
            return _as_installed(origin, extra)
    if (root / "pyproject.toml").is_file():
        return _in_folder(root, extra, editable=True)
    needed = [text.partition(";")[0].strip() for one in known[:1] for text in one.requires or () if _is_of(text, extra)]
    return f"Run: {_pip(*needed)}" if needed else "Add it as this copy of Thresher was installed"


def _origin(distribution: Distribution) -> _Origin | None:
    try:
        return msgspec.json.decode(distribution.read_text("direct_url.json") or "", type=_Origin)
    except msgspec.DecodeError:
        return None


def _as_installed(origin: _Origin, extra: str) -> str:
    if origin.dir_info is not None:
        return _in_folder(Path(unquote(urlsplit(origin.url).path)), extra, editable=origin.dir_info.get("editable", False))
    source = origin.url
    if origin.vcs_info is not None:
        source = f"{origin.vcs_info.get('vcs', 'git')}+{source}@{origin.vcs_info.get('commit_id', '')}".rstrip("@")
    return f"Run: {_pip(f'{_NAME}[{extra}] @ {source}')}"


def _in_folder(folder: Path, extra: str, *, editable: bool) -> str:
    return f"In {folder} run: {_pip(*['-e'] * editable, f'.[{extra}]')}"


def _pip(*words: str) -> str:
    return shlex.join([sys.executable, "-m", "pip", "install", *words])


def _is_of(requirement: str, extra: str) -> bool:
    """Return whether a requirement in the metadata belongs to an extra."""
    return requirement.partition(";")[2].replace("'", '"').replace(" ", "").endswith(f'extra=="{extra}"')
