"""What rendering a template may cost.

A template is code from a stranger. The generated code spends from a budget at every turn of a
loop, every call, concatenation and multiplication; what cannot be interrupted (a filter, a method
of a string) is priced before it runs. Steps and bytes are counted, so a template that is refused
is refused on every machine; the time of the processor is the last resort.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from protok.chat.provenance import runs_of

__all__ = ["Budget", "Limits", "SpentError"]

CHECK_EVERY = 256
CHARACTERS_A_STEP = 4096


class SpentError(Exception):
    """The template took more than it may. Not an error that a template can catch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on a template: what it may cost, and how much more for each character of the input.

    Parameters
    ----------
    steps
        Turns of loops, calls, and operations on text.
    seconds
        Time of the processor.
    bytes
        All memory that intermediate results take together, whether kept or not.
    characters
        The length of one text, the result included.
    source
        The length of the template itself.
    tokens
        The tokens of the template, as its language counts them.

    Examples
    --------
    >>> import protok
    >>> tok = protok.load("protok:demo")
    >>> forever = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
    >>> hello = [{"role": "user", "content": "Hello"}]
    >>> try:
    ...     tok.chat(hello, template=forever, limits=protok.chat.Limits(steps=1000))
    ... except protok.TemplateError as error:
    ...     print(error.what)
    The template takes more than 3816 steps.
    """

    steps: int = 200_000
    seconds: float = 0.4
    bytes: int = 48 << 20
    characters: int = 1 << 20
    source: int = 1 << 18
    tokens: int = 20_000

    def scaled(self, size: int) -> Limits:
        """Return the bounds for an input of so many characters."""
        return Limits(
            steps=self.steps + 128 * size,
            seconds=self.seconds + size * 2e-5,
            bytes=self.bytes + 1024 * size + size * size // 256,
            characters=self.characters + 16 * size,
            source=self.source,
            tokens=self.tokens,
        )


class Budget:
    """What is left of the limits. One rendering has one; its methods are part of generated code."""

    __slots__ = ("_check_at", "_deadline", "_limits", "_room", "_steps")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._steps = limits.steps
        self._check_at = limits.steps - CHECK_EVERY
        self._room = limits.bytes
        self._deadline = time.thread_time() + limits.seconds

    def turn(self, cost: int = 1) -> bool:
        """Spend steps; true, so that it can stand in a condition."""
        self._steps -= cost
        if self._steps < self._check_at:
            self._check()
        return True

    def _check(self) -> None:
        if self._steps < 0:
            raise SpentError(f"takes more than {self._limits.steps} steps")
        if time.thread_time() > self._deadline:
            raise SpentError(f"takes more than {self._limits.seconds:.1f} seconds")
        self._check_at = self._steps - CHECK_EVERY

    def text(self, length: int, runs: int = 1) -> None:
        """Pay for a text before it is made."""
        if length > self._limits.characters:
            raise SpentError(f"makes a text of more than {self._limits.characters} characters")
        self.room(64 + 2 * length + 16 * runs)
        self.turn(1 + length // CHARACTERS_A_STEP + runs // 2)

    def room(self, size: int) -> None:
        """Pay for memory before it is taken."""
        self._room -= size
        if self._room < 0:
            raise SpentError(f"takes more than {self._limits.bytes} bytes of memory")

    def items(self, count: int) -> None:
        """Pay for a list before it is made."""
        self.room(56 + 16 * count)
        self.turn(1 + count // 8)

    def weigh(self, value: Any) -> Any:
        """Pay for looking at a whole value once, and return it."""
        kind = type(value)
        if kind is bool or kind is int or value is None:
            return value
        if isinstance(value, str):
            self.turn(1 + len(value) // CHARACTERS_A_STEP + len(runs_of(value)) // 4)
        elif isinstance(value, (list, tuple, dict)):
            self.turn(1 + self.tree(value) // CHARACTERS_A_STEP)
        return value

    def tree(self, value: Any) -> int:
        """Return the size of a value written out, in characters, give or take.

        A list that holds one list twice, which holds one twice, is small in memory and has no end
        when it is printed, compared or hashed: so what is shared counts as often as it is met.
        """
        most = 16 * self._limits.characters
        sizes: dict[int, int] = {}
        size = self._tree(value, sizes, most)
        self.turn(1 + len(sizes) // 4)
        return size

    def _tree(self, value: Any, sizes: dict[int, int], most: int, depth: int = 0) -> int:
        if isinstance(value, str):
            return 2 + len(value)
        if isinstance(value, dict):
            children: Any = value.items()
        elif isinstance(value, (list, tuple)):
            children = value
        else:
            return 8
        known = sizes.get(id(value))
        if known is not None:
            return known
        if depth > 200:
            raise SpentError("makes lists that are nested more than 200 deep")
        total = 2
        if isinstance(value, dict):
            for key, child in children:
                total += self._tree(key, sizes, most, depth + 1)
                total += self._tree(child, sizes, most, depth + 1)
        else:
            for child in children:
                total += self._tree(child, sizes, most, depth + 1)
        if total > most:
            raise SpentError(f"makes a list of more than {most} characters")
        sizes[id(value)] = total
        return total
