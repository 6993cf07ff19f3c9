"""``protok inspect``: one screen about a tokenizer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from protok.cli.encode import visible
from protok.cli.terminal import (
    DEFAULT_SOURCE,
    AsLoadedByOption,
    JsonOption,
    load,
    print_json,
)

if TYPE_CHECKING:
    from protok.inspection import Contract, Inspection
    from protok.spec import Component, Spec

NAME = 15  # the widest name of a row, and a blank
BAR = 12
LINES = 2  # of a component
UNITS = ("bytes", "kB", "MB", "GB", "TB")
KINDS = {
    "whitespace_bound": "whitespace-bound words",
    "word_start": "full words, prefixes",
    "word_end": "full words, suffixes",
    "word": "full words",
    "continuation": "suffixes, continuations",
    "character": "single letters",
    "digits": "digits",
    "punctuation": "punctuation, symbols",
    "indentation": "indentation runs",
    "whitespace": "white space",
    "byte": "raw bytes",
    "fragment": "parts of characters",
    "added": "added tokens",
    "control": "control",
    "unused": "unused",
}
# What a kind is where the vocabulary marks the ends of words.
SUFFIXED = {**KINDS, "continuation": "prefixes, continuations", "character": "letters inside words"}
# The options that matter, where a component has others for another stage.
READ = {
    ("pre_tokenizer", "ByteLevel"): {"add_prefix_space", "use_regex"},
    ("post_processor", "ByteLevel"): {"trim_offsets"},
    ("post_processor", "TemplateProcessing"): {"single", "pair"},
    ("post_processor", "RobertaProcessing"): {"trim_offsets", "cls", "sep"},
    ("decoder", "ByteLevel"): set[str](),
    ("decoder", "Metaspace"): {"replacement", "prepend_scheme"},
}
ODDITIES = {
    "unreachable": "that the model never yields",
    "unseen": "that the stages before the model keep from it",
    "idle_bytes": "of bytes that no text yields",
    "never_matched": "added, but never matched",
    "markup": "shaped like markup, but not control",
    "control_pieces": "control, but also ordinary pieces",
}


def run(
    source: Annotated[str, typer.Argument(help="Any source that protok.load takes.")] = (
        DEFAULT_SOURCE
    ),
    width: Annotated[int, typer.Option(min=1, help="The width of the embedding.")] = 4096,
    dtype: Annotated[
        Literal["f64", "f32", "bf16", "f16", "f8", "i8"],
        typer.Option(help="The type of the embedding's numbers."),
    ] = "bf16",
    as_loaded_by: AsLoadedByOption = None,
    json: JsonOption = False,
) -> None:
    """Show what a tokenizer is made of, what it loses, and what is odd about it."""
    tok = load(source, as_loaded_by, warn=False)
    inspection = tok.inspect()
    size = inspection.embedding_bytes(width, dtype)
    if json:
        print_json(
            {
                "source": source,
                **inspection.to_dict(),
                "special_tokens": tok.special_tokens,
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
                "embedding": {"width": width, "dtype": dtype, "bytes": size},
            }
        )
        return
    console = Console(highlight=False)
    rows = f"{inspection.size:,} by {width:,} {dtype}"
    draw(console, source, inspection, tok.spec, f"{rows} = {_bytes(size)}")
    for found in tok.contradictions:
        console.print(Text(f"contradiction: {found}", style="yellow"))


def draw(console: Console, source: str, inspection: Inspection, spec: Spec, embedding: str) -> None:
    """Draw the screen."""
    about = inspection.description
    room = console.width - NAME

    def section(title: str, rows: Iterable[tuple[str, Text | str]]) -> None:
        console.print(Text(title, style="bold cyan"))
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column(style="bold", no_wrap=True, width=NAME - 1)
        table.add_column(overflow="fold")
        for name, value in rows:
            table.add_row(name, Text(value) if isinstance(value, str) else value)
        console.print(table)

    ids = "" if inspection.tokens == inspection.size else f", ids below {inspection.size:,}"
    title = f"{spec.model.type}, {inspection.tokens:,} tokens{ids}"
    console.print(Text(f"{source}  ", style="bold").append(title, "not bold"), soft_wrap=True)
    section("STAGES", _stages(about, spec, room))
    console.print(Text("VOCABULARY", style="bold cyan"))
    for line in _kinds(inspection, console.width):
        console.print(line, no_wrap=True)
    section("ROUND TRIP", _contract(inspection.contract, room))
    section("SPECIAL TOKENS", _special(inspection, room))
    section("SIZE", [("embedding", embedding), ("longest", _longest(inspection, room))])
    section("ODDITIES", _oddities(inspection, room))
    section("SOURCE", _source(about))
    for warning in inspection.warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))


def _source(about: dict[str, Any] | Any) -> Iterator[tuple[str, str]]:
    names = ", ".join(name for name, _ in about["sources"])
    yield "files", f"{names} ({about['format']}, semantics {about['semantics']})"
    versions = ((name, version.partition(".")[0]) for name, version in about["unicode"])
    yield "unicode", ", ".join(f"{name} {version}" for name, version in versions)
    yield "fingerprint", about["fingerprint"]


def _stages(about: Any, spec: Spec, room: int) -> Iterator[tuple[str, Text | str]]:
    """Show the stages in a text's order, each part of a sequence on a line of its own."""
    added = spec.added_tokens
    raw = sum(not token.normalized for token in added)
    where = {len(added): "in the text", 0: "in the normalized text"}.get(raw)
    where = where or f"{raw:,} in the text, {len(added) - raw:,} in the normalized text"
    yield "added tokens", f"{len(added):,}, searched for {where}" if added else "none"
    engines = list(about["pattern_engines"])
    for name, stage in spec.stages.items():
        parts = (stage.parts or (stage,)) if stage else ()
        label = name.replace("_", "-")
        if not parts or parts[0].type == "Sequence":  # an empty one
            yield label, "none"
            continue
        for part in parts:
            text = _component(part, READ.get((name, part.type)))
            if name == "model":
                text += _learned(about["model"])
            engine = ""
            if name == "pre_tokenizer" and _has_pattern(part) and engines:
                engine = f" [{engines.pop(0)}]"
            yield label, _clip(text, room - len(engine), LINES) + engine
            label = ""


