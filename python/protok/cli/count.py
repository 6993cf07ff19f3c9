"""``protok count``: how many tokens texts have, where they go, and what they cost."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Any, Literal

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
from protok.errors import InputError

SHOWN = 48


def run(
    texts: Annotated[
        list[str] | None, typer.Argument(help="Texts, or - for standard input.")
    ] = None,
    tokenizer: TokenizerOption = DEFAULT_SOURCE,
    as_loaded_by: AsLoadedByOption = None,
    files: Annotated[bool, typer.Option("--files", help="The arguments are files.")] = False,
    by: Annotated[
        Literal["line", "section", "message", "kind"] | None,
        typer.Option(help="Say where the tokens go; messages are JSON."),
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option(help="A JSON file: the price of a million tokens for each model."),
    ] = None,
    context: Annotated[
        int | None, typer.Option(min=1, help="The size of the window, to show shares of it.")
    ] = None,
    calibrate: Annotated[
        Path | None,
        typer.Option(help="A JSON lines file of what an API counted for the same requests."),
    ] = None,
    special: SpecialOption = "text",
    json: JsonOption = False,
) -> None:
    """Count the tokens of texts, or of files."""
    if not texts and calibrate is None:
        raise typer.BadParameter("There is nothing to count: pass texts, or - to read them.")
    tok = load(tokenizer, as_loaded_by)
    if calibrate is not None:
        from protok.cli.calibrate import show  # noqa: PLC0415  (only needed here)

        show(tok, calibrate, as_json=json)
        return
    arguments = texts or []
    read = [_read(argument, files=files) for argument in arguments]
    if by is not None:
        from protok.cli.where import show as show_where  # noqa: PLC0415  (only needed here)

        for argument, data in zip(arguments, read, strict=True):
            show_where(tok, argument, data, by=by, special=special, as_json=json)
        return
    rows: list[dict[str, Any]] = []
    table_of_prices = _prices(prices)
    for argument, data in track(zip(arguments, read, strict=True), total=len(read), label="count"):
        tokens = tok.count(data, special=special)
        row: dict[str, Any] = {"source": argument, "tokens": tokens, "bytes": len(data)}
        rows.append(row | _costs(tokens, context, table_of_prices))
    tokens, size = (sum(int(row[key]) for row in rows) for key in ("tokens", "bytes"))
    total = {"tokens": tokens, "bytes": size} | _costs(tokens, context, table_of_prices)
    if json:
        print_json({"total": total, "items": rows})
        return
    table = Table(box=None, show_footer=len(rows) > 1, pad_edge=False)
    table.add_column("tokens", f"{tokens:,}", justify="right")
    table.add_column("bytes", f"{size:,}", justify="right")
    table.add_column("bytes a token", _ratio(size, tokens), justify="right")
    if len(rows) > 1:
        # The same text in several languages: how much more of it one needs than the first.
        table.add_column("to the first", "", justify="right")
    for name, shown in _cost_columns(total):
        table.add_column(name, shown, justify="right")
    table.add_column("file" if files else "text", "total", overflow="ellipsis", no_wrap=True)
    for row in rows:
        count, length = int(row["tokens"]), int(row["bytes"])
        name = str(row["source"]) if files else visible(str(row["source"]).encode()[: SHOWN * 4])
        name = name if files or len(name) <= SHOWN else name[: SHOWN - 1] + "…"
        first = [_ratio(count, int(rows[0]["tokens"]))] if len(rows) > 1 else []
        costs = [shown for _, shown in _cost_columns(row)]
        table.add_row(f"{count:,}", f"{length:,}", _ratio(length, count), *first, *costs, name)
    Console(highlight=False).print(table)


def _read(argument: str, *, files: bool) -> bytes:
    data = read_path(Path(argument)) if files else read_argument(argument)
    return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data


def _prices(path: Path | None) -> dict[str, float]:
    if path is None:
        return {}
    try:
        prices = json_module.loads(read_path(path))
    except ValueError as error:
        raise InputError(
            what=f"The prices are no JSON: {error}.", location=str(path), hint="See docs/guides."
        ) from error
    if not isinstance(prices, dict) or not all(
        isinstance(price, (int, float)) and not isinstance(price, bool) for price in prices.values()
    ):
        raise InputError(
            what="The prices are no table.",
            location=str(path),
            hint='Write {"model": 1.25}: the price of a million tokens.',
        )
    return {str(name): float(price) for name, price in prices.items()}


def _costs(tokens: int, context: int | None, prices: dict[str, float]) -> dict[str, Any]:
    costs: dict[str, Any] = {}
    if context is not None:
        costs["share"] = tokens / context
    if prices:
        costs["prices"] = {name: tokens * price / 1_000_000 for name, price in prices.items()}
    return costs


def _cost_columns(row: dict[str, Any]) -> list[tuple[str, str]]:
    columns = []
    if "share" in row:
        columns.append(("of the window", f"{row['share']:.1%}"))
    columns += [(name, f"{price:.6f}") for name, price in row.get("prices", {}).items()]
    return columns


def _ratio(size: int, tokens: int) -> str:
    return f"{size / tokens:.2f}" if tokens else "-"
