"""From messages to ids: choose a template, render, and encode what is trusted as protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias

from protok import _core
from protok.chat import mistral
from protok.chat.audit import audit
from protok.chat.inputs import Field, Inputs
from protok.chat.limits import Limits
from protok.chat.provenance import (
    FIRST_FIELD,
    GENERATION,
    TEMPLATE,
    TOKENIZER,
    Marked,
    runs_of,
)
from protok.chat.rendering import Rendered, compile_template, render
from protok.chat.result import Chat
from protok.errors import InputError, TemplateError

__all__ = ["Trust", "chat"]

Trust: TypeAlias = Literal["assistant", "all"] | int | Callable[[Field], bool] | None
Arguments: TypeAlias = Literal["either", "as_given"]

# A character that nobody writes stands where the last message is to go on.
MOST_NAME = 60
CONTINUE = "\uf8ff"
REASONING = ("reasoning_content", "thinking", "reasoning")


def chat(
    tok: _core.Tokenizer,
    messages: Sequence[Any],
    *,
    tools: Sequence[Any] | None = None,
    documents: Sequence[Any] | None = None,
    add_generation_prompt: bool | None = None,
    continue_final_message: bool | str = False,
    template: str | None = None,
    trust: Trust = None,
    arguments: Arguments = "either",
    clock: datetime | None = None,
    limits: Limits | None = None,
    variables: Mapping[str, Any] | None = None,
) -> Chat:
    """Render and encode a conversation; see :meth:`protok.Tokenizer.chat`."""
    messages = _checked(messages, tools)
    if add_generation_prompt is None:
        add_generation_prompt = not continue_final_message
    elif add_generation_prompt and continue_final_message:
        raise InputError(
            what="The last message cannot go on and be followed by another.",
            hint="Pass add_generation_prompt or continue_final_message.",
        )
    options: dict[str, Any] = {
        "tools": tools,
        "documents": documents,
        "template": template,
        "trust": trust,
        "arguments": arguments,
        "clock": clock,
        "limits": limits,
        "variables": variables,
    }

    def again(part: Sequence[Any], **changes: Any) -> Chat:
        return chat(tok, part, **{**options, "add_generation_prompt": False, **changes})

    options["add_generation_prompt"] = add_generation_prompt
    rules = mistral.rules(tok, template)
    if rules is not None:
        goes_on = bool(continue_final_message)
        return mistral.chat(
            tok, messages, rules, tools=tools, goes_on=goes_on, again=again, options=options
        )
    source = choose(tok, template, tools)
    compiled = compile_template(source, limits or Limits())
    final = _final_field(messages, wanted=continue_final_message, source=source)

    def attempt(form: str) -> tuple[Inputs, Rendered]:
        inputs = _inputs(tok, messages, form, options)
        if final is not None:
            inputs.append_to_last(final, CONTINUE)
        return inputs, render(compiled, inputs, limits or Limits(), clock)

    inputs, rendered = _rendered(attempt, messages, arguments)
    text = rendered.text if final is None else cut(rendered.text, inputs, final)
    control = [] if template is None else _written(tok, source, compiled.strings)
    return Chat(
        tok=tok,
        text=text,
        inputs=inputs,
        control=control,
        encoding=encode(tok, text, inputs, trust, len(messages), control=control),
        again=again,
        told_time=rendered.told_time,
        template=source,
        options={**options, "final": final},
        look=audit,
    )


def _checked(messages: Any, tools: Sequence[Any] | None) -> Sequence[Any]:
    messages = getattr(messages, "messages", messages)
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Sequence):
        raise InputError(
            what=f"Messages are a list, not {type(messages).__name__}.",
            hint='Pass [{"role": "user", "content": "…"}].',
            value=type(messages).__name__,
        )
    if not messages:
        raise InputError(
            what="There is no message.",
            hint="A conversation has at least one.",
            location="messages",
        )
    for place, tool in enumerate(tools or ()):
        if callable(tool) and not hasattr(tool, "model_dump"):
            raise InputError(
                location=f"tools[{place}]",
                what="A tool is described by a JSON schema, not by a function.",
                hint='Pass {"type": "function", "function": {"name": …, "parameters": {…}}}.',
                position=place,
            )
    return messages


def _inputs(
    tok: _core.Tokenizer, messages: Sequence[Any], form: str, options: Mapping[str, Any]
) -> Inputs:
    """Return the variables of a template, with tool calls in one form."""
    inputs = Inputs({f"{role}_token": token for role, token in tok.roles.items()})
    inputs.add_messages(messages, arguments=form)
    for name in ("tools", "documents"):
        given = options[name]
        inputs.add(name, None if given is None else list(given))
    inputs.variables["add_generation_prompt"] = options["add_generation_prompt"]
    for name, value in (options["variables"] or {}).items():
        inputs.add(name, value)
    return inputs


def _rendered(
    attempt: Callable[[str], tuple[Inputs, Rendered]],
    messages: Sequence[Any],
    arguments: Arguments,
) -> tuple[Inputs, Rendered]:
    if arguments not in {"either", "as_given"}:
        raise InputError(
            what=f"arguments={arguments!r} is not known.",
            hint='Use "either" or "as_given".',
            value=str(arguments),
        )
    if arguments == "as_given" or not _has_arguments(messages):
        return attempt("as_given")
    try:
        return attempt("object")
    except TemplateError as refused:
        # A template that writes the arguments as they stand wants them as text.
        try:
            return attempt("text")
        except TemplateError:
            raise refused from None


def choose(tok: _core.Tokenizer, template: str | None, tools: Sequence[Any] | None) -> str:
    """Return the template's text: one by name, the caller's own, or the artifact's."""
    named = tok.chat_templates
    if template is None:
        if tools is not None and "tool_use" in named:
            return named["tool_use"]
        template = "default"
    if template in named:
        return named[template]
    if "{" in template:
        return template
    have = ", ".join(named) or "none"
    shown = template if len(template) <= MOST_NAME else template[:MOST_NAME] + "…"
    raise InputError(
        what=f"The tokenizer has no chat template {shown!r}.",
        hint=f"It has: {have}. Pass template=, a name or the text of one.",
        value=shown,
    )


