"""A recipe: everything that decides what a training gives, but for the corpus itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from protok import baselines
from protok.corpus import Source
from protok.errors import InputError

__all__ = ["MODELS", "Recipe", "TieRule", "checked"]

TieRule = Literal["lowest-ids", "lexicographic-first", "lexicographic-last", "first-seen"]
ModelName = Literal["bpe", "wordpiece", "unigram", "word", "character", "byte"]

MODELS: tuple[str, ...] = ("bpe", "wordpiece", "unigram", "word", "character", "byte")

_BYTE_LEVEL: dict[str, Any] = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": True,
}
_METASPACE: dict[str, Any] = {
    "type": "Metaspace",
    "replacement": "▁",
    "prepend_scheme": "always",
    "split": True,
}
_WORDPIECE: dict[str, Any] = {"type": "WordPiece", "prefix": "##", "cleanup": True}
# The usual pre-tokenizer and decoder of each model.
_USUAL: Mapping[str, tuple[dict[str, Any], dict[str, Any] | None]] = {
    "bpe": (_BYTE_LEVEL, _BYTE_LEVEL),
    "wordpiece": ({"type": "BertPreTokenizer"}, _WORDPIECE),
    "unigram": (_METASPACE, _METASPACE),
    **baselines.COMPONENTS,
}
# Fields that only these models read; every other field is read by all.
_READ_BY: Mapping[str, set[str]] = {
    "tokens": {"word", "character"},
    "order": {"word", "character"},
    "symbols": {"bpe"},
    "end_of_word_suffix": {"bpe"},
    "ignore_merges": {"bpe"},
    "superwords": {"bpe"},
    "remove_intermediate": {"bpe"},
    "superword_rule": {"bpe"},
    "max_superword": {"bpe"},
    "fuse_unk": {"bpe"},
    "tie": {"bpe", "wordpiece"},
    "continuing_subword_prefix": {"bpe", "wordpiece"},
    "limit_alphabet": {"bpe", "wordpiece"},
    "initial_alphabet": {"bpe", "wordpiece"},
    "max_token_length": {"bpe", "wordpiece"},
    "scoring": {"wordpiece"},
    "byte_fallback": {"bpe", "unigram"},
    "character_coverage": {"bpe", "unigram"},
    "seed_size": {"unigram"},
    "shrinking_factor": {"unigram"},
    "em_iterations": {"unigram"},
    "max_piece_length": {"unigram"},
    "min_frequency": {"bpe", "wordpiece", "word", "character"},
    "unk_token": {"bpe", "wordpiece", "unigram", "word", "character"},
    "required": {"bpe", "wordpiece", "unigram", "word", "character"},
    **{
        key: {"bpe", "wordpiece", "unigram", "word", "character"}
        for key in ("corpus", "digits", "training_cut", "held_out", "line_ends", "fewer")
    },
}
_DIGITS: Mapping[str, dict[str, Any]] = {
    "single": {"type": "Digits", "individual_digits": True},
    "threes-from-the-left": {
        "type": "Split",
        "pattern": {"Regex": r"\p{N}{1,3}"},
        "behavior": "Isolated",
        "invert": False,
    },
    # As thousands are set off: what is left of a run of digits is a number of whole groups.
    "threes-from-the-right": {
        "type": "Split",
        "pattern": {"Regex": r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))"},
        "behavior": "Isolated",
        "invert": False,
    },
}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How to train a tokenizer.

    A field that the model does not read must be left out.

    Parameters
    ----------
    vocab_size
        The number of tokens in all: special tokens, reserved slots, alphabet and learned tokens.
        For words and characters it is the most, and None is all that the corpus has.
    model
        ``"bpe"``, ``"wordpiece"`` or ``"unigram"``; or one token a word, a character or a byte.
        Bytes need no corpus: the id of a byte is its value plus the number of special tokens,
        which with ``<pad>``, ``</s>`` and ``<unk>`` is what ByT5 has.
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
        bytes for BPE; BERT's for WordPiece; ``Metaspace`` for Unigram; for words ``Whitespace``
        and a blank between decoded words; for characters one a piece; for bytes no cut. Ids of
        special tokens in a post-processor are filled in.
    digits
        How runs of digits are cut before the pre-tokenizer: not at all, into single digits, or
        into groups of three from the left (``123 4``) or from the right (``1 234``).
    training_cut
        A pre-tokenizer that cuts the corpus before the other one and is no part of the tokenizer,
        such as SentencePiece's rule that pieces do not cross words.
    superwords
        So many of the tokens, the last ones that are learned, join whole words (as in SuperBPE):
        words are what ``training_cut`` cuts, and the tokenizer's own pre-tokenizer must leave
        them together. The corpus is read twice, so it must be files or a list of texts.
    superword_rule, max_superword
        Whether only words of ``"letters"`` are joined, or ``"any"``; the most words in a token.
    special_tokens
        Control tokens, in this order.
    special_tokens_at
        Whether they have the first ids, or those behind all that was learned.
    reserved, reserved_name
        So many control tokens with the last ids of all, for later use, and what they are called.
    required
        Entries that must be in the vocabulary.
    min_frequency
        The smallest count at which a pair is merged, or a word or character kept.
    tie
        Which of several pairs with the same count is merged: the one with the lowest ids (as in
        Hugging Face's trainer), the one that sorts first or last as a pair of strings, or the
        one met first in the corpus, for ordered teaching corpora.
    scoring
        For WordPiece: merge what is most frequent, as Hugging Face's trainer does, or what is
        likeliest to belong together, the count of a pair divided by those of its parts.
    end_of_word_suffix
        A mark for the end of a word, such as ``</w>``.
    continuing_subword_prefix
        A mark for symbols inside a word, such as ``##``, which is WordPiece's.
    unk_token
        The special token for a character that the alphabet lacks. Without it such a character
        gives no token, as in Hugging Face's ``tokenizers``. For words and characters: the token
        for those that the vocabulary lacks, which has the last id if it is not among
        ``special_tokens`` or ``tokens``; without it such text is refused.
    byte_fallback
        Whether characters that the vocabulary lacks are spelled in 256 byte tokens, which come
        after the special tokens.
    ignore_merges, fuse_unk
        Whether a piece that is a token is one, whatever the merges say; whether unknown
        characters side by side are one token.
    initial_alphabet
        Characters that are in the alphabet even if the corpus lacks them. Bytes always are.
    limit_alphabet
        The most characters in the alphabet.
    character_coverage
        The share of the corpus' characters that the alphabet must cover; rare ones are left out.
    max_token_length
        Merged tokens have fewer symbols than this.
    remove_intermediate
        For BPE: a token is taken out of the vocabulary again when a merge uses at least this share
        of its occurrences, from 0.5 to 1 (as in PickyBPE). Merges cannot spell such a vocabulary,
        so the tokenizer is a WordPiece model without a mark: the longest token from the left.
    seed_size, shrinking_factor, em_iterations, max_piece_length
        For Unigram: how many pieces training starts from, the share that a round keeps, the
        rounds of estimation before each pruning, and the longest piece in characters.
    seed
        For what is drawn: documents that are held out, and those that a weight repeats or drops.
    held_out
        The share of documents that is kept out of training, to measure on.
    fewer
        What to do where the corpus has too little for ``vocab_size``: refuse, or accept a
        smaller vocabulary.
    line_ends
        Whether line ends belong to the documents of a file.
    corpus
        Files to read where `train` gets no corpus: names, or a `protok.corpus.Source` each.

    Examples
    --------
    >>> import protok
    >>> protok.Recipe(vocab_size=1000, special_tokens=("<s>",)).model
    'bpe'
    """

    vocab_size: int | None = None
    model: ModelName = "bpe"
    tokens: tuple[str, ...] = ()
    order: baselines.Order = "frequency"
    symbols: Literal["bytes", "characters"] = "bytes"
    normalizer: Mapping[str, Any] | None = None
    pre_tokenizer: Mapping[str, Any] | Literal["usual"] | None = "usual"
    post_processor: Mapping[str, Any] | None = None
    decoder: Mapping[str, Any] | Literal["usual"] | None = "usual"
    digits: Literal["single", "threes-from-the-left", "threes-from-the-right"] | None = None
    training_cut: Mapping[str, Any] | None = None
    special_tokens: tuple[str, ...] = ()
    special_tokens_at: Literal["start", "end"] = "start"
    reserved: int = 0
    reserved_name: str = "<|reserved_special_token_{}|>"
    required: tuple[str, ...] = ()
    min_frequency: int = 0
    tie: TieRule = "lowest-ids"
    scoring: Literal["counts", "likelihood"] = "counts"
    end_of_word_suffix: str | None = None
    continuing_subword_prefix: str | None = None
    unk_token: str | None = None
    byte_fallback: bool = False
    ignore_merges: bool = False
    fuse_unk: bool = False
    initial_alphabet: str = ""
    limit_alphabet: int | None = None
    character_coverage: float | None = None
    max_token_length: int | None = None
    superwords: int = 0
    superword_rule: Literal["letters", "any"] = "letters"
    max_superword: int | None = None
    remove_intermediate: float | None = None
    seed_size: int = 1_000_000
    shrinking_factor: float = 0.75
    em_iterations: int = 2
    max_piece_length: int = 16
    seed: int = 0
    held_out: float = 0.0
    fewer: Literal["refuse", "accept"] = "refuse"
    line_ends: Literal["keep", "strip"] = "keep"
    corpus: tuple[str | Source, ...] = ()

    @property
    def first_tokens(self) -> tuple[str, ...]:
        """The control tokens with the first ids."""
        return self.special_tokens if self.special_tokens_at == "start" else ()

    @property
    def last_tokens(self) -> tuple[str, ...]:
        """The control tokens with the last ids."""
        last = self.special_tokens if self.special_tokens_at == "end" else ()
        return (*last, *(self.reserved_name.format(i) for i in range(self.reserved)))

    @property
    def byte_tokens(self) -> tuple[str, ...]:
        """The tokens that spell single bytes."""
        return tuple(f"<0x{b:02X}>" for b in range(256)) if self.byte_fallback else ()

    @property
    def sources(self) -> tuple[Source, ...]:
        """The corpus, each entry as a source."""
        return tuple(
            Source(files=(entry,)) if isinstance(entry, str) else entry for entry in self.corpus
        )


