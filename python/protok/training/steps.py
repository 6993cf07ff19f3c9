"""Training by hand: each merge with all pairs that competed, counted again for a person to check.

The words are written in their first symbols, the merges are applied one by one, and every pair is
counted anew at each step: slow, and independent of how the trainer keeps its counts.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from protok import _core
from protok.errors import VerificationError
from protok.training.recipe import checked

if TYPE_CHECKING:
    from protok.training.learners import Merge
    from protok.training.recipe import Recipe
    from protok.training.run import Training

__all__ = ["Step", "steps"]

Pair = tuple[str, str]


@dataclass(frozen=True)
class Step:
    """A merge, and what else could have been merged.

    Parameters
    ----------
    merge
        What was merged.
    pairs
        Every pair with its count, most frequent first; among equals in the order in which the
        corpus shows them.
    parts
        How often each symbol occurs, for the score of a pair.
    tokens_before
        The symbols in the corpus before the merge.
    words
        The distinct words after it, as symbols, with their counts.
    """

    merge: Merge
    pairs: tuple[tuple[Pair, int], ...]
    parts: dict[str, int]
    tokens_before: int
    words: tuple[tuple[tuple[str, ...], int], ...]

    def score(self, pair: Pair) -> float:
        """Divide the count of a pair by those of its parts, as WordPiece's likelihood does."""
        return dict(self.pairs)[pair] / (self.parts[pair[0]] * self.parts[pair[1]])


def steps(training: Training, number: int) -> Iterator[Step]:
    """Recount the first merges of a training.

    Raises
    ------
    VerificationError
        If a merge has another count than the words show.

    Examples
    --------
    >>> import protok
    >>> from protok.training import run
    >>> from protok.training.steps import steps
    >>> recipe = protok.Recipe(vocab_size=9, symbols="characters", pre_tokenizer=None)
    >>> words = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}
    >>> step = next(steps(run(recipe, words), 1))
    >>> step.merge.left, step.merge.right, step.pairs[0]
    ('u', 'g', (('u', 'g'), 20))
    """
    recipe = checked(training.recipe)
    counter = training.counted.counter.items() if training.counted else []
    words = [(_symbols(recipe, data), count) for data, count in counter]
    for merge in training.merges[:number]:
        pairs: Counter[Pair] = Counter()
        parts: Counter[str] = Counter()
        for symbols, count in words:
            for symbol in symbols:
                parts[symbol] += count
            for pair in itertools.pairwise(symbols):
                pairs[pair] += count
        tokens = sum(len(symbols) * count for symbols, count in words)
        chosen = (merge.left, merge.right)
        if pairs[chosen] != merge.count and recipe.tie != "lowest-ids":
            raise VerificationError(
                what=f"The pair {chosen} occurs {pairs[chosen]} times, not {merge.count}.",
                location="merges",
                value=" ".join(chosen),
            )
        words = [(_merged(symbols, chosen, merge), count) for symbols, count in words]
        listed = tuple(sorted(pairs.items(), key=lambda item: -item[1]))
        yield Step(merge, listed, dict(parts), tokens, tuple(words))


def _symbols(recipe: Recipe, data: bytes) -> tuple[str, ...]:
    """Write a word in its first symbols."""
    if recipe.model == "bpe" and recipe.symbols == "bytes":
        letters: Sequence[str] = [_core.BYTE_ALPHABET[byte] for byte in data]
    else:
        letters = data.decode()
    prefix = recipe.continuing_subword_prefix or ""
    symbols = [letter if i == 0 else prefix + letter for i, letter in enumerate(letters)]
    symbols[-1] += recipe.end_of_word_suffix or ""
    return tuple(symbols)


def _merged(symbols: tuple[str, ...], pair: Pair, merge: Merge) -> tuple[str, ...]:
    merged: list[str] = []
    at = 0
    while at < len(symbols):
        if symbols[at : at + 2] == pair:
            merged.append(merge.token)
            at += 2
        else:
            merged.append(symbols[at])
            at += 1
    for token, parts in merge.removed:
        merged = [part for symbol in merged for part in (parts if symbol == token else (symbol,))]
    return tuple(merged)
