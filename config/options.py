"""The options as data: the declarations of config/settings.py by dotted key ("politeness.min_delay"), and the most similar key to a wrong
one.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import cache
from typing import cast

from msgspec import NODEFAULT
from msgspec import inspect as types

from thresher.config.plugins import settings_type
from thresher.config.scalars import Unit
from thresher.config.shown import shown

_NEAR = 0.6
_SHORT, _NEAR_SHORT = 3, 0.8  # keys of so few letters resemble many others, so they must be this similar


@cache
def options() -> dict[str, types.Field]:
    """Return every option by dotted key, in the order of config/settings.py."""
    return dict(_walk(root(), ""))


def _walk(struct: types.StructType, prefix: str) -> list[tuple[str, types.Field]]:
    found = []
    for name, field in fields_of(struct).items():
        inner = bare(field.type)[0]
        found += _walk(inner, f"{prefix}{name}.") if isinstance(inner, types.StructType) else [(prefix + name, field)]
    return found


@cache
def root() -> types.StructType:
    return cast("types.StructType", types.type_info(settings_type()))


def fields_of(struct: types.StructType) -> dict[str, types.Field]:
    return {field.encode_name: field for field in struct.fields}


@cache
def known() -> tuple[str, ...]:
    """Return the dotted keys of all sections and options."""
    names = dict.fromkeys(".".join(key.split(".")[:n]) for key in options() for n in range(1, key.count(".") + 2))
    return tuple(names)


def bare(kind: types.Type) -> tuple[types.Type, Unit]:
    """Strip the annotation: type and unit."""
    if isinstance(kind, types.Metadata):
        return kind.type, cast("Unit", (kind.extra or {}).get("unit", ""))
    return kind, ""


def example(field: types.Field) -> str:
    """Return a value to recommend for an option, as YAML."""
    default = field.default_factory() if field.default is NODEFAULT and field.default_factory is not NODEFAULT else field.default
    if default is None or default is NODEFAULT:
        kinds = field.type.types if isinstance(field.type, types.UnionType) else (field.type,)
        found = {type(bare(kind)[0]) for kind in kinds}
        return "60.0" if types.FloatType in found else "100" if types.IntType in found else ""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, list):
        return "[" + ", ".join(in_yaml(str(item)) for item in default[:3]) + "]"
    return str(default)


def words_of(key: str) -> tuple[str, ...]:
    """Return the fixed words that an option accepts, in alphabetical order; () if it accepts none, or if there is no such option."""
    field = options().get(key)
    if field is None:
        return ()
    kinds = field.type.types if isinstance(field.type, types.UnionType) else (field.type,)
    found = {type(bare(kind)[0]): bare(kind)[0] for kind in kinds}
    if types.BoolType in found:
        return ("true", "false")
    literal = found.get(types.LiteralType)
    return tuple(map(str, literal.values)) if isinstance(literal, types.LiteralType) else ()


def in_yaml(text: str) -> str:
    return text if text.replace("/", "").isalnum() else shown(text)


def nearest(key: str, keys: tuple[str, ...]) -> str:
    """Return the key that `key` was most likely meant to be, or "": the last part of the key counts most, its section a little."""
    key = key[-60:].lower().replace("-", "_")
    last = key.rpartition(".")[2]
    scored = [(0.85 * _ratio(last, name.rpartition(".")[2]) + 0.15 * _ratio(key, name), name) for name in keys]
    score, name = max(scored, key=lambda pair: pair[0])
    return name if score >= (_NEAR if len(last) > _SHORT else _NEAR_SHORT) else ""


def _ratio(a: str, b: str) -> float:
    return SequenceMatcher(None, a, b, autojunk=False).ratio()