def checked(recipe: Recipe) -> Recipe:
    """Fill in the usual components, and refuse what the model would not read."""
    if recipe.model not in MODELS:
        raise InputError(
            what=f"There is no model {recipe.model!r}.",
            location="model",
            hint=f"Give one of {', '.join(MODELS)}.",
            value=str(recipe.model),
        )
    for field in fields(recipe):
        read_by = _READ_BY.get(field.name)
        if read_by and recipe.model not in read_by and getattr(recipe, field.name) != field.default:
            raise InputError(
                what=f"A {recipe.model} model does not read {field.name}.",
                location=field.name,
                hint="Leave it out.",
                value=str(getattr(recipe, field.name)),
            )
    recipe = replace(
        recipe,
        special_tokens=tuple(dict.fromkeys(recipe.special_tokens)),
        required=tuple(dict.fromkeys(recipe.required)),
    )
    _check_tokens(recipe)
    _check_numbers(recipe)
    usual_pre_tokenizer, usual_decoder = _USUAL[recipe.model]
    pre_tokenizer, decoder = recipe.pre_tokenizer, recipe.decoder
    prefix = recipe.continuing_subword_prefix
    if recipe.model == "wordpiece" and prefix is None:
        prefix = "##"
    return replace(
        recipe,
        pre_tokenizer=_with_digits(
            recipe.digits, dict(usual_pre_tokenizer) if pre_tokenizer == "usual" else pre_tokenizer
        ),
        decoder=usual_decoder if decoder == "usual" else decoder,
        continuing_subword_prefix=prefix,
        digits=None,
    )