def _has_pattern(component: Component) -> bool:
    return component.type in {"Split", "Digits"} or bool(component.options.get("use_regex"))


def _learned(model: Any) -> str:
    """Say how many merges there are, or what stands in for them."""
    match model.get("merges"):
        case {"pairs": pairs}:
            return f", {pairs:,} merges"
        case "by_rank":
            return ", merged by rank"
        case _:
            return ""


def _component(component: Component, read: set[str] | None = None) -> str:
    """Spell a component with the options that are set, or those of them that are read."""
    if component.parts:
        return " → ".join(map(_component, component.parts))
    options = []
    for name, value in component.options.items():
        unset = value is None or value is False or value in ("", [])
        if unset or name == "semantics" or (read is not None and name not in read):
            continue
        if value is True:
            options.append(name)
        elif name.endswith("charsmap"):
            options.append(f"{name} of {_bytes(len(value) * 3 // 4)}")
        elif name in {"cls", "sep"}:
            options.append(f"{name}={value[0]} {value[1]}")
        elif isinstance(value, list) and all(isinstance(item, str) for item in value):
            options.append(f"{len(value)} {name}")
        else:
            shown = type(component)(component.type, {name: value})
            options.append(str(shown)[len(component.type) + 1 : -1])
    return f"{component.type}({', '.join(options)})" if options else component.type


def _kinds(inspection: Inspection, width: int) -> Iterator[Text]:
    """Draw a bar for each kind, with as many examples as fit."""
    ends = inspection.description["model"].get("end_of_word_suffix")
    for kind, count in inspection.kinds.items():
        label = (SUFFIXED if ends else KINDS)[kind]
        share = count / inspection.tokens
        filled = max(1, round(share * BAR))
        head = f"{label:<24}{count:>8,} {share:>6.1%} "
        line = Text(head, style="bold").append("█" * filled, "not bold cyan")
        line.append(" " * (BAR - filled + 1))
        line.stylize("not bold", len(label))
        if kind == "indentation" and inspection.longest_indentation > 1:
            line.append(f"up to {inspection.longest_indentation} blanks: ", "dim")
        examples = (visible(text.encode()) for text in inspection.examples[kind])
        yield line.append(_fit(examples, width - cell_len(line.plain), "  "), "dim not bold")


