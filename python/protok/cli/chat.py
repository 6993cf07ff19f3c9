"""``protok chat``: a conversation as ids, and what is wrong with it."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from protok.cli.encode import SPECIAL_COLOUR, visible
from protok.cli.terminal import (
    DEFAULT_SOURCE,
    AsLoadedByOption,
    JsonOption,
    TokenizerOption,
    load,
    print_json,
    read_path,
)
from protok.errors import InputError

if TYPE_CHECKING:
    from protok.chat import Chat

ROLE_STYLES = {"system": "magenta", "user": "cyan", "assistant": "green", "tool": "yellow"}


def run(
    messages: Annotated[
        Path, typer.Argument(help="JSON: a list of messages, or an object that holds one; or -.")
    ],
    tokenizer: TokenizerOption = DEFAULT_SOURCE,
    as_loaded_by: AsLoadedByOption = None,
    template: Annotated[
        str | None,
        typer.Option(help="The name of a template, mistral:v1 or mistral:v3, or a file of one."),
    ] = None,
    generation_prompt: Annotated[
        bool, typer.Option("--generation-prompt/--no-generation-prompt", help="Begin an answer.")
    ] = True,
    continue_final_message: Annotated[
        bool, typer.Option("--continue", help="Leave the last message open.")
    ] = False,
    trust: Annotated[
        str | None,
        typer.Option(help='What may spell control tokens: "assistant", "all", or a message.'),
    ] = None,
    audit: Annotated[
        bool, typer.Option("--audit", help="Look for what is wrong; exit with 1 if something is.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Render a conversation by a chat template, and show who wrote what."""
    given = _read(messages)
    tok = load(tokenizer, as_loaded_by)
    if template is not None and Path(template).is_file():
        template = read_path(Path(template)).decode("utf-8")
    chat = tok.chat(
        given.pop("messages"),
        tools=given.pop("tools", None),
        documents=given.pop("documents", None),
        add_generation_prompt=generation_prompt and not continue_final_message,
        continue_final_message=continue_final_message,
        template=template,
        trust=_trust(trust),
        **given,
    )
    findings = chat.audit() if audit else []
    if json:
        found = [finding._asdict() for finding in findings]
        print_json({**chat.to_dict(), **({"findings": found} if audit else {})})
    else:
        _show(chat)
        console = Console(highlight=False, soft_wrap=True)
        for finding in findings:
            console.print(Text.assemble((f"{finding.kind}: ", "yellow"), finding.what))
        if audit and not findings:
            console.print("nothing is wrong", style="green")
    if findings:
        raise typer.Exit(1)


def _read(path: Path) -> dict[str, Any]:
    """Read the messages, and whatever else stands beside them."""
    data = read_path(path)
    try:
        given = json_module.loads(data)
    except ValueError as error:
        raise InputError(
            location=str(path), what=f"This is no JSON: {error}.", hint="Give a list of messages."
        ) from error
    if isinstance(given, list):
        return {"messages": given}
    if isinstance(given, dict) and isinstance(given.get("messages"), list):
        return given
    raise InputError(
        location=str(path),
        what="There are no messages in this JSON.",
        hint='Give a list of messages, or {"messages": […], "tools": […]}.',
    )


def _trust(name: str | None) -> Any:
    if name is None or not name.lstrip("-").isdigit():
        return name
    return int(name)


def _show(chat: Chat) -> None:
    console = Console(highlight=False, soft_wrap=True)
    plain = console.no_color or not console.is_terminal
    line = Text()
    control = chat.control_mask.tolist()
    for at, (role, (start, end)) in enumerate(zip(chat.roles, chat.offsets.tolist(), strict=True)):
        piece = visible(chat.text[start:end].encode()) or chat.tokens[at]
        style = SPECIAL_COLOUR if control[at] else ROLE_STYLES.get(role or "", "dim")
        line.append(piece, "" if plain else style)
        line.append("│" if plain else "", "")
        if "\n" in chat.text[start:end]:
            console.print(line)
            line = Text()
    if line:
        console.print(line)
    counts = f"{len(chat)} tokens, {sum(control)} of them control tokens"
    console.print(
        f"{counts}; the origin of {chat.known_share:.0%} of the text is known", style="dim"
    )
