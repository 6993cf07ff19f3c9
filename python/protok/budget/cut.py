"""Cut a text to so many tokens, or into pieces of so many, never within a visible character."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from protok import _core
from protok.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Boundary", "Cutter", "Piece", "Side", "Truncated"]

Boundary = Literal["grapheme", "word", "sentence", "line"]
Side = Literal["left", "right", "middle"]

# Where a unit does not fit by itself, it is cut at the next finer boundary.
FINER: dict[Boundary, Boundary] = {"line": "sentence", "sentence": "word", "word": "grapheme"}


@dataclass(frozen=True, slots=True)
class Truncated:
    """A text that was cut, and what was cut off.

    Parameters
    ----------
    text
        What is left.
    tokens
        How many tokens that has.
    removed
        The spans of the original that are gone, in code points.

    Examples
    --------
    >>> import protok
    >>> protok.load("protok:demo").truncate("one two three four", 2)
    Truncated(text='one two', tokens=2, removed=((7, 18),))
    """

    text: str
    tokens: int
    removed: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a text, and where it stands.

    Parameters
    ----------
    text
        The piece: ``original[start:end]``.
    start, end
        Where it stands, in code points.
    tokens
        How many tokens it has.

    Examples
    --------
    >>> import protok
    >>> protok.load("protok:demo").split("one two three", 2)[1]
    Piece(text=' three', start=7, end=13, tokens=1)
    """

    text: str
    start: int
    end: int
    tokens: int


class Cutter:
    """A text with its tokens and its boundaries, which are found when they are needed.

    Parameters
    ----------
    tok
        The tokenizer.
    text
        The text.
    max_tokens
        How many tokens each part may have.
    options
        How they are counted: ``add_special_tokens`` and ``special``.
    least
        How many tokens the text itself must be allowed.
    """

    def __init__(
        self,
        tok: _core.Tokenizer,
        text: str,
        max_tokens: int,
        options: dict[str, Any],
        *,
        least: int = 0,
    ) -> None:
        self.tok, self.text, self.max_tokens, self.options = tok, text, max_tokens, options
        self._bounds: dict[Boundary, list[int]] = {}
        encoding = tok.encode(text, **{**options, "add_special_tokens": False})
        import numpy as np  # noqa: PLC0415  (not needed to encode)

        offsets = encoding.offsets
        self.ends: npt.NDArray[np.uint32] = np.maximum.accumulate(offsets[:, 1])
        template = self.count("") if options["add_special_tokens"] else 0
        self.room = max_tokens - template
        if self.room < least:
            raise InputError(
                what=f"max_tokens={max_tokens} leaves no room for the text.",
                value=str(max_tokens),
                hint=f"The template takes {template}; allow for more.",
            )

    def count(self, text: str) -> int:
        """Count tokens, to one more than are allowed."""
        return _core.count_up_to(self.tok, text, self.max_tokens, **self.options)

    def bounds(self, boundary: Boundary) -> list[int]:
        """Return where the text may be cut, with its ends."""
        if boundary not in self._bounds:
            self._bounds[boundary] = _core.boundaries(self.text, boundary)
        return self._bounds[boundary]

    def token_at(self, position: int) -> int:
        """Return how many tokens end at a position or before."""
        return int(self.ends.searchsorted(position, "right"))

    def end_of(self, token: int) -> int:
        """Return where a token ends; the last one's end, if there is no such token."""
        return int(self.ends[min(token, len(self.ends) - 1)]) if len(self.ends) else 0

    # -- truncate --------------------------------------------------------------------------

    def truncate(self, side: Side, boundary: Boundary, marker: str) -> Truncated:
        """Cut the text to what is allowed, ``marker`` in the place of what is gone."""
        tokens = self.count(self.text)
        if tokens <= self.max_tokens:
            return Truncated(self.text, tokens)
        bounds = self.bounds(boundary)
        room = self.room - (self.count(marker) if marker else 0)
        kept = len(self.ends) - max(room, 0)
        match side:
            case "right":
                last, first = bisect_right(bounds, self._before(max(room, 0))) - 1, len(bounds) - 1
            case "left":
                last, first = 0, bisect_left(bounds, self._before(kept))
            case "middle":
                head = max(room, 0) - max(room, 0) // 2
                last = bisect_right(bounds, self._before(head)) - 1
                first = bisect_left(bounds, self._before(kept + head))
        while True:
            text = self.text[: bounds[last]] + marker + self.text[bounds[first] :]
            tokens = self.count(text)
            if tokens <= self.max_tokens:
                return Truncated(text, tokens, ((bounds[last], bounds[first]),))
            # Away from the end that is kept most of.
            if last == 0 and first == len(bounds) - 1:
                raise InputError(
                    what=f"The marker {marker!r} alone has more than {self.max_tokens} tokens.",
                    value=marker,
                    hint="Use a shorter one, or allow for more tokens.",
                )
            before, after = bounds[last], len(self.text) - bounds[first]
            if last > 0 and (before >= after or first == len(bounds) - 1):
                last -= 1
            else:
                first += 1

    def _before(self, tokens: int) -> int:
        """Return where so many tokens of the text end."""
        return self.end_of(tokens - 1) if tokens > 0 else 0

    # -- split -----------------------------------------------------------------------------

    def split(self, overlap: int, boundary: Boundary) -> Iterator[Piece]:
        """Yield pieces that cover the text, each as long as it may be."""
        start = 0
        while start < len(self.text):
            end, tokens = self._piece_end(start, boundary)
            yield Piece(self.text[start:end], start, end, tokens)
            if end == len(self.text):
                return
            start = self._next_start(start, end, overlap, boundary)

    def _piece_end(self, start: int, boundary: Boundary) -> tuple[int, int]:
        bounds = self.bounds(boundary)
        first = bisect_right(bounds, start)
        estimate = self.end_of(self.token_at(start) + self.room - 1)
        at = max(bisect_right(bounds, estimate) - 1, first)
        while True:
            tokens = self.count(self.text[start : bounds[at]])
            if tokens <= self.max_tokens:
                return bounds[at], tokens
            if at == first:
                break
            # One unit less where little is too much; tokens tell how much that is.
            at -= 1
        if boundary == "grapheme":
            cluster = self.text[start : bounds[first]]
            raise InputError(
                what=f"The character {cluster!r} at {start} has more than {self.max_tokens} "
                "tokens.",
                position=start,
                value=cluster,
                hint="Allow for more tokens: characters are not cut.",
            )
        return self._piece_end(start, FINER[boundary])

    def _next_start(self, start: int, end: int, overlap: int, boundary: Boundary) -> int:
        if overlap == 0:
            return end
        bounds = self.bounds(boundary)
        last = bisect_left(bounds, end)
        at = bisect_left(bounds, self._before(max(self.token_at(end) - overlap, 0)))
        while at < last:
            if bounds[at] > start and self.count(self.text[bounds[at] : end]) <= overlap:
                # The next piece must go on beyond this one.
                if self._piece_end(bounds[at], boundary)[0] > end:
                    return bounds[at]
                return end
            at += 1
        return end
