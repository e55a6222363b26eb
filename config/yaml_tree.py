"""Reads YAML strictly: text → a tree of values, each with its line and column. A scalar stays text; config/schema.py decides what it means.

The tree is built from the parser's events, one at a time (libyaml's if PyYAML has it). So reading ends at the first thing that is refused,
and no function calls itself, however deep the input is. Refused: anchors and aliases, tags, duplicate and merge keys, a second document,
more than 20 levels, 10,000 values or 256 KiB, bytes that are not UTF-8, control characters.

Time: about 2 µs a value; the largest document allowed takes 30 ms.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

import yaml

from thresher.config.errors import ConfigError
from thresher.config.shown import shown

MAX_BYTES = 256 << 10
MAX_DEPTH = 20
MAX_VALUES = 10_000

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_QUOTE_IT = "Put text that begins with this character in quotes"


@dataclass(frozen=True, slots=True)
class Position:
    """Where a value was given. `label` replaces file and line if there are none: "--set a.b=c"."""

    source: str
    line: int = 0
    column: int = 0
    label: str = ""

    @property
    def where(self) -> str:
        """`crawl.yaml:12:9` or the label: how a message begins."""
        return self.label or f"{self.source}:{self.line}:{self.column}"

    @property
    def origin(self) -> str:
        """`crawl.yaml:12` or the source: how a value is attributed."""
        return self.source if self.label else f"{self.source}:{self.line}"


@dataclass(frozen=True, slots=True)
class Scalar:
    """Text as written. `plain`: without quotes, so that `null` may mean null."""

    text: str
    plain: bool
    place: Position


@dataclass(frozen=True, slots=True)
class Listing:
    items: list[Node]
    place: Position


@dataclass(frozen=True, slots=True)
class Mapping:
    pairs: dict[str, tuple[Position, Node]]  # key → (place of the key, value)
    place: Position


Node = Scalar | Listing | Mapping
Placer = Callable[[int, int], Position]  # line and column, from 1


def decode(content: bytes, name: str) -> str:
    """Decode a file's bytes as UTF-8; a byte order mark is dropped.

    Raises:
        ConfigError: If it is not UTF-8; the message has the position of the first wrong byte.
    """
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{name}: expected at most {MAX_BYTES >> 10} KiB, got more. Give seeds in a file of their own")
    content = content.removeprefix(codecs.BOM_UTF8)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line, column = _position(content[: error.start].decode("utf-8", "replace"))
        found = f"byte 0x{content[error.start]:02x}"
        raise ConfigError(f"{name}:{line}:{column}: expected UTF-8 text, got {found}. Save the file as UTF-8") from None


def parse(text: str, placer: Placer) -> Node | None:
    """Return the tree of the one document in `text`, None if there is none.

    Raises:
        ConfigError: If it is not YAML, or has something that is refused.
    """
    forbidden = _FORBIDDEN.search(text)
    if forbidden:
        place = placer(*_position(text[: forbidden.start()]))
        raise ConfigError(f"{place.where}: expected text, got the control character U+{ord(forbidden[0]):04X}. Remove it")
    tree = _Tree(placer)
    for event in _events(text, placer):
        tree.take(event)
    return tree.root


def _events(text: str, placer: Placer) -> Iterator[yaml.Event]:
    n_told = 0
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            yield event
            n_told += 1
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if mark and "nesting depth" in str(error.problem):  # libyaml looks 1,024 characters ahead: its own limit may come first
            yield from islice(yaml.parse(text[: mark.index], Loader=_LOADER), n_told, None)
        place = placer(mark.line + 1, mark.column + 1) if mark else placer(1, 1)
        context = f" {error.context}" if error.context else ""
        advice = _yaml_advice(text, place, f"{error.problem}{context}")
        raise ConfigError(f"{place.where}: not YAML: {error.problem}{context}{advice}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{placer(1, 1).where}: not YAML: {shown(str(error), 200)}") from None


def _yaml_advice(text: str, place: Position, problem: str) -> str:
    line = next(islice(text.splitlines(), max(0, place.line - 1), None), "")
    if line[: len(line) - len(line.lstrip())].count("\t"):
        return ". Indent with spaces: YAML takes no tabs there"
    return f". {_QUOTE_IT}" if "alias" in problem or "cannot start any token" in problem else ""


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet."""

    node: Listing | Mapping
    name: str  # the key that it is the value of, "" in a list
    key: tuple[str, Position] | None = None  # of a mapping: waits for its value


