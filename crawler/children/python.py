"""How one of our processes starts another: from the same code, and never from the working directory.

`python -m` puts the working directory first on the path: in a folder with a `config.py` the child would import and run that file. `-P`
leaves it out, and PYTHONPATH names the folder that holds our package, unless the interpreter looks there anyway. A checkout has no such
folder: after an editable install the interpreter finds the package by itself. An empty entry of PYTHONPATH, which a trailing colon makes,
means the working directory, too, and is left out.
"""

from __future__ import annotations

import os
import site
import sys
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).resolve().parents[2]
PACKAGES: Final = str(_PACKAGE.parent) if (_PACKAGE / "__init__.py").is_file() else ""  # "": this is a checkout


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs one of our modules; start it with `environment()`."""
    return [sys.executable, "-P", "-m", module, *arguments]


def code(source: str, *arguments: str) -> list[str]:
    """Return the command that runs Python source that may import our modules; start it with `environment()`."""
    return [sys.executable, "-P", "-c", source, *arguments]


def environment(**others: str) -> dict[str, str]:
    """Return this process's environment with a PYTHONPATH from which a child imports the same code.

    Args:
        others: Variables to add.
    """
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    own = [] if PACKAGES in ("", *site.getsitepackages(), site.getusersitepackages()) else [PACKAGES]
    paths = dict.fromkeys(own + [entry for entry in given if os.path.normpath(entry) != os.curdir])
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return inherited | ({"PYTHONPATH": os.pathsep.join(paths)} if paths else {}) | others
