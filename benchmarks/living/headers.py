"""doxygen: the reference of a library in C++, where each class and file is a page, and says again in lists what it has.

A class has a list of all members, a file its source in a page of its own; members are listed by letter for all classes, all files and all
namespaces, each once more by kind (functions, variables, types, macros). The code is GCC's library. As doxygen configures it, but with the
sources, with what has no comment, and with menus that are links.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

DOXYGEN = Path("/usr/bin/doxygen")
CODE = Path("/usr/include/c++/12")
_FOLDERS = ("bits", "ext")
_FILES = "stl_*.h basic_*.h *string* *iterator* *alloc* *hash* *map* *rope* *list* *pool* *pointer* locale_*.h"
_SETTINGS = """
PROJECT_NAME = "Standard library"
OUTPUT_DIRECTORY = {directory}
INPUT = {code}
FILE_PATTERNS = {files}
EXTENSION_MAPPING = no_extension=C++ tcc=C++
EXTRACT_ALL = YES
SOURCE_BROWSER = YES
REFERENCED_BY_RELATION = YES
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
SEARCH_INCLUDES = NO
PREDEFINED = __cplusplus=201703L _GLIBCXX_VISIBILITY(x)= _GLIBCXX_BEGIN_NAMESPACE_VERSION= _GLIBCXX_END_NAMESPACE_VERSION= \
             _GLIBCXX_NOEXCEPT=noexcept _GLIBCXX_CONSTEXPR=constexpr _GLIBCXX_BEGIN_NAMESPACE_CONTAINER= _GLIBCXX_END_NAMESPACE_CONTAINER= \
             _GLIBCXX_BEGIN_NAMESPACE_CXX11= _GLIBCXX_END_NAMESPACE_CXX11= _GLIBCXX20_CONSTEXPR= _GLIBCXX14_CONSTEXPR= _GLIBCXX17_INLINE=
GENERATE_LATEX = NO
HTML_DYNAMIC_MENUS = NO
QUIET = YES
WARNINGS = NO
"""


def build(place: Place) -> str:
    """Let doxygen make the pages; return Apache's directives."""
    folders = " ".join(str(CODE / folder) for folder in _FOLDERS)
    settings = place.directory / "Doxyfile"
    settings.write_text(_SETTINGS.format(directory=place.directory, code=folders, files=_FILES))
    subprocess.run([str(DOXYGEN), str(settings)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return f"DocumentRoot {place.directory}/html"


def kind(url: str) -> str:
    """Return what the page describes, or which list it is."""
    name = urlsplit(url).path.rpartition("/")[2].removesuffix(".html")
    view = next((end for end in ("_source", "-members") if name.endswith(end)), "")
    found = re.match(r"class|struct|union|namespacemembers|namespace|functions|globals|dir|group|concept", name)
    return f"{found[0] if found else 'file' if re.search(r'_8', name) else 'other'}{view}"


HEADERS = Site(
    name="headers",
    about="doxygen with the headers of GCC's library and their sources",
    address="127.0.8.34",
    hosts=("reference.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, DOXYGEN: "doxygen", CODE: "libstdc++-12-dev"},
    build=build,
    kind=kind,
)
