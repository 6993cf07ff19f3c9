"""From counted words to a model: the engine's trainers, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from protok import _core, baselines
from protok.errors import InputError

if TYPE_CHECKING:
    from protok.training.recipe import Recipe

__all__ = ["Learned", "Merge", "learn_model", "listed_model", "merge_log", "with_superwords"]

Progress = Callable[[int, int], object]

_STOPS = {
    "no_pairs": "no pair of tokens is left to merge",
    "no_pieces": "it has no more pieces",
    "min_frequency": "no pair occurs as often as min_frequency asks",
}


_ANY_LENGTH = (1 << 31) - 1
# The options of all trainers that merge pairs.
_MERGING = (
    "tie",
    "min_frequency",
    "limit_alphabet",
    "continuing_subword_prefix",
    "max_token_length",
    "required",
)


@dataclass(frozen=True)
class Merge:
    """One merge as it was learned.

    Parameters
    ----------
    left, right, token
        The two tokens that are joined, and the one that they make.
    count
        How often the pair occurred at this step.
    tied
        How many other pairs were as good; None where they were not counted.
    ties
        Those pairs, in the order in which the corpus shows them.
    tokens_after
        The number of tokens in the corpus after this step.
    score
        For WordPiece by likelihood, what decided.
    removed
        The tokens that left the vocabulary at this step, and what they were taken apart into.
    """

    left: str
    right: str
    token: str
    count: int
    tied: int | None
    ties: tuple[tuple[str, str], ...]
    tokens_after: int
    score: float | None = None
    removed: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class Learned:
    """What a trainer learned.

    Parameters
    ----------
    model
        The model as a ``tokenizer.json`` has it.
    merges
        The log of merges, for BPE and WordPiece.
    pieces
        The pieces with their scores, for Unigram.
    rounds
        The log of rounds, for Unigram.
    """

    model: Mapping[str, Any]
    merges: Sequence[Merge] = ()
    pieces: Sequence[tuple[str, float]] = ()
    rounds: Sequence[Mapping[str, Any]] = field(default=())


def learn_model(
    recipe: Recipe,
    counter: _core.WordCounter,
    *,
    threads: int | None,
    progress: Progress | None,
    listed_ties: int = 0,
) -> Learned:
    """Learn the recipe's model from counted words."""
    if len(counter) == 0:
        raise InputError(
            what="The corpus is empty: it has no words.",
            location="corpus",
            hint="Pass texts with something in them, and check how they are cut.",
        )
    match recipe.model:
        case "bpe":
            return _bpe(recipe, counter, progress, listed_ties)
        case "wordpiece":
            return _wordpiece(recipe, counter, progress, listed_ties)
        case "unigram":
            return _unigram(recipe, counter, threads, progress)
        case _:
            return listed_model(recipe, _pieces(recipe, counter))


def _room(recipe: Recipe) -> int:
    """Count the ids that the trainer may fill: all but those behind what is learned."""
    size = recipe.vocab_size or 0
    fixed = len(recipe.first_tokens) + len(recipe.byte_tokens) + len(recipe.last_tokens)
    alphabet = 256 if recipe.model == "bpe" and recipe.symbols == "bytes" else 1
    if size < fixed + alphabet:
        what = "256 bytes" if alphabet > 1 else "one more"
        raise InputError(
            what=f"A vocabulary of {size} has no room for {fixed} special tokens and {what}.",
            location="vocab_size",
            hint=f"Ask for {fixed + alphabet} or more.",
            value=str(size),
        )
    if recipe.superwords > size - fixed - alphabet:
        raise InputError(
            what=f"A vocabulary of {size} has no room for {recipe.superwords} superwords.",
            location="superwords",
            hint=f"Ask for fewer than {size - fixed - alphabet}.",
            value=str(recipe.superwords),
        )
    return size - len(recipe.last_tokens)


def _options(recipe: Recipe, *names: str) -> dict[str, Any]:
    """Give the options that are set: the trainers have the same defaults."""
    options: dict[str, Any] = {}
    for name in names:
        value = getattr(recipe, name)
        if value not in {None, ()}:
            options[name] = list(value) if isinstance(value, tuple) else value
    return options


