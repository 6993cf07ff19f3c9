"""The filter ``tojson``: what ``json.dumps`` writes, with runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from protok.chat.limits import Budget, SpentError
from protok.chat.provenance import (
    FIRST_FIELD,
    GENERATION,
    UNKNOWN,
    Marked,
    Run,
    mark,
    runs_of,
)

__all__ = ["to_json"]

MOST_INDENT = 100


def to_json(
    value: Any,
    budget: Budget,
    origins: dict[int, int],
    *,
    ensure_ascii: bool = False,
    indent: Any = None,
    separators: Any = None,
    sort_keys: bool = False,
) -> Marked:
    """Write a value as JSON.

    Parameters
    ----------
    value
        What the template passes.
    budget
        Pays for it.
    origins
        The field of each of the caller's own lists and objects, by identity. Such a value is
        written in one go, and all of the text comes from that field.
    """
    if (
        isinstance(indent, (int, str))
        and (len(indent) if isinstance(indent, str) else indent) > MOST_INDENT
    ):
        raise SpentError(f"indents by more than {MOST_INDENT}")
    if separators is not None and sum(len(text) for text in separators) > MOST_INDENT:
        raise SpentError(f"separates by more than {MOST_INDENT} characters")
    options = {
        "ensure_ascii": ensure_ascii,
        "indent": indent,
        "separators": separators,
        "sort_keys": sort_keys,
    }
    size = budget.tree(value) if isinstance(value, (list, tuple, dict)) else 8
    size = size if not isinstance(value, str) else len(value)
    budget.text(size * (2 if indent is None else 4))
    text = json.dumps(value, **options)
    budget.text(len(text))
    if isinstance(value, str):
        return _string(value, text, ensure_ascii=ensure_ascii)
    source = origins.get(id(value))
    if source is not None:
        return mark(text, ((len(text), source, -1),))
    return mark(text, tuple(_runs(value, text, origins, sort_keys=bool(sort_keys))))


def _string(value: str, text: str, *, ensure_ascii: bool) -> Marked:
    """Spread the runs of a string over its escaped form; the quotes are nobody's."""
    runs: list[Run] = [(1, UNKNOWN, -1)]
    if len(text) == len(value) + 2:
        runs.extend(runs_of(value))
    else:
        start = 0
        for length, source, _ in runs_of(value):
            part = json.dumps(str.__str__(value)[start : start + length], ensure_ascii=ensure_ascii)
            runs.append((len(part) - 2, source, -1))
            start += length
    runs.append((1, UNKNOWN, -1))
    return mark(text, tuple(runs))


def _runs(value: Any, text: str, origins: dict[int, int], *, sort_keys: bool) -> Iterator[Run]:
    """Find what the caller's data wrote in the JSON of an object that the template made.

    The texts in it come in the order of the tree, so each is found behind the one before.
    """
    ascii_only = text.isascii()
    written, at = 0, 0
    for leaf, source in _leaves(value, origins, sort_keys=sort_keys):
        spelled = json.dumps(leaf, ensure_ascii=ascii_only)
        found = text.find(spelled, at)
        if found < 0:
            break
        at = found + len(spelled)
        if at - found > len('""'):
            yield (found + 1 - written, UNKNOWN, -1)
            yield (len(spelled) - 2, source, -1)
            written = at - 1
    if written < len(text):
        yield (len(text) - written, UNKNOWN, -1)


def _leaves(value: Any, origins: dict[int, int], *, sort_keys: bool) -> Iterator[tuple[str, int]]:
    if isinstance(value, str):
        runs = runs_of(value)
        sources = {source for _, source, _ in runs}
        # JSON of an object is untrusted, also where the template wrote a text in it.
        source = sources.pop() if len(sources) == 1 else UNKNOWN
        yield value, source if source & ~GENERATION >= FIRST_FIELD else UNKNOWN
    elif isinstance(value, dict):
        items = sorted(value.items()) if sort_keys else value.items()
        for key, child in items:
            if isinstance(key, str):
                yield from _leaves(key, origins, sort_keys=sort_keys)
            yield from _leaves(child, origins, sort_keys=sort_keys)
    elif isinstance(value, (list, tuple)):
        for child in value:
            yield from _leaves(child, origins, sort_keys=sort_keys)
