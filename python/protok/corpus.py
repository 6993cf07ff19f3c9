"""Read a corpus: files of text, JSON lines, Parquet or Arrow, plain or compressed, as documents.

Files are read in blocks that begin and end between two documents, so that memory does not grow
with them, and the order of documents is that of the files. What the bytes were is known
afterwards: their hash, and how many documents there were.
"""

from __future__ import annotations

import bz2
import glob
import gzip
import hashlib
import io
import json
import lzma
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from protok import _core
from protok.errors import InputError, ProtokError, unreadable

__all__ = ["Block", "Facts", "Format", "Source", "Split", "documents", "expand", "read", "split"]

Format = Literal["auto", "text", "jsonl", "parquet", "arrow"]
Split = Literal["line", "paragraph", "separator", "whole"]
OnError = Literal["error", "replace", "skip"]

BLOCK = 2 << 20
_BATCH = 4 << 20  # characters of texts that are handed on together
_COMPRESSED = {".gz", ".bz2", ".xz", ".zst", ".zstd"}
_FORMATS: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}


@dataclass(frozen=True, kw_only=True)
class Source:
    """Files of one kind, and how to read them.

    Parameters
    ----------
    files
        Names and patterns such as ``data/**/*.txt.gz``. The files of a pattern are read in the
        order of their names, and each file once.
    weight
        How often each document counts on average: 2 counts twice, 0.5 every second one, drawn by
        the seed.
    format
        By default what the name says: ``.jsonl`` and ``.ndjson``, ``.parquet``, ``.arrow`` and
        ``.feather``, and text for every other name. Names may end in ``.gz``, ``.bz2``, ``.xz``
        or ``.zst`` as well.
    split
        Where a document of a text ends: at each line, behind blank lines, at a separator, or with
        the file.
    separator
        The text between two documents, which belongs to neither.
    field
        The field of a JSON line, or the column of a table, that has the text.
    encoding_errors
        What to do where bytes are not UTF-8: stop with the place, put U+FFFD, or leave the
        document out.

    Examples
    --------
    >>> from protok.corpus import Source
    >>> Source(files=("chat/*.jsonl.gz",), weight=0.5, field="content").split
    'line'
    """

    files: tuple[str, ...] = ()
    weight: float = 1.0
    format: Format = "auto"
    split: Split = "line"
    separator: str | None = None
    field: str = "text"
    encoding_errors: OnError = "error"


@dataclass
class Facts:
    """What a file was, once it is read.

    Parameters
    ----------
    sha256
        The hash of its bytes as they lie on the disk, in hexadecimal digits.
    bytes
        Their number.
    invalid
        Documents with bytes that are not UTF-8, which were replaced or left out.
    """

    sha256: str = ""
    bytes: int = 0
    invalid: int = 0


@dataclass(frozen=True)
class Block:
    """Some whole documents: UTF-8 that is yet to be cut, or texts.

    Parameters
    ----------
    data
        The bytes of documents as ``split`` says, for formats of text.
    texts
        The documents themselves, for records.
    column
        The documents as an array of strings of ``pyarrow``, for tables; without nulls.
    done
        How many bytes of the file have been read.
    """

    data: bytes = b""
    texts: tuple[str, ...] = ()
    column: Any = None
    done: int = 0

    def size(self) -> int:
        """Count the bytes of the documents, with what stands between them in formats of text."""
        if self.column is not None:
            compute = _extra("pyarrow.compute", "arrow", "Tables")
            return int(compute.sum(compute.binary_length(self.column)).as_py() or 0)
        return len(self.data) + sum(len(text.encode()) for text in self.texts)

    def documents(self, source: Source, *, strip: bool = False) -> list[str]:
        """Give the documents, cut as the source says if that is yet to be done."""
        if self.data:
            return list(split(self.data.decode(), source, strip=strip))
        texts = self.texts if self.column is None else self.column.to_pylist()
        return [text.rstrip("\r\n") for text in texts] if strip else list(texts)


