"""``protok trace``: every stage of a text, merge by merge."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from protok.cli.terminal import (
    DEFAULT_SOURCE,
    AsLoadedByOption,
    JsonOption,
    SpecialOption,
    TokenizerOption,
    load,
    print_json,
    read_argument,
)


def run(
    text: Annotated[str, typer.Argument(help="The text, or - for standard input.")],
    tokenizer: TokenizerOption = DEFAULT_SOURCE,
    as_loaded_by: AsLoadedByOption = None,
    special: SpecialOption = "raise",
    special_tokens: Annotated[
        bool,
        typer.Option(
            "--special-tokens/--no-special-tokens", help="Add those of the artifact's template."
        ),
    ] = True,
    json: JsonOption = False,
) -> None:
    """Show what every stage does to a text, from bytes to ids."""
    trace = load(tokenizer, as_loaded_by).trace(
        read_argument(text), add_special_tokens=special_tokens, special=special
    )
    if json:
        print_json(trace.to_dict())
        return
    # The trace is laid out already; only the stages' names are picked out.
    console = Console(highlight=False, soft_wrap=True)
    for line in str(trace).split("\n"):
        console.print(line, style="bold" if _is_heading(line) else "", markup=False, emoji=False)


def _is_heading(line: str) -> bool:
    return line.startswith(("section", "added token", "piece", "token"))