def _written(tok: _core.Tokenizer, source: str, strings: Sequence[str]) -> list[int]:
    """Return the added tokens that a template writes as marks, if it did not come with them."""
    if source in tok.chat_templates.values():
        return []  # then they are control tokens of the tokenizer
    whole = "\0".join(strings)
    return [
        token.id
        for token in tok.added_tokens
        if not token.special
        and token.content in whole
        and len(token.content) > 1
        and any(not (c.isalnum() or c.isspace()) for c in token.content)
    ]


def encode(
    tok: _core.Tokenizer,
    text: Marked,
    inputs: Inputs,
    trust: Trust,
    count: int,
    *,
    control: Sequence[int] = (),
) -> _core.Encoding:
    """Encode a rendered text; what is trusted may spell control tokens."""
    if sum(length for length, _, _ in runs_of(text)) != len(text):
        raise RuntimeError("The runs of a rendered text do not cover it.")
    if trust == "all":
        spans = [(0, len(text))] if text else []
    else:
        trusted = _predicate(trust, count)
        spans = list(trusted_spans(text, inputs, trusted))
    return _core.encode_trusted(tok, str.__str__(text), spans, control)


def trusted_spans(
    text: Marked, inputs: Inputs, trusted: Callable[[Field], bool] | None
) -> Iterable[tuple[int, int]]:
    """Yield the stretches that the template wrote, or that the caller trusts."""
    start = end = 0
    here = 0
    known: dict[int, bool] = {}
    for length, marked, _ in runs_of(text):
        source = marked & ~GENERATION
        is_trusted = source in {TEMPLATE, TOKENIZER}
        if not is_trusted and trusted is not None and source >= FIRST_FIELD:
            if source not in known:
                field = inputs.field(source)
                known[source] = field is not None and bool(trusted(field))
            is_trusted = known[source]
        if is_trusted:
            if here != end:
                if start < end:
                    yield start, end
                start = here
            end = here + length
        here += length
    if start < end:
        yield start, end


def _predicate(trust: Trust, count: int) -> Callable[[Field], bool] | None:
    if trust is None:
        return None
    if trust == "assistant":
        return lambda field: field.role == "assistant"
    if isinstance(trust, int) and not isinstance(trust, bool):
        if not -count <= trust < count:
            raise InputError(
                what=f"trust={trust} is no message: there are {count}.", value=str(trust)
            )
        index = trust % count
        return lambda field: field.message == index
    if callable(trust):
        return trust
    raise InputError(
        what=f"trust={trust!r} is not known.",
        hint='Use "assistant", "all", the index of a message, or a function of a Field.',
        value=str(trust),
    )


def _has_arguments(messages: Sequence[Any]) -> bool:
    def calls(message: Any) -> Any:
        if isinstance(message, Mapping):
            return message.get("tool_calls")
        return getattr(message, "tool_calls", None)

    return any(calls(message) for message in messages)


def _final_field(messages: Sequence[Any], *, wanted: bool | str, source: str) -> str | None:
    """Return the field of the last message that is to go on, or None."""
    if not wanted:
        return None
    name = wanted if isinstance(wanted, str) else "content"
    last = messages[-1]
    value = last.get(name) if isinstance(last, Mapping) else getattr(last, name, None)
    parts = value if isinstance(value, (list, tuple)) else ()
    if isinstance(value, str) or any("text" in part for part in parts):
        if name in source or (name in REASONING and any(one in source for one in REASONING)):
            return name
        raise TemplateError(
            what=f"The template never reads {name!r}, so it cannot be continued.",
            location="template",
            value=name,
        )
    raise InputError(
        location=f"messages[{len(messages) - 1}]",
        what=f"The last message has no text in {name!r} to go on.",
        hint="Pass continue_final_message=, the name of a field that has.",
        position=len(messages) - 1,
        value=name,
    )


def cut(text: Marked, inputs: Inputs, final: str) -> Marked:
    """Cut the text where the last message ends, by the place of the character put there."""
    here, found = 0, None
    for length, marked, at in runs_of(text):
        end = inputs.ends.get(marked & ~GENERATION)
        if end is not None and at >= 0 and at <= end < at + length:
            found = here + end - at
        here += length
    if found is None:
        raise TemplateError(
            location=f"template, message {len(inputs.messages) - 1}",
            what=f"The template does not write the end of {final!r} of the last message as it is.",
            hint="It may drop or escape it; then the message cannot be continued.",
            position=len(inputs.messages) - 1,
            value=final,
        )
    return text[:found]  # type: ignore[return-value]