@dataclass
class _Hashing(io.RawIOBase):
    """A file that is hashed as it is read, where somebody asks what it was."""

    file: io.BufferedReader
    facts: Facts
    hash: Any

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes."""
        view = memoryview(buffer).cast("B")
        size = self.file.readinto(view)
        if self.hash:
            self.hash.update(view[:size])
        self.facts.bytes += size
        return size

    def drain(self) -> None:
        """Read what nobody asked for."""
        if not self.hash:
            return
        while data := self.file.read(1 << 20):
            self.hash.update(data)
            self.facts.bytes += len(data)
        self.facts.sha256 = self.hash.hexdigest()


def expand(source: Source, base: str | PathLike[str] = ".") -> list[Path]:
    """List the files of a source; names that are not absolute are of the folder ``base``.

    Raises
    ------
    InputError
        If a name or a pattern is of no file.

    Examples
    --------
    >>> from protok.corpus import Source, expand
    >>> expand(Source(files=("no-such-file.txt",)))
    Traceback (most recent call last):
        ...
    protok.errors.InputError: no-such-file.txt: There is no such file. Check the path.
    """
    found: dict[Path, None] = {}
    for name in source.files:
        path = Path(base) / name
        if path.is_file():
            found[path] = None
            continue
        matches = glob.glob(str(path), recursive=True) if glob.has_magic(name) else []  # noqa: PTH207
        names = sorted(matches)
        files = [Path(name) for name in names if Path(name).is_file()]
        if not files:
            kind = (
                "The pattern matches no file" if glob.has_magic(name) else "There is no such file"
            )
            kind = "This is a folder, not a file" if path.is_dir() else kind
            raise InputError(
                location=str(path),
                what=f"{kind}.",
                hint="Check the path." if not path.is_dir() else "Give a pattern such as */*.txt.",
                value=str(name),
            )
        found.update(dict.fromkeys(files))
    return list(found)


def documents(
    sources: Iterable[Source], base: str | PathLike[str] = ".", *, strip: bool = True
) -> Iterator[str]:
    r"""Yield the documents of some sources, in order; weights are not looked at.

    Parameters
    ----------
    sources
        What to read.
    base
        The folder that names are relative to.
    strip
        Whether line ends at the end of a document are left out.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from protok.corpus import Source, documents
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.txt").write_text("one\n\ntwo\nthree\n")
    ...     list(documents([Source(files=("*.txt",), split="paragraph")], folder))
    ['one', 'two\nthree']
    """
    for source in sources:
        for path in expand(source, base):
            for block in read(path, source):
                yield from filter(None, block.documents(source, strip=strip))


def split(text: str, source: Source, *, strip: bool = False) -> Iterator[str]:
    """Cut a block of text into documents; empty ones are left out.

    Examples
    --------
    >>> from protok.corpus import Source, split
    >>> list(split("a|b||c", Source(split="separator", separator="|")))
    ['a', 'b', 'c']
    """
    parts = (part.decode() for part in _parts(text.encode(), source.split, source.separator))
    yield from filter(None, (part.rstrip("\r\n") if strip else part for part in parts))


def read(
    path: str | PathLike[str], source: Source | None = None, facts: Facts | None = None
) -> Iterator[Block]:
    r"""Read a file in blocks of whole documents.

    Parameters
    ----------
    path
        The file.
    source
        How to read it.
    facts
        Filled in as the file is read; the hash once all of it is.

    Raises
    ------
    InputError
        If the file cannot be read, a record has no text, or bytes are not UTF-8 and the source
        does not say what to do then; with the file and the place.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from protok.corpus import Facts, read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.jsonl")
    ...     _ = path.write_text('{"text": "one"}\n{"text": "two"}\n')
    ...     facts = Facts()
    ...     [block.texts for block in read(path, facts=facts)], facts.bytes
    ([('one', 'two')], 32)
    """
    path, source = Path(path), source or Source()
    hashed = hashlib.sha256() if facts is not None else None
    facts = facts if facts is not None else Facts()
    if source.split == "separator" and not source.separator:
        raise InputError(
            what="Documents end at a separator, but it has no text.",
            location="separator",
            hint="Give the text that stands between two documents.",
        )
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes.pop() if suffixes and suffixes[-1] in _COMPRESSED else ""
    kind = source.format
    if kind == "auto":
        kind = _FORMATS.get(suffixes[-1] if suffixes else "", "text")
    try:
        with path.open("rb") as raw:
            hashing = _Hashing(raw, facts, hashed)
            if kind in {"parquet", "arrow"}:
                yield from _tables(path, source, kind, facts)
            else:
                file = _unpacked(io.BufferedReader(hashing, 1 << 20), packed)
                reader = _json_blocks if kind == "jsonl" else _text_blocks
                yield from reader(file, path, source, facts)
            hashing.drain()
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise InputError(
            what=f"The file cannot be decompressed: {error}.",
            location=str(path),
            hint="It may be damaged, or have another name than its format.",
            value=str(path),
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error


def _unpacked(file: io.BufferedReader, suffix: str) -> io.BufferedIOBase:
    match suffix:
        case ".gz":
            return gzip.GzipFile(fileobj=file)
        case ".bz2":
            return bz2.BZ2File(file)
        case ".xz":
            return lzma.LZMAFile(file)
        case ".zst" | ".zstd":
            return _zstd(file)
        case _:
            return file


def _zstd(file: io.BufferedReader) -> io.BufferedIOBase:
    """Decompress with Python's own module, which 3.14 has, or with the extra."""
    from importlib import import_module  # noqa: PLC0415  (seldom needed)

    try:
        opened: io.BufferedIOBase = import_module("compression.zstd").ZstdFile(file)
    except ModuleNotFoundError:
        module = _extra("zstandard", "zstd", "Files of Zstandard")
        stream = module.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return io.BufferedReader(stream, 1 << 20)
    return opened