def _bpe(
    recipe: Recipe, counter: _core.WordCounter, progress: Progress | None, listed_ties: int
) -> Learned:
    if recipe.symbols == "bytes" and recipe.initial_alphabet:
        raise InputError(
            what="All bytes are in the alphabet already.",
            location="initial_alphabet",
            hint='Leave it out, or start from symbols = "characters".',
        )
    alphabet = _core.BYTE_ALPHABET if recipe.symbols == "bytes" else recipe.initial_alphabet
    result = _core.train_bpe(
        counter,
        vocab_size=_room(recipe) - recipe.superwords,
        symbols=recipe.symbols,
        special_tokens=[*recipe.first_tokens, *recipe.byte_tokens],
        initial_alphabet=alphabet,
        end_of_word_suffix=recipe.end_of_word_suffix,
        listed_ties=listed_ties,
        observer=progress,
        **_options(recipe, *_MERGING, "character_coverage", "remove_intermediate"),
    )
    _check_size(recipe, len(result["kept"]) + recipe.superwords, result["stop"])
    merges = merge_log(result)
    if recipe.remove_intermediate is not None:
        kept = [result["tokens"][id] for id in result["kept"]]
        return Learned(_longest_match(recipe, kept, _ANY_LENGTH), merges)
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": recipe.unk_token,
        "continuing_subword_prefix": recipe.continuing_subword_prefix,
        "end_of_word_suffix": recipe.end_of_word_suffix,
        "fuse_unk": recipe.fuse_unk,
        "byte_fallback": recipe.byte_fallback,
        "ignore_merges": recipe.ignore_merges,
        "vocab": _numbered(recipe, result["tokens"]),
        "merges": [[merge.left, merge.right] for merge in merges],
    }
    return Learned(model, merges)


def _wordpiece(
    recipe: Recipe, counter: _core.WordCounter, progress: Progress | None, listed_ties: int
) -> Learned:
    result = _core.train_wordpiece(
        counter,
        vocab_size=_room(recipe),
        scoring=recipe.scoring,
        special_tokens=list(recipe.first_tokens),
        initial_alphabet=recipe.initial_alphabet,
        listed_ties=listed_ties,
        observer=progress,
        **_options(recipe, *_MERGING),
    )
    _check_size(recipe, len(result["tokens"]), result["stop"])
    return Learned(_longest_match(recipe, result["tokens"], 100), merge_log(result))


def _longest_match(recipe: Recipe, tokens: Sequence[str], longest: int) -> dict[str, Any]:
    """Write a WordPiece model; BPE without some of its tokens is one whose mark is empty."""
    return {
        "type": "WordPiece",
        # Without an unknown token the name is of none, and text that needs one is refused.
        "unk_token": recipe.unk_token or "[UNK]",
        "continuing_subword_prefix": recipe.continuing_subword_prefix or "",
        "max_input_chars_per_word": longest,
        "vocab": _numbered(recipe, tokens),
    }


def _unigram(
    recipe: Recipe,
    counter: _core.WordCounter,
    threads: int | None,
    progress: Progress | None,
) -> Learned:
    result = _core.train_unigram(
        counter,
        vocab_size=_room(recipe),
        seed_size=recipe.seed_size,
        shrinking_factor=recipe.shrinking_factor,
        em_iterations=recipe.em_iterations,
        max_piece_length=recipe.max_piece_length,
        special_tokens=list(recipe.first_tokens),
        byte_fallback=recipe.byte_fallback,
        threads=threads,
        observer=progress,
        **_options(recipe, "character_coverage", "required"),
    )
    learned: list[tuple[str, float]] = [(text, score) for text, score in result["pieces"]]
    # Control tokens have the score that SentencePiece gives them; a byte must not win over a piece.
    least = min((score for _, score in learned), default=0.0)
    pieces = [
        *((token, 0.0) for token in recipe.first_tokens),
        *((token, least) for token in recipe.byte_tokens),
        *learned,
    ]
    _check_size(recipe, len(pieces), result["stop"])
    tokens = [text for text, _ in pieces]
    unknown = None if recipe.unk_token is None else tokens.index(recipe.unk_token)
    model = {
        "type": "Unigram",
        "unk_id": unknown,
        "vocab": [[text, score] for text, score in pieces],
        "byte_fallback": recipe.byte_fallback,
    }
    _numbered(recipe, tokens)
    return Learned(model, (), learned, result["rounds"])