def _with_digits(digits: str | None, pre_tokenizer: Any) -> Any:
    if digits is None:
        return pre_tokenizer
    if digits not in _DIGITS:
        raise InputError(
            what=f"Digits cannot be grouped by {digits!r}.",
            location="digits",
            hint=f"Give one of {', '.join(_DIGITS)}.",
            value=str(digits),
        )
    rest = [] if pre_tokenizer is None else [pre_tokenizer]
    if rest and rest[0].get("type") == "Sequence":
        rest = list(rest[0]["pretokenizers"])
    return {"type": "Sequence", "pretokenizers": [_DIGITS[digits], *rest]}


def _check_tokens(recipe: Recipe) -> None:
    names = [*recipe.first_tokens, *recipe.byte_tokens, *recipe.last_tokens]
    seen: set[str] = set()
    for name in names:
        if name in seen or not name:
            what = f"The token {name!r} has two places" if name else "A special token is empty"
            raise InputError(
                what=f"{what}.",
                location="special_tokens",
                hint="Name every special and reserved token once; reserved_name needs a {}.",
                value=name,
            )
        seen.add(name)
    known = {*recipe.special_tokens}
    needs_unknown = recipe.model in {"bpe", "wordpiece", "unigram"}
    if needs_unknown and recipe.unk_token is not None and recipe.unk_token not in known:
        raise InputError(
            what=f"The unknown token {recipe.unk_token!r} is not among the special tokens.",
            location="unk_token",
            hint="Add it to special_tokens.",
            value=recipe.unk_token,
        )