def _extra(module: str, extra: str, what: str) -> Any:
    from importlib import import_module  # noqa: PLC0415  (seldom needed)

    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ProtokError(
            what=f"{what} need {module.partition('.')[0]}.",
            hint=f"Install it: pip install 'protok[{extra}]'.",
        ) from error


# -- text ---------------------------------------------------------------------------------------


def _text_blocks(
    file: io.BufferedIOBase, path: Path, source: Source, facts: Facts
) -> Iterator[Block]:
    separator = (source.separator or "").encode()
    overlap = max(len(separator) - 1, 3)
    parts: list[bytes] = []
    offset = 0  # of what waits, in the file
    tail = b""
    while chunk := file.read(BLOCK):
        window = tail + chunk
        parts.append(chunk)
        tail = window[-overlap:]
        if not _has_end(window, source.split, separator):
            continue
        data = b"".join(parts)
        end = _last_end(data, source.split, separator)
        if end:
            yield Block(_valid(data[:end], path, offset, source, facts), done=facts.bytes)
            offset += end
        parts = [data[end:]]
    if rest := b"".join(parts):
        yield Block(_valid(rest, path, offset, source, facts), done=facts.bytes)


def _has_end(window: bytes, split: Split, separator: bytes) -> bool:
    match split:
        case "line":
            return b"\n" in window
        case "paragraph":
            return b"\n\n" in window or b"\n\r\n" in window
        case "separator":
            return separator in window
        case _:
            return False


def _last_end(data: bytes, split: Split, separator: bytes) -> int:
    """Find where the last document ends that is sure to be whole."""
    if split == "line":
        return data.rfind(b"\n") + 1
    # Blank lines at the end may go on behind it.
    inside = data.rstrip(b"\r\n") if split == "paragraph" else data
    return len(inside) - len(_parts(inside, split, separator.decode())[-1])


def _parts(
    data: bytes, split: Split, separator: str | None, *, separators: bool = False
) -> list[bytes]:
    """Cut a block at the ends of its documents; the last one may be empty."""
    separator = separator if split == "separator" else None
    return _core.document_parts(data, split=split, separator=separator, separators=separators)


