"""Who may import whom: config ← crawler/core ← filters, storage ← crawler/*, no loops; core and filters: no I/O, no clock, no random
numbers.
"""

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

import networkx
from test_lengths import statements

ROOT = Path(__file__).parents[1]
OURS = ("config", "crawler", "filters", "storage", "tests", "benchmarks")
IMPURE = {
    *("aiodns", "aiohttp", "asyncio", "click", "logging", "multiprocessing", "os", "pathlib", "pycares", "rich", "secrets", "select"),
    *("selectors", "shutil", "signal", "socket", "subprocess", "tempfile", "threading", "time"),
}
_CALLS = re.compile(r"\b(?:ClientSession|eval|exec)\b")
CORE_LIBRARIES = frozenset(
    ("ada_url", "cchardet", "lxml", "msgspec", "numpy", "protego", "publicsuffixlist", "selectolax", "tinycss2", "webencodings", "xxhash")
)


@cache
def rooms() -> list[tuple[str, Path, set[str]]]:
    """Return (room, file, modules it imports) of every file; a room is config, core, filters, storage or shell."""
    return [
        (
            "core" if (ROOT / "crawler/core") in file.parents else "shell" if package == "crawler" else package,
            file.relative_to(ROOT),
            set(_imports(nodes_of(file))),
        )
        for package in OURS[:4]
        for file in sorted((ROOT / package).rglob("*.py"))
    ]


@cache
def nodes_of(file: Path) -> list[ast.Import | ast.ImportFrom | ast.Call]:
    """Return the imports of a file, and its calls, if it may have one that must not be: no other nodes of its tree are needed."""
    source = file.read_text()
    tree = ast.parse(source)
    nodes = ast.walk(tree) if _CALLS.search(source) else statements(tree)
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)]


def _imports(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _room_of(module: str) -> str:
    top, _, rest = module.partition(".")
    package = rest.partition(".")[0] if top == "thresher" else top
    if package == "crawler":
        return "core" if rest.startswith(("crawler.core", "crawler.native")) else "shell"  # native: core's own work, in C
    return package if package in OURS else "shell" if top == "thresher" else ""  # the facade's own files have no folder in their names


ALLOWED = {
    "config": {"config"},
    "core": {"config", "core"},
    "filters": {"config", "core", "filters"},
    "storage": {"config", "core", "storage"},
    "shell": {"config", "core", "filters", "storage", "shell"},
}


def test_every_import_keeps_to_the_rule() -> None:
    """Mutation: an import of storage in a filter fails this."""
    wrong = [
        f"{file} imports {module}"
        for room, file, modules in rooms()
        for module in modules
        if (target := _room_of(module)) and target not in ALLOWED[room]
    ]
    assert wrong == []


def test_no_files_import_each_other_in_a_loop() -> None:
    """Every import counts, in functions and under TYPE_CHECKING too; only modules named by a string are not seen (registry.py, cli).

    Mutation: an import of the workbench under TYPE_CHECKING in host_queue.py fails this.
    """
    assert _loops(lambda module: module) == []


def test_no_rooms_of_the_shell_import_each_other_in_a_loop() -> None:
    """A room is a folder of crawler/, or a file that lies there. Mutation: an import of the command line in report/ fails this."""
    assert _loops(lambda module: ".".join(module.split(".")[:3]) if module.startswith("thresher.crawler.") else module) == []


def _loops(room_of: Callable[[str], str]) -> list[list[str]]:
    files = {_module_of(file): set(_named(nodes_of(ROOT / file))) for _, file, _ in rooms()}
    arrows = ((room_of(module), room_of(_file_of(name, files))) for module, names in files.items() for name in names)
    imports = networkx.DiGraph((here, there) for here, there in arrows if here != there)
    return sorted(sorted(loop) for loop in networkx.strongly_connected_components(imports) if len(loop) > 1)


def _module_of(file: Path) -> str:
    name = ".".join(file.with_suffix("").parts).removesuffix(".__init__")
    return "thresher" + f".{name}".replace(".crawler.api", "", 1)


def _named(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the full names of all imports: of modules, or of names in modules."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "relative imports are not followed"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _file_of(name: str, files: Collection[str]) -> str:
    """Return the module that an imported name is or lies in: `from thresher.crawler.core import html` imports html alone."""
    return name if name in files else name.rpartition(".")[0]


def test_nothing_is_imported_by_a_folders_bare_name() -> None:
    """When installed, everything has one import name; `import config` would find a file beside a user's script."""
    wrong = [f"{file} imports {module}" for _, file, modules in rooms() for module in modules if module.partition(".")[0] in OURS]
    assert wrong == []


def test_only_storage_imports_lmdb() -> None:
    assert [str(file) for room, file, modules in rooms() if "lmdb" in {m.partition(".")[0] for m in modules} and room != "storage"] == []


def test_core_and_filters_do_no_io_and_read_no_clock() -> None:
    wrong = [
        f"{file} imports {module}"
        for room, file, modules in rooms()
        if room in ("core", "filters")
        for module in modules
        if module.partition(".")[0] in IMPURE
    ]
    assert wrong == []


def test_core_uses_no_library_but_the_listed_ones() -> None:
    import sys

    foreign = {
        module.partition(".")[0]
        for room, _, modules in rooms()
        if room == "core"
        for module in modules
        if module.partition(".")[0] not in sys.stdlib_module_names and module.partition(".")[0] != "thresher"
    }
    assert foreign <= CORE_LIBRARIES


def test_packages_that_gather_others_import_nothing() -> None:
    for package in ("crawler", "crawler/core"):
        tree = ast.parse((ROOT / package / "__init__.py").read_text())
        assert [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)] == []


def test_one_http_session_no_pickle_no_eval() -> None:
    """S6, S15, S44: all requests go through one session; nothing is unpickled or evaluated."""
    sessions, banned = [], []
    for _, file, modules in rooms():
        for node in nodes_of(ROOT / file):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                sessions += [str(file)] if name == "ClientSession" else []
                banned += [f"{file}: {name}"] if isinstance(node.func, ast.Name) and name in ("eval", "exec") else []
        banned += [f"{file}: {m}" for m in modules if m.partition(".")[0] in ("pickle", "marshal", "shelve", "dill")]
    assert sessions == ["crawler/fetch/aiohttp_client.py"]
    assert banned == []
