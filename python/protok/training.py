"""Train a tokenizer: a recipe and a corpus become a vocabulary.

The trainer runs in the engine; this module reads the corpus, composes the components and says
what happened.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from protok import _core
from protok.errors import InputError
from protok.tokenizer import Tokenizer

__all__ = ["Merge", "Recipe", "TieRule", "learn", "train"]

TieRule = Literal["lowest-ids", "lexicographic-first", "lexicographic-last", "first-seen"]

Corpus = Mapping[str, int] | Iterable[str | PathLike[str]]

_BYTE_LEVEL: dict[str, Any] = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": True,
}
_TEXTS_AT_A_TIME = 4096


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How to train a BPE tokenizer.

    Parameters
    ----------
    vocab_size
        The number of tokens in all: special tokens, alphabet and merged tokens.
    symbols
        Whether merging starts from bytes (spelled in GPT-2's alphabet) or from characters.
    normalizer, pre_tokenizer, decoder
        Components as in a ``tokenizer.json``; None for none. For bytes the default
        pre-tokenizer is GPT-2's.
    special_tokens
        Tokens with the first ids, in this order. They are control tokens.
    min_frequency
        The smallest count at which a pair is merged.
    tie
        Which of several pairs with the same count is merged: the one with the lowest ids (as in
        Hugging Face's trainer), the one that sorts first or last as a pair of strings, or the
        one met first in the corpus, for ordered teaching corpora.
    end_of_word_suffix
        A mark for the end of a word, such as ``</w>``.
    continuing_subword_prefix
        A mark for symbols inside a word, such as ``##``.
    unk_token
        The special token for a character that the alphabet lacks. Without it such a character
        gives no token, as in Hugging Face's ``tokenizers``.
    limit_alphabet
        The most characters in the alphabet.
    max_token_length
        Merged tokens have fewer symbols than this.
    corpus
        Files to read, one text a line, where `train` gets no corpus.
    """

    vocab_size: int
    symbols: Literal["bytes", "characters"] = "bytes"
    normalizer: Mapping[str, Any] | None = None
    pre_tokenizer: Mapping[str, Any] | None = field(default_factory=lambda: dict(_BYTE_LEVEL))
    decoder: Mapping[str, Any] | None = field(default_factory=lambda: dict(_BYTE_LEVEL))
    special_tokens: tuple[str, ...] = ()
    min_frequency: int = 0
    tie: TieRule = "lowest-ids"
    end_of_word_suffix: str | None = None
    continuing_subword_prefix: str | None = None
    unk_token: str | None = None
    limit_alphabet: int | None = None
    max_token_length: int | None = None
    corpus: tuple[str, ...] = ()


@dataclass(frozen=True)
class Merge:
    """One merge as it was learned.

    Parameters
    ----------
    left, right
        The two tokens that are joined.
    count
        How often the pair occurred at this step.
    tied
        How many other pairs occurred as often.
    ties
        Those pairs, in the order in which the corpus shows them.
    tokens_after
        The number of tokens in the corpus after this step.
    """

    left: str
    right: str
    count: int
    tied: int
    ties: tuple[tuple[str, str], ...]
    tokens_after: int


