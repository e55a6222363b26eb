"""The forms of all records that reach a store, as today's code has them, and as they are pinned in `record_forms.json` beside `VERSION`.

    export PYTHONPATH=tests/filters
    python tests/storage/record_forms.py               pins what was added, or everything after `VERSION` was raised
    python tests/storage/record_forms.py --readable    pins a changed form of which the older rows are still read rightly

Records are msgspec structs: all in core, filters and storage that are written as arrays (`array_like`), some of which only go from process
to process, and those of `_BY_NAME`. Rows that are packed by hand are in packed_forms.py.
"""

from __future__ import annotations

import enum
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect
from packed_forms import packed_forms

import thresher.crawler.core
import thresher.filters
import thresher.storage
from thresher.storage.packing import REASONS
from thresher.storage.schema import TABLES, VERSION

PINNED = Path(__file__).with_suffix(".json")
_PLACES = (thresher.crawler.core, thresher.filters, thresher.storage)
_BY_NAME = {
    *("crawler.core.model.Judgement", "crawler.core.model.Verdict", "filters.dust.memory.RuleBook", "filters.dust.rules.LearnedRule"),
    *("filters.dust.rules.Parameter", "filters.dust.rules.Substitution", "storage.partitions.Partitions", "storage.records.SkipLine"),
    *("storage.snapshots.manifest.FileChunks", "storage.snapshots.manifest.Manifest"),
}  # written as objects: each field with its name
_DEFAULT = " = default"

Forms = dict[str, Any]


def forms() -> Forms:
    """Return the forms that today's code has."""
    types: Forms = {}
    for module in _modules():
        for of in vars(module).values():
            if isinstance(of, type) and of.__module__ == module.__name__ and (form := _form(of)):
                types[_name(of)] = form
    types["storage.packing.REASONS"] = {"values": {str(reason): code for code, reason in enumerate(REASONS, 1)}}
    tables = {name: table.env for name, table in TABLES.items()}
    return {"schema": VERSION, "tables": tables, "types": dict(sorted(types.items())), "packed": packed_forms()}


def _modules() -> Iterator[Any]:
    for place in _PLACES:
        for module in pkgutil.walk_packages(place.__path__, place.__name__ + "."):
            yield importlib.import_module(module.name)


def _name(of: type) -> str:
    return f"{of.__module__}.{of.__qualname__}".removeprefix("thresher.")


def _form(of: type) -> Forms | None:
    """Return the form of a record, or of an enumeration of numbers; None if it is neither."""
    if issubclass(of, enum.IntEnum):
        return {"values": {member.name: int(member) for member in of}}
    if not issubclass(of, msgspec.Struct) or not (of.__struct_config__.array_like or _name(of) in _BY_NAME):
        return None
    told = inspect.type_info(of)
    assert isinstance(told, inspect.StructType)
    fields = [f"{field.encode_name}: {_spelled(field.type)}" + ("" if field.required else _DEFAULT) for field in told.fields]
    return {"array": told.array_like, "tag": told.tag, "fields": fields}


def _spelled(of: inspect.Type) -> str:
    """Return a type in words, without its bounds."""
    match of:
        case inspect.StructType():
            return _name(of.cls)
        case inspect.EnumType():
            return f"enum {_name(of.cls)}"
        case inspect.UnionType():
            return " | ".join(map(_spelled, of.types))
        case inspect.DictType():
            return f"{{{_spelled(of.key_type)}: {_spelled(of.value_type)}}}"
        case inspect.TupleType():
            return f"({', '.join(map(_spelled, of.item_types))})"
        case inspect.Metadata():
            return _spelled(of.type)
        case inspect.CollectionType():
            return f"{type(of).__name__.removesuffix('Type').lower()} of {_spelled(of.item_type)}"
    return type(of).__name__.removesuffix("Type").lower()


def pinned() -> Forms:
    """Return the forms that are pinned."""
    return dict(msgspec.json.decode(PINNED.read_bytes()))


def breaks(before: Forms, now: Forms) -> list[str]:
    """Return the changes with which rows of the forms before cannot be read by today's."""
    found = [f"table {name}: gone, or in another file" for name, env in before["tables"].items() if now["tables"].get(name) != env]
    found += [f"packed {name}: other bytes" for name, form in before["packed"].items() if now["packed"].get(name) != form]
    renamed = _renamed(before["types"], now["types"])
    for name, form in before["types"].items():
        today = now["types"].get(renamed.get(name, name))
        found += [f"{name}: gone"] if today is None else [f"{name}: {what}" for what in _changed(form, today, renamed)]
    return found


def _renamed(before: Forms, now: Forms) -> dict[str, str]:
    """Return the new names of types that have another name, or lie in another module."""
    new = {name: form for name, form in now.items() if name not in before}
    found: dict[str, str] = {}
    for name, form in before.items():
        if name not in now:
            last = name.rpartition(".")[2]
            found.update((name, other) for other in new if other.rpartition(".")[2] == last or new[other] == form)
    return found


def _changed(before: Forms, now: Forms, renamed: dict[str, str]) -> Iterator[str]:
    """Yield what has changed in a type, but for what was added to it."""
    if before.keys() != now.keys():
        yield "is of another kind"
        return
    if "values" in before:
        for name, value in before["values"].items():
            if now["values"].get(name, value) != value or value not in now["values"].values():
                yield f"its value {value} ({name}) is another one now, or gone"
        return
    if (before["array"], before["tag"]) != (now["array"], now["tag"]):
        yield "is written in another way"
        return
    today: dict[int | str, str] = {(at if now["array"] else field.partition(": ")[0]): field for at, field in enumerate(now["fields"])}
    for at, field in enumerate(before["fields"]):
        name, kind = field.removesuffix(_DEFAULT).split(": ", 1)
        other = today.pop(at if before["array"] else name, "gone: gone")
        for old, new in renamed.items():
            kind = kind.replace(old, new)
        if other.removesuffix(_DEFAULT).split(": ", 1)[1] != kind:
            yield f"its field {name}: {kind} is {other} now"
    for field in today.values():
        if not field.endswith(_DEFAULT):
            yield f"its new field {field} has no default: rows without it cannot be read"


def main() -> None:
    """Pin today's forms."""
    before, now = (pinned() if PINNED.exists() else {"schema": 0}), forms()
    if before["schema"] == VERSION and (found := breaks(before, now)) and "--readable" not in sys.argv:
        sys.exit("\n".join((*found, "Raise `VERSION` in storage/schema.py; see tests/storage/test_storage_forms.py")))
    PINNED.write_bytes(msgspec.json.format(msgspec.json.encode(now), indent=1) + b"\n")
    print(f"{PINNED}: {len(now['types'])} types of schema {VERSION}")


if __name__ == "__main__":
    main()
