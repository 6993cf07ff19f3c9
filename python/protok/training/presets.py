"""Recipes that build the pipelines of well-known tokenizers, for a corpus of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from protok.errors import InputError
from protok.training.recipe import Recipe

__all__ = ["PRESETS", "preset"]


def _byte_level(*, add: bool = False, trim: bool = True, regex: bool = False) -> dict[str, Any]:
    return {
        "type": "ByteLevel",
        "add_prefix_space": add,
        "trim_offsets": trim,
        "use_regex": regex,
    }


def _sequence(key: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", key: list(parts)}


def _split(pattern: str, behavior: str = "Isolated") -> dict[str, Any]:
    return {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": behavior,
        "invert": False,
    }


def _replace(what: str, by: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": what}, "content": by}


def _template(single: str, pair: str) -> dict[str, Any]:
    """Write a template such as ``"[CLS] $A [SEP]"``; ``:1`` is a type, ids are filled in."""

    def pieces(text: str) -> list[dict[str, Any]]:
        found = []
        for part in text.split():
            name, _, kind = part.partition(":")
            type_id = int(kind or 0)
            if name in {"$A", "$B"}:
                found.append({"Sequence": {"id": name[1], "type_id": type_id}})
            else:
                found.append({"SpecialToken": {"id": name, "type_id": type_id}})
        return found

    both = [*pieces(single), *pieces(pair)]
    names = sorted({part["SpecialToken"]["id"] for part in both if "SpecialToken" in part})
    return {
        "type": "TemplateProcessing",
        "single": pieces(single),
        "pair": pieces(pair),
        "special_tokens": {name: {"id": name, "ids": [], "tokens": [name]} for name in names},
    }


_METASPACE: dict[str, Any] = {
    "type": "Metaspace",
    "replacement": "▁",
    "prepend_scheme": "always",
    "split": True,
}
# Contractions; letters with one other character in front; digits; the rest; line ends; blanks.
_TIKTOKEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CL100K = _TIKTOKEN % "{1,3}"
_QWEN = _TIKTOKEN % ""
# The same with words cut where small letters end and capitals begin.
_BEFORE, _SMALL = r"[^\r\n\p{L}\p{N}]?", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CAPITAL, _CONTRACTION = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_O200K = (
    f"{_BEFORE}{_CAPITAL}*{_SMALL}+{_CONTRACTION}|{_BEFORE}{_CAPITAL}+{_SMALL}*{_CONTRACTION}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_BYTES = _byte_level(add=True, trim=True, regex=True)
_AFTER = _byte_level(add=True, trim=False, regex=True)
_CHATML = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
# What SentencePiece's nmt_nfkc does, in components; and that it takes blanks together.
_NMT_NFKC = ({"type": "Nmt"}, {"type": "NFKC"})
_ONE_BLANK = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}

PRESETS: Mapping[str, Recipe] = {
    "gpt2": Recipe(
        vocab_size=50_257,
        pre_tokenizer=_byte_level(regex=True),
        post_processor=_AFTER,
        decoder=_BYTES,
        special_tokens=("<|endoftext|>",),
        special_tokens_at="end",
    ),
    "cl100k": Recipe(
        vocab_size=100_261,
        pre_tokenizer=_sequence("pretokenizers", _split(_CL100K), _byte_level()),
        post_processor=_AFTER,
        decoder=_BYTES,
        special_tokens=(
            "<|endoftext|>",
            "<|fim_prefix|>",
            "<|fim_middle|>",
            "<|fim_suffix|>",
            "<|endofprompt|>",
        ),
        special_tokens_at="end",
        ignore_merges=True,
    ),
    "o200k": Recipe(
        vocab_size=200_000,
        pre_tokenizer=_sequence("pretokenizers", _split(_O200K), _byte_level()),
        post_processor=_AFTER,
        decoder=_BYTES,
        special_tokens=("<|endoftext|>", "<|endofprompt|>"),
        special_tokens_at="end",
        ignore_merges=True,
    ),
    "llama3": Recipe(
        vocab_size=128_256,
        pre_tokenizer=_sequence("pretokenizers", _split(_CL100K), _byte_level()),
        post_processor=_sequence(
            "processors",
            _AFTER,
            _template("<|begin_of_text|> $A", "<|begin_of_text|> $A <|begin_of_text|>:1 $B:1"),
        ),
        decoder=_BYTES,
        special_tokens=(
            "<|begin_of_text|>",
            "<|end_of_text|>",
            "<|start_header_id|>",
            "<|end_header_id|>",
            "<|eot_id|>",
        ),
        special_tokens_at="end",
        reserved=251,
        ignore_merges=True,
    ),
    "qwen": Recipe(
        vocab_size=151_646,
        normalizer={"type": "NFC"},
        pre_tokenizer=_sequence("pretokenizers", _split(_QWEN), _byte_level(trim=False)),
        post_processor=_byte_level(trim=False),
        decoder=_byte_level(trim=False),
        special_tokens=_CHATML,
        special_tokens_at="end",
    ),
    "llama2": Recipe(
        vocab_size=32_000,
        symbols="characters",
        normalizer=_sequence(
            "normalizers", {"type": "Prepend", "prepend": "▁"}, _replace(" ", "▁")
        ),
        pre_tokenizer=None,
        # As SentencePiece trains: pieces begin with a blank or have none, digits stand alone.
        training_cut=_sequence(
            "pretokenizers",
            _split("▁", "MergedWithNext"),
            {"type": "Digits", "individual_digits": True},
        ),
        post_processor=_template("<s> $A", "<s> $A <s>:1 $B:1"),
        decoder=_sequence(
            "decoders",
            _replace("▁", " "),
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ),
        special_tokens=("<unk>", "<s>", "</s>"),
        unk_token="<unk>",  # noqa: S106  (no password)
        byte_fallback=True,
        fuse_unk=True,
        character_coverage=0.99995,
        max_token_length=17,
        line_ends="strip",
    ),
    "bert": Recipe(
        vocab_size=30_522,
        model="wordpiece",
        normalizer={
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        pre_tokenizer={"type": "BertPreTokenizer"},
        post_processor=_template("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"),
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
        special_tokens=("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
        unk_token="[UNK]",  # noqa: S106
        limit_alphabet=1000,
    ),
    "t5": Recipe(
        vocab_size=32_100,
        model="unigram",
        normalizer=_sequence("normalizers", *_NMT_NFKC),
        pre_tokenizer=_sequence("pretokenizers", {"type": "WhitespaceSplit"}, _METASPACE),
        post_processor=_template("$A </s>", "$A </s> $B </s>"),
        decoder=_METASPACE,
        special_tokens=("<pad>", "</s>", "<unk>"),
        reserved=100,
        reserved_name="<extra_id_{}>",
        unk_token="<unk>",  # noqa: S106
        character_coverage=0.9995,
        line_ends="strip",
    ),
    "xlnet": Recipe(
        vocab_size=32_000,
        model="unigram",
        normalizer=_sequence(
            "normalizers",
            _replace("``", '"'),
            _replace("''", '"'),
            {"type": "NFKD"},
            {"type": "StripAccents"},
            *_NMT_NFKC,
            _ONE_BLANK,
        ),
        pre_tokenizer=_METASPACE,
        post_processor=_template("$A <sep> <cls>:2", "$A <sep> $B:1 <sep>:1 <cls>:2"),
        decoder=_METASPACE,
        special_tokens=(
            "<unk>",
            "<s>",
            "</s>",
            "<cls>",
            "<sep>",
            "<pad>",
            "<mask>",
            "<eod>",
            "<eop>",
        ),
        unk_token="<unk>",  # noqa: S106
        character_coverage=0.9995,
        line_ends="strip",
    ),
    "chars": Recipe(model="character", unk_token="<unk>"),  # noqa: S106
    "words": Recipe(model="word", unk_token="<unk>", vocab_size=50_000),  # noqa: S106
}


def preset(name: str) -> Recipe:
    """Return the recipe of a well-known tokenizer: its components, special tokens and size.

    Parameters
    ----------
    name
        ``"gpt2"``, ``"cl100k"``, ``"o200k"``, ``"llama3"`` and ``"qwen"`` are BPE on bytes,
        ``"llama2"`` is BPE as SentencePiece has it, with byte fallback, ``"bert"`` WordPiece,
        ``"t5"`` and ``"xlnet"`` Unigram, ``"chars"`` and ``"words"`` the plain models.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import protok
    >>> from protok.training import preset
    >>> recipe = replace(preset("gpt2"), vocab_size=260)
    >>> protok.train(recipe, ["low lower lowest"]).special_tokens
    {'<|endoftext|>': 259}
    """
    if name not in PRESETS:
        raise InputError(
            what=f"There is no preset {name!r}.",
            location="preset",
            hint=f"Give one of {', '.join(PRESETS)}.",
            value=name,
        )
    return PRESETS[name]
