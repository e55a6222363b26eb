"""The test suite on every supported Python: `python -m benchmarks.proofs.pythons [INTERPRETER…] [-- PYTEST'S OPTIONS…]`.

INTERPRETER is a path or a name. The default is every one of python3.11 to python3.14 that is installed. Each gets an environment of its own
in a temporary folder, with this checkout installed into it as the README says.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.support.checkout import ROOT
from benchmarks.support.ending import exit_with

NAMES = tuple(f"python3.{minor}" for minor in range(11, 15))
_VERSION = "import platform; print(platform.python_version())"


def version_of(interpreter: str) -> str:
    """Return an interpreter's version, or "" if it does not exist or does not start."""
    found = shutil.which(interpreter)
    if found is None:
        return ""
    said = subprocess.run([found, "-c", _VERSION], capture_output=True, text=True, check=False)
    return said.stdout.strip() if said.returncode == 0 else ""


def run(interpreter: str, options: Sequence[str]) -> int:
    """Install the checkout for an interpreter and run the suite; return the exit code of the first step that failed, 0 if none did."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    with tempfile.TemporaryDirectory(prefix="thresher-python-") as folder:
        own = str(Path(folder) / "bin/python")
        steps = (
            [interpreter, "-m", "venv", folder],
            [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-e", ".[dev]"],
            [own, "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", *options],
        )
        return next((code for step in steps if (code := subprocess.run(step, cwd=ROOT, env=environ, check=False).returncode)), 0)


def main() -> int:
    """Return 0 if the suite passes everywhere, 1 if it fails somewhere, 2 if no interpreter is there."""
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    asked = words[:end] or [name for name in NAMES if version_of(name)]
    missing = [name for name in asked if not version_of(name)]
    if missing or not asked:
        print(f"benchmarks.proofs.pythons: expected Pythons that start, found none called {', '.join(missing or NAMES)}", file=sys.stderr)
        return 2
    told = {f"{name} ({version_of(name)})": run(name, words[end + 1 :]) for name in asked}
    for name, code in told.items():
        print(f"{name}: {'passed' if code == 0 else f'failed (exit {code})'}")
    return int(any(told.values()))


if __name__ == "__main__":
    exit_with(main)
