"""``protok train``: a recipe and a corpus become a tokenizer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from protok.cli.terminal import JsonOption, print_json
from protok.cli.watching import watching
from protok.errors import InputError

if TYPE_CHECKING:
    from protok.corpus import Source
    from protok.training import Recipe

Arguments = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[RECIPE.toml] [FILES]...",
        help="A recipe, and files of text or counts in place of its corpus.",
    ),
]
PresetOption = Annotated[
    str | None, typer.Option("--preset", help="A well-known tokenizer in place of a recipe.")
]
ThreadsOption = Annotated[
    int | None, typer.Option(min=1, help="By default the cores that there are.")
]
MemoryOption = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="The most memory for counting, such as 500M or 2G."),
]


def run(
    arguments: Arguments = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="The folder to write.")
    ] = None,
    preset: PresetOption = None,
    vocab_size: Annotated[
        int | None, typer.Option(min=1, help="The number of tokens in all.")
    ] = None,
    held_out: Annotated[
        float | None, typer.Option(help="The share of documents to measure on, such as 0.01.")
    ] = None,
    threads: ThreadsOption = None,
    memory: MemoryOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and check the files.")
    ] = False,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Show the first merges, and write nothing.")
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="With --steps: all pairs that competed.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Train a tokenizer: by a recipe, or by a preset and files."""
    recipe, base, files = read_arguments(arguments or [], preset)
    changed: dict[str, Any] = {"vocab_size": vocab_size, "held_out": held_out}
    recipe = replace(recipe, **{k: v for k, v in changed.items() if v is not None})
    corpus = sources(recipe, base, files)
    if trace and steps is None:
        raise typer.BadParameter("--trace shows steps: say how many with --steps.")
    if dry_run:
        from protok.cli.training_screen import show_plan  # noqa: PLC0415  (loads the engine)

        show_plan(recipe, corpus, as_json=json)
        return
    if steps is not None:
        from protok.cli.training_screen import show_steps  # noqa: PLC0415

        show_steps(recipe, corpus, steps, trace=trace, as_json=json)
        return
    if output is None:
        raise typer.BadParameter("Say where to write the tokenizer: -o DIR.")
    _refuse_existing(output)
    from protok.cli.training_screen import show_result  # noqa: PLC0415
    from protok.training import run as run_training  # noqa: PLC0415

    # Unigram removes pieces until so many are left: there is no share of that to show.
    with watching(0 if recipe.model == "unigram" else recipe.vocab_size or 0) as watch:
        training = run_training(
            recipe,
            corpus,
            threads=threads,
            watch=watch,
            memory_bytes=size_of(memory),
            spill_folder=output.parent,
        )
    training.save(output)
    if json:
        report = training.report().to_dict()
        del report["entries"]
        print_json({"output": str(output), "provenance": training.provenance, "report": report})
        return
    show_result(Console(highlight=False), training, output)


def read_arguments(arguments: list[Path], preset: str | None) -> tuple[Recipe, Path, list[Path]]:
    """Return the recipe, the folder its names are relative to, and the files after it."""
    from protok.training import preset as preset_recipe  # noqa: PLC0415  (loads the engine)
    from protok.training.recipe_file import read_recipe  # noqa: PLC0415

    if preset is not None:
        return preset_recipe(preset), Path(), arguments
    if not arguments or arguments[0].suffix != ".toml":
        raise typer.BadParameter("Give a recipe (RECIPE.toml) or --preset NAME, then files.")
    return read_recipe(arguments[0]), arguments[0].parent, arguments[1:]


def sources(recipe: Recipe, base: Path, files: list[Path]) -> list[Source] | None:
    """Give the corpus: the files of the command line, or those of the recipe."""
    from protok.corpus import Source, expand  # noqa: PLC0415  (loads the engine)

    if recipe.model == "byte" or recipe.tokens:
        return None
    entries = recipe.sources
    if files:
        # The files are read as the recipe's are, if it says one way for all.
        how = {replace(entry, files=()) for entry in entries}
        as_recipe = how.pop() if len(how) == 1 else Source()
        return [replace(as_recipe, files=tuple(str(path) for path in files))]
    if not entries:
        raise InputError(
            what="There is nothing to train on: the recipe has no corpus.",
            location="corpus",
            hint="Give files after the recipe, or a [[corpus]] in it.",
        )
    return [
        replace(entry, files=tuple(str(path) for path in expand(entry, base))) for entry in entries
    ]


def size_of(text: str | None) -> int | None:
    """Read a size such as ``500M``."""
    if text is None:
        return None
    units = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
    number = text.upper().removesuffix("B")
    unit = number[-1:] if number[-1:] in units else ""
    try:
        return int(float(number.removesuffix(unit) if unit else number) * units[unit])
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"{text!r} is no size: write 500M or 2G.") from None


def _refuse_existing(output: Path) -> None:
    """Refuse a folder in which files of another training would be mixed with these."""
    if output.is_file() or (output.is_dir() and any(output.iterdir())):
        raise InputError(
            location=str(output),
            what="There is something at this place already.",
            hint="Give the name of a new folder, or remove that one.",
            value=str(output),
        )
