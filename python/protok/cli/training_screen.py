"""What ``protok train`` shows: the plan, the steps, and the summary to be read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.columns import Columns
from rich.console import Console
from rich.table import Table
from rich.text import Text

from protok.cli.encode import visible
from protok.cli.terminal import print_json
from protok.corpus import Source, expand
from protok.training import Training, run, to_toml
from protok.training.recipe import Recipe, checked
from protok.training.steps import Step, steps

FIRST = 50
ODD = 8
PAIRS = 200  # of a step
WIDEST = 28


def show_plan(recipe: Recipe, corpus: Sequence[Source] | None, *, as_json: bool) -> None:
    """Say what would be trained on what, without reading any text."""
    checked(recipe)
    files = [(path, path.stat().st_size) for entry in corpus or () for path in expand(entry, "")]
    if as_json:
        listed = [{"file": str(path), "bytes": size} for path, size in files]
        print_json({"recipe": to_toml(recipe), "files": listed})
        return
    console = Console(highlight=False)
    console.print(to_toml(recipe).strip(), markup=False)
    if not files:
        return
    table = Table(box=None, pad_edge=False, show_footer=len(files) > 1)
    table.add_column("bytes", f"{sum(size for _, size in files):,}", justify="right")
    table.add_column("file", f"{len(files):,} files", overflow="fold")
    for path, size in files:
        table.add_row(f"{size:,}", Text(str(path)))
    console.print()
    console.print(table)


# -- steps --------------------------------------------------------------------------------------


def show_steps(
    recipe: Recipe,
    corpus: Sequence[Source] | None,
    number: int,
    *,
    trace: bool,
    as_json: bool,
) -> None:
    """Show the first merges: with ``trace``, all pairs that competed at each."""
    from dataclasses import replace  # noqa: PLC0415  (only needed here)

    training = run(replace(recipe, fewer="accept"), corpus, listed_ties=PAIRS)
    recounted = list(steps(training, number))
    if as_json:
        print_json({"steps": [_step_data(step, trace=trace) for step in recounted]})
        return
    console = Console(highlight=False)
    if not recounted:
        console.print(f"A {recipe.model} model learns no merges.")
        return
    likelihood = recipe.model == "wordpiece" and recipe.scoring == "likelihood"
    for index, step in enumerate(recounted, 1):
        _show_step(console, index, step, trace=trace, likelihood=likelihood)


def _show_step(console: Console, index: int, step: Step, *, trace: bool, likelihood: bool) -> None:
    merge = step.merge
    line = Text(f"{index:>4}  ")
    line.append(f"{_seen(merge.left)} + {_seen(merge.right)}", style="bold")
    line.append(f"  {merge.count:,} times; {step.tokens_before:,} → {merge.tokens_after:,} tokens")
    if merge.ties:
        line.append(f"; as good: {', '.join(f'{_seen(a)} + {_seen(b)}' for a, b in merge.ties)}")
    for token, parts in merge.removed:
        line.append(f"; removed: {_seen(token)} → {' '.join(map(_seen, parts))}")
    console.print(line)
    if not trace:
        return
    pairs = step.pairs
    if likelihood:
        pairs = tuple(sorted(pairs, key=lambda item: -step.score(item[0])))
    shown: list[Text] = []
    for pair, count in pairs[:PAIRS]:
        chosen = pair == (merge.left, merge.right)
        text = f"{_seen(pair[0])} + {_seen(pair[1])}  {count:,}"
        if likelihood:
            a, b = step.parts[pair[0]], step.parts[pair[1]]
            text += f" / ({a:,} · {b:,}) = {step.score(pair):.4f}"
        shown.append(Text(text, style="bold green" if chosen else ""))
    console.print(_indented(shown, console.width))
    if len(pairs) > PAIRS:
        console.print(f"      and {len(pairs) - PAIRS:,} more pairs")
    words = [
        Text(f"{' '.join(map(_seen, symbols))}  ·{count:,}") for symbols, count in step.words[:12]
    ]
    console.print(_indented(words, console.width, style="dim"))


def _indented(cells: Iterable[Text], width: int, style: str = "") -> Table:
    """Lay cells out in columns, some way in."""
    table = Table.grid(padding=0)
    table.add_column(width=6)
    table.add_column(width=max(width - 6, 20), style=style)
    table.add_row("", Columns(cells, padding=(0, 3)))
    return table


def _step_data(step: Step, *, trace: bool) -> dict[str, Any]:
    merge = step.merge
    data: dict[str, Any] = {
        "pair": [merge.left, merge.right],
        "count": merge.count,
        "tied_with": [list(pair) for pair in merge.ties],
        "tokens_before": step.tokens_before,
        "tokens_after": merge.tokens_after,
    }
    if merge.removed:
        data["removed"] = {token: list(parts) for token, parts in merge.removed}
    if trace:
        data["pairs"] = [
            {"pair": list(pair), "count": count, "score": step.score(pair)}
            for pair, count in step.pairs
        ]
        data["words"] = [{"symbols": list(s), "count": count} for s, count in step.words]
    return data


def _seen(token: str) -> str:
    """Spell a token so that blanks and controls are seen."""
    return visible(token.encode()).replace(" ", "␣")


# -- the summary --------------------------------------------------------------------------------


def show_result(console: Console, training: Training, output: Path) -> None:
    """Show what was learned, from what, what is odd about it, and where it is."""
    report = training.report()
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    control = len(training.recipe.first_tokens) + len(training.recipe.last_tokens)
    learned = f"{len(training.merges):,} merges" if training.merges else ""
    if removed := sum(len(merge.removed) for merge in training.merges):
        learned += f", {_many(removed, 'removal')}"
    learned = learned or (f"{len(report.first):,} pieces" if training.learned.pieces else "")
    parts = [f"{report.tokens:,} tokens", f"{control:,} of them control tokens", learned]
    rows = [("tokenizer", ", ".join(filter(None, [training.recipe.model, *parts])))]
    if training.counted is not None:
        corpus = training.provenance["corpus"]
        sources = len(corpus["sources"])
        rows.append(
            (
                "corpus",
                (
                    f"{_many(sources, 'source')}, {_many(corpus['documents'], 'document')}, "
                    f"{corpus['words']:,} words, {corpus['distinct_words']:,} of them distinct"
                ),
            )
        )
        invalid = sum(source.get("invalid", 0) for source in corpus["sources"])
        if invalid:
            rows.append(("not UTF-8", f"{invalid:,} documents, replaced or left out"))
    if report.training is not None:
        measured = report.training
        rows.append(
            (
                "trained on",
                f"{measured.bytes_per_token:.3f} bytes a token, {measured.tokens:,} tokens",
            )
        )
    if report.held_out is not None:
        measured = report.held_out
        number, other = report.round_trip
        rows.append(
            (
                "held out",
                (
                    f"{measured.bytes_per_token:.3f} bytes a token, {measured.tokens:,} tokens "
                    f"in {number:,} documents"
                ),
            )
        )
        verdict = "every document comes back" if not other else f"{len(other):,} or more do not"
        rows.append(("round trip", f"{report.contract}; {verdict}"))
    else:
        rows.append(("held out", "nothing: --held-out 0.01 measures on text that was not seen"))
        rows.append(("round trip", report.contract))
    if report.refused:
        rows.append(("refused", f"{report.refused:,} words that the vocabulary cannot spell"))
    for name, value in rows:
        table.add_row(name, Text(value))
    console.print(table)
    _show_first(console, training, report.first)
    if report.odd:
        console.print("\nworth a look", style="bold")
        odd = Table(box=None, show_header=False, pad_edge=False)
        odd.add_column(justify="right", no_wrap=True)
        odd.add_column(no_wrap=True)
        odd.add_column(overflow="ellipsis", no_wrap=True)
        for name, entries in report.odd.items():
            names = "  ".join(_cut(_seen(token)) for _, token in entries[:ODD])
            odd.add_row(f"{len(entries):,}", name, Text(names))
        console.print(odd)
    console.print(Text(f"\nwritten to {output}; counts of all entries: {output / 'report.json'}"))


def _show_first(console: Console, training: Training, first: Sequence[tuple[str, float]]) -> None:
    if not first:
        return
    merges = bool(training.merges)
    title = f"first {len(first)} merges" if merges else f"top {len(first)} pieces"
    console.print(f"\n{title}", style="bold")
    cells = []
    for text, value in first[:FIRST]:
        number = f"{int(value):,}" if merges else f"{value:.3f}"
        cell = Text(_cut(_seen(text) if not merges else text) + "  ")
        cell.append(number, style="dim")
        cells.append(cell)
    console.print(Columns(cells, padding=(0, 3), column_first=True))


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"
