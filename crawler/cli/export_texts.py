"""Texts for `thresher export --what texts`: child processes extract them from bodies; pages without a text are counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from thresher.crawler.terminal.printable import printable

if TYPE_CHECKING:
    from thresher.crawler.children.text_extractor import TextExtractor
    from thresher.storage.export.fields import ExportKind, Field
    from thresher.storage.export.page_texts import TextRow
    from thresher.storage.view import View

_SHOWN = 5


@contextmanager
def taking_texts(view: View, kind: ExportKind[Any], fields: Sequence[Field[Any]], text: str) -> Iterator[ExportKind[Any]]:
    """Yield the kind of export with texts that are extracted while its rows are read; a kind without texts is not changed.

    Prints on standard error afterwards which pages had no text.

    Args:
        text: "main" or "visible".

    Raises:
        UsageError: If the extra that the fields need is not installed.
    """
    from thresher.crawler.children.taking_texts import extracting
    from thresher.storage.export.page_texts import texts_kind

    if kind.name != "texts":
        yield kind
        return
    with extracting(view, fields, text) as extractor:
        told: list[str] = []

        def rows(view: View, wanted: frozenset[str]) -> Iterator[TextRow]:
            for row in made.rows(view, wanted):
                if row.taken.fault and len(told) < _SHOWN:
                    told.append(f"  {printable(row.of.page.url)}: {row.taken.fault}")
                yield row

        made = texts_kind(extractor)
        yield replace(made, rows=rows)
        if extractor.faults:
            click.echo(_words(extractor, told), err=True)


def _words(extractor: TextExtractor, shown: list[str]) -> str:
    n = extractor.faults.total()
    why = ", ".join(f"{fault} {count:,}" for fault, count in extractor.faults.most_common())
    more = [f"  … and {n - len(shown):,} more: their rows have a `fault`"] if n > len(shown) else []
    return "\n".join([f"thresher: {n:,} pages without a text ({why}):", *shown, *more])
