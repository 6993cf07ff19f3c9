"""``protok convert``: an artifact in another format, checked before it counts."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from protok.cli.terminal import JsonOption, print_json
from protok.errors import VerificationError

if TYPE_CHECKING:
    from protok.conversion import Conversion


def run(
    source: Annotated[str, typer.Argument(help="Any source that protok.load takes.")],
    target: Annotated[str, typer.Argument(help="A folder, or the name of a tokenizer file.")],
    format: Annotated[
        Literal["huggingface", "sentencepiece", "tiktoken", "vocab.txt"] | None,
        typer.Option(help="By default the one that the target's name belongs to."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Convert an artifact, read the result again, and compare both before it is put in place."""
    from protok.conversion import convert  # noqa: PLC0415  (loads the engine)

    try:
        done = convert(source, target, format=format)
    except VerificationError as error:
        if json:
            print_json(
                {
                    "verdict": "different",
                    "what": error.what,
                    "text": error.value,
                    "position": error.position,
                }
            )
        raise
    if json:
        print_json({"verdict": "equal", **asdict(done)})
        return
    Console(highlight=False).print(picture(done))


def picture(done: Conversion) -> Table:
    """Lay it out as two columns, as ``protok inspect`` does."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in (
        ("source", done.source),
        ("target", f"{done.target}, format {done.format}"),
        ("files", ", ".join(done.files)),
        ("compared", f"{done.texts:,} texts, {done.tokens:,} tokens"),
        ("verdict", "the same ids, the same decoded text"),
        ("fingerprint", done.fingerprint),
    ):
        table.add_row(name, Text(value))
    return table
