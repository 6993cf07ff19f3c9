"""Train a tokenizer: a recipe and a corpus become a vocabulary.

The trainer runs in the engine; this module reads the corpus, composes the components and says
what happened.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from protok import _core, baselines
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
# Fields of a recipe that only the one or the other models read.
_ONLY_BPE = (
    "symbols",
    "tie",
    "end_of_word_suffix",
    "continuing_subword_prefix",
    "limit_alphabet",
    "max_token_length",
)
_ONLY_BASELINES = ("tokens", "order")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How to train a tokenizer.

    Parameters
    ----------
    vocab_size
        The number of tokens in all: special tokens, alphabet and merged tokens. For words and
        characters it is the most, and None is all that the corpus has.
    model
        ``"bpe"``; or one token a word, a character or a byte. Bytes need no corpus: the id of a
        byte is its value plus the number of special tokens, which with ``<pad>``, ``</s>`` and
        ``<unk>`` is what ByT5 has.
    tokens
        For words and characters: the vocabulary itself, in the order of the ids, in place of a
        corpus.
    order
        For words and characters: ids by falling frequency (and spelling, among equals), as in
        Hugging Face's trainer, or by spelling.
    symbols
        Whether merging starts from bytes (spelled in GPT-2's alphabet) or from characters.
    normalizer, pre_tokenizer, post_processor, decoder
        Components as in a ``tokenizer.json``; None for none. ``"usual"`` is GPT-2's cut into
        bytes for BPE; for words ``Whitespace`` and a blank between decoded words; for characters
        one a piece; for bytes no cut.
    special_tokens
        Tokens with the first ids, in this order. They are control tokens.
    min_frequency
        The smallest count at which a pair is merged, or a word or character kept.
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
        gives no token, as in Hugging Face's ``tokenizers``. For words and characters: the token
        for those that the vocabulary lacks, which has the last id if it is not among
        ``special_tokens`` or ``tokens``; without it such text is refused.
    limit_alphabet
        The most characters in the alphabet.
    max_token_length
        Merged tokens have fewer symbols than this.
    corpus
        Files to read, one text a line, where `train` gets no corpus.
    """

    vocab_size: int | None = None
    model: Literal["bpe", "word", "character", "byte"] = "bpe"
    tokens: tuple[str, ...] = ()
    order: baselines.Order = "frequency"
    symbols: Literal["bytes", "characters"] = "bytes"
    normalizer: Mapping[str, Any] | None = None
    pre_tokenizer: Mapping[str, Any] | Literal["usual"] | None = "usual"
    post_processor: Mapping[str, Any] | None = None
    decoder: Mapping[str, Any] | Literal["usual"] | None = "usual"
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
        counts, which are not cut further. By default ``recipe.corpus``; a recipe that lists its
        tokens, and one for bytes, need none.
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
    >>> recipe = protok.Recipe(model="word", unk_token="<unk>")
    >>> words = protok.train(recipe, ["the cat sat on the mat"])
    >>> words.decode(words.encode("the dog sat on the mat"))
    'the <unk> sat on the mat'
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
    recipe = _resolved(recipe)
    if recipe.model != "bpe":
        return _baseline(recipe, corpus, threads), []
    if recipe.vocab_size is None:
        raise InputError(
            what="BPE needs to know how many tokens to learn.",
            location="vocab_size",
            hint="Give the size of the vocabulary.",
        )
    if recipe.unk_token is not None and recipe.unk_token not in recipe.special_tokens:
        raise InputError(
            what=f"The unknown token {recipe.unk_token!r} is not among the special tokens.",
            location="unk_token",
            hint="Add it to special_tokens.",
            value=recipe.unk_token,
        )
    specials = {token: id for id, token in enumerate(dict.fromkeys(recipe.special_tokens))}
    empty = {**_bpe_json(recipe), "vocab": specials, "merges": []}
    counter = _counted(recipe, corpus, empty, threads)
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
        **_bpe_json(recipe),
        "vocab": {token: id for id, token in enumerate(tokens)},
        "merges": [[merge.left, merge.right] for merge in merges],
    }
    return Tokenizer({"tokenizer.json": _json(recipe, model)}), merges


def _resolved(recipe: Recipe) -> Recipe:
    """Fill in the usual components, and refuse what the model would not read."""
    if recipe.model not in {"bpe", *baselines.COMPONENTS}:
        raise InputError(
            what=f"There is no model {recipe.model!r}.",
            location="model",
            hint=f"Give one of bpe, {', '.join(baselines.COMPONENTS)}.",
            value=str(recipe.model),
        )
    unread: tuple[str, ...] = _ONLY_BASELINES if recipe.model == "bpe" else _ONLY_BPE
    if recipe.model == "byte":
        unread = (*_ONLY_BPE, *_ONLY_BASELINES, "unk_token", "min_frequency", "corpus")
    for field in fields(recipe):
        if field.name in unread and getattr(recipe, field.name) != field.default:
            raise InputError(
                what=f"A {recipe.model} model does not read {field.name}.",
                location=field.name,
                hint="Leave it out.",
                value=str(getattr(recipe, field.name)),
            )
    usual = baselines.COMPONENTS.get(recipe.model, (_BYTE_LEVEL, _BYTE_LEVEL))
    pre_tokenizer, decoder = recipe.pre_tokenizer, recipe.decoder
    return replace(
        recipe,
        special_tokens=tuple(dict.fromkeys(recipe.special_tokens)),
        pre_tokenizer=dict(usual[0]) if pre_tokenizer == "usual" else pre_tokenizer,
        decoder=usual[1] if decoder == "usual" else decoder,
    )


