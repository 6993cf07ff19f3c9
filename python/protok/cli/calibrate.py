"""``protok count --calibrate``: own counts beside those of an API."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from protok.budget.calibration import calibrate, read_usage
from protok.cli.terminal import print_json, read_path
from protok.errors import InputError

if TYPE_CHECKING:
    from protok.tokenizer import Tokenizer


def show(tok: Tokenizer, path: Path, *, as_json: bool) -> None:
    """Print how the counts of each model compare."""
    try:
        text = read_path(path).decode()
    except UnicodeDecodeError as error:
        raise InputError(
            what=f"The file is not UTF-8: byte {error.start} is wrong.",
            location=str(path),
            position=error.start,
        ) from error
    found = calibrate(tok, read_usage(text.split("\n"), str(path)))
    if as_json:
        print_json({"models": [asdict(model) for model in found]})
        return
    table = Table(box=None, pad_edge=False)
    for name in ("requests", "equal", "counted", "reported"):
        table.add_column(name, justify="right")
    table.add_column("model")
    table.add_column("what it looks like", overflow="fold")
    for model in found:
        numbers = (model.requests, model.exact, model.counted, model.reported)
        looks = model.verdict if model.verdict == "equal" else f"{model.verdict}: {model.detail}"
        table.add_row(*(f"{number:,}" for number in numbers), model.model, looks)
    Console(highlight=False).print(table)
