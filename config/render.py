"""Writes settings as YAML or JSON, with the origin of each value. config/load.py reads the YAML back to equal settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from thresher.config.override import nested
from thresher.config.scalars import FALSE, NULLS, TRUE
from thresher.config.settings import Settings
from thresher.config.shown import shown

_WIDTH = 100
_BARE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(?:/[A-Za-z0-9_+-]+)?")


def as_json_text(settings: Settings, sources: Mapping[str, str]) -> str:
    """Return settings and origins as one indented JSON object."""
    return json.dumps({"settings": msgspec.to_builtins(settings), "origins": dict(sources)}, indent=2, ensure_ascii=False) + "\n"


def as_yaml(settings: Settings, sources: Mapping[str, str]) -> str:
    """Return the settings as YAML, each option with its source in a comment."""
    return "\n".join(_section(as_mapping(settings), sources, "", "")) + "\n"


def as_mapping(settings: Settings) -> dict[str, Any]:
    """Return the settings in the form of a configuration file, as the loader reads it."""
    values: dict[str, Any] = msgspec.to_builtins(settings)
    values["overrides"] = [nested({"match": one["match"], "skip": one["skip"], **one["options"]}) for one in values["overrides"]]
    return values


def _section(values: Mapping[str, object], sources: Mapping[str, str], prefix: str, indent: str) -> Iterator[str]:
    for name, value in values.items():
        key = prefix + name
        comment = f"  # {shown(sources[key], 200)[1:-1]}" if key in sources else ""
        if isinstance(value, dict) and (value or not comment):
            yield f"{indent}{_scalar(name)}:{comment}"
            yield from _section(value, sources, f"{key}.", indent + "  ")
        elif isinstance(value, list) and value:
            yield f"{indent}{name}:{comment}"
            yield from _items(value, indent + "  ")
        else:
            yield f"{indent}{_scalar(name)}: {_scalar(value)}{comment}"


def _items(items: list[object], indent: str) -> Iterator[str]:
    """Write a list: words in flow style, wrapped; mappings one below the other."""
    if isinstance(items[0], dict):
        for item in items:
            first, *rest = _section(item, {}, "", indent + "  ") if isinstance(item, dict) else [""]
            yield f"{indent}- {first.lstrip()}"
            yield from rest
        return
    line = indent + "["
    for i, item in enumerate(items):
        word = _scalar(item) + ("," if i < len(items) - 1 else "]")
        if len(line) + len(word) > _WIDTH and line.strip() != "[":
            yield line.rstrip()
            line = indent + " "
        line += word + " "
    yield line.rstrip()


def _scalar(value: object) -> str:
    """Write one value; text is without quotes only if no reader of YAML could read it as anything else."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            special = value.lower() in TRUE | FALSE | NULLS or value.lower() in {"y", "n"}
            return value if _BARE.fullmatch(value) and not special else _quoted(value)
        case dict():
            return "{}"
        case list():
            return "[]"
        case _:
            return repr(value)


def _quoted(text: str) -> str:
    """Write text in double quotes; unprintable characters and line breaks, by YAML's rules, are escaped."""
    return "".join(
        c if c.isprintable() else f"\\u{ord(c):04x}" if ord(c) < 1 << 16 else f"\\U{ord(c):08x}"
        for c in json.dumps(text, ensure_ascii=False)
    )