def _valid(data: bytes, path: Path, offset: int, source: Source, facts: Facts) -> bytes:
    """Return a block of UTF-8, whatever has to be done for it."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        if source.encoding_errors == "error":
            raise _not_utf8(error, str(path), offset) from error
    else:
        return data
    kept = []
    for part in _parts(data, source.split, source.separator, separators=True):
        try:
            part.decode()
        except UnicodeDecodeError:
            facts.invalid += 1
            if source.encoding_errors == "replace":
                kept.append(part.decode("utf-8", "replace").encode())
        else:
            kept.append(part)
    return b"".join(kept)


def _not_utf8(error: UnicodeDecodeError, location: str, offset: int) -> InputError:
    return InputError(
        what=f"The text is not UTF-8: {error.reason}.",
        location=f"{location}, byte {offset + error.start}",
        hint="Convert the file, leave it out, or say encoding_errors='replace' or 'skip'.",
        position=offset + error.start,
        value=error.object[error.start : error.end].hex(),
    )


# -- records ------------------------------------------------------------------------------------


def _json_blocks(
    file: io.BufferedIOBase, path: Path, source: Source, facts: Facts
) -> Iterator[Block]:
    def texts() -> Iterator[str]:
        for number, line in enumerate(file, 1):
            if line.strip():
                text = _json_text(line, f"{path}, line {number}", source, facts)
                if text is not None:
                    yield text

    yield from _batches(texts(), facts)


def _json_text(line: bytes, location: str, source: Source, facts: Facts) -> str | None:
    try:
        record = json.loads(line)
    except UnicodeDecodeError as error:
        if source.encoding_errors == "error":
            raise _not_utf8(error, location, 0) from error
        facts.invalid += 1
        if source.encoding_errors == "skip":
            return None
        return _json_text(line.decode("utf-8", "replace").encode(), location, source, facts)
    except ValueError as error:
        raise InputError(
            what=f"The line is no JSON: {error}.",
            location=location,
            hint="Each line of such a file is an object.",
        ) from error
    text = record.get(source.field) if isinstance(record, dict) else None
    if not isinstance(text, str):
        raise InputError(
            what=f"The record has no text in the field {source.field!r}.",
            location=location,
            hint="Say which field has the text: field = ….",
            value=source.field,
        )
    return _whole(text, location, source, facts)


def _whole(text: str, location: str, source: Source, facts: Facts) -> str | None:
    """Return a text without half characters, which JSON can spell and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        if source.encoding_errors == "error":
            raise InputError(
                what=f"The text has half a character (U+{ord(text[error.start]):04X}).",
                location=location,
                hint="Correct it, or say encoding_errors='replace' or 'skip'.",
                position=error.start,
                value=f"{ord(text[error.start]):04x}",
            ) from error
        facts.invalid += 1
        if source.encoding_errors == "skip":
            return None
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _batches(texts: Iterator[str], facts: Facts) -> Iterator[Block]:
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text) + 64
        if size >= _BATCH:
            yield Block(texts=tuple(batch), done=facts.bytes)
            batch, size = [], 0
    if batch:
        yield Block(texts=tuple(batch), done=facts.bytes)


def _tables(path: Path, source: Source, kind: Format, facts: Facts) -> Iterator[Block]:
    """Read a column of a table, some rows at a time."""
    arrow = _extra("pyarrow", "arrow", "Tables")
    try:
        batches = _parquet(path, source) if kind == "parquet" else _arrow(path, source)
        some: list[Any] = []
        for column in batches:
            if not _is_text(column.type):
                raise _no_column(path, source.field, "it has no text")
            some.append(column.drop_null())
            if sum(part.nbytes for part in some) >= _BATCH:
                yield Block(column=arrow.chunked_array(some), done=facts.bytes)
                some = []
        if some:
            yield Block(column=arrow.chunked_array(some), done=facts.bytes)
    except (arrow.ArrowInvalid, arrow.ArrowKeyError) as error:
        raise InputError(
            what=f"The table cannot be read: {error}",
            location=str(path),
            hint="Check the file and its format.",
            value=str(path),
        ) from error


def _is_text(kind: Any) -> bool:
    types = _extra("pyarrow.types", "arrow", "Tables")
    return any(
        getattr(types, f"is_{name}")(kind) for name in ("string", "large_string", "string_view")
    )


def _parquet(path: Path, source: Source) -> Iterator[Any]:
    file = _extra("pyarrow.parquet", "arrow", "Tables").ParquetFile(path)
    if source.field not in file.schema_arrow.names:
        raise _no_column(path, source.field, f"there are {', '.join(file.schema_arrow.names)}")
    for batch in file.iter_batches(batch_size=4096, columns=[source.field]):
        yield batch.column(0)


def _arrow(path: Path, source: Source) -> Iterator[Any]:
    ipc = _extra("pyarrow.ipc", "arrow", "Tables")
    with path.open("rb") as file:
        is_file = file.read(6) == b"ARROW1"
        file.seek(0)
        reader = ipc.open_file(file) if is_file else ipc.open_stream(file)
        if source.field not in reader.schema.names:
            raise _no_column(path, source.field, f"there are {', '.join(reader.schema.names)}")
        count = reader.num_record_batches if is_file else 0
        batches = map(reader.get_batch, range(count)) if is_file else reader
        for batch in batches:
            yield batch.column(source.field)


def _no_column(path: Path, name: str, what: str) -> InputError:
    return InputError(
        what=f"The table's column {name!r} cannot be used: {what}.",
        location=str(path),
        hint="Say which column has the text: field = ….",
        value=name,
    )
