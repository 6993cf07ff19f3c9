"""``protok count-words``: a corpus as counted words, to merge and to train from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from protok.cli.terminal import JsonOption, print_json
from protok.cli.train import (
    Arguments,
    MemoryOption,
    PresetOption,
    ThreadsOption,
    read_arguments,
    size_of,
    sources,
)
from protok.cli.watching import watching


def run(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")
    ],
    arguments: Arguments = None,
    preset: PresetOption = None,
    threads: ThreadsOption = None,
    memory: MemoryOption = None,
    json: JsonOption = False,
) -> None:
    """Count words for training; files of counts are merged, so machines can share the work."""
    recipe, base, files = read_arguments(arguments or [], preset)
    from protok.training import count_words  # noqa: PLC0415  (loads the engine)

    with watching(0) as watch:
        corpus = count_words(
            recipe,
            sources(recipe, base, files),
            output,
            threads=threads,
            memory_bytes=size_of(memory),
            watch=watch,
        )
    if json:
        print_json({"output": str(output), "corpus": corpus})
        return
    Console(highlight=False, soft_wrap=True).print(
        f"{output}: {corpus['words']:,} words, {corpus['distinct_words']:,} of them distinct, "
        f"from {corpus['documents']:,} documents of {len(corpus['sources']):,} sources",
        markup=False,
    )
