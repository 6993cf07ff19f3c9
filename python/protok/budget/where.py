"""Where the tokens of a text go: by line, section, message, or kind of text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protok import _core

__all__ = ["Part", "by_kind", "by_line", "by_message", "by_section", "kinds"]

HEADING = re.compile(r"^(#{1,6} .*|=+ .* =+)$")
FENCE = re.compile(r"^\s*(```|~~~)")
MARKUP = re.compile(r"^\s*(</?[A-Za-z!][^>]*>\s*)+$|^\s*[\[\]{}(),;:|=+*_-]+\s*$")
# What programs have and prose has not: a statement's end, assignments, calls, declarations.
CODE = re.compile(
    r"[;{}]\s*$|^\s*(def|class|import|from|return|fn|let|const|var|function|public|private|"
    r"#include|package|use|if|for|while|else|elif|switch|case)\b.*[:;({]?\s*$|"
    r"\w+\([^)]*\)|[=!<>+\-*/]=|\s=\s|->|=>|::|&&|\|\||^\s*(//|/\*|\*/|#!|@\w)"
)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text, and its tokens.

    Parameters
    ----------
    name
        What it is: a number of a line, a heading, a role, a kind.
    tokens
        How many tokens of the whole text begin in it.
    characters
        How many code points it has.

    Examples
    --------
    >>> from protok.budget.where import Part
    >>> Part("prose", 12, 60)
    Part(name='prose', tokens=12, characters=60)
    """

    name: str
    tokens: int
    characters: int


def _tokens_of(tok: _core.Tokenizer, text: str, bounds: Sequence[int], special: Any) -> list[int]:
    """Count the tokens that begin in each stretch between bounds: together, all of the text."""
    encoding = tok.encode(text, add_special_tokens=False, special=special)
    counts = [0] * (len(bounds) - 1)
    last = len(counts) - 1
    for start, _ in encoding.offsets.tolist():
        counts[min(max(bisect_right(bounds, start) - 1, 0), last)] += 1
    return counts


def _lines(text: str) -> list[tuple[int, int]]:
    ends = [0, *(match.end() for match in re.finditer("\n", text))]
    if ends[-1] < len(text):
        ends.append(len(text))
    return list(pairwise(ends))


def by_line(tok: _core.Tokenizer, text: str, *, special: Any = "text") -> list[Part]:
    r"""Count the tokens of each line. A token that crosses lines is of the one it begins in.

    Examples
    --------
    >>> import protok
    >>> from protok.budget.where import by_line
    >>> [part.tokens for part in by_line(protok.load("protok:demo"), "one two\nthree")]
    [3, 2]
    """
    lines = _lines(text)
    if not lines:
        return []
    counts = _tokens_of(tok, text, [0, *(end for _, end in lines)], special)
    return [
        Part(f"{number}", tokens, end - start)
        for number, (tokens, (start, end)) in enumerate(zip(counts, lines, strict=True), 1)
    ]


def by_section(tok: _core.Tokenizer, text: str, *, special: Any = "text") -> list[Part]:
    r"""Count the tokens of each section: a heading with what comes up to the next.

    Examples
    --------
    >>> import protok
    >>> from protok.budget.where import by_section
    >>> text = "# One\ntwo\n# Three\nfour\n"
    >>> [part.name for part in by_section(protok.load("protok:demo"), text)]
    ['One', 'Three']
    """
    starts, names, fenced = [0], ["(before the first heading)"], False
    for start, end in _lines(text):
        line = text[start:end].rstrip("\r\n")
        fenced ^= bool(FENCE.match(line))
        if not fenced and HEADING.match(line):
            starts.append(start)
            names.append(line.strip("#= "))
    bounds = [*starts, len(text)]
    counts = _tokens_of(tok, text, bounds, special)
    parts = zip(names, counts, pairwise(bounds), strict=True)
    return [Part(name, tokens, end - start) for name, tokens, (start, end) in parts if end > start]


