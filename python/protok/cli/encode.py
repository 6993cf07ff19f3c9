"""``protok encode``: a text as ids."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from protok.cli.terminal import (
    DEFAULT_SOURCE,
    AsLoadedByOption,
    JsonOption,
    SpecialOption,
    TokenizerOption,
    load,
    print_json,
    read_argument,
    read_path,
)
from protok.errors import InputError

if TYPE_CHECKING:
    from protok._core import Encoding
    from protok.tokenizer import Tokenizer

# Neighbouring pieces differ; the same four colours come round.
COLOURS = (
    "black on bright_cyan",
    "black on bright_yellow",
    "black on bright_green",
    "black on bright_magenta",
)
# Invisible, but it holds an emoji or a conjunct together; elsewhere it must show.
JOINER = re.compile("(?<=[^\\x00-\\x7f])\u200d(?=[^\\x00-\\x7f])")
SPECIAL_COLOUR = "bold white on red"
VISIBLE = str.maketrans({" ": "·", "\n": "⏎", "\r": "␍", "\t": "⇥"})


def run(
    text: Annotated[str | None, typer.Argument(help="The text, or - for standard input.")] = None,
    tokenizer: TokenizerOption = DEFAULT_SOURCE,
    as_loaded_by: AsLoadedByOption = None,
    file: Annotated[Path | None, typer.Option(help="Read the text from a file.")] = None,
    special: SpecialOption = "raise",
    special_tokens: Annotated[
        bool,
        typer.Option(
            "--special-tokens/--no-special-tokens", help="Add those of the artifact's template."
        ),
    ] = True,
    json: JsonOption = False,
) -> None:
    """Show how a text is cut into tokens, with the ids."""
    if (text is None) == (file is None):
        raise InputError(what="There is no one text.", hint="Give TEXT, - or --file PATH.")
    data = read_argument(text) if text is not None else read_path(file or Path())
    tok = load(tokenizer, as_loaded_by)
    encoding = tok.encode(data, add_special_tokens=special_tokens, special=special)
    if json:
        print_json(
            {
                "ids": encoding.tolist(),
                "tokens": encoding.tokens,
                "special_mask": [int(flag) for flag in encoding.special_mask],
            }
        )
        return
    console = Console(highlight=False, soft_wrap=True)
    for line in picture(tok, encoding, console):
        console.print(line)
    size = len(data.encode("utf-8", "surrogatepass")) if isinstance(data, str) else len(data)
    console.print(f"{len(encoding)} tokens, {size} bytes, {tokenizer}", style="dim")


def picture(tok: Tokenizer, encoding: Encoding, console: Console) -> list[Text]:
    """Draw the pieces with their ids beneath, in lines that fit the console."""
    special = set(tok.special_tokens.values())
    plain = console.no_color or not console.is_terminal
    gap = "│" if plain else " "
    lines: list[Text] = []
    pieces, ids, width = Text(), Text(), 0
    for index, id in enumerate(encoding):
        piece = visible(tok.decode_bytes([id])) or tok.vocab.token(id)
        cell = max(cell_len(piece), len(str(id)))
        if width and width + cell + 1 > console.width:
            lines += [pieces, ids]
            pieces, ids, width = Text(), Text(), 0
        style = SPECIAL_COLOUR if id in special else COLOURS[index % len(COLOURS)]
        padding = " " * (cell - cell_len(piece))
        pieces.append(piece, "" if plain else style).append(padding + gap)
        ids.append(str(id).ljust(cell), "" if plain else "dim").append(gap)
        width += cell + 1
    return [*lines, pieces, ids] if width else lines


def visible(data: bytes) -> str:
    """Spell a piece so that every character shows: blanks, controls and stray bytes too."""
    text = data.decode("utf-8", "backslashreplace").translate(VISIBLE)
    if len(text) > 1 and JOINER.sub("", text).isprintable():
        return text
    return "".join(char if char.isprintable() else f"\\u{{{ord(char):x}}}" for char in text)