@dataclass(slots=True)
class _Tree:
    """Builds the tree from events; its stack takes the place of recursion."""

    placer: Placer
    root: Node | None = None
    _stack: list[_Open] = field(default_factory=list)
    _n_values: int = 0
    _n_documents: int = 0

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.ScalarEvent():
                plain = bool(event.implicit[0])
                self._add(Scalar(event.value, plain, self._checked(event)))
            case yaml.SequenceStartEvent():
                self._descend(Listing([], self._checked(event)))
            case yaml.MappingStartEvent():
                self._descend(Mapping({}, self._checked(event)))
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._stack.pop()
            case yaml.AliasEvent():
                raise self._error(self._place(event), f"expected a value, got an alias (*). {_QUOTE_IT}, write other values out")
            case yaml.DocumentStartEvent():
                self._n_documents += 1
                if self._n_documents > 1:
                    raise self._error(self._place(event), "expected one document, got a second one. Give two files instead")

    def _place(self, event: yaml.Event) -> Position:
        mark = event.start_mark
        return self.placer(mark.line + 1, mark.column + 1) if mark else self.placer(1, 1)

    def _checked(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> Position:
        place = self._place(event)
        self._n_values += 1
        if event.anchor is not None:
            raise self._error(place, f"expected a value, got an anchor (&). {_QUOTE_IT}, write other values out")
        if event.tag is not None:
            raise self._error(place, f"expected a value, got the tag {shown(event.tag)}. {_QUOTE_IT}; tags have no use here")
        if self._n_values > MAX_VALUES:
            raise self._error(place, f"expected at most {MAX_VALUES:,} values. Give seeds in a file of their own")
        return place

    def _descend(self, node: Listing | Mapping) -> None:
        if len(self._stack) >= MAX_DEPTH:
            raise self._error(node.place, f"expected at most {MAX_DEPTH} levels of lists and mappings. Remove the inner ones")
        name = self._stack[-1].key[0] if self._stack and self._stack[-1].key else ""
        self._add(node)
        self._stack.append(_Open(node, name))

    def _add(self, node: Node) -> None:
        """Add a value to the tree: as its root, or as an item, key or value of the innermost open list or mapping."""
        if not self._stack:
            self.root = node
            return
        top = self._stack[-1]
        if isinstance(top.node, Listing):
            top.node.items.append(node)
        elif top.key is None:
            top.key = self._key(node, top.node)
        else:
            name, place = top.key
            top.node.pairs[name] = (place, node)
            top.key = None

    def _key(self, node: Node, parent: Mapping) -> tuple[str, Position]:
        if not isinstance(node, Scalar):
            raise self._error(node.place, "expected a key, got a list or mapping. Write `key: value`")
        if not node.text:
            raise self._error(node.place, "expected a key, got nothing. Write `key: value`")
        if node.plain and node.text == "<<":
            raise self._error(node.place, "expected a key, got a merge key (<<). Write the values out")
        if node.text in parent.pairs:
            first = parent.pairs[node.text][0]
            raise self._error(node.place, f"key given twice, first at line {first.line}. Remove one", node.text)
        return node.text, node.place

    def _error(self, place: Position, words: str, key: str = "") -> ConfigError:
        waiting = self._stack[-1].key[0] if self._stack and self._stack[-1].key else ""
        path = ".".join(filter(None, [*(entry.name for entry in self._stack), waiting, key]))
        return ConfigError(f"{place.where}: {shown(path)[1:-1] + ': ' if path else ''}{words}")


def _position(before: str) -> tuple[int, int]:
    """Return line and column, from 1, of the character that follows `before`."""
    lines = before.split("\n")
    return len(lines), len(lines[-1]) + 1
