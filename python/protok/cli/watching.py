"""Progress of a training: bytes counted, then tokens learned, each with its estimated end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from protok.cli.terminal import PROGRESS_AFTER_SECONDS

LABELS = {"count": "counting", "learn": "learning"}


@contextmanager
def watching(vocab_size: int) -> Iterator[Callable[[str, int, int], object] | None]:
    """Show a bar for each phase once a second has passed; nothing where nobody looks."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import (  # noqa: PLC0415  (slow to import)
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    start = time.monotonic()
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, Any] = {}

    def watch(phase: str, done: int, total: int) -> None:
        if time.monotonic() - start < PROGRESS_AFTER_SECONDS:
            return
        if phase == "learn":
            done, total = total, vocab_size
        if phase not in tasks:
            for task in tasks.values():
                progress.remove_task(task)
            tasks.clear()
            tasks[phase] = progress.add_task(LABELS.get(phase, phase), total=total or None)
            progress.start()
        progress.update(tasks[phase], completed=done)

    try:
        yield watch
    finally:
        progress.stop()
