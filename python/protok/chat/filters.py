"""The filters of a template: Jinja's own, paid for, and a few that keep or check more.

A filter runs to its end once it is called, so its arguments are looked at first: a number that
only makes the result longer is bounded, and what a filter returns is paid for by its size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sized
from typing import Any

from jinja2 import filters as jinja_filters
from jinja2 import tests as jinja_tests
from jinja2.exceptions import FilterArgumentError
from jinja2.runtime import Context, Undefined
from jinja2.utils import _PassArg, pass_context

from protok.chat.json_text import to_json
from protok.chat.limits import SpentError
from protok.chat.provenance import Marked, Safe, mark, runs_of

__all__ = ["filters", "tests"]

# Their numbers are sizes.
SIZED = {
    "batch",
    "center",
    "filesizeformat",
    "indent",
    "round",
    "slice",
    "truncate",
    "urlize",
    "wordwrap",
}
MOST = {"round": 300}
MOST_SIZE = 10_000
# Regular expressions and the like, which cost more than their input is long.
HEAVY = {"striptags", "urlize", "wordwrap", "xmlattr", "pprint", "truncate", "wordcount", "title"}
MOST_HEAVY = 1 << 16
# Left out: a prompt that differs from call to call.
ABSENT = {"random"}


def _guarded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    pass_arg = _PassArg.from_obj(function)
    sized, heavy = name in SIZED, name in HEAVY

    @pass_context
    def run(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        environment: Any = context.environment
        budget = environment.budget
        budget.weigh(value)
        if sized:
            most = MOST.get(name, MOST_SIZE)
            for given in (*args, *kwargs.values()):
                if isinstance(given, (int, float)) and not -most <= given <= most:
                    raise SpentError(f"passes {name} a number beyond {most}")
        if heavy and len(_shown(environment, value)) > MOST_HEAVY:
            raise SpentError(f"passes {name} more than {MOST_HEAVY} characters")
        if pass_arg is _PassArg.context:
            result = function(context, value, *args, **kwargs)
        elif pass_arg is _PassArg.eval_context:
            result = function(context.eval_ctx, value, *args, **kwargs)
        elif pass_arg is _PassArg.environment:
            result = function(environment, value, *args, **kwargs)
        else:
            result = function(value, *args, **kwargs)
        return environment.paid(result)

    return run


def _shown(environment: Any, value: Any) -> str:
    return value if isinstance(value, str) else str(environment.show(value))


@pass_context
def _tojson(
    context: Context,
    value: Any,
    ensure_ascii: bool = False,  # noqa: FBT001, FBT002  (templates pass it by place)
    indent: Any = None,
    separators: Any = None,
    sort_keys: bool = False,  # noqa: FBT001, FBT002
) -> Marked:
    environment: Any = context.environment
    return to_json(
        value,
        environment.budget,
        environment.origins,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


@pass_context
def _join(
    context: Context, value: Iterable[Any], d: str = "", attribute: str | int | None = None
) -> Any:
    environment: Any = context.environment
    if context.eval_ctx.autoescape:
        return environment.paid(jinja_filters.sync_do_join(context.eval_ctx, value, d, attribute))
    if attribute is not None:
        value = map(jinja_filters.make_attrgetter(environment, attribute), value)
    parts = [environment.show(part) for part in value]
    between = environment.show(d)
    length = sum(map(len, parts)) + len(between) * len(parts)
    environment.budget.text(length, len(parts))
    return mark(between, runs_of(between)).join(parts)


@pass_context
def _replace(context: Context, value: Any, old: Any, new: Any, count: int | None = None) -> Any:
    environment: Any = context.environment
    value, old, new = (environment.show(text) for text in (value, old, new))
    if context.eval_ctx.autoescape:
        return environment.paid(jinja_filters.do_replace(context.eval_ctx, value, old, new, count))
    plain = mark(value, runs_of(value))
    return environment.method(plain, "replace")(old, new, -1 if count is None else count)


@pass_context
def _format(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
    if args and kwargs:
        raise FilterArgumentError("can't handle positional and keyword arguments at the same time")
    environment: Any = context.environment
    return environment.call_binop(context, "%", environment.show(value), kwargs or args)


@pass_context
def _indent(
    context: Context,
    value: Any,
    width: int | str = 4,
    first: bool = False,  # noqa: FBT001, FBT002
    blank: bool = False,  # noqa: FBT001, FBT002
) -> Any:
    environment: Any = context.environment
    text = environment.show(value)
    if context.eval_ctx.autoescape or isinstance(text, Safe):
        if isinstance(width, int) and width > MOST_SIZE:
            raise SpentError(f"indents by more than {MOST_SIZE}")
        environment.budget.text(len(text) * (len(str(width)) + 64))
        return environment.paid(jinja_filters.do_indent(text, width, first, blank))
    if isinstance(width, int):
        environment.budget.text(width)
        prefix: str = " " * width
    else:
        prefix = width
    text = mark(text, runs_of(text)) + "\n"
    lines = text.splitlines()
    environment.budget.text(len(text) + len(lines) * (len(prefix) + 1), 3 * len(lines))
    pieces: list[str] = [prefix] if first else []
    for place, line in enumerate(lines):
        if place:
            pieces.append("\n")
            if blank or line:
                pieces.append(prefix)
        pieces.append(line)
    return Marked("").join(pieces)


@pass_context
def _safe(context: Context, value: Any) -> Safe:
    text = context.environment.show(value)  # type: ignore[attr-defined]
    safe = Safe(text)
    safe._runs = runs_of(text)  # noqa: SLF001  (the one place that makes trusted ones)
    return safe


@pass_context
def _string(context: Context, value: Any) -> Any:
    return context.environment.show(value)  # type: ignore[attr-defined]


@pass_context
def _list(context: Context, value: Iterable[Any]) -> list[Any]:
    environment: Any = context.environment
    if isinstance(value, Sized):
        environment.budget.items(8 * len(value))
    found: list[Any] = []
    for item in value:
        environment.budget.turn(1)
        environment.budget.room(16)
        found.append(item)
    environment.built(found)
    return found


@pass_context
def _sum(
    context: Context,
    iterable: Iterable[Any],
    attribute: str | int | None = None,
    start: Any = 0,
) -> Any:
    environment: Any = context.environment
    if attribute is not None:
        iterable = map(jinja_filters.make_attrgetter(environment, attribute), iterable)
    for value in iterable:
        start = environment.call_binop(context, "+", start, value)
    return start


@pass_context
def _int(context: Context, value: Any, default: Any = 0, base: int = 10) -> Any:
    environment: Any = context.environment
    if isinstance(value, str) and len(value) > MOST["round"]:
        return default
    if isinstance(value, Undefined):
        return default
    return environment.paid(jinja_filters.do_int(value, default, base))


@pass_context
def _attr(context: Context, value: Any, name: Any) -> Any:
    environment: Any = context.environment
    return environment.attribute(value, environment.show(name))


OWN: Mapping[str, Callable[..., Any]] = {
    "attr": _attr,
    "format": _format,
    "indent": _indent,
    "int": _int,
    "join": _join,
    "list": _list,
    "replace": _replace,
    "safe": _safe,
    "string": _string,
    "sum": _sum,
    "tojson": _tojson,
}


def filters() -> dict[str, Callable[..., Any]]:
    """Return the filters by name."""
    return {
        name: OWN[name] if name in OWN else _guarded(name, function)
        for name, function in jinja_filters.FILTERS.items()
        if name not in ABSENT
    }


def _guarded_test(function: Any) -> Callable[..., Any]:
    pass_arg = _PassArg.from_obj(function)

    @pass_context
    def run(context: Context, value: Any, *args: Any) -> Any:
        environment: Any = context.environment
        environment.budget.weigh(value)
        for given in args:
            environment.budget.weigh(given)
        if pass_arg is _PassArg.environment:
            return function(environment, value, *args)
        return function(value, *args)

    return run


# They look at what a value is, never at what is in it.
LIGHT = {"boolean", "callable", "defined", "false", "float", "integer", "iterable", "mapping"} | {
    "none",
    "number",
    "sameas",
    "sequence",
    "string",
    "true",
    "undefined",
}


def tests() -> dict[str, Callable[..., Any]]:
    """Return the tests by name."""
    known: Mapping[str, Any] = jinja_tests.TESTS
    return {
        name: function if name in LIGHT else _guarded_test(function)
        for name, function in known.items()
    }
