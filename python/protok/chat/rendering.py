"""A template and the caller's data become text that knows where it came from."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from types import CodeType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Template, nodes
from jinja2.exceptions import TemplateSyntaxError

from protok.chat.environment import Environment, RefusalError, environment
from protok.chat.generator import spend_in_loops
from protok.chat.limits import Limits, SpentError
from protok.chat.provenance import Marked, concat
from protok.errors import TemplateError

if TYPE_CHECKING:
    from protok.chat.inputs import Inputs

__all__ = ["Compiled", "Rendered", "compile_template", "render"]

MOST_TEMPLATES = 32
FILE = "<template>"


class Compiled(NamedTuple):
    """A template as code, with its constants, and all text in it that is constant."""

    code: CodeType
    literals: tuple[Marked, ...]
    strings: tuple[str, ...]


class Rendered(NamedTuple):
    """What a template made of the data."""

    text: Marked
    told_time: bool


@lru_cache(maxsize=MOST_TEMPLATES)
def compile_template(source: str, limits: Limits) -> Compiled:
    """Compile a template; the same text with the same limits is compiled once."""
    if len(source) > limits.source:
        raise _unusable(SpentError(f"has more than {limits.source} characters"))
    fresh = environment().renewed(limits)
    try:
        tree = fresh._parse(source, None, None)  # noqa: SLF001  (the sandbox's own steps)
        strings = tuple(_strings(tree))
        spend_in_loops(tree)
        fresh.literals = []
        written = fresh._generate(tree, None, None)  # noqa: SLF001
        code = compile(written, FILE, "exec")
    except TemplateSyntaxError as error:
        raise TemplateError(
            location=f"template, line {error.lineno}",
            what=f"The template is malformed: {error.message}",
            hint="Correct the template.",
            value=type(error).__name__,
        ) from error
    except (
        SpentError,
        RecursionError,
        MemoryError,
        OverflowError,
        SyntaxError,
        ValueError,
    ) as error:
        raise _unusable(error) from error
    return Compiled(code, tuple(fresh.literals), strings)


def _strings(tree: nodes.Template) -> Iterator[str]:
    for data in tree.find_all(nodes.TemplateData):
        yield data.data
    for constant in tree.find_all(nodes.Const):
        if isinstance(constant.value, str):
            yield constant.value


def _unusable(error: BaseException) -> TemplateError:
    what = f"The template {error}." if isinstance(error, SpentError) else _named(error)
    return TemplateError(
        location="template",
        what=what,
        hint="No template that is meant for messages needs that.",
        value=type(error).__name__,
    )


def _named(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "The template is nested too deep."
    return f"The template cannot be compiled: {error}."


def render(compiled: Compiled, inputs: Inputs, limits: Limits, clock: datetime | None) -> Rendered:
    """Render a template within limits.

    Raises
    ------
    TemplateError
        If the template refuses the messages, fails, or takes too much. ``location`` says which
        line, and ``position`` which message it was at.
    """
    fresh = environment().renewed(limits.scaled(inputs.size))
    fresh.origins = inputs.origins
    fresh.clock = clock
    namespace: dict[str, Any] = {
        "environment": fresh,
        "literals": compiled.literals,
        "__file__": FILE,
    }
    exec(compiled.code, namespace)  # noqa: S102  (written by the generator)
    template = Template._from_namespace(fresh, namespace, fresh.make_globals(None))  # noqa: SLF001
    context = template.new_context(inputs.variables)
    try:
        text = concat(_bounded(template.root_render_func(context), fresh))
    except Exception as error:
        raise _failure(error, template, namespace, inputs) from error
    return Rendered(text, fresh.told_time)


def _bounded(parts: Iterator[str], fresh: Environment) -> Iterator[str]:
    length = 0
    for part in parts:
        length += len(part)
        if length > fresh.limits.characters:
            raise SpentError(f"prints more than {fresh.limits.characters} characters")
        yield part


def _failure(
    error: Exception, template: Template, namespace: dict[str, Any], inputs: Inputs
) -> TemplateError:
    line, message = _place(error.__traceback__, template, namespace, inputs)
    where = "template" if line is None else f"template, line {line}"
    if message is not None:
        where += f", message {message}"
    hint = None
    if isinstance(error, SpentError):
        what = f"The template {error}."
        hint = "If it is meant to, pass limits=protok.chat.Limits(…)."
    elif isinstance(error, RefusalError):
        what = f"The template refuses the messages: {error}"
    elif isinstance(error, RecursionError):
        what = "The template calls itself too deep."
    else:
        what = f"The template fails ({type(error).__name__}): {error}"
        hint = "It may expect fields that the messages lack, or fields of another kind."
    kind = "TemplateError" if isinstance(error, RefusalError) else type(error).__name__
    return TemplateError(location=where, what=what, hint=hint, position=message, value=kind)


def _place(
    trace: TracebackType | None, template: Template, namespace: dict[str, Any], inputs: Inputs
) -> tuple[int | None, int | None]:
    """Return the line of the template, and the message that it had in hand."""
    line = message = None
    places = {id(one): place for place, one in enumerate(inputs.messages)}
    while trace is not None:
        if trace.tb_frame.f_globals is namespace:
            line = template.get_corresponding_lineno(trace.tb_lineno)
            held = [
                places[id(value)]
                for value in trace.tb_frame.f_locals.values()
                if id(value) in places
            ]
            message = held[-1] if held else message
        trace = trace.tb_next
    return line, message
