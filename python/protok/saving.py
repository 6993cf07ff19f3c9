"""Where a saved tokenizer's files go: which names, and all of them or none.

The engine says what is in the files; this module only places them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from protok.errors import ArtifactError, InputError
from protok.sources import PRIMARY_FILES

__all__ = ["Place", "place", "staged", "write"]

# What a file of each format may be called.
FILE_NAMES = {
    "huggingface": ("*.json",),
    "sentencepiece": ("*.model", "*.model.*"),
    "tiktoken": ("*.tiktoken", "tokenizer.model"),
    "vocab.txt": ("vocab.txt",),
}
# A file of these formats is the whole tokenizer; the others need what stands beside it.
WHOLE = ("huggingface", "sentencepiece")


@dataclass(frozen=True, slots=True)
class Place:
    """The files to write by name, and the folder that they go to."""

    folder: Path
    files: Mapping[str, bytes]
    source: Path
    """What to give :func:`protok.load` once they are there."""


def format_of(target: Path) -> str:
    """Choose the format that a target's name asks for."""
    if _is_folder(target):
        return "huggingface"
    for format, patterns in FILE_NAMES.items():
        if any(target.match(pattern) for pattern in patterns):
            return format
    raise InputError(
        location=str(target),
        what=f"The name {target.name} belongs to no format that can be written.",
        hint=f"Give a folder, or one of the formats {', '.join(FILE_NAMES)}.",
        value=target.name,
    )


def place(target: Path, files: Mapping[str, bytes], format: str) -> Place:
    """Say where files go: a name with a suffix is a file, any other name a folder."""
    if _is_folder(target):
        _refuse_hidden(target, files)
        return Place(target, dict(files), target)
    main, *others = files
    patterns = FILE_NAMES[format]
    if target.name in others or not any(target.match(pattern) for pattern in patterns):
        raise InputError(
            location=str(target),
            what=f"A file of the format {format} is not called {target.name}.",
            hint=f"Give a folder, or a name like {' or '.join(patterns)}.",
            value=target.name,
        )
    beside = {} if format in WHOLE else {name: files[name] for name in others}
    return Place(target.parent, {target.name: files[main], **beside}, target)


def _is_folder(target: Path) -> bool:
    return target.is_dir() or not target.suffix


def _refuse_hidden(folder: Path, files: Mapping[str, bytes]) -> None:
    """Refuse a folder in which another tokenizer, or the roles of another one, would be read."""
    roles = "special_tokens_map.json"
    if roles not in files and (folder / roles).exists():
        raise InputError(
            location=str(folder),
            what=f"The folder holds {roles}, which would be read as part of this tokenizer.",
            hint="Give another folder, or remove that file.",
            value=roles,
        )
    for pattern in PRIMARY_FILES:
        there = sorted(path.name for path in folder.glob(pattern) if path.name not in files)
        if there:
            raise InputError(
                location=str(folder),
                what=f"The folder holds {there[0]}, which would be read instead.",
                hint="Give another folder, or remove that file.",
                value=there[0],
            )
        if any(Path(name).match(pattern) for name in files):
            return


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write every file under a temporary name, then rename them all."""
    try:
        with _created(folder):
            _write_all(folder, files)
            _sync_folder(folder)
    except OSError as error:
        raise _unwritable(folder, error) from error


def _write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    written: list[tuple[Path, Path]] = []
    try:
        for name, data in files.items():
            temporary = folder / f".{name}.{os.urandom(8).hex()}.tmp"
            with temporary.open("xb") as file:
                written.append((temporary, folder / name))
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        # The tokenizer itself comes last: with it in place, its companions are.
        while written:
            temporary, final = written[-1]
            temporary.replace(final)
            written.pop()
    finally:
        for temporary, _ in written:
            temporary.unlink(missing_ok=True)


@contextmanager
def staged(placed: Place) -> Iterator[Path]:
    """Write the files into a hidden folder beside; put them in place if the block succeeds.

    Yields what to give :func:`protok.load` to read them there. Whatever fails, the folder goes,
    and what was at the target before is as it was.
    """
    folder = placed.folder
    is_file = placed.source != folder
    parent = folder if is_file else folder.parent
    staging = parent / f".{placed.source.name}.{os.urandom(8).hex()}.tmp"
    try:
        with _created(parent):
            try:
                write(staging, placed.files)
                yield staging / placed.source.name if is_file else staging
                if not folder.exists():
                    staging.replace(folder)
                else:
                    for name in reversed([*placed.files]):
                        (staging / name).replace(folder / name)
                _sync_folder(parent)
            finally:
                shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> ArtifactError:
    return ArtifactError(
        location=str(folder),
        what=f"The tokenizer cannot be written: {error.strerror or error}.",
        hint="Check the path, its permissions and the space left.",
    )


@contextmanager
def _created(folder: Path) -> Iterator[None]:
    """Create a folder and its parents; take them away again if the block fails."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for path in missing:  # the innermost first
            with suppress(OSError):
                path.rmdir()
        raise


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
