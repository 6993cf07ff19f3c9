"""What is wrong with a prompt: the messages, the template, and what becomes of both as ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from protok.chat.result import Chat, Finding
from protok.errors import ProtokError

__all__ = ["audit"]

# What templates write to mark turns.
MARKUP = re.compile(
    r"<\|[^<>|\s]{1,40}\|>|</?s>|\[/?[A-Z][A-Z_]{2,30}\]|<(?:start|end|begin)_of_[a-z_]{1,30}>"
)
USUAL = {"system", "developer", "user", "assistant", "tool"}


def audit(chat: Chat) -> list[Finding]:
    """Look for all of it, the cheap first."""
    findings: list[Finding] = []
    for look in (
        _twice,
        _generation,
        _strings,
        _dropped,
        _tools,
        _arguments,
        _defused,
        _trailing,
        _prefixes,
    ):
        findings.extend(look(chat))
    return findings


def _twice(chat: Chat) -> Iterator[Finding]:
    tok, ids = chat._tok, chat.tolist()  # noqa: SLF001  (the same package)
    for role in ("bos", "eos"):
        token = tok.roles.get(role)
        id = None if token is None else tok.vocab.get(token)
        if id is None:
            continue
        for place in range(len(ids) - 1):
            if ids[place] == ids[place + 1] == id:
                start = int(chat.offsets[place + 1][0])
                yield Finding(
                    f"duplicate-{role}",
                    f"Two {token} stand one after the other.",
                    position=start,
                )
                break
        again = tok.encode(chat.text, special="parse").tolist()
        first, last = again[:2] == [id, id], again[-2:] == [id, id]
        if (role == "bos" and first and ids[:2] != [id, id]) or (
            role == "eos" and last and ids[-2:] != [id, id]
        ):
            yield Finding(
                "duplicate-when-encoded-again",
                f"Encoding the rendered text as a plain text puts another {token} around it: "
                "pass add_special_tokens=False.",
            )


def _generation(chat: Chat) -> Iterator[Finding]:
    messages = chat._inputs.messages  # noqa: SLF001
    options = chat._options  # noqa: SLF001
    if options.get("final") or messages[-1].get("role") == "assistant":
        return
    if chat._template is None:  # noqa: SLF001  (Mistral's rules need none)
        return
    if not options["add_generation_prompt"]:
        yield Finding(
            "no-generation-prompt",
            "The last message is not the assistant's, and no prompt for one was asked for: "
            "the model may go on with the user's turn.",
            len(messages) - 1,
        )
    elif _again(chat, messages, add_generation_prompt=False) == chat.tolist():
        yield Finding(
            "no-generation-prompt",
            "The template writes no prompt for the assistant's turn.",
            len(messages) - 1,
        )


def _strings(chat: Chat) -> Iterator[Finding]:
    known = {token.content for token in chat._tok.added_tokens}  # noqa: SLF001
    known |= {token.content for token in chat._tok.control_tokens}  # noqa: SLF001
    seen: set[str] = set()
    for piece in chat.pieces:
        if piece.source != "template":
            continue
        for found in MARKUP.finditer(chat.text, piece.start, piece.end):
            spelled = found.group()
            if spelled not in known and spelled not in seen:
                seen.add(spelled)
                yield Finding(
                    "not-a-token",
                    f"The template writes {spelled!r}, which is no token of this vocabulary.",
                    position=found.start(),
                )


def _dropped(chat: Chat) -> Iterator[Finding]:
    written: set[int] = set()
    for piece in chat.pieces:
        field = piece.field
        if field is not None and field.message is not None and field.name not in {"role", "name"}:
            written.add(field.message)
    unknown = "\0".join(
        chat.text[piece.start : piece.end] for piece in chat.pieces if piece.source == "unknown"
    )
    for place, message in enumerate(chat._inputs.messages):  # noqa: SLF001
        text = _said(message)
        if place in written or not text.strip() or text.strip() in unknown:
            continue
        role = str(message.get("role"))
        if role in USUAL:
            yield Finding("dropped-message", f"Message {place} ({role}) is not rendered.", place)
        else:
            yield Finding(
                "unsupported-role",
                f"The template drops message {place}, whose role is {role!r}.",
                place,
            )


def _said(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, (list, tuple)):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


def _tools(chat: Chat) -> Iterator[Finding]:
    tools = chat._options.get("tools")  # noqa: SLF001
    if not tools:
        return
    if not any(piece.field and piece.field.name == "tools" for piece in chat.pieces):
        yield Finding("ignored-tools", "Tools were given, and the template writes none of them.")


def _arguments(chat: Chat) -> Iterator[Finding]:
    for place, form in chat._inputs.reshaped:  # noqa: SLF001
        given, seen = "an object", "JSON text"
        if form != "text":
            given, seen = seen, given
        yield Finding(
            "arguments-reshaped",
            f"Arguments of a tool call were given as {given}; the template sees {seen}.",
            place,
        )


def _defused(chat: Chat) -> Iterator[Finding]:
    if chat._template is None:  # noqa: SLF001  (Mistral's rules parse nothing)
        return
    tok = chat._tok  # noqa: SLF001
    control = {token.id: token.content for token in tok.control_tokens}
    more = set(chat._more_control)  # noqa: SLF001
    control |= {token.id: token.content for token in tok.added_tokens if token.id in more}
    kept = {
        tuple(span)
        for id, span in zip(chat.tolist(), chat.offsets.tolist(), strict=True)
        if id in control
    }
    parsed = tok.encode(chat.text, add_special_tokens=False, special="parse", offsets=True)
    for id, (start, end) in zip(parsed.tolist(), parsed.offsets.tolist(), strict=True):
        if id not in control or (start, end) in kept or start == end:
            continue
        field = next(
            (
                piece.field
                for piece in chat.pieces
                if piece.start < end and start < piece.end and piece.field is not None
            ),
            None,
        )
        where = "untrusted text" if field is None else f"{field}"
        message = None if field is None else field.message
        if message is not None:
            where = f"message {message}, {where}"
        if control[id] in chat.text[start:end]:
            yield Finding(
                "defused",
                f"{where}: {control[id]!r} is spelled there, and was encoded as plain text.",
                message,
                start,
            )


def _trailing(chat: Chat) -> Iterator[Finding]:
    if chat.text.endswith((" ", "\t", "\u00a0")):
        yield Finding(
            "trailing-space",
            "The prompt ends with a blank: the model's next token usually begins with one.",
            position=len(chat.text) - 1,
        )


def _prefixes(chat: Chat) -> Iterator[Finding]:
    messages = chat._inputs.messages  # noqa: SLF001
    ids = [_again(chat, messages[: place + 1]) for place in range(len(messages))]
    for place in range(len(messages) - 1):
        follows = messages[place + 1].get("role")
        before = ids[place]
        if follows == "assistant":
            before = _again(chat, messages[: place + 1], add_generation_prompt=True)
        after = ids[place + 1]
        if before is None or after is None or after[: len(before)] == before:
            continue
        same = next(
            (at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b),
            min(len(before), len(after)),
        )
        yield Finding(
            "unstable-prefix",
            f"With message {place + 1} the ids of what came before change from token {same} on: "
            "a cache of the prefix is lost.",
            place + 1,
        )
        return


def _again(chat: Chat, messages: Any, **changes: Any) -> list[int] | None:
    try:
        return chat._again(messages, **changes).tolist()  # noqa: SLF001
    except ProtokError:
        return None  # a template may refuse part of a conversation