def _baseline(recipe: Recipe, corpus: Corpus | None, threads: int | None) -> Tokenizer:
    """Build a word, character or byte tokenizer."""
    listed = recipe.model == "byte" or bool(recipe.tokens)
    if listed and (corpus is not None or recipe.corpus):
        raise InputError(
            what="The recipe has its tokens already: there is nothing to learn from a corpus.",
            location="tokens",
            hint="Leave the corpus out, or the tokens.",
        )
    long = [token for token in recipe.tokens if len(token) != 1]
    long = [token for token in long if token not in {*recipe.special_tokens, recipe.unk_token}]
    if recipe.model == "character" and long:
        raise InputError(
            what=f"The token {long[0]!r} is not one character.",
            location="tokens",
            hint="List characters, and special tokens as such.",
            value=long[0],
        )
    if recipe.model == "byte":
        tokens = baselines.byte_vocabulary(recipe.special_tokens, recipe.vocab_size)
    else:
        counts = None if listed else _pieces(recipe, corpus, threads)
        tokens = baselines.vocabulary(
            counts,
            recipe.tokens,
            special_tokens=recipe.special_tokens,
            unk_token=recipe.unk_token,
            vocab_size=recipe.vocab_size,
            min_frequency=recipe.min_frequency,
            order=recipe.order,
        )
    model = baselines.model_json(recipe.model, tokens, recipe.unk_token)
    return Tokenizer({"tokenizer.json": _json(recipe, model)})


def _pieces(recipe: Recipe, corpus: Corpus | None, threads: int | None) -> dict[str, int]:
    """Count the words or characters of a corpus, spelled as the vocabulary will."""
    empty = baselines.model_json(recipe.model, [], None)
    counter = _counted(recipe, corpus, empty, threads)
    last = recipe.pre_tokenizer
    while isinstance(last, Mapping) and last.get("pretokenizers"):
        last = last["pretokenizers"][-1]
    of_bytes = isinstance(last, Mapping) and last.get("type") == "ByteLevel"
    counts: dict[str, int] = {}
    for data, count in counter.items():
        piece = "".join(_core.BYTE_ALPHABET[b] for b in data) if of_bytes else data.decode()
        # Words that were counted elsewhere are not cut: a character model takes them apart.
        for token in piece if recipe.model == "character" else (piece,):
            counts[token] = counts.get(token, 0) + count
    if not counts:
        raise InputError(
            what="The corpus is empty.",
            location="corpus",
            hint="Pass texts with something in them.",
        )
    return counts


def _counted(
    recipe: Recipe, corpus: Corpus | None, model: Mapping[str, Any], threads: int | None
) -> _core.WordCounter:
    """Count the pieces of a corpus."""
    if corpus is None:
        if not recipe.corpus:
            raise InputError(
                what="There is nothing to train on: neither a corpus nor recipe.corpus.",
                hint="Pass texts, paths, or a mapping of words to counts.",
            )
        corpus = [Path(path) for path in recipe.corpus]
    counter = _core.WordCounter(_json(replace(recipe, unk_token=None), model))
    if isinstance(corpus, Mapping):
        for word, count in corpus.items():
            counter.add(word, count)
        return counter
    texts = _texts(corpus)
    while chunk := list(islice(texts, _TEXTS_AT_A_TIME)):
        counter.feed(chunk, threads=threads)
    return counter


def _bpe_json(recipe: Recipe) -> dict[str, Any]:
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": recipe.unk_token,
        "continuing_subword_prefix": recipe.continuing_subword_prefix,
        "end_of_word_suffix": recipe.end_of_word_suffix,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
    }


def _json(recipe: Recipe, model: Mapping[str, Any]) -> bytes:
    """Write the components and a model; special tokens are added tokens with the model's ids."""
    special = dict.fromkeys(recipe.special_tokens)
    if recipe.unk_token is not None:
        special[recipe.unk_token] = None
    vocab = model["vocab"]
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
        for id, token in sorted((vocab.get(token, id), token) for id, token in enumerate(special))
    ]
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": recipe.normalizer,
        "pre_tokenizer": recipe.pre_tokenizer,
        "post_processor": recipe.post_processor,
        "decoder": recipe.decoder,
        "model": model,
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