def train(
    recipe: Recipe,
    corpus: Corpus | None = None,
    *,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Tokenizer:
    """Train a tokenizer.

    Equal recipes and corpora give equal tokenizers, whatever the number of threads.

    Parameters
    ----------
    recipe
        How to train.
    corpus
        Texts as strings; files as path objects, one text a line; or a mapping of words to
        counts, which are not cut further. By default ``recipe.corpus``.
    threads
        Threads for counting; by default the cores available to the process.
    progress
        Called now and then with the number of the step and the size of the vocabulary.

    Returns
    -------
    Tokenizer

    Raises
    ------
    InputError
        If the corpus is empty, or the vocabulary is smaller than its alphabet.

    Examples
    --------
    >>> import protok
    >>> recipe = protok.Recipe(vocab_size=260)
    >>> tok = protok.train(recipe, ["low lower lowest", "new newer newest"])
    >>> tok.encode("lowest").tokens
    ['lo', 'we', 'st']
    """
    tokenizer, _ = learn(recipe, corpus, threads=threads, progress=progress)
    return tokenizer


def learn(
    recipe: Recipe,
    corpus: Corpus | None = None,
    *,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    listed_ties: int = 0,
) -> tuple[Tokenizer, list[Merge]]:
    """Train as `train` does, and return the log of merges with the tokenizer.

    Parameters
    ----------
    recipe, corpus, threads, progress
        As for `train`.
    listed_ties
        The most tied pairs to list for each merge: for corpora that a person reads.
    """
    if corpus is None:
        if not recipe.corpus:
            raise InputError(
                what="There is nothing to train on: neither a corpus nor recipe.corpus.",
                hint="Pass texts, paths, or a mapping of words to counts.",
            )
        corpus = [Path(path) for path in recipe.corpus]
    if recipe.unk_token is not None and recipe.unk_token not in recipe.special_tokens:
        raise InputError(
            what=f"The unknown token {recipe.unk_token!r} is not among the special tokens.",
            location="unk_token",
            hint="Add it to special_tokens.",
            value=recipe.unk_token,
        )
    specials = {token: id for id, token in enumerate(dict.fromkeys(recipe.special_tokens))}
    counter = _core.WordCounter(_json(recipe, {"vocab": specials, "merges": []}))
    if isinstance(corpus, Mapping):
        for word, count in corpus.items():
            counter.add(word, count)
    else:
        texts = _texts(corpus)
        while chunk := list(islice(texts, _TEXTS_AT_A_TIME)):
            counter.feed(chunk, threads=threads)
    result = _core.train_bpe(
        counter,
        vocab_size=recipe.vocab_size,
        symbols=recipe.symbols,
        tie=recipe.tie,
        min_frequency=recipe.min_frequency,
        special_tokens=list(recipe.special_tokens),
        initial_alphabet=_core.BYTE_ALPHABET if recipe.symbols == "bytes" else "",
        limit_alphabet=recipe.limit_alphabet,
        end_of_word_suffix=recipe.end_of_word_suffix,
        continuing_subword_prefix=recipe.continuing_subword_prefix,
        max_token_length=recipe.max_token_length,
        listed_ties=listed_ties,
        observer=progress,
    )
    tokens = result["tokens"]
    merges = [
        Merge(
            tokens[left],
            tokens[right],
            count,
            tied,
            tuple((tokens[a], tokens[b]) for a, b in ties),
            tokens_after,
        )
        for left, right, _token, count, tied, ties, tokens_after in result["merges"]
    ]
    model = {
        "vocab": {token: id for id, token in enumerate(tokens)},
        "merges": [[merge.left, merge.right] for merge in merges],
    }
    return Tokenizer({"tokenizer.json": _json(recipe, model)}), merges


def _json(recipe: Recipe, model: Mapping[str, Any]) -> bytes:
    added = [
        {
            "id": id,
            "content": token,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for id, token in enumerate(dict.fromkeys(recipe.special_tokens))
    ]
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": recipe.normalizer,
        "pre_tokenizer": recipe.pre_tokenizer,
        "post_processor": None,
        "decoder": recipe.decoder,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": recipe.unk_token,
            "continuing_subword_prefix": recipe.continuing_subword_prefix,
            "end_of_word_suffix": recipe.end_of_word_suffix,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            **model,
        },
    }
    return json.dumps(document, ensure_ascii=False, indent=2).encode()


def _texts(corpus: Iterable[str | PathLike[str]]) -> Iterator[str]:
    if isinstance(corpus, str | bytes):
        raise InputError(
            what="A corpus is a list of texts or paths, not one string.",
            hint="Pass [text] or [Path(name)].",
        )
    for item in corpus:
        if isinstance(item, str):
            yield item
        else:
            yield from _lines(Path(item))


def _lines(path: Path) -> Iterator[str]:
    """Read a file line by line; each keeps its line end."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield line.decode()
                except UnicodeDecodeError as error:
                    raise InputError(
                        what=f"The text is not UTF-8 ({error.reason} at byte {error.start}).",
                        location=f"{path}, line {number}",
                        hint="Convert the file, or leave it out.",
                        position=error.start,
                        value=line[error.start : error.end].hex(),
                    ) from error
    except OSError as error:
        raise InputError(
            what=f"The file cannot be read: {error.strerror or error}.",
            location=str(path),
            hint="Check the path.",
            value=str(path),
        ) from error
