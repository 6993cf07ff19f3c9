"""``protok inspect``: one screen about a tokenizer."""

from __future__ import annotations

import json as json_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from protok.cli.terminal import DEFAULT_SOURCE, JsonOption, load, print_json

if TYPE_CHECKING:
    from protok.tokenizer import Tokenizer

SHOWN = 6


def run(
    source: Annotated[str, typer.Argument(help="Any source that protok.load takes.")] = (
        DEFAULT_SOURCE
    ),
    json: JsonOption = False,
) -> None:
    """Show what a tokenizer is made of."""
    tok = load(source)
    if json:
        print_json(report(tok, source))
        return
    console = Console(highlight=False)
    console.print(picture(tok, source))
    for warning in tok.warnings:
        console.print(f"! {warning}", style="yellow", markup=False)


def report(tok: Tokenizer, source: str) -> dict[str, Any]:
    """Say the same for machines."""
    return {
        "source": source,
        "description": json_module.loads(tok.describe()),
        "vocabulary": len(tok.vocab),
        "size": tok.vocab.size,
        "special_tokens": tok.special_tokens,
        "control_tokens": [
            {"id": token.id, "content": token.content, "reason": token.reason}
            for token in tok.control_tokens
        ],
        "roles": tok.roles,
        "fingerprint": tok.fingerprint,
        "warnings": tok.warnings,
    }


def picture(tok: Tokenizer, source: str) -> Table:
    """Lay it out as two columns: a name, and what it holds."""
    description = json_module.loads(tok.describe())
    spec = tok.spec
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")

    def row(name: str, value: str) -> None:
        table.add_row(name, Text(value))

    row("source", source)
    for name in ("format", "family"):
        if description.get(name):
            row(name, str(description[name]))
    row("semantics", spec.semantics)
    row("vocabulary", f"{len(tok.vocab):,} tokens, ids below {tok.vocab.size:,}")
    row("added tokens", f"{len(spec.added_tokens):,}")
    for name, stage in spec.stages.items():
        row(name.replace("_", " "), str(stage) if stage else "none")
    row("special tokens", _some([f"{name} {id}" for name, id in tok.special_tokens.items()]))
    row("control tokens", _some([f"{t.content} ({t.reason})" for t in tok.control_tokens]))
    row("roles", _some([f"{role} = {token}" for role, token in tok.roles.items()]))
    row("fingerprint", tok.fingerprint)
    return table


def _some(items: list[str]) -> str:
    if not items:
        return "none"
    rest = f", and {len(items) - SHOWN:,} more" if len(items) > SHOWN else ""
    return ", ".join(items[:SHOWN]) + rest
