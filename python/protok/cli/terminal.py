"""What every verb shares: options, reading, printing, progress."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
from rich.console import Console

from protok.errors import ArtifactWarning, ProtokError, unreadable

if TYPE_CHECKING:
    from protok.tokenizer import Tokenizer

DEFAULT_SOURCE = "protok:demo"
PROGRESS_AFTER_SECONDS = 1.0

Item = TypeVar("Item")


TokenizerOption = Annotated[
    str,
    typer.Option("--tokenizer", "-m", metavar="SOURCE", help="Any source that protok.load takes."),
]
SpecialOption = Annotated[
    Literal["raise", "text", "parse"],
    typer.Option(help="A control token in the text: refuse it, read it as text, parse it."),
]
AsLoadedByOption = Annotated[
    Literal["transformers"] | None,
    typer.Option(help="Follow the configuration files as this library does."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def load(
    source: str,
    as_loaded_by: Literal["transformers"] | None = None,
    *,
    warn: bool = True,
) -> Tokenizer:
    """Load a tokenizer; the engine is imported here, so that --help does not wait for it."""
    from protok.tokenizer import load as load_source  # noqa: PLC0415

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ArtifactWarning)
        tok = load_source(source, as_loaded_by=as_loaded_by)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for warning in caught:
        if warn or not issubclass(warning.category, ArtifactWarning):
            console.print(f"protok: {warning.message}", markup=False, style="yellow")
    return tok


def read_argument(text: str) -> str | bytes:
    """Return an argument, or standard input for ``-``."""
    return sys.stdin.buffer.read() if text == "-" else text


def read_path(path: Path) -> bytes:
    """Read a whole file, or standard input for ``-``."""
    if str(path) == "-":
        return sys.stdin.buffer.read()
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error


def print_json(value: Any) -> None:
    """Print one line of JSON."""
    print(json.dumps(value, ensure_ascii=False))  # noqa: T201


def fail(error: ProtokError) -> None:
    """Say what happened, where, and what to do."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"protok: {error}", markup=False, style="red")


def track(items: Iterable[Item], *, total: int, label: str) -> Iterator[Item]:
    """Yield ``items``; at a terminal, show a progress bar once a second has passed."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.progress import Progress  # noqa: PLC0415  (slow to import)

    start = time.monotonic()
    progress: Progress | None = None
    try:
        for done, item in enumerate(items):
            if progress is None and time.monotonic() - start > PROGRESS_AFTER_SECONDS:
                progress = Progress(console=Console(stderr=True), transient=True)
                task = progress.add_task(label, total=total)
                progress.start()
            if progress is not None:
                progress.update(task, completed=done)
            yield item
    finally:
        if progress is not None:
            progress.stop()
