"""Encode the documents of files: reading goes on beside encoding, and memory is bounded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from protok.corpus import Block, Source, expand, read
from protok.errors import InputError, ProtokError

if TYPE_CHECKING:
    from protok import _core

__all__ = ["Paths", "batches"]

T = TypeVar("T")
Paths: TypeAlias = "str | os.PathLike[str] | Source | Iterable[str | os.PathLike[str] | Source]"


def batches(
    paths: Paths, separator: str | None, encode: Callable[..., _core.Batch]
) -> Iterator[_core.Batch]:
    """Give what ``encode`` makes of the documents of files, see ``Tokenizer.encode_files``."""
    sources = _sources(paths, separator)
    return _encode([(path, source) for source in sources for path in expand(source)], encode)


def _sources(paths: Paths, separator: str | None) -> list[Source]:
    """Say how each file is read."""
    if separator == "":
        raise InputError(
            what="Documents end at a separator, but it has no text.",
            location="separator",
            hint="Give the text that stands between two documents.",
        )
    sources = []
    for item in [paths] if isinstance(paths, (str, os.PathLike, Source)) else paths:
        source = item if isinstance(item, Source) else Source(files=(str(item),))
        if separator is not None:
            source = replace(source, split="separator", separator=separator)
        sources.append(source)
    return sources


def _encode(
    files: list[tuple[Path, Source]], encode: Callable[..., _core.Batch]
) -> Iterator[_core.Batch]:
    blocks = ((path, source, block) for path, source in files for block in read(path, source))
    at, done = Path(), 0
    for path, source, block in _ahead(blocks):
        if path != at:
            at, done = path, 0
        documents = block.data or _records(block)
        try:
            batch = encode(documents, split=source.split, separator=source.separator, first=done)
        except ProtokError as error:
            raise _in_file(error, path) from error
        done += len(batch)
        if len(batch):
            yield batch


def _records(block: Block) -> Any:
    """Give the records of a block that are not empty; a column stays where it is."""
    if block.column is None:
        return [text for text in block.texts if text]
    import pyarrow.compute as pc  # noqa: PLC0415  (tables need it)

    sizes = pc.binary_length(block.column)
    if not pc.any(pc.equal(sizes, 0)).as_py():
        return block.column
    return block.column.filter(pc.greater(sizes, 0))


def _in_file(error: ProtokError, path: Path) -> ProtokError:
    """Say in which file an error is."""
    return type(error)(
        what=error.what,
        location=f"{path}, {error.location}" if error.location else str(path),
        hint=error.hint,
        position=error.position,
        value=error.value,
    )


def _ahead(items: Iterator[T]) -> Iterator[T]:
    """Take items in a thread of their own, one before it is asked for."""
    with ThreadPoolExecutor(1, thread_name_prefix="protok-reader") as reader:
        waiting = reader.submit(next, items, None)
        while (item := waiting.result()) is not None:
            waiting = reader.submit(next, items, None)
            yield item
