"""Text that knows where each of its characters came from.

A :class:`Marked` is a ``str`` with *runs*: ``(length, source, at)``, where ``source`` says who
wrote these characters and ``at`` where they stand in the field that they came from (-1 where
nobody can tell). Sources are small numbers: unknown, the template, the tokenizer, and from
:data:`FIRST_FIELD` on the fields of the caller's data.

Trust is positive. Whatever makes a text without saying what its runs are (a method of ``str`` that
is not written here, a filter, a formatter that calls the constructor) makes an untrusted one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self, SupportsIndex

from markupsafe import Markup

__all__ = [
    "FIRST_FIELD",
    "GENERATION",
    "TEMPLATE",
    "TOKENIZER",
    "UNKNOWN",
    "Marked",
    "Run",
    "Safe",
    "concat",
    "mark",
    "runs_of",
]

UNKNOWN, TEMPLATE, TOKENIZER, FIRST_FIELD = 0, 1, 2, 3
# Set in the source of text inside a `generation` tag.
GENERATION = 1 << 30

Run = tuple[int, int, int]
Runs = tuple[Run, ...]


class Marked(str):
    """A text with its runs. Made by :func:`mark`; the constructor makes untrusted text."""

    __slots__ = ("_runs",)
    _runs: Runs

    def __new__(cls, value: object = "") -> Self:
        text = str.__new__(cls, value)
        text._runs = ((len(text), UNKNOWN, -1),)
        return text

    # `str(text)` is what generated code and filters call: it must not lose the runs.
    def __str__(self) -> str:
        return self

    def __add__(self, other: str) -> str:
        if not isinstance(other, str):  # what is not text decides, or Python refuses
            return str.__str__(self) + other  # type: ignore[unreachable]
        if isinstance(other, Markup):
            return NotImplemented
        return mark(str.__add__(self, other), _joined(self._runs, runs_of(other)))

    def __radd__(self, other: Any) -> str:
        if not isinstance(other, str):
            return NotImplemented
        return mark(str.__add__(other, self), _joined(runs_of(other), self._runs))

    def __mul__(self, count: SupportsIndex) -> str:
        text = str.__mul__(self, count)
        if not text:
            return mark(text, ())
        if len(self._runs) == 1 and self._runs[0][2] < 0:
            return mark(text, ((len(text), self._runs[0][1], -1),))
        return mark(text, self._runs * (len(text) // len(self)))

    __rmul__ = __mul__

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        text = str.__getitem__(self, key)
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            return self._cut(start, max(start, stop)) if step == 1 else text
        at = key.__index__()
        return self._cut(at + len(self) if at < 0 else at, (at + len(self) if at < 0 else at) + 1)

    def _cut(self, start: int, stop: int) -> Marked:
        return mark(str.__getitem__(self, slice(start, stop)), _sliced(self._runs, start, stop))

    def join(self, parts: Iterable[str]) -> str:
        parts = list(parts)
        text = str.join(self, parts)
        runs: list[Run] = []
        for place, part in enumerate(parts):
            if place and self:
                _extend(runs, self._runs)
            _extend(runs, runs_of(part))
        return mark(text, tuple(runs))

    def strip(self, chars: str | None = None) -> str:
        start = len(self) - len(str.lstrip(self, chars))
        return self._cut(start, start + len(str.strip(self, chars)))

    def lstrip(self, chars: str | None = None) -> str:
        return self._cut(len(self) - len(str.lstrip(self, chars)), len(self))

    def rstrip(self, chars: str | None = None) -> str:
        return self._cut(0, len(str.rstrip(self, chars)))

    def removeprefix(self, prefix: str, /) -> str:
        return self._cut(len(self) - len(str.removeprefix(self, prefix)), len(self))

    def removesuffix(self, suffix: str, /) -> str:
        return self._cut(0, len(str.removesuffix(self, suffix)))

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return list(self._placed(str.split(self, sep, maxsplit), sep))

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return list(self._placed(str.rsplit(self, sep, maxsplit), sep))

    def splitlines(self, keepends: bool = False) -> list[str]:  # noqa: FBT001, FBT002
        spans, start = [], 0
        for whole, line in zip(
            str.splitlines(self, keepends=True),
            str.splitlines(self, keepends=keepends),
            strict=True,
        ):
            spans.append((start, start + len(line)))
            start += len(whole)
        return list(self._cuts(spans))

    def partition(self, sep: str) -> tuple[str, str, str]:
        head, middle, _ = str.partition(self, sep)
        return self._thirds(len(head), len(middle))

    def rpartition(self, sep: str) -> tuple[str, str, str]:
        head, middle, _ = str.rpartition(self, sep)
        return self._thirds(len(head), len(middle))

    def _thirds(self, head: int, middle: int) -> tuple[str, str, str]:
        end = head + middle
        return self._cut(0, head), self._cut(head, end), self._cut(end, len(self))

    def _placed(self, parts: list[str], sep: str | None) -> Iterator[Marked]:
        """Find the parts that a split left, in order.

        Between two stands the separator once, or else white space, which no part begins with, but
        for the first one of a split from the right.
        """
        spans, at = [], 0
        for place, part in enumerate(parts):
            if sep is None:
                at = str.find(self, part, at)
            elif place:
                at += len(sep)
            spans.append((at, at + len(part)))
            at += len(part)
        return self._cuts(spans)

    def _cuts(self, spans: list[tuple[int, int]]) -> Iterator[Marked]:
        text = str.__str__(self)
        for (start, end), runs in zip(spans, _slices(self._runs, spans), strict=True):
            yield mark(text[start:end], runs)

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> str:
        text = str.replace(self, old, new, count)
        if not old:
            return text
        spans, left, at = [], count.__index__(), 0
        while left:
            found = str.find(self, old, at)
            if found < 0:
                break
            spans.append((at, found))
            at, left = found + len(old), left - 1
        spans.append((at, len(self)))
        runs: list[Run] = []
        for place, kept in enumerate(_slices(self._runs, spans)):
            if place:
                _extend(runs, runs_of(new))
            _extend(runs, kept)
        return mark(text, tuple(runs))

    def lower(self) -> str:
        return self._same_length(str.lower(self))

    def upper(self) -> str:
        return self._same_length(str.upper(self))

    def casefold(self) -> str:
        return self._same_length(str.casefold(self))

    def capitalize(self) -> str:
        return self._same_length(str.capitalize(self))

    def title(self) -> str:
        return self._same_length(str.title(self))

    def swapcase(self) -> str:
        return self._same_length(str.swapcase(self))

    def _same_length(self, text: str) -> str:
        # No mapping of case makes a character shorter: if the length stays, each has one image.
        return mark(text, self._runs) if len(text) == len(self) else text


class Safe(Markup):
    """What the filter ``safe`` makes: marked text that escapes what is added to it.

    Only printing keeps the runs. Every other operation is that of ``Markup``, which builds its
    results through the constructor, and so without trust.
    """

    __slots__ = ("_runs",)
    _runs: Runs

    def __new__(cls, value: object = "", *_: object) -> Self:
        text = super().__new__(cls, value)
        text._runs = ((len(text), UNKNOWN, -1),)
        return text


def mark(text: str, runs: Runs) -> Marked:
    """Return a text with these runs, which cover it."""
    marked = str.__new__(Marked, text)
    marked._runs = runs
    return marked


def runs_of(text: str) -> Runs:
    """Return the runs of any text."""
    if isinstance(text, (Marked, Safe)):
        return text._runs
    return ((len(text), UNKNOWN, -1),) if text else ()


def concat(parts: Iterable[str]) -> Marked:
    """Join texts, each with its runs."""
    parts = list(parts)
    runs: list[Run] = []
    for part in parts:
        _extend(runs, runs_of(part))
    return mark("".join(parts), tuple(runs))


def _extend(runs: list[Run], more: Runs) -> None:
    """Append runs; two of one source, whose places nobody can tell, are one."""
    if runs and more:
        (before, source, at), (after, other, next_at) = runs[-1], more[0]
        if source == other and at < 0 and next_at < 0:
            runs[-1] = (before + after, source, -1)
            runs.extend(more[1:])
            return
    runs.extend(more)


def _joined(left: Runs, right: Runs) -> Runs:
    if left and right:
        (before, source, at), (after, other, next_at) = left[-1], right[0]
        if source == other and ((at < 0 and next_at < 0) or 0 <= at == next_at - before):
            return (*left[:-1], (before + after, source, at), *right[1:])
    return left + right


def _slices(runs: Runs, spans: list[tuple[int, int]]) -> Iterator[Runs]:
    """Cut runs at rising spans, going through them once."""
    if len(runs) == 1:
        for start, stop in spans:
            yield _sliced(runs, start, stop)
        return
    place, here = 0, 0
    for start, stop in spans:
        while place < len(runs) and here + runs[place][0] <= start:
            here += runs[place][0]
            place += 1
        found: list[Run] = []
        at_run, at_text = place, here
        while at_run < len(runs) and at_text < stop:
            length, source, at = runs[at_run]
            first, last = max(start, at_text), min(stop, at_text + length)
            if first < last:
                found.append((last - first, source, at + first - at_text if at >= 0 else -1))
            at_text += length
            at_run += 1
        yield tuple(found)


def _sliced(runs: Runs, start: int, stop: int) -> Runs:
    if len(runs) == 1:  # nearly always
        length, source, at = runs[0]
        if start == 0 and stop == length:
            return runs
        return ((stop - start, source, at + start if at >= 0 else -1),) if start < stop else ()
    found: list[Run] = []
    here = 0
    for length, source, at in runs:
        end = here + length
        if end > start:
            if here >= stop:
                break
            first, last = max(start, here), min(stop, end)
            if first < last:
                found.append((last - first, source, at + first - here if at >= 0 else -1))
        here = end
    return tuple(found)
