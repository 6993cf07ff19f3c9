"""Watch a text become ids: every stage, merge by merge.

A trace is recorded by the engine's reference path itself, which does the same as the fast path
in a form that can be read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Trace"]

WIDTH = 80
INDENT = 13
_VISIBLE = {" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍"}


@dataclass(frozen=True)
class Trace:
    """What happened to one text on its way to ids.

    ``print(trace)`` shows it in 80 columns; `to_dict` gives it as plain data.

    Examples
    --------
    >>> import protok
    >>> tok = protok.load("protok:demo")
    >>> trace = tok.trace("low")
    >>> trace.ids == tok.encode("low").tolist()
    True
    """

    _data: dict[str, Any]

    @classmethod
    def from_json(cls, text: str) -> Trace:
        """Read the engine's record."""
        return cls(json.loads(text))

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as plain data.

        Spans are in bytes of the original. ``sections`` are the added tokens and the stretches
        between them, each with its normalizer steps and pieces, each piece with its symbols,
        merges and tokens; ``tokens`` is the result with the template.
        """
        data: dict[str, Any] = json.loads(json.dumps(self._data))
        return data

    @property
    def original(self) -> str:
        """The text."""
        text: str = self._data["original"]
        return text

    @property
    def ids(self) -> list[int]:
        """The ids, with the template's."""
        return [token["id"] for token in self._data["tokens"]]

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield from _block("text", visible(self.original))
        encoded = self.original.encode()
        yield from _block(
            "code points",
            f"{len(self.original)}: " + " ".join(f"U+{ord(c):04X}" for c in self.original),
        )
        yield from _block("bytes", f"{len(encoded)}: {encoded.hex(' ').upper()}")
        for section in self._data["sections"]:
            yield ""
            if section["kind"] == "added_token":
                token = section["token"]
                where = "normalized text" if section["normalized"] else "text"
                yield from _block(
                    "added token",
                    f"{visible(token['token'])} = {token['id']}  {_span(token)}, found in the "
                    f"{where}",
                )
                continue
            yield from _block("section", f"{visible(section['text'])}  {_span(section)}")
            for step in section["steps"]:
                yield from _block("normalize", f"{step['normalizer']}: {visible(step['text'])}")
            for number, piece in enumerate(section["pieces"], 1):
                yield from _piece(number, piece)
        yield ""
        yield from _result(self._data["tokens"])


def _piece(number: int, piece: dict[str, Any]) -> Iterator[str]:
    yield from _block(f"piece {number}", f"{visible(piece['text'])}  {_span(piece)}")
    if piece["symbols"]:
        symbols = (visible(symbol["token"]) for symbol in piece["symbols"])
        yield from _block("  symbols", "  ".join(symbols))
    for step, merge in enumerate(piece["merges"], 1):
        left, right = visible(merge["left"]), visible(merge["right"])
        yield from _block(
            f"  merge {step}",
            f"{left} + {right} → {visible(merge['result'])}  rank {merge['rank']}",
        )
    tokens = (f"{visible(token['token'])} = {token['id']}" for token in piece["tokens"])
    yield from _block("  tokens", "  ".join(tokens))


def _result(tokens: list[dict[str, Any]]) -> Iterator[str]:
    head = f"{'token':>5}  {'id':>8}  {'bytes':>11}  "
    yield f"{head}spelling"
    for place, token in enumerate(tokens):
        span = "template" if token["sequence"] is None else _range(token)
        lines = _fold(visible(token["token"]), WIDTH - len(head))
        yield f"{place:>5}  {token['id']:>8}  {span:>11}  {lines[0]}".rstrip()
        for line in lines[1:]:
            yield " " * len(head) + line


def _range(item: dict[str, Any]) -> str:
    start, end = item["span"]
    return f"{start}:{end}"


def _span(item: dict[str, Any]) -> str:
    return f"[{_range(item)}]"


def visible(text: str) -> str:
    """Show white space and control characters as something that can be seen."""
    return "".join(
        _VISIBLE.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):x}}}") for c in text
    )


def _block(label: str, text: str) -> Iterator[str]:
    lines = _fold(text, WIDTH - INDENT)
    yield f"{label:<{INDENT}}{lines[0]}".rstrip()
    for line in lines[1:]:
        yield " " * INDENT + line


def _fold(text: str, width: int) -> list[str]:
    """Fold a text into lines of at most ``width`` cells of a terminal, at blanks if possible."""
    from rich.cells import cell_len  # noqa: PLC0415  (only needed to show a trace)

    lines, line = [], ""
    for word in re.findall(r" *[^ ]+", text):
        if cell_len(line + word) <= width:
            line += word
            continue
        if line.strip():
            lines.append(line)
        line = ""
        for char in word.lstrip(" "):
            if cell_len(line + char) > width:
                lines.append(line)
                line = ""
            line += char
    return [*lines, line]
