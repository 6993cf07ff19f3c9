"""``protok inspect``: one screen about a tokenizer."""

from __future__ import annotations

import json as json_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from protok.cli.terminal import (
    DEFAULT_SOURCE,
    AsLoadedByOption,
    JsonOption,
    load,
    print_json,
)

if TYPE_CHECKING:
    from protok.tokenizer import Tokenizer

SHOWN = 6


def run(
    source: Annotated[str, typer.Argument(help="Any source that protok.load takes.")] = (
        DEFAULT_SOURCE
    ),
    as_loaded_by: AsLoadedByOption = None,
    json: JsonOption = False,
) -> None:
    """Show what a tokenizer is made of."""
    tok = load(source, as_loaded_by, warn=False)
    if json:
        print_json(report(tok, source))
        return
    Console(highlight=False).print(picture(tok, source))


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
        "contradictions": [
            {
                "option": found.option,
                "component": found.component,
                "file": found.file,
                "transformers": found.transformers,
            }
            for found in tok.contradictions
        ],
        "warnings": tok.warnings,
    }


def picture(tok: Tokenizer, source: str) -> Table:
    """Lay it out as two columns: a name, and what it holds; the stages in a text's order."""
    description = json_module.loads(tok.describe())
    spec = tok.spec
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")

    def row(name: str, value: str) -> None:
        table.add_row(name, Text(value))

    row("source", source)
    row("format", f"{description['format']}, semantics {spec.semantics}")
    row("files", ", ".join(name for name, _ in description["sources"]))
    row("vocabulary", f"{len(tok.vocab):,} tokens, ids below {tok.vocab.size:,}")
    table.add_section()
    row("added tokens", f"{len(spec.added_tokens):,}")
    for name, stage in spec.stages.items():
        steps = (stage.parts or (stage,)) if stage else ()
        row(name.replace("_", "-"), "\n".join(map(str, steps)) or "none")
    row("pattern engines", _some(description["pattern_engines"]))
    table.add_section()
    row("special tokens", _some([f"{name} {id}" for name, id in tok.special_tokens.items()]))
    row("control tokens", _control(tok))
    row("roles", _some([f"{role} = {token}" for role, token in tok.roles.items()]))
    row("chat templates", _some(description["chat_templates"]))
    row("unicode", ", ".join(f"{name} {version}" for name, version in description["unicode"]))
    row("fingerprint", tok.fingerprint)
    for found in tok.contradictions:
        table.add_row("contradiction", Text(str(found)), style="yellow")
    for warning in tok.warnings:
        table.add_row("warning", Text(warning), style="yellow")
    return table


def _control(tok: Tokenizer) -> str:
    """Group the control tokens by the reason why they are."""
    reasons: dict[str, list[str]] = {}
    for token in tok.control_tokens:
        reasons.setdefault(token.reason, []).append(token.content)
    lines = (f"{len(names):,} {reason}: {_some(names)}" for reason, names in reasons.items())
    return "\n".join(lines) or "none"


def _some(items: list[str]) -> str:
    if not items:
        return "none"
    rest = f", and {len(items) - SHOWN:,} more" if len(items) > SHOWN else ""
    return ", ".join(items[:SHOWN]) + rest