def kinds(text: str) -> list[tuple[int, int, str]]:
    r"""Cut a text into stretches of a kind: blank lines, indentation, markup, code, prose.

    A line of markup counts as repeated where the same line came before.

    Examples
    --------
    >>> from protok.budget.where import kinds
    >>> text = "Some words.\n\n    x = 1\n"
    >>> [(kind, text[start:end]) for start, end, kind in kinds(text)]
    [('prose', 'Some words.\n'), ('blank lines', '\n'), ('indentation', '    '),
     ('code', 'x = 1\n')]
    """
    lines = _lines(text)
    seen: Counter[str] = Counter()
    found: list[tuple[int, int, str]] = []
    fenced = False
    for start, end in lines:
        line = text[start:end]
        content = line.strip()
        fence = bool(FENCE.match(line))
        if not content:
            kind = "blank lines"
        elif fence or MARKUP.match(line):
            kind = "repeated markup" if seen[content] else "markup"
            seen[content] += 1
        else:
            kind = "code" if fenced or CODE.search(line) else "prose"
        fenced ^= fence
        indent = len(line) - len(line.lstrip(" \t")) if content else 0
        if indent:
            found.append((start, start + indent, "indentation"))
        found.append((start + indent, end, kind))
    return found


def by_kind(tok: _core.Tokenizer, text: str, *, special: Any = "text") -> list[Part]:
    r"""Count the tokens of each kind of text, most first.

    Examples
    --------
    >>> import protok
    >>> from protok.budget.where import by_kind
    >>> parts = by_kind(protok.load("protok:demo"), "Some words of prose.\nx = 1;\n")
    >>> [(part.name, part.tokens) for part in parts]
    [('prose', 6), ('code', 5)]
    """
    stretches = kinds(text)
    if not stretches:
        return []
    bounds = [0, *(end for _, end, _ in stretches)]
    tokens: Counter[str] = Counter()
    characters: Counter[str] = Counter()
    counts = _tokens_of(tok, text, bounds, special)
    for count, (start, end, kind) in zip(counts, stretches, strict=True):
        tokens[kind] += count
        characters[kind] += end - start
    return [Part(kind, tokens[kind], characters[kind]) for kind, _ in tokens.most_common()]


def by_message(tok: Any, messages: Sequence[Mapping[str, Any]], **options: Any) -> list[Part]:
    """Count the tokens of each message of a conversation, of tools, and of the template itself.

    A token is of the message, or of the other data, that its text came from. What the template
    writes around messages is its own. Together they are all that ``tok.chat`` yields.

    Parameters
    ----------
    tok
        The tokenizer.
    messages
        The conversation.
    **options
        What ``tok.chat`` takes, such as ``tools``.

    Examples
    --------
    >>> import protok
    >>> from protok.budget.where import by_message
    >>> tok = protok.load("protok:demo")
    >>> template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    >>> talk = [{"role": "user", "content": "one two"}, {"role": "assistant", "content": "three"}]
    >>> parts = by_message(tok, talk, template=template)
    >>> [part.name for part in parts]
    ['1 user', '2 assistant', 'template']
    >>> sum(part.tokens for part in parts) == len(tok.chat(talk, template=template))
    True
    """
    chat = tok.chat(messages, **options)
    tokens: Counter[str] = Counter()
    names = [f"{index} {message.get('role', '?')}" for index, message in enumerate(messages, 1)]
    for message, field in zip(chat.message_index, chat.fields, strict=True):
        if message is not None:
            tokens[names[message]] += 1
        elif field is not None:
            tokens[re.split(r"[.\[]", field, maxsplit=1)[0]] += 1
        else:
            tokens["template"] += 1
    sizes = {
        name: len(content) if isinstance(content, str) else 0
        for name, content in zip(names, (m.get("content") for m in messages), strict=True)
    }
    others = [name for name in tokens if name not in sizes and name != "template"]
    order = [*names, *others, "template"]
    return [Part(name, tokens[name], sizes.get(name, 0)) for name in order]


def largest(parts: Iterable[Part], most: int) -> list[Part]:
    """Return the parts with most tokens, in the order of the text."""
    ranked = sorted(enumerate(parts), key=lambda part: -part[1].tokens)[:most]
    return [part for _, part in sorted(ranked, key=lambda part: part[0])]
