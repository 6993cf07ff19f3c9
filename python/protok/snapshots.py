"""Tokenizers as they were loaded, kept in a folder so that the next load is quick.

A snapshot is named by a digest of everything that decides the tokenizer: the content of its files,
the options of ``load``, and the release of protok. One that is not as it was written, or that
somebody else could have written, is passed over, and written again. So the folder may be deleted
at any time, and any number of processes may use it.

The engine says what is in a snapshot; this module only keeps it, away from other users: whoever can
write a snapshot decides what the tokenizer is.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from protok import _core
from protok.errors import InputError, ProtokError

if TYPE_CHECKING:
    from protok.sources import Found

__all__ = ["load", "user_folder"]

# Of all snapshots together; the oldest go first.
MOST_BYTES = 1 << 30
# What a process that ended in the middle left behind.
STALE_SECONDS = 24 * 60 * 60

Made = TypeVar("Made", bound=_core.Tokenizer)


def load(
    make: Callable[..., Made],
    found: Found,
    options: Mapping[str, Any],
    sizes: Mapping[str, int],
    folder: Path,
) -> Made:
    """Return what ``make`` makes of the files, from a snapshot if there is one; else leave one.

    ``options`` decide the tokenizer, ``sizes`` do not.
    """
    usable = _prepare(folder)
    if usable and (tok := _find(make, found, options, sizes, folder)) is not None:
        return tok
    files = found.read().files
    tok = make(files, **options, **sizes)
    if usable:
        # Of what was read, which need not be what was there a moment ago.
        key = _core.snapshot_key(files, **options)
        with suppress(OSError, ProtokError):
            _write(folder, _name(key), _core.write_snapshot(tok, key))
    return tok


def user_folder() -> Path:
    """Return the folder of snapshots in the user's cache."""
    home = Path.home()
    if sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        cache = home / "Library" / "Caches"
    else:
        # The specification has names that are not absolute passed over.
        named = Path(os.environ.get("XDG_CACHE_HOME", ""))
        cache = named if named.is_absolute() else home / ".cache"
    return cache / "protok" / "snapshots"


def _prepare(folder: Path) -> bool:
    """Create the folder if need be; False if there is none to use."""
    try:
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700)
        status = folder.stat()
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        return False
    if not _is_ours(status):
        raise InputError(
            location=str(folder),
            what="Other users can write to the folder of snapshots, and so choose the tokenizer.",
            hint="Let its owner alone write there (chmod 700), or name another folder.",
            value=str(folder),
        )
    return True


def _is_ours(status: os.stat_result) -> bool:
    """Whether nobody can write there but this user, and root, who can write anywhere."""
    if sys.platform == "win32":  # where the user's folders are the user's
        return True
    return status.st_uid in {0, os.geteuid()} and not status.st_mode & 0o022


def _name(key: bytes) -> str:
    return f"{key.hex()}.snapshot"


def _find(
    make: Callable[..., Made],
    found: Found,
    options: Mapping[str, Any],
    sizes: Mapping[str, int],
    folder: Path,
) -> Made | None:
    files = {
        name: file if isinstance(file, bytes) else os.fspath(file)
        for name, file in found.files.items()
    }
    # A file that cannot be read is for whoever reads it to tell; a snapshot that cannot be used
    # was cut off, is another release's, or no snapshot.
    with suppress(OSError, ProtokError):
        key = _core.snapshot_key(files, **options)
        if (data := _read(folder / _name(key))) is not None:
            control = options.get("control_tokens")
            return make({}, control_tokens=control, snapshot=(key, data), **sizes)
    return None


def _read(path: Path) -> bytes | None:
    """Read a file of ours; None for whatever else is there."""
    flags = os.O_RDONLY
    for name in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"):
        flags |= getattr(os, name, 0)
    with os.fdopen(os.open(path, flags), "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or not _is_ours(status):
            return None
        return file.read() if status.st_size <= MOST_BYTES else None


def _write(folder: Path, name: str, data: bytes) -> None:
    temporary = folder / f".{name}.{os.urandom(8).hex()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(data)
        temporary.replace(folder / name)
    finally:
        temporary.unlink(missing_ok=True)
    _make_room(folder, name)


def _make_room(folder: Path, kept: str) -> None:
    """Delete the snapshots that were written first until all take no more than they may."""
    snapshots: list[tuple[float, int, Path]] = []
    for path in folder.iterdir():
        with suppress(OSError):  # another process may have deleted it
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode):
                continue
            if path.suffix == ".snapshot":
                snapshots.append((status.st_mtime, status.st_size, path))
            elif path.suffix == ".tmp" and time.time() - status.st_mtime > STALE_SECONDS:
                path.unlink()
    total = sum(size for _, size, _ in snapshots)
    for _, size, path in sorted(snapshots):
        if total <= MOST_BYTES:
            return
        if path.name != kept:
            with suppress(OSError):
                path.unlink()
            total -= size
