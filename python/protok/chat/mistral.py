"""Mistral's own rules, for tokenizers that bring no template: those of ``mistral-common``.

There is no template text: a conversation is a list of control tokens and texts, and each text is
encoded by itself, without control tokens. So nothing that a message says can be protocol, and
``trust`` has nothing to open. The rules of version 1 and version 3 are here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from protok.chat.audit import audit
from protok.chat.inputs import Inputs
from protok.chat.json_text import to_json
from protok.chat.limits import Budget, Limits
from protok.chat.provenance import TEMPLATE, Marked, concat, mark
from protok.chat.result import Chat
from protok.errors import InputError, TemplateError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from protok import _core

__all__ = ["Segments", "chat", "rules"]

NAMES = ("mistral:v1", "mistral:v3")
AFTER = {
    "system": {"user", "assistant", "system"},
    "user": {"assistant", "system", "user"},
    "assistant": {"assistant", "user", "tool"},
    "tool": {"assistant", "tool", "user"},
}
CALL_ID = re.compile(r"[a-zA-Z0-9]{9}\Z")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
BETWEEN = "\n\n"


def rules(tok: _core.Tokenizer, template: str | None) -> str | None:
    """Return the version of the rules that a conversation goes by, or None for a template."""
    if template is not None:
        if template.startswith("mistral:") and "{" not in template:
            if template in NAMES:
                return template.removeprefix("mistral:")
            raise InputError(
                what=f"Mistral's rules {template!r} are not known.",
                hint=f"Use {' or '.join(NAMES)}.",
                value=template,
            )
        return None
    if tok.chat_templates:
        return None
    if {"[INST]", "[/INST]"} <= {token.content for token in tok.control_tokens}:
        # The files of several versions hold the same tokens.
        raise InputError(
            what="The tokenizer has no chat template, but the control tokens of Mistral's rules.",
            hint='Say which version the model was trained with: template="mistral:v3".',
        )
    return None


class Segments:
    """Control tokens and separately encoded texts, as one encoding of the whole."""

    def __init__(self, tok: _core.Tokenizer) -> None:
        self._tok = tok
        self._ids: list[int] = []
        self._offsets: list[tuple[int, int]] = []
        self._texts: list[Marked] = []
        self._length = 0

    def control(self, token: str) -> None:
        """Append a control token."""
        id = self._tok.vocab.get(token)
        if id is None:
            raise TemplateError(
                what=f"The tokenizer has no token {token!r}, which Mistral's rules write.",
                location="template",
                value=token,
            )
        self._ids.append(id)
        self._offsets.append((self._length, self._length + len(token)))
        self._append(mark(token, ((len(token), TEMPLATE, -1),)))

    def text(self, text: Marked) -> None:
        """Append a text."""
        encoding = self._tok.encode(
            str.__str__(text), add_special_tokens=False, special="text", offsets=True
        )
        self._ids.extend(encoding)
        base = self._length
        self._offsets.extend((start + base, end + base) for start, end in encoding.offsets.tolist())
        self._append(text)

    def _append(self, text: Marked) -> None:
        self._texts.append(text)
        self._length += len(text)

    def whole(self) -> Marked:
        """Return the text of all."""
        return concat(self._texts)

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[int]:
        return iter(self._ids)

    def __getitem__(self, place: int) -> int:
        return self._ids[place]

    def tolist(self) -> list[int]:
        """Return the ids."""
        return list(self._ids)

    @cached_property
    def ids(self) -> npt.NDArray[np.uint32]:
        """The ids."""
        import numpy as np  # noqa: PLC0415

        ids = np.array(self._ids, dtype=np.uint32)
        ids.flags.writeable = False
        return ids

    @property
    def tokens(self) -> list[str]:
        """The tokens as the vocabulary spells them."""
        return [self._tok.vocab.token(id) for id in self._ids]

    @cached_property
    def offsets(self) -> npt.NDArray[np.uint32]:
        """The span of each token in the text, in code points."""
        import numpy as np  # noqa: PLC0415

        return np.array(self._offsets, dtype=np.uint32).reshape(-1, 2)


class Turn(NamedTuple):
    """Messages of one role in a row."""

    role: str
    messages: list[tuple[int, dict[str, Any]]]


def chat(
    tok: _core.Tokenizer,
    messages: Sequence[Any],
    version: str,
    *,
    tools: Sequence[Any] | None,
    goes_on: bool,
    again: Callable[..., Chat],
    options: dict[str, Any],
) -> Chat:
    """Encode a conversation by Mistral's rules."""
    inputs = Inputs({})
    inputs.add_messages(messages, arguments="as_given")
    inputs.add("tools", list(tools) if tools is not None else None)
    open_end = goes_on
    goes_on = goes_on or inputs.messages[-1].get("prefix") is True
    _check(inputs.messages, goes_on=goes_on, version=version)
    segments = Segments(tok)
    writer = _Writer(segments, inputs, version)
    writer.write(goes_on=goes_on)
    return Chat(
        tok=tok,
        text=segments.whole(),
        inputs=inputs,
        encoding=segments,  # type: ignore[arg-type]  # as far as Chat reads it
        again=again,
        told_time=False,
        template=None,
        options={**options, "final": "content" if open_end else None},
        look=audit,
    )


