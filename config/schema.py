"""Reads a tree of YAML values into options, each by its type in config/settings.py.

An option is named by its dotted key ("politeness.min_delay"). Reading yields a `Leaf` per option: its value and the places of the value,
of its items ("scope.include[2]") and entries ("dns.static.a.example"), so that later checks can still name the line. A mistake makes only
its own option invalid; all mistakes are collected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping as Map
from dataclasses import dataclass
from typing import TypeGuard

from msgspec import inspect as types

from thresher.config import scalars
from thresher.config.errors import ConfigError
from thresher.config.options import bare, example, fields_of, in_yaml, known, nearest, root
from thresher.config.override import why_whole
from thresher.config.scalars import MismatchError, Range, Unit
from thresher.config.shown import shown
from thresher.config.yaml_tree import Listing, Mapping, Node, Position, Scalar

_OPTIONS = "options"  # field of an override; in a file its content is in sections, beside the override's own keys
_OF_OVERRIDES = ("match", "skip")
_ITEM = re.compile(r"^overrides\[\d+\]\.")


@dataclass(frozen=True, slots=True)
class Leaf:
    """An option's value as plain lists, dicts, numbers and text; `places` starts with the option's own."""

    value: object
    places: Map[str, Position]


def read(document: Node, mistakes: list[ConfigError]) -> dict[str, Leaf]:
    """Read a whole document; values that cannot be read are left out, with an error in `mistakes`.

    Raises:
        ConfigError: If the document is not a mapping.
    """
    return _section(document, root(), "", mistakes)


def read_at(key: str, node: Node, mistakes: list[ConfigError]) -> dict[str, Leaf]:
    """Read one value for a dotted key; below a mapping option the rest of the key names the entry. Mistakes and Raises: as `read`."""
    struct, path = root(), ""
    rest = key
    while True:
        name, _, rest = rest.partition(".")
        field = fields_of(struct).get(name)
        if field is None:
            raise _unknown(node.place, key)
        path = f"{path}.{name}" if path else name
        match bare(field.type)[0]:
            case types.DictType() if rest:
                return _leaf(Mapping({rest: (node.place, node)}, node.place), field, path, node.place)
            case types.StructType() as inner if rest:
                struct = inner
            case types.StructType() as inner:
                return _section(node, inner, path, mistakes)
            case _ if rest:  # an option has no keys below it
                raise _unknown(node.place, key, path)
            case _:
                return _leaf(node, field, path, node.place)


def _section(node: Node, struct: types.StructType, prefix: str, mistakes: list[ConfigError]) -> dict[str, Leaf]:
    """Read a section; a section without a value, for example if all its lines are comments, sets nothing."""
    if prefix and _is_null(node):
        return {}
    if not isinstance(node, Mapping):
        raise _wrong(node, prefix, "a mapping of options", "Write `key: value` lines")
    leaves: dict[str, Leaf] = {}
    fields = fields_of(struct)
    for name, (place, value) in node.pairs.items():
        key = f"{prefix}.{name}" if prefix else name
        field = fields.get(name)
        if field is None:
            mistakes.append(_dotted(place, key, name) if "." in name and _ITEM.sub("", key) in known() else _unknown(place, key))
            continue
        inner = bare(field.type)[0]
        try:
            leaves |= _section(value, inner, key, mistakes) if isinstance(inner, types.StructType) else _leaf(value, field, key, place)
        except ConfigError as error:
            mistakes.append(error)
    return leaves


def _leaf(node: Node, field: types.Field, key: str, place: Position) -> dict[str, Leaf]:
    places = {key: place}
    return {key: Leaf(_value(node, field.type, key, places, example(field)), places)}


def _value(node: Node, kind: types.Type, key: str, places: dict[str, Position], sample: str) -> object:
    """Read one value of the given type; `sample` is a value to recommend."""
    inner, unit = bare(kind)
    match inner:
        case types.UnionType():
            return _either(node, inner.types, key, places, sample)
        case types.ListType():
            return _items(node, inner, key, places, sample)
        case types.DictType():
            return _entries(node, key, places)
        case types.StructType():
            return _record(node, inner, key, places)
        case _:
            return _scalar(node, inner, unit, key, sample)


def _either(node: Node, kinds: tuple[types.Type, ...], key: str, places: dict[str, Position], sample: str) -> object:
    """Read a value that may also be null or a fixed word."""
    words = tuple(str(value) for kind in kinds if isinstance(kind, types.LiteralType) for value in kind.values)
    nullable = any(isinstance(kind, types.NoneType) for kind in kinds)
    if nullable and _is_null(node) and node.text:
        return None
    if isinstance(node, Scalar) and node.text in words:
        return node.text
    (main,) = (kind for kind in kinds if not isinstance(kind, types.LiteralType | types.NoneType))
    before = len(places)
    try:
        return _value(node, main, key, places, sample)
    except _WrongError as error:
        if len(places) > before:  # a mistake within the list has its own message
            raise
        expected = " or ".join([error.expected, *words, *(["null"] * nullable)])
        advice = "Write null for none" if nullable and _is_null(node) else error.advice
        raise _wrong(node, key, expected, advice) from None


def _items(node: Node, kind: types.ListType, key: str, places: dict[str, Position], sample: str) -> list[object]:
    if not isinstance(node, Listing):
        one = isinstance(node, Scalar) and not _is_null(node) and len(node.text) < 60
        raise _wrong(node, key, "a list", f"Write [{in_yaml(node.text)}]" if one and isinstance(node, Scalar) else f"Write {sample}")
    found, mistakes = [], list[ConfigError]()
    for i, item in enumerate(node.items):
        name = f"{key}[{i}]"
        places[name] = item.place
        try:
            found.append(_value(item, kind.item_type, name, places, ""))
        except ConfigError as error:
            mistakes.append(error)
    if mistakes:
        raise ConfigError.of(mistakes)
    return found


def _entries(node: Node, key: str, places: dict[str, Position]) -> dict[str, object]:
    if not isinstance(node, Mapping):
        raise _wrong(node, key, "a mapping of names to text", "Write {} or {name: text}")
    found: dict[str, object] = {}
    for name, (place, value) in node.pairs.items():
        entry = f"{key}.{name}"
        places[entry] = place
        found[name] = _text(value, entry)
    return found


def _record(node: Node, struct: types.StructType, key: str, places: dict[str, Position]) -> dict[str, object]:
    """Read an override: a mapping that is an item of a list, with its own keys beside the sections of the configuration."""
    if not isinstance(node, Mapping):
        required = next(name for name, field in fields_of(struct).items() if field.required)
        raise _wrong(node, key, "a mapping of options", f"Write {{{required}: …, …}}")
    fields, found, mistakes = fields_of(struct), dict[str, object](), list[ConfigError]()
    others = Mapping({name: pair for name, pair in node.pairs.items() if name == _OPTIONS or name not in fields}, node.place)
    found[_OPTIONS] = _options(others, key, places, mistakes)
    for name, (place, value) in node.pairs.items():
        field = fields.get(name)
        if field is None or name == _OPTIONS:
            continue
        places[f"{key}.{name}"] = place
        try:
            found[name] = _value(value, field.type, f"{key}.{name}", places, example(field))
        except ConfigError as error:
            mistakes.append(error)
    missing = [name for name, field in fields.items() if field.required and name not in node.pairs]
    if missing:
        mistakes.append(_wrong(node, key, f"the key {missing[0]}", f"Add {missing[0]}: …", got="none"))
    if mistakes:
        raise ConfigError.of(mistakes)
    return found


def _options(node: Mapping, key: str, places: dict[str, Position], mistakes: list[ConfigError]) -> dict[str, object]:
    """Read the sections of an override; return the values of their options by dotted key."""
    leaves = _section(node, root(), key, mistakes)
    for leaf in leaves.values():
        places |= leaf.places
    return {name.removeprefix(f"{key}."): leaf.value for name, leaf in leaves.items()}


def _scalar(node: Node, kind: types.Type, unit: Unit, key: str, sample: str) -> object:
    if isinstance(kind, types.StrType):
        return _text(node, key)
    try:
        if not isinstance(node, Scalar) or _is_null(node):
            raise MismatchError(_expected(kind, unit))
        match kind:
            case types.BoolType():
                return scalars.switch(node.text)
            case types.LiteralType():
                return scalars.word(node.text, tuple(str(value) for value in kind.values))
            case types.IntType() | types.FloatType():
                return scalars.number(node.text, _range(kind, unit))
    except MismatchError as error:
        advice = error.advice or (f"Write for example {sample}" if sample else "")
        raise _wrong(node, key, error.expected, advice) from None
    raise TypeError(f"settings.py: {key}: the loader cannot read {kind}")


def _expected(kind: types.Type, unit: Unit) -> str:
    match kind:
        case types.IntType() | types.FloatType():
            return _range(kind, unit).words()
        case types.LiteralType():
            return "one of " + ", ".join(str(value) for value in kind.values)
        case _:
            return "true or false"


def _text(node: Node, key: str) -> str:
    if not isinstance(node, Scalar):
        raise _wrong(node, key, "text", "Write one value, in quotes if it holds any of []{},:#")
    if _is_null(node) and (node.text or "[" in key):
        raise _wrong(node, key, "text", 'Write "" for none' + (f', or "{node.text}" in quotes for the word itself' if node.text else ""))
    strange = next((c for c in node.text if c < " " or "\x7f" <= c <= "\x9f" or "\ud800" <= c <= "\udfff"), "")
    if strange:
        raise _wrong(node, key, f"text without the control character U+{ord(strange):04X}", "Remove it")
    return node.text


def _is_null(node: Node) -> TypeGuard[Scalar]:
    return isinstance(node, Scalar) and node.plain and (not node.text or node.text.lower() in scalars.NULLS)


def _range(kind: types.IntType | types.FloatType, unit: Unit) -> Range:
    return Range(isinstance(kind, types.IntType), unit, kind.ge, kind.gt, kind.le)


class _WrongError(ConfigError):
    """A value of the wrong kind; keeps its parts so that alternatives can be added."""

    def __init__(self, message: str, expected: str, advice: str, *, key: str) -> None:
        super().__init__(message, key=key)
        self.expected = expected
        self.advice = advice


def _wrong(node: Node, key: str, expected: str, advice: str, *, got: str = "") -> _WrongError:
    found = got or _found(node)
    where = f"{node.place.where}: {_name(key) + ': ' if key else ''}"
    return _WrongError(f"{where}expected {expected}, got {found}{'. ' + advice if advice else ''}", expected, advice, key=key)


def _found(node: Node) -> str:
    match node:
        case Listing():
            return "a list"
        case Mapping():
            return "a mapping"
        case _:
            return "nothing" if node.plain and not node.text else shown(node.text)


def _name(key: str) -> str:
    return shown(key, 100)[1:-1]


def _dotted(place: Position, key: str, name: str) -> ConfigError:
    nested = ": {".join(name.split(".")) + ": …" + "}" * name.count(".")
    return ConfigError(f"{place.where}: {key}: expected one key a level, got a dotted one. Write {nested}")


def _unknown(place: Position, key: str, near: str = "") -> ConfigError:
    bare_key = _ITEM.sub("", key)  # within an override the keys are the same as in the whole configuration
    names = known() if bare_key == key else (*_OF_OVERRIDES, *known())
    near = near or nearest(bare_key, names)
    section = bare_key.rpartition(".")[0]
    siblings = [
        name.rpartition(".")[2] for name in names if name.rpartition(".")[0] == section and not (bare_key != key and why_whole(name))
    ]
    advice = f", did you mean {near}?" if near else f". Known here: {', '.join(siblings)}" if siblings else ""
    return ConfigError(f"{place.where}: {_name(key)}: unknown key{advice}")
