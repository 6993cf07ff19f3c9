"""``protok decode``: ids as a text."""

from __future__ import annotations

import re
import sys
from typing import Annotated, Literal

import typer

from protok.cli.terminal import (
    DEFAULT_SOURCE,
    AsLoadedByOption,
    JsonOption,
    TokenizerOption,
    load,
    print_json,
)
from protok.errors import InputError


def run(
    ids: Annotated[list[str], typer.Argument(help="The ids, or - for standard input.")],
    tokenizer: TokenizerOption = DEFAULT_SOURCE,
    as_loaded_by: AsLoadedByOption = None,
    skip_special_tokens: Annotated[
        bool, typer.Option("--skip-special-tokens", help="Leave special tokens out.")
    ] = False,
    errors: Annotated[
        Literal["replace", "strict", "reference"], typer.Option(help="Bytes that are not UTF-8.")
    ] = "replace",
    unknown: Annotated[
        Literal["raise", "skip"], typer.Option(help="Ids that the vocabulary lacks.")
    ] = "raise",
    clean_up_spaces: Annotated[
        bool,
        typer.Option("--clean-up-spaces", help="Tidy the blanks around English punctuation."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Turn ids back into text; a list in JSON or separated by blanks or commas will do."""
    words = sys.stdin.read() if ids == ["-"] else " ".join(ids)
    numbers = [_number(word, place) for place, word in enumerate(re.findall(r"[^\s,\[\]]+", words))]
    text = load(tokenizer, as_loaded_by).decode(
        numbers,
        skip_special_tokens=skip_special_tokens,
        errors=errors,
        unknown=unknown,
        clean_up_spaces=clean_up_spaces,
    )
    if json:
        print_json({"text": text, "ids": numbers})
        return
    # Exactly the text, so that a pipe gets back what was encoded; a terminal wants a line end.
    sys.stdout.buffer.write(text.encode() + (b"\n" if sys.stdout.isatty() else b""))
    sys.stdout.buffer.flush()


def _number(word: str, place: int) -> int:
    try:
        return int(word)
    except ValueError:
        raise InputError(
            location=f"item {place}",
            what=f"{word!r} is not an id.",
            hint="Give whole numbers.",
            position=place,
            value=word,
        ) from None
