"""The verbs together, and what an error looks like at a terminal."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from protok.cli import chat, convert, count, count_words, decode, encode, inspect, trace, train
from protok.cli.terminal import fail
from protok.errors import ProtokError, VerificationError

__all__ = ["app", "main"]

app = typer.Typer(
    name="protok",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Exact and fast tokenization, from the command line.",
)
app.command("encode")(encode.run)
app.command("decode")(decode.run)
app.command("count")(count.run)
app.command("inspect")(inspect.run)
app.command("trace")(trace.run)
app.command("chat")(chat.run)
app.command("convert")(convert.run)
app.command("train")(train.run)
app.command("count-words")(count_words.run)


def _version(wanted: bool) -> None:
    if wanted:
        from protok import __version__  # noqa: PLC0415  (loads the engine)

        typer.echo(f"protok {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    del version  # its callback has done the work


def main() -> None:
    """Run the command line; exit with 0, 1 (a check did not hold) or 2 (usage or input)."""
    try:
        app(prog_name="protok")
    except ProtokError as error:
        fail(error)
        raise SystemExit(1 if isinstance(error, VerificationError) else 2) from None
    except BrokenPipeError:
        # The reader has had enough. Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
