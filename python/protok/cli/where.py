"""``protok count --by``: where the tokens of a text go."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from protok.budget.where import Part, by_kind, by_line, by_message, by_section, largest
from protok.cli.encode import visible
from protok.cli.terminal import print_json
from protok.errors import InputError

if TYPE_CHECKING:
    from protok.tokenizer import Tokenizer

MOST = 40  # parts that are shown
SHOWN = 48  # characters of a line
BAR = 24

WAYS = {"line": by_line, "section": by_section, "kind": by_kind}


def show(tok: Tokenizer, source: str, data: bytes, *, by: str, special: str, as_json: bool) -> None:
    """Print a table, or one line of JSON."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            what=f"The text is not UTF-8: byte {error.start} is wrong.",
            location=source,
            position=error.start,
            hint="Count it without --by, or decode it first.",
        ) from error
    if by == "message":
        messages, options = _conversation(text, source)
        parts = by_message(tok, messages, **options)
    else:
        parts = WAYS[by](tok, text, special=special)
    total = sum(part.tokens for part in parts)
    if as_json:
        items = [
            {"name": part.name, "tokens": part.tokens, "characters": part.characters}
            for part in parts
        ]
        print_json({"source": source, "by": by, "tokens": total, "parts": items})
        return
    table = Table(box=None, pad_edge=False, show_footer=True)
    table.add_column("tokens", f"{total:,}", justify="right")
    table.add_column("share", "", justify="right")
    table.add_column("", "", width=BAR, no_wrap=True)
    table.add_column("characters", f"{sum(part.characters for part in parts):,}", justify="right")
    table.add_column(by, "total", overflow="ellipsis", no_wrap=True)
    shown = largest(parts, MOST)
    lines = text.split("\n") if by == "line" else []
    for part in shown:
        share = part.tokens / total if total else 0
        bar = Text("█" * round(share * BAR), style="cyan")
        table.add_row(
            f"{part.tokens:,}", f"{share:.1%}", bar, f"{part.characters:,}", _name(part, lines)
        )
    console = Console(highlight=False)
    console.print(table)
    if len(parts) > len(shown):
        console.print(f"{len(parts) - len(shown):,} smaller parts are not shown; --json has all.")


def _name(part: Part, lines: list[str]) -> Text:
    if not lines:
        return Text(part.name)
    line = visible(lines[int(part.name) - 1].encode()[: SHOWN * 4])
    return Text(f"{part.name:>5}  ").append(
        line if len(line) <= SHOWN else line[: SHOWN - 1] + "…", "dim"
    )


def _conversation(text: str, source: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Read messages, and tools beside them."""
    try:
        given = json.loads(text)
    except ValueError as error:
        raise InputError(
            what=f"The messages are no JSON: {error}.",
            location=source,
            hint='Pass [{"role": "user", "content": "..."}].',
        ) from error
    messages = given.get("messages") if isinstance(given, dict) else given
    if not isinstance(messages, list) or not all(isinstance(item, dict) for item in messages):
        raise InputError(
            what="The JSON holds no list of messages.",
            location=source,
            hint='Pass [{"role": "user", "content": "..."}], or that under "messages".',
        )
    options = {"tools": given["tools"]} if isinstance(given, dict) and "tools" in given else {}
    return messages, options