def _check_numbers(recipe: Recipe) -> None:
    size = recipe.vocab_size
    wrong: tuple[str, Any, str] | None = None
    if recipe.model in {"bpe", "wordpiece", "unigram"} and size is None:
        raise InputError(
            what=f"A {recipe.model} model needs to know how many tokens to learn.",
            location="vocab_size",
            hint="Give the size of the vocabulary.",
        )
    coverage = recipe.character_coverage
    if size is not None and size < 1:
        wrong = ("vocab_size", size, "Give the size of the vocabulary.")
    elif recipe.reserved < 0:
        wrong = ("reserved", recipe.reserved, "Give the number of reserved tokens.")
    elif not 0 <= recipe.held_out < 1:
        wrong = ("held_out", recipe.held_out, "Give a share below 1, such as 0.01.")
    elif coverage is not None and not 0 < coverage <= 1:
        wrong = ("character_coverage", coverage, "Give a share such as 0.9995.")
    elif not 0 <= recipe.seed < 1 << 64:
        wrong = ("seed", recipe.seed, "Give a number of 64 bits.")
    elif recipe.min_frequency < 0:
        wrong = ("min_frequency", recipe.min_frequency, "Give 0 or more.")
    wrong = wrong or _wrong_superwords(recipe) or _wrong_removal(recipe)
    if wrong is not None:
        name, value, hint = wrong
        raise InputError(
            what=f"{name} cannot be {value}.", location=name, hint=hint, value=str(value)
        )


def _wrong_superwords(recipe: Recipe) -> tuple[str, Any, str] | None:
    if recipe.superwords < 0:
        return "superwords", recipe.superwords, "Give the number of tokens."
    if recipe.superwords and recipe.training_cut is None:
        hint = "Put the cut into words there, and leave it out of pre_tokenizer."
        return "superwords", f"{recipe.superwords} without a training_cut", hint
    if recipe.superwords and recipe.held_out:
        return "held_out", f"{recipe.held_out} with superwords", "Give another file to measure."
    return None


# What the longest match from the left cannot do, or what needs every merge.
_NOT_WITH_REMOVAL = (
    "superwords",
    "required",
    "byte_fallback",
    "ignore_merges",
    "fuse_unk",
    "end_of_word_suffix",
    "continuing_subword_prefix",
)


def _wrong_removal(recipe: Recipe) -> tuple[str, Any, str] | None:
    share = recipe.remove_intermediate
    if share is None:
        return None
    if not 0.5 <= share <= 1:
        return "remove_intermediate", share, "Give a share from 0.5 to 1, such as 0.9."
    for name in _NOT_WITH_REMOVAL:
        if getattr(recipe, name):
            hint = "Leave one of them out: without all its tokens BPE's merges are not to be had."
            return name, f"{getattr(recipe, name)!r} with remove_intermediate", hint
    return None
