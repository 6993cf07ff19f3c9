"""The caller's data as a template sees it: plain, and marked with the field it came from."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from protok.chat.provenance import FIRST_FIELD, TOKENIZER, Marked, mark, runs_of
from protok.errors import InputError

__all__ = ["Field", "Inputs"]

REASONING = ("reasoning_content", "thinking", "reasoning")


class Field(NamedTuple):
    """A field of the caller's data.

    Parameters
    ----------
    message
        The index of the message, or None for tools, documents and variables.
    role
        The role of the message.
    path
        What leads to the field: ``("content", 0, "text")``, ``("tools", 0, "function", "name")``.

    Examples
    --------
    >>> from protok.chat import Field
    >>> str(Field(1, "assistant", ("tool_calls", 0, "function", "name")))
    'tool_calls[0].function.name'
    """

    message: int | None
    role: str | None
    path: tuple[str | int, ...]

    def __str__(self) -> str:
        return "".join(
            f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path
        ).removeprefix(".")

    @property
    def name(self) -> str:
        """The first step: ``"content"``, ``"role"``, ``"tools"``."""
        return str(self.path[0]) if self.path else ""


class Inputs:
    """The variables of a template, and the table of the fields that text may come from.

    Parameters
    ----------
    special_tokens
        The tokenizer's own variables: ``bos_token`` and the like. They are trusted.
    """

    __slots__ = ("ends", "fields", "messages", "origins", "reshaped", "size", "variables")

    def __init__(self, special_tokens: Mapping[str, str]) -> None:
        self.fields: list[Field] = []
        self.messages: list[dict[str, Any]] = []
        self.origins: dict[int, int] = {}
        self.size = 0
        # The messages whose tool calls had arguments in another form than the template sees, and
        # the form that they see: "text" or "object".
        self.reshaped: list[tuple[int, str]] = []
        # Where the text that is to be continued ends, for each source that is a copy of it.
        self.ends: dict[int, int] = {}
        self.variables: dict[str, Any] = {
            name: mark(text, ((len(text), TOKENIZER, -1),) if text else ())
            for name, text in special_tokens.items()
        }

    def add_messages(
        self, messages: Sequence[Any], *, arguments: str, drop_none: bool = True
    ) -> None:
        """Take the messages, as ``transformers`` does: without keys whose value is None."""
        for place, given in enumerate(messages):
            message = _plain_mapping(given)
            if message is None:
                raise InputError(
                    location=f"messages[{place}]",
                    what=f"A message is a mapping, not {type(given).__name__}.",
                    hint='Pass {"role": "user", "content": "…"}.',
                    position=place,
                    value=type(given).__name__,
                )
            if drop_none:
                message = {key: value for key, value in message.items() if value is not None}
            reasoning = next(
                (message[key] for key in REASONING if message.get(key) is not None), None
            )
            if reasoning is not None:
                message = {"thinking": reasoning, **message, "reasoning_content": reasoning}
            if arguments != "as_given" and message.get("tool_calls"):
                calls = message["tool_calls"]
                message["tool_calls"] = _with_arguments(calls, as_text=arguments == "text")
                if _forms(calls) != _forms(message["tool_calls"]):
                    self.reshaped.append((place, arguments))
            role = message.get("role")
            root = Field(place, role if isinstance(role, str) else None, ())
            self.messages.append(self._convert(message, root))
        self.variables["messages"] = self.messages

    def add(self, name: str, value: Any) -> None:
        """Take a variable: tools, documents, or what the caller passes by name."""
        self.variables[name] = self._convert(value, Field(None, None, (name,)))

    def append_to_last(self, name: str, text: str) -> None:
        """Append to a text of the last message, and to every copy of it."""
        message = self.messages[-1]
        names = [one for one in REASONING if message.get(one) == message[name]]
        for one in names if name in REASONING else [name]:
            value = message[one]
            if isinstance(value, str):
                message[one] = self._appended(value, text)
                continue
            part = next(part for part in reversed(value) if "text" in part)
            part["text"] = self._appended(part["text"], text)

    def _appended(self, value: str, text: str) -> Marked:
        field = next((self.field(run[1]) for run in runs_of(value)), None)
        source = runs_of(value)[0][1] if value else self._source(field or self._last(value))
        self.ends[source] = len(value)
        return mark(str.__add__(value, text), ((len(value) + len(text), source, 0),))

    def _last(self, _: str) -> Field:
        role = self.messages[-1].get("role")
        return Field(len(self.messages) - 1, str(role), ("content",))

    def field(self, source: int) -> Field | None:
        """Return the field that a source stands for."""
        return self.fields[source - FIRST_FIELD] if source >= FIRST_FIELD else None

    def _source(self, field: Field) -> int:
        self.fields.append(field)
        return FIRST_FIELD + len(self.fields) - 1

    def _convert(self, value: Any, field: Field) -> Any:  # noqa: PLR0911  (one for each kind)
        if value is None or type(value) in {int, float, bool}:
            self.size += 1
            return value
        if isinstance(value, str):
            return self._text(value, field)
        mapping = _plain_mapping(value)
        if mapping is not None:
            here = self._source(field)
            converted: dict[Any, Any] = {}
            for key, child in mapping.items():
                inner = field._replace(path=(*field.path, str(key)))
                marked = self._key(key, inner)
                converted[marked] = self._convert(child, inner)
            self.origins[id(converted)] = here
            return converted
        if isinstance(value, (list, tuple)):
            here = self._source(field)
            items = [
                self._convert(child, field._replace(path=(*field.path, place)))
                for place, child in enumerate(value)
            ]
            result = items if isinstance(value, list) else tuple(items)
            self.origins[id(result)] = here
            return result
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return float(value)
        if type(value).__module__ == "numpy" and hasattr(value, "item") and not value.shape:
            return self._convert(value.item(), field)
        # Files, pictures, functions: a template may only see that something is there.
        return self._text(f"<{type(value).__name__}>", field)

    def _key(self, key: Any, field: Field) -> Any:
        return self._text(key, field) if isinstance(key, str) else key

    def _text(self, value: str, field: Field) -> Marked:
        text = str.__str__(value)
        self.size += len(text)
        return mark(text, ((len(text), self._source(field), 0),) if text else ())


def _plain_mapping(value: Any) -> dict[Any, Any] | None:
    if isinstance(value, dict):
        return value
    if isinstance(value, Mapping):
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        dumped = dump()
        return dumped if isinstance(dumped, dict) else None
    return None


def _with_arguments(calls: Any, *, as_text: bool) -> Any:
    """Return tool calls whose arguments are all objects, or all JSON text."""
    if not isinstance(calls, (list, tuple)):
        return calls
    return [_with_argument(call, as_text=as_text) for call in calls]


def _forms(calls: Any) -> list[bool]:
    """Tell of each call whether its arguments are text."""
    forms = []
    for call in calls if isinstance(calls, (list, tuple)) else ():
        plain = _plain_mapping(call) or {}
        inner = _plain_mapping(plain.get("function")) or plain
        forms.append(isinstance(inner.get("arguments"), str))
    return forms


def _with_argument(call: Any, *, as_text: bool) -> Any:
    plain = _plain_mapping(call)
    if plain is None:
        return call
    inner = _plain_mapping(plain.get("function"))
    if inner is not None:
        return {**plain, "function": _with_argument(inner, as_text=as_text)}
    arguments = plain.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return plain
    if not isinstance(arguments, Mapping):
        return plain
    given = json.dumps(arguments, ensure_ascii=False) if as_text else arguments
    return {**plain, "arguments": given}
