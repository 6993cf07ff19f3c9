"""Recipes as TOML: read with every mistake named, and written in one way only."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from protok.corpus import Source
from protok.errors import InputError, unreadable
from protok.training.presets import preset
from protok.training.recipe import Recipe

__all__ = ["from_toml", "plain", "read_recipe", "to_toml"]

_NONE = "none"  # TOML has no null


def from_toml(text: str, name: str = "recipe") -> Recipe:
    """Read a recipe from TOML.

    The keys are the fields of `Recipe`; ``preset`` names a recipe to start from, and ``corpus``
    is a list of names or tables. ``"none"`` is None.

    Parameters
    ----------
    text
        The TOML.
    name
        What errors call it.

    Raises
    ------
    InputError
        For TOML that is none, an unknown key or a value of another type, with the key.

    Examples
    --------
    >>> from protok.training import from_toml
    >>> recipe = from_toml('''
    ... preset = "gpt2"
    ... vocab_size = 8000
    ... [[corpus]]
    ... files = ["books/*.txt"]
    ... weight = 2.0
    ... ''')
    >>> recipe.special_tokens, recipe.sources[0].weight
    (('<|endoftext|>',), 2.0)
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            what=f"The recipe is no TOML: {error}.",
            location=name,
            hint="See docs/guides/training.md for one.",
        ) from error
    start = data.pop("preset", None)
    values: dict[str, Any] = {}
    if start is not None:
        base = preset(_checked(start, str, f"{name}: preset"))
        values = {field.name: getattr(base, field.name) for field in fields(base)}
    values |= _read(data, Recipe, name)
    return Recipe(**values)


def read_recipe(path: str | PathLike[str]) -> Recipe:
    """Read a recipe from a file."""
    path = Path(path)
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            what=f"The recipe is not UTF-8 ({error.reason} at byte {error.start}).",
            location=str(path),
            hint="A recipe is TOML. Give the files of the corpus after it.",
            position=error.start,
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error
    return from_toml(text, str(path))


def to_toml(recipe: Recipe) -> str:
    r"""Write a recipe as TOML: what differs from the default, in the order of the fields.

    Examples
    --------
    >>> import protok
    >>> from protok.training import from_toml, to_toml
    >>> recipe = protok.Recipe(vocab_size=1000, decoder=None)
    >>> print(to_toml(recipe), end="")
    vocab_size = 1000
    decoder = "none"
    >>> from_toml(to_toml(recipe)) == recipe
    True
    """
    values = plain(recipe)
    tables = values.pop("corpus", [])
    lines = [f"{key} = {_value(value)}\n" for key, value in values.items()]
    for table in tables:
        lines.append("\n[[corpus]]\n")
        lines += [f"{key} = {_value(value)}\n" for key, value in table.items()]
    return "".join(lines)


def plain(recipe: Recipe, *, corpus: bool = True) -> dict[str, Any]:
    """Give a recipe as plain data, as TOML has it: what differs from the default."""
    values = _plain(recipe)
    values.pop("corpus", None)
    if corpus and recipe.corpus:
        values["corpus"] = [_plain(source) for source in recipe.sources]
    return values


def _plain(record: Recipe | Source) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if value != (None if field.default is MISSING else field.default):
            values[field.name] = _NONE if value is None else _bare(value)
    return values


def _bare(value: Any) -> Any:
    """Drop what TOML cannot say and components do not need: fields that are null."""
    if isinstance(value, Mapping):
        return {key: _bare(item) for key, item in value.items() if item is not None}
    if isinstance(value, tuple | list):
        return [_bare(item) for item in value]
    return value


def _value(value: Any) -> str:
    match value:
        case bool() | int() | str():
            return _text(value) if isinstance(value, str) else json.dumps(value)
        case float():
            return repr(value)
        case Mapping():
            inside = ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items())
            return f"{{ {inside} }}" if inside else "{}"
        case _:
            return f"[{', '.join(map(_value, value))}]"


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if bare else _text(key)


def _text(text: str) -> str:
    # TOML's basic strings are JSON's, but for U+007F.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _read(data: Mapping[str, Any], kind: type[Recipe | Source], name: str) -> dict[str, Any]:
    hints = get_type_hints(kind)
    extra = {"preset"} if kind is Recipe else set()
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key not in hints:
            raise InputError(
                what=f"A recipe has no key {key!r}.",
                location=f"{name}: {key}",
                hint=f"Known are {', '.join(sorted({*hints, *extra}))}.",
                value=key,
            )
        values[key] = _checked(value, hints[key], f"{name}: {key}")
    return values


def _checked(value: Any, hint: Any, where: str) -> Any:
    """Return a value as the field has it, or say what it should have been."""
    for choice in _choices(hint):
        found, result = _as(value, choice, where)
        if found:
            return result
    raise InputError(
        what=f"{json.dumps(value, ensure_ascii=False, default=str)} is not what goes here.",
        location=where,
        hint=f"Give {' or '.join(dict.fromkeys(map(_called, _choices(hint))))}.",
        value=str(value),
    )


def _choices(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)


def _as(value: Any, choice: Any, where: str) -> tuple[bool, Any]:  # noqa: PLR0911
    origin = get_origin(choice)
    if origin is Literal:
        return value in get_args(choice), value
    if choice is NoneType:
        return value == _NONE, None
    if choice is Source:
        if not isinstance(value, dict):
            return False, None
        return True, Source(**_read(value, Source, where))
    if origin is tuple:
        if not isinstance(value, list):
            return False, None
        item = get_args(choice)[0]
        return True, tuple(_checked(v, item, f"{where}[{i}]") for i, v in enumerate(value))
    if choice is float:
        return isinstance(value, int | float) and not isinstance(value, bool), value
    if choice in {int, str, bool}:
        return type(value) is choice, value
    return isinstance(value, dict), value


def _called(choice: Any) -> str:
    names = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
    if get_origin(choice) is Literal:
        return ", ".join(json.dumps(name) for name in get_args(choice))
    if choice is NoneType:
        return json.dumps(_NONE)
    if get_origin(choice) is tuple:
        return "a list"
    return names.get(choice, "a table")