class _Writer:
    """Writes turns as segments."""

    def __init__(self, segments: Segments, inputs: Inputs, version: str) -> None:
        self._segments = segments
        self._inputs = inputs
        self._version = version
        self._budget = Budget(Limits().scaled(inputs.size))

    def write(self, *, goes_on: bool) -> None:
        messages = self._inputs.messages
        system = self._together([m for m in messages if m["role"] == "system"])
        turns: list[Turn] = []
        for place, message in enumerate(messages):
            role = str(message["role"])
            if role == "system":
                # It parts what stands around it, and is written elsewhere.
                turns.append(Turn("system", []))
            elif turns and turns[-1].role == role:
                turns[-1].messages.append((place, message))
            else:
                turns.append(Turn(role, [(place, message)]))
        turns = [turn for turn in turns if turn.role != "system"]
        if not turns or turns[0].role != "user":
            turns.insert(0, Turn("user", []))
        users = [place for place, turn in enumerate(turns) if turn.role == "user"]
        told = users[0] if self._version == "v1" else users[-1]
        self._segments.control("<s>")
        for place, turn in enumerate(turns):
            own = [message for _, message in turn.messages]
            if turn.role == "user":
                text = self._together(own)
                if place == told and system:
                    text = concat([system, _plain(BETWEEN), text])
                self._user(text, is_last=place == users[-1])
            elif turn.role == "assistant":
                self._assistant(own, ends=not (goes_on and place == len(turns) - 1))
            else:
                for message in own:
                    self._tool(message)

    def _user(self, text: Marked, *, is_last: bool) -> None:
        segments = self._segments
        if self._version == "v1":
            segments.text(concat([_plain("[INST] "), text, _plain(" [/INST]")]))
            return
        tools = self._inputs.variables["tools"]
        if is_last and tools:
            segments.control("[AVAILABLE_TOOLS]")
            segments.text(self._json([_tool_schema(tool) for tool in tools]))
            segments.control("[/AVAILABLE_TOOLS]")
        segments.control("[INST]")
        if text:
            segments.text(text)
        segments.control("[/INST]")

    def _assistant(self, messages: list[dict[str, Any]], *, ends: bool) -> None:
        calls = [call for message in messages for call in message.get("tool_calls") or ()]
        text = self._together(messages)
        if calls and text:
            raise _refused("An assistant's turn has either content or tool calls, not both.", None)
        if calls:
            self._segments.control("[TOOL_CALLS]")
            self._segments.text(self._json([_call(call) for call in calls]))
        else:
            # Blanks that end a turn are dropped from version 2 on.
            kept = text.rstrip(" ") if self._version != "v1" else text
            self._segments.text(kept)  # type: ignore[arg-type]
        if ends:
            self._segments.control("</s>")

    def _tool(self, message: dict[str, Any]) -> None:
        content = _parsed(self._together([message]))
        self._segments.control("[TOOL_RESULTS]")
        self._segments.text(self._json({"content": content, "call_id": message["tool_call_id"]}))
        self._segments.control("[/TOOL_RESULTS]")

    def _json(self, value: Any) -> Marked:
        return to_json(value, self._budget, self._inputs.origins)

    @staticmethod
    def _together(messages: list[dict[str, Any]]) -> Marked:
        texts: list[str] = []
        for message in messages:
            content = message.get("content")
            parts = content if isinstance(content, (list, tuple)) else [{"text": content}]
            for part in parts:
                text = part.get("text") if isinstance(part, dict) else part
                if text:
                    texts.extend([_plain(BETWEEN)] * bool(texts))
                    texts.append(text)
        return concat(texts)


