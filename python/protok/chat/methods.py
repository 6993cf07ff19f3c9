"""Which attributes a template may read, and what a method of a text costs before it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2.filters import _GroupTuple
from jinja2.runtime import BlockReference, LoopContext, Macro
from jinja2.utils import Cycler, Joiner

from protok.chat.limits import Budget, SpentError

__all__ = ["ATTRIBUTES", "STRING_METHODS"]

MOST_TAB = 100
PART = 200  # bytes that a part of a split text takes, beside its characters


def _same(budget: Budget, text: str, *_: Any, **__: Any) -> None:
    budget.text(len(text), 1)


def _look(budget: Budget, text: str, *_: Any, **__: Any) -> None:
    budget.weigh(text)


def _pad(budget: Budget, text: str, width: Any = 0, *_: Any) -> None:
    budget.text(max(len(text), width if isinstance(width, int) else 0))


def _tabs(budget: Budget, text: str, tabsize: Any = 8) -> None:
    if isinstance(tabsize, int) and tabsize > MOST_TAB:
        raise SpentError(f"expands tabs to more than {MOST_TAB} characters")
    budget.text(len(text) + text.count("\t") * MOST_TAB)


def _join(budget: Budget, text: str, parts: Any = ()) -> None:
    if isinstance(parts, (list, tuple)):
        size = sum(len(part) for part in parts if isinstance(part, str))
        budget.text(size + len(text) * len(parts), 2 * len(parts))
    else:
        budget.weigh(text)


def _replace(
    budget: Budget, text: str, old: Any = "", new: Any = "", count: Any = -1, **_: Any
) -> None:
    if isinstance(old, str) and isinstance(new, str):
        times = text.count(old) if old else len(text) + 1
        if isinstance(count, int) and 0 <= count < times:
            times = count
        budget.text(len(text) + times * len(new), 2 * times + 1)


def _split(budget: Budget, text: str, sep: Any = None, *_: Any, **__: Any) -> None:
    budget.text(len(text))
    if isinstance(sep, str) and sep:
        budget.room(PART * text.count(sep))
    else:
        budget.room(PART * len(str.split(text)))


def _lines(budget: Budget, text: str, *_: Any, **__: Any) -> None:
    budget.text(len(text))
    budget.room(PART * len(str.splitlines(text)))


def _format(budget: Budget, text: str, *_: Any, **__: Any) -> None:
    budget.text(len(text), 1)


Price = Callable[..., None]

STRING_METHODS: dict[str, Price] = {
    **dict.fromkeys(
        (
            "capitalize",
            "casefold",
            "lower",
            "lstrip",
            "partition",
            "removeprefix",
            "removesuffix",
            "rpartition",
            "rstrip",
            "strip",
            "swapcase",
            "title",
            "upper",
        ),
        _same,
    ),
    **dict.fromkeys(
        (
            "count",
            "endswith",
            "find",
            "index",
            "isalnum",
            "isalpha",
            "isascii",
            "isdecimal",
            "isdigit",
            "isidentifier",
            "islower",
            "isnumeric",
            "isprintable",
            "isspace",
            "istitle",
            "isupper",
            "rfind",
            "rindex",
            "startswith",
        ),
        _look,
    ),
    **dict.fromkeys(("center", "ljust", "rjust", "zfill"), _pad),
    **dict.fromkeys(("split", "rsplit"), _split),
    "expandtabs": _tabs,
    "format": _format,
    "format_map": _format,
    "join": _join,
    "replace": _replace,
    "splitlines": _lines,
}

_LOOP = (
    "changed",
    "cycle",
    "depth",
    "depth0",
    "first",
    "index",
    "index0",
    "last",
    "length",
    "nextitem",
    "previtem",
    "revindex",
    "revindex0",
)

ATTRIBUTES: dict[type, frozenset[str]] = {
    dict: frozenset({"copy", "get", "items", "keys", "values"}),
    list: frozenset({"copy", "count", "index"}),
    tuple: frozenset({"count", "index"}),
    range: frozenset({"count", "index", "start", "step", "stop"}),
    float: frozenset({"is_integer"}),
    int: frozenset(),
    BlockReference: frozenset({"super"}),
    LoopContext: frozenset(_LOOP),
    Macro: frozenset({"arguments", "caller", "catch_kwargs", "catch_varargs", "name"}),
    Cycler: frozenset({"current", "next", "reset"}),
    Joiner: frozenset(),
    _GroupTuple: frozenset({"count", "grouper", "index", "list"}),
}