def _contract(contract: Contract, room: int) -> Iterator[tuple[str, Text | str]]:
    proof = "by construction" if contract.by_construction else f"in {contract.probes} probes"
    normalized = ", ".join(contract.normalizations)
    match contract.verdict:
        case "lossless":
            verdict, style = f"lossless, {proof}", "green"
        case "normalized":
            verdict, style = f"lossless up to {normalized}, {proof}", "green"
        case "lossy":
            verdict, style = "lossy", "yellow"
    if contract.any_bytes:
        verdict += "; any bytes, not only text"
    yield "comes back", Text(verdict, style=style)
    if contract.verdict == "lossy" and normalized:
        yield "normalizer", _clip(f"rewrites for good: {normalized}", room, LINES)
    for loss in contract.losses:
        came = "refused" if loss.decoded is None else _quote(loss.decoded)
        yield loss.stage, _clip(f"{loss.cause}: {_quote(loss.text)} → {came}", room, LINES)


def _special(inspection: Inspection, room: int) -> Iterator[tuple[str, Text | str]]:
    roles = [f"{role} {token}" for role, token in inspection.roles.items()]
    if inspection.unknown and "unk" not in inspection.roles:
        roles.append(f"unk {inspection.unknown[1]}")
    yield "roles", _clip(", ".join(roles) or "none", room, LINES)
    if not inspection.control_tokens:
        yield "control tokens", "none"
    label = "control tokens"
    for reason, tokens in inspection.control_tokens.items():
        head = f"{len(tokens):,} {reason}: "
        names = (f"{token} {id}" for id, token in tokens)
        yield label, head + _fit(names, room * LINES - len(head) - room // 4, ", ")
        label = ""
    templates = inspection.description["chat_templates"]
    if templates:
        yield "chat templates", _fit(iter(templates), room, ", ")


def _longest(inspection: Inspection, room: int) -> str:
    if inspection.longest is None:
        return "none"
    id, text, size = inspection.longest
    return f"token {id} covers {size} bytes: {_short(visible(text.encode()), room - 36)}"


def _oddities(inspection: Inspection, room: int) -> Iterator[tuple[str, Text | str]]:
    found = inspection.oddities
    rows: list[tuple[str, str, Iterator[str]]] = []
    if holes := found["holes"]:
        missing = sum(last - first + 1 for first, last in holes)
        runs = (f"{first}" if first == last else f"{first}-{last}" for first, last in holes)
        rows.append((f"{missing:,}", "ids without a token", runs))
    if duplicates := found["duplicates"]:
        groups = (
            f"{' = '.join(visible(token.encode()) for token in tokens)} {'/'.join(map(str, ids))}"
            for tokens, ids in duplicates
        )
        rows.append((f"{len(duplicates):,}", "duplicate spellings or ids", groups))
    for name, label in ODDITIES.items():
        if tokens := found[name]:
            spelled = (f"{_short(visible(token.encode()), 24)} {id}" for id, token in tokens)
            rows.append((f"{len(tokens):,}", label, spelled))
    if not rows:
        yield "none", Text("no holes, no duplicates, every entry can come out", style="green")
    for count, label, names in rows:
        line = Text(f"{label}: ")
        yield count, line.append(_fit(names, room - cell_len(line.plain), ", "), "dim")


def _quote(text: str) -> str:
    return f"“{_short(visible(text.encode()), 32)}”"


def _short(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"


def _clip(text: str, room: int, lines: int) -> str:
    """Cut a text to about so many lines."""
    return _short(text, room * lines - room // 8)


def _fit(items: Iterator[str], room: int, gap: str) -> str:
    """Join as many items as fit."""
    line = ""
    for item in items:
        longer = f"{line}{gap}{item}" if line else item
        if cell_len(longer) > room - 2:
            return f"{line} …" if line else _short(item, max(room, 2))
        line = longer
    return line


def _bytes(size: int) -> str:
    value, unit = float(size), 0
    while value >= 1000 and unit < len(UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{size} bytes" if unit == 0 else f"{value:.3g} {UNITS[unit]}"
