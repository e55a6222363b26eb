"""YAML files, environment and --set → Settings, each value with its origin.

Precedence: flags (--max-pages) > --set (the last wins) > environment THRESHER_* > YAML files (a later one wins) > defaults.
Sections and mappings like `dns.static` and `fetch.headers` are merged key by key; a list is replaced as a whole.

    crawl.yaml      politeness: {min_delay: 2}
    environment     THRESHER_POLITENESS__MIN_DELAY=2        two underscores separate levels
    --set           politeness.min_delay=2
                    fetch.allow_ports=[80, 8080]            [ { " or ' begins a YAML value in flow style; anything else is plain text
                    fetch.headers.X-Note=hello              below a mapping option the rest of the key names the entry

How YAML is read: config/yaml_tree.py. What numbers, durations ("10 min"), sizes ("10 MiB"), switches and null look like:
config/scalars.py. What fits which option: config/schema.py. What must hold between options: config/check.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import msgspec

from thresher.config import schema, yaml_tree
from thresher.config.check import check
from thresher.config.errors import ConfigError
from thresher.config.options import options
from thresher.config.plugins import settings_type
from thresher.config.render import as_json_text, as_yaml
from thresher.config.schema import Leaf
from thresher.config.settings import Settings
from thresher.config.shown import shown
from thresher.config.yaml_tree import Listing, Node, Position, Scalar

PREFIX = "THRESHER_"
NO_OPTION = "THRESHER_NATIVE"  # not an option: read before there is a configuration (crawler/native)
STDIN = "-"
_DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Origin:
    """What set a value: "default", "crawl.yaml:12", "env THRESHER_POLITENESS__MIN_DELAY", "--set politeness.min_delay", "--delay"."""

    source: str


@dataclass(frozen=True, slots=True)
class OptionFlag:
    """Options set by a flag, for example --max-pages 100; a flag that may be repeated sets a list."""

    name: str
    keys: tuple[str, ...]  # all of them accept the same values
    value: str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Loaded:
    """The effective configuration. `origins` has every option by dotted key, and the entries of mappings ("dns.static.a.example").

    `is_whole`: every file could be read. If not, an option that is missing here may have been set in a file that could not be read.
    """

    settings: Settings
    origins: Mapping[str, Origin]
    is_whole: bool = True


def load(
    paths: Sequence[Path | str],
    *,
    sets: Sequence[str] = (),
    environ: Mapping[str, str] = {},
    stdin: Callable[[], str] | None = None,
    flags: Sequence[OptionFlag] = (),
) -> Loaded:
    """Merge all layers and check the result.

    Args:
        paths: YAML files; "-" reads `stdin`.
        sets: "KEY=VALUE" each.
        environ: Environment variables.
        stdin: Returns the text of standard input.
        flags: Flags of the command line.

    Raises:
        ConfigError: If anything is wrong; it names every mistake.
    """
    loaded, mistakes = examine(paths, sets=sets, environ=environ, stdin=stdin, flags=flags)
    if mistakes:
        raise ConfigError.of(mistakes)
    return loaded


def examine(
    paths: Sequence[Path | str],
    *,
    sets: Sequence[str] = (),
    environ: Mapping[str, str] = {},
    stdin: Callable[[], str] | None = None,
    flags: Sequence[OptionFlag] = (),
) -> tuple[Loaded, list[ConfigError]]:
    """Merge all layers like `load`, but return (the configuration without wrong values, the mistakes)."""
    leaves: dict[str, Leaf] = {}
    mistakes: list[ConfigError] = []
    is_whole = True
    for layer in _layers(paths, sets, environ, stdin, flags, mistakes):
        try:
            _merge(leaves, layer())
        except ConfigError as error:
            mistakes.append(error)
            is_whole = is_whole and layer.func is not _from_file
    settings = msgspec.convert(_nested(leaves), settings_type())
    unread = tuple(mistake.key for error in mistakes for mistake in error.mistakes if mistake.key)
    found = check(settings, lambda key: _where(leaves, key))  # it may only contradict the default that replaces a wrong value
    mistakes += [mistake for mistake in found if not any(key in str(mistake) for key in unread)]
    if found:
        leaves = {name: leaf for name, leaf in leaves.items() if not any(_is_within(mistake.key, name) for mistake in found)}
        settings = msgspec.convert(_nested(leaves), settings_type())
    return Loaded(settings, _origins(leaves), is_whole), mistakes


def _layers(
    paths: Sequence[Path | str],
    sets: Sequence[str],
    environ: Mapping[str, str],
    stdin: Callable[[], str] | None,
    flags: Sequence[OptionFlag],
    mistakes: list[ConfigError],
) -> Iterator[partial[dict[str, Leaf]]]:
    """Yield a function that reads each layer, the lowest first."""
    if [str(path) for path in paths].count(STDIN) > 1:
        mistakes.append(ConfigError("-: expected standard input once, got it twice. Remove one -"))
        paths = [path for path in paths if str(path) != STDIN]
    for path in paths:
        yield partial(_from_file, path, stdin, mistakes)
    for name in sorted(environ):  # in order: a section's variable is read before those of its options, which win
        if name.startswith(PREFIX) and name != NO_OPTION:
            yield partial(_from_variable, name, environ[name], mistakes)
    for text in sets:
        yield partial(_from_set, text, mistakes)
    for flag in flags:
        yield partial(_from_flag, flag, mistakes)


def render(loaded: Loaded, *, as_json: bool = False) -> str:
    """Return the effective configuration as YAML, each value followed by its origin; it loads back to equal settings.

    As JSON: `{"settings": {…}, "origins": {dotted key: source}}`.
    """
    sources = {key: origin.source for key, origin in loaded.origins.items()}
    return as_json_text(loaded.settings, sources) if as_json else as_yaml(loaded.settings, sources)


def to_json(settings: Settings) -> bytes:
    """Encode the settings for the store."""
    return msgspec.json.encode(settings)


def from_json(content: bytes) -> Settings:
    """Decode the result of `to_json`.

    Raises:
        ConfigError: If it does not fit, for example because another version has written it.
    """
    try:
        return msgspec.json.decode(content, type=settings_type())
    except msgspec.MsgspecError as error:
        raise ConfigError(f"the stored configuration cannot be used: {error}. Give the configuration anew") from None


def _from_file(path: Path | str, stdin: Callable[[], str] | None, mistakes: list[ConfigError]) -> dict[str, Leaf]:
    name = shown(str(path), 200)[1:-1]
    if str(path) == STDIN:
        name = "stdin"
        if stdin is None:
            raise ConfigError("-: expected a file, got standard input, which is not available here. Name a file")
        text = yaml_tree.decode(stdin().encode("utf-8", "surrogatepass"), name)
    else:
        text = yaml_tree.decode(_content(path, name), name)
    root = yaml_tree.parse(text, lambda line, column: Position(name, line, column))
    if root is None or (isinstance(root, Scalar) and not root.text):
        raise ConfigError(f"{name}:1:1: expected a mapping of options, got nothing. Write {{}} to set nothing")
    return schema.read(root, mistakes)


def _content(path: Path | str, name: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(yaml_tree.MAX_BYTES + 1)
    except IsADirectoryError:
        raise ConfigError(f"{name}: expected a file, got a directory. Name a file in it") from None
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read: {error.strerror or error}. Name another file") from None
    except ValueError:  # a NUL in the path
        raise ConfigError(f"{name}: expected the name of a file, got one with a NUL character") from None


def _from_variable(name: str, value: str, mistakes: list[ConfigError]) -> dict[str, Leaf]:
    source = f"env {shown(name, 100)[1:-1]}"
    place = Position(source, label=source)
    key = name.removeprefix(PREFIX).lower().replace("__", ".")
    return schema.read_at(key, _value(value, place), mistakes)


def _from_flag(flag: OptionFlag, mistakes: list[ConfigError]) -> dict[str, Leaf]:
    """Read a flag. Its value is plain text, never YAML. A wrong value is one mistake, however many options the flag sets."""
    values = (flag.value,) if isinstance(flag.value, str) else flag.value
    place = Position(flag.name, label=f"{flag.name} {shown(' '.join(values))[1:-1]}")
    node: Node = Listing([Scalar(value, False, place) for value in values], place)
    if isinstance(flag.value, str):
        node = Scalar(flag.value.strip(), True, place)
    leaves: dict[str, Leaf] = {}
    for key in flag.keys:
        leaves |= schema.read_at(key, node, mistakes)
    return leaves


def _from_set(text: str, mistakes: list[ConfigError]) -> dict[str, Leaf]:
    key, equals, value = text.partition("=")
    key = key.strip()
    label = f"--set {shown(text)[1:-1]}"
    if not equals or not key:
        raise ConfigError(f"{label}: expected KEY=VALUE, got {shown(text)}. Write for example politeness.min_delay=2")
    return schema.read_at(key, _value(value, Position(f"--set {shown(key, 100)[1:-1]}", label=label)), mistakes)


def _value(text: str, place: Position) -> Node:
    """Read the value of a flag or variable: YAML in flow style if it begins so, else the text itself."""
    if len(text) > yaml_tree.MAX_BYTES:
        raise ConfigError(f"{place.where}: expected at most {yaml_tree.MAX_BYTES >> 10} KiB, got more. Use a file")
    stripped = text.strip()
    if not stripped.startswith(("[", "{", '"', "'")):
        return Scalar(stripped, True, place)
    return yaml_tree.parse(stripped, lambda _line, _column: place) or Scalar("", True, place)


def _merge(leaves: dict[str, Leaf], layer: Mapping[str, Leaf]) -> None:
    """Lay `layer` over `leaves`."""
    for key, leaf in layer.items():
        below = leaves.get(key)
        if below and isinstance(below.value, dict) and isinstance(leaf.value, dict):
            leaves[key] = Leaf({**below.value, **leaf.value}, {**below.places, **leaf.places})
        else:
            leaves[key] = leaf


def _nested(leaves: Mapping[str, Leaf]) -> dict[str, object]:
    root: dict[str, object] = {}
    for key, leaf in leaves.items():
        *sections, name = key.split(".")
        level = root
        for section in sections:
            level = cast("dict[str, object]", level.setdefault(section, {}))
        level[name] = leaf.value
    return root


def _where(leaves: Mapping[str, Leaf], key: str) -> str:
    """Return where a value, or the option to which it belongs, was set; "" if it is a default."""
    leaf = next((leaf for name, leaf in leaves.items() if _is_within(key, name)), None)
    if leaf is None:
        return ""
    return (leaf.places.get(key) or next(iter(leaf.places.values()))).where


def _is_within(key: str, name: str) -> bool:
    """Return whether a key is that of the option `name`, or of one of its items or entries."""
    return key == name or key.startswith((f"{name}.", f"{name}["))


def _origins(leaves: Mapping[str, Leaf]) -> dict[str, Origin]:
    origins: dict[str, Origin] = {}
    for key in options():
        leaf = leaves.get(key)
        if leaf is None:
            origins[key] = Origin(_DEFAULT)
            continue
        names = [key, *(f"{key}.{name}" for name in leaf.value)] if isinstance(leaf.value, dict) else [key]
        origins |= {name: Origin(leaf.places[name].origin) for name in names}
    return origins
