"""``protok count``: how many tokens texts have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from protok.cli.encode import visible
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
    track,
)

SHOWN = 48


def run(
    texts: Annotated[list[str], typer.Argument(help="Texts, or - for standard input.")],
    tokenizer: TokenizerOption = DEFAULT_SOURCE,
    as_loaded_by: AsLoadedByOption = None,
    files: Annotated[bool, typer.Option("--files", help="The arguments are files.")] = False,
    special: SpecialOption = "text",
    json: JsonOption = False,
) -> None:
    """Count the tokens of texts, or of files."""
    tok = load(tokenizer, as_loaded_by)
    rows = []
    for argument in track(texts, total=len(texts), label="count"):
        data = read_path(Path(argument)) if files else read_argument(argument)
        data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        tokens = tok.count(data, special=special)
        rows.append({"source": argument, "tokens": tokens, "bytes": len(data)})
    tokens, size = (sum(int(str(row[key])) for row in rows) for key in ("tokens", "bytes"))
    if json:
        print_json({"total": {"tokens": tokens, "bytes": size}, "items": rows})
        return
    table = Table(box=None, show_footer=len(rows) > 1, pad_edge=False)
    table.add_column("tokens", f"{tokens:,}", justify="right")
    table.add_column("bytes", f"{size:,}", justify="right")
    table.add_column("bytes a token", _ratio(size, tokens), justify="right")
    table.add_column("file" if files else "text", "total", overflow="ellipsis", no_wrap=True)
    for row in rows:
        count, length = int(str(row["tokens"])), int(str(row["bytes"]))
        name = str(row["source"]) if files else visible(str(row["source"]).encode()[: SHOWN * 4])
        name = name if files or len(name) <= SHOWN else name[: SHOWN - 1] + "…"
        table.add_row(f"{count:,}", f"{length:,}", _ratio(length, count), name)
    Console(highlight=False).print(table)


def _ratio(size: int, tokens: int) -> str:
    return f"{size / tokens:.2f}" if tokens else "-"
