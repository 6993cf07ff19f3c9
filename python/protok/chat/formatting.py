"""``%`` and ``format`` with runs, and bounded: a width is a number that takes memory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any

from markupsafe import Markup

from protok.chat.limits import SpentError
from protok.chat.provenance import concat, mark, runs_of

__all__ = ["MOST_WIDTH", "TemplateFormatter", "percent"]

MOST_WIDTH = 1000
CONVERSION = re.compile(r"%(\(([^)]*)\))?([#0\- +]*)(\*|\d+)?(?:\.(\*|\d+))?[hlL]?(.)", re.DOTALL)
NUMBERS = re.compile(r"\d+")


def check_width(digits: str | None) -> None:
    """Refuse a width or precision that only takes memory."""
    if digits and digits != "*" and (len(digits) > 4 or int(digits) > MOST_WIDTH):
        raise SpentError(f"formats a value {digits} characters wide, more than {MOST_WIDTH}")


def percent(text: str, values: Any) -> Any:
    """Return ``text % values``; what stands for a plain ``%s`` keeps its runs."""
    for found in CONVERSION.finditer(text):
        if "*" in {found[4], found[5]}:
            raise SpentError("takes the width of a format from a value")
        check_width(found[4])
        check_width(found[5])
    if isinstance(text, Markup):
        return text % values  # it escapes, and loses the runs
    text = mark(text, runs_of(text))
    pieces: list[str] = []
    at, place = 0, 0
    listed = values if isinstance(values, tuple) else (values,)
    simple = True
    for found in CONVERSION.finditer(text):
        _, key, flags, width, precision, kind = found.groups()
        pieces.append(text[at : found.start()])
        at = found.end()
        if kind == "%":
            pieces.append(text[at - 1 : at])
            continue
        if key is not None:
            value = values[key] if isinstance(values, Mapping) and key in values else None
        else:
            value = listed[place] if place < len(listed) else None
            place += 1
        if kind == "s" and not (flags or width or precision) and isinstance(value, str):
            pieces.append(value)
        else:
            simple = simple and value is not None
            one = values if key is not None else (value,)
            pieces.append(str.__mod__(found.group(), one) if simple else "")
    pieces.append(text[at:])
    plain = str.__mod__(text, values)  # raises as Python does, and is what the text must be
    joined = concat(pieces)
    return joined if str.__eq__(joined, plain) else plain


class TemplateFormatter(Formatter):
    """``str.format`` whose fields are read by the sandbox.

    Parameters
    ----------
    environment
        What reads attributes and items.
    """

    def __init__(self, environment: Any) -> None:
        self._environment = environment

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Any) -> tuple[Any, Any]:
        from _string import formatter_field_name_split  # type: ignore[import-not-found]  # noqa: PLC0415

        first, rest = formatter_field_name_split(field_name)
        value = self.get_value(first, args, kwargs)
        for is_attribute, name in rest:
            read = self._environment.getattr if is_attribute else self._environment.getitem
            value = read(value, name)
        return value, first

    def format_field(self, value: Any, format_spec: str) -> str:
        for digits in NUMBERS.findall(format_spec):
            check_width(digits)
        if not format_spec and isinstance(value, str):
            return value
        self._environment.budget.weigh(value)
        return str(format(value, format_spec))

    def convert_field(self, value: Any, conversion: Any) -> Any:
        self._environment.budget.weigh(value)
        return super().convert_field(value, conversion)

    def run(self, text: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        """Format; literal text has the run of the whole, if that has one."""
        sources = {source for _, source, _ in runs_of(text)}
        source = sources.pop() if len(sources) == 1 else None
        pieces: list[str] = []
        place = 0
        for literal, field, spec, conversion in self.parse(text):
            if literal:
                pieces.append(_with_source(literal, source))
            if field is None:
                continue
            name = field
            if not name or name[0] in ".[":
                name = f"{place}{name}"
                place += 1
            value, _ = self.get_field(name, args, kwargs)
            value = self.convert_field(value, conversion)
            # A field inside the format of another: its own fields are numbers and the like.
            pieces.append(self.format_field(value, self.vformat(spec or "", args, kwargs)))
        joined = concat(pieces)
        return Markup(joined) if isinstance(text, Markup) else joined  # noqa: S704  (the template's own)


def _with_source(literal: str, source: int | None) -> str:
    return literal if source is None else mark(literal, ((len(literal), source, -1),))
