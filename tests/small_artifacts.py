"""Small artifacts that the cases are about: WordPiece, Unigram, BPE and SentencePiece models."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterable
from typing import Any

import pytest

import protok

CLEANING = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}
FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
NORMAL, UNKNOWN, CONTROL, USER_DEFINED = 1, 2, 3, 4
ROLES = (("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL))


def document(model: dict[str, Any], **components: Any) -> str:
    """Spell out a tokenizer.json."""
    nothing = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder"))
    return json.dumps(
        {"version": "1.0", "added_tokens": [], **nothing, **components, "model": model}
    )


# Words as they come, and no model to speak of.
EMPTY = document({"type": "BPE", "vocab": {}, "merges": []}).encode()


def load(model: dict[str, Any], **components: Any) -> protok.Tokenizer:
    """Load a tokenizer.json."""
    return protok.Tokenizer({"tokenizer.json": document(model, **components).encode()})


def wordpiece(*words: str) -> dict[str, Any]:
    """Return a WordPiece model of these words and an unknown token."""
    return {
        "type": "WordPiece",
        "vocab": {word: id for id, word in enumerate(("[UNK]", *words))},
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
    }


def bert(*words: str, added: Iterable[dict[str, Any]] = ()) -> protok.Tokenizer:
    """Load an uncased BERT of these words, with added tokens."""
    first = len(words) + 1
    tokens = [{**FLAGS, "special": False, "id": first + at, **one} for at, one in enumerate(added)]
    return load(
        wordpiece(*words),
        added_tokens=tokens,
        normalizer=CLEANING,
        pre_tokenizer={"type": "BertPreTokenizer"},
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": False},
    )


def metaspace(scheme: str) -> dict[str, Any]:
    """Return the Metaspace component, which cuts and decodes."""
    return {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": True}


def unigram(*pieces: tuple[str, float]) -> dict[str, Any]:
    """Return a Unigram model of these pieces and an unknown one."""
    vocab = [["<unk>", 0.0], *([piece, score] for piece, score in pieces)]
    return {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": False}


def sentencepiece(*pieces: tuple[str, float] | tuple[str, float, int]) -> bytes:
    """Write a Unigram .model of these pieces, with the kind where it is not a normal one."""
    data = b""
    for piece, score, *kind in (*ROLES, *pieces):
        data += field(1, field(1, piece) + field(2, score) + field(3, kind[0] if kind else NORMAL))
    unigram_model = 1
    return data + field(2, field(3, unigram_model)) + field(3, field(1, "identity"))


def field(number: int, value: bytes | str | float) -> bytes:
    """Write a field of a protocol buffer: a message or text, a 32-bit float, or a small number."""
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 5) + struct.pack("<f", value)


def varint(number: int) -> bytes:
    """Write a number of variable length."""
    data = b""
    while number > 127:
        data += bytes([number & 127 | 128])
        number >>= 7
    return data + bytes([number])


def train_sentencepiece(lines: list[str], **options: Any) -> bytes:
    """Train a .model with SentencePiece itself."""
    library = pytest.importorskip("sentencepiece")
    written = io.BytesIO()
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=written,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    return written.getvalue()


def pieces(encoding: protok.Encoding) -> list[tuple[str, tuple[int, int]]]:
    """Return each token with its span."""
    spans = [(int(start), int(end)) for start, end in encoding.offsets]
    return list(zip(encoding.tokens, spans, strict=True))