def with_superwords(
    recipe: Recipe,
    learned: Learned,
    front: bytes,
    texts: Iterable[Sequence[str]],
    *,
    threads: int | None,
    progress: Progress | None,
    listed_ties: int = 0,
) -> Learned:
    """Go on with tokens that join whole words; ``texts`` is the corpus once more."""
    vocab = dict(learned.model["vocab"])
    rules = [(vocab[m.left], vocab[m.right], vocab[m.token]) for m in learned.merges]
    spans = _core.SpanCounter(
        front,
        list(vocab),
        rules,
        special_tokens=len(recipe.first_tokens) + len(recipe.byte_tokens),
        symbols=recipe.symbols,
        rule=recipe.superword_rule,
    )
    for chunk in texts:
        spans.feed(chunk, threads=threads)
    result = _core.train_superwords(
        spans,
        vocab_size=_room(recipe),
        tie=recipe.tie,
        min_frequency=recipe.min_frequency,
        max_words=recipe.max_superword,
        listed_ties=listed_ties,
        observer=progress,
    )
    _check_size(recipe, len(result["tokens"]), result["stop"])
    merges = [*learned.merges, *merge_log(result)]
    model = {
        **learned.model,
        "vocab": _numbered(recipe, result["tokens"]),
        "merges": [[merge.left, merge.right] for merge in merges],
    }
    return Learned(model, merges)


def merge_log(result: Mapping[str, Any]) -> list[Merge]:
    """Spell the merges that a trainer of the engine gave."""
    tokens = result["tokens"]
    removed: dict[int, list[tuple[str, tuple[str, ...]]]] = {}
    for step, token, parts in result["removals"]:
        entry = (tokens[token], tuple(tokens[part] for part in parts))
        removed.setdefault(step, []).append(entry)
    return [
        Merge(
            tokens[left],
            tokens[right],
            tokens[token],
            count,
            tied,
            tuple((tokens[a], tokens[b]) for a, b in ties),
            tokens_after,
            score[0] if score else None,
            tuple(removed.get(step, ())),
        )
        for step, (left, right, token, count, tied, ties, tokens_after, *score) in enumerate(
            result["merges"]
        )
    ]


def _numbered(recipe: Recipe, tokens: Sequence[str]) -> dict[str, int]:
    vocab = {token: id for id, token in enumerate(tokens)}
    twice = [token for token in recipe.last_tokens if token in vocab]
    if twice:
        raise InputError(
            what=f"The special token {twice[0]!r} was learned from the corpus as well.",
            location="special_tokens",
            hint='Clean the corpus, or say special_tokens_at = "start".',
            value=twice[0],
        )
    return vocab


def _check_size(recipe: Recipe, learned: int, stop: str) -> None:
    """Refuse a vocabulary that is smaller than what was asked for, unless that is accepted."""
    size = learned + len(recipe.last_tokens)
    if recipe.fewer == "refuse" and recipe.vocab_size is not None and size < recipe.vocab_size:
        why = _STOPS.get(stop, "it stopped early")
        raise InputError(
            what=f"The corpus gives {size} tokens, not {recipe.vocab_size}: {why}.",
            location="vocab_size",
            hint=f'Ask for {size} or fewer, give more text, or say fewer = "accept".',
            value=str(size),
        )


# -- words and characters -----------------------------------------------------------------------


def _pieces(recipe: Recipe, counter: _core.WordCounter) -> dict[str, int]:
    """Spell words or characters as the vocabulary will."""
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
    return counts


def listed_model(recipe: Recipe, counts: Mapping[str, int] | None) -> Learned:
    """Build a word, character or byte model."""
    long = [token for token in recipe.tokens if len(token) != 1]
    long = [token for token in long if token not in {*recipe.special_tokens, recipe.unk_token}]
    if recipe.model == "character" and long:
        raise InputError(
            what=f"The token {long[0]!r} is not one character.",
            location="tokens",
            hint="List characters, and special tokens as such.",
            value=long[0],
        )
    size = recipe.vocab_size
    if size is not None and recipe.last_tokens:
        size = max(size - len(recipe.last_tokens), 0)
    if recipe.model == "byte":
        tokens = baselines.byte_vocabulary(recipe.first_tokens, size)
    else:
        tokens = baselines.vocabulary(
            counts,
            recipe.tokens,
            special_tokens=recipe.first_tokens,
            unk_token=None if recipe.unk_token in recipe.last_tokens else recipe.unk_token,
            vocab_size=size,
            min_frequency=recipe.min_frequency,
            order=recipe.order,
            required=recipe.required,
        )
    _numbered(recipe, tokens)
    return Learned(baselines.model_json(recipe.model, tokens, recipe.unk_token))