def _plain(text: str) -> Marked:
    return mark(text, ((len(text), TEMPLATE, -1),))


def _tool_schema(tool: Any) -> dict[str, Any]:
    function = tool.get("function", {}) if isinstance(tool, dict) else {}
    return {
        "type": tool.get("type", "function"),
        "function": {
            "name": function.get("name"),
            "description": function.get("description", ""),
            "parameters": function.get("parameters"),
        },
    }


def _call(call: Any) -> dict[str, Any]:
    function = call["function"]
    arguments = function.get("arguments")
    written = {
        "name": function["name"],
        "arguments": _parsed(arguments) if isinstance(arguments, str) else arguments or {},
    }
    return {**written, "id": call["id"]} if call.get("id") not in {None, "null"} else written


def _parsed(text: str) -> Any:
    if not text:
        return {}
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _refused(what: str, message: int | None) -> TemplateError:
    where = "Mistral's rules" if message is None else f"Mistral's rules, message {message}"
    return TemplateError(location=where, what=what, position=message, value="Refusal")


def _check(messages: list[dict[str, Any]], *, goes_on: bool, version: str) -> None:
    before: str | None = None
    expected: dict[str, bool] = {}
    for place, message in enumerate(messages):
        role = message.get("role")
        if role not in AFTER:
            raise _refused(f"There is no role {str(role)!r}.", place)
        if before is not None and role not in AFTER[before]:
            raise _refused(f"A message of {role} cannot follow one of {before}.", place)
        if before is None and len(messages) == 1 and role not in {"user", "system"}:
            raise _refused("A conversation starts with a user's or a system message.", place)
        before = str(role)
        if role == "assistant":
            _check_answered(expected, place)
            expected = _check_assistant(message, place, version)
        elif role == "tool":
            _check_result(message, expected, place, version)
    if before == "assistant" and not goes_on:
        raise _refused(
            "The last message is the assistant's: pass continue_final_message to go on with it.",
            len(messages) - 1,
        )
    _check_answered(expected, len(messages) - 1)


def _check_answered(expected: dict[str, bool], place: int) -> None:
    if not all(expected.values()):
        raise _refused("There are not as many tool results as tool calls.", place)


def _check_assistant(message: dict[str, Any], place: int, version: str) -> dict[str, bool]:
    calls = message.get("tool_calls") or ()
    if bool(message.get("content")) == bool(calls):
        raise _refused("An assistant's message has either content or tool calls.", place)
    if calls and version == "v1":
        raise _refused("Version 1 of the rules has no tools.", place)
    expected: dict[str, bool] = {}
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not NAME.match(str(function.get("name"))):
            raise _refused("A tool call names no function, or none that can be written.", place)
        id = str(call.get("id"))
        if not CALL_ID.match(id) or id in expected:
            raise _refused(f"The id of a tool call is {id!r}, not nine letters and digits.", place)
        expected[id] = False
    return expected


def _check_result(
    message: dict[str, Any], expected: dict[str, bool], place: int, version: str
) -> None:
    if version == "v1":
        raise _refused("Version 1 of the rules has no tools.", place)
    id = str(message.get("tool_call_id"))
    if expected.get(id) is not False:
        raise _refused(f"The result of the tool call {id!r} was not asked for.", place)
    expected[id] = True
