"""The bytes of every id are what the decoder writes for it between other tokens."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import protok

ARTIFACTS = (
    "albert/tokenizer.json",
    "bert-base-cased/tokenizer.json",
    "clip/tokenizer.json",
    "gemma3/tokenizer.json",
    "gpt2/tokenizer.json",
    "llama3.1/tokenizer.json",
    "mistral-v0.1/tokenizer.json",
    "openai-gpt/tokenizer.json",
    "roberta-robbert-1k/tokenizer.json",
    "t5-base/tokenizer.json",
    "xlmr-like-1k/tokenizer.json",
    "t5-base/spiece.model",
    "sentencepiece/llama2_bpe_bytefallback.model",
    "sentencepiece/unigram_8k_ja_nfkc.model",
    "mistral-tekken/tekken_240718.json",
    "rwkv-world/rwkv_vocab_v20230424.txt",
    "tiktoken/cl100k_base.tiktoken",
    "gguf/ggml-vocab-llama-spm.gguf",
    "gguf/ggml-vocab-deepseek-coder.gguf",
    "toy/bpe_bytefallback.json",
    "toy/bpe_contprefix.json",
    "toy/bpe_metaspace_first.json",
    "toy/flags_bytelevel.json",
    "toy/unigram_bytefallback.json",
    "toy/wordlevel.json",
    "toy/wordpiece_max10.json",
)
MOST = 4000  # ids of each artifact


@cache
def load(shared: Path, name: str) -> protok.Tokenizer:
    path = shared / "artifacts" / name
    if path.name == "tokenizer.json":
        return protok.Tokenizer({"tokenizer.json": path.read_bytes()})
    if path.suffix == ".tiktoken":
        return protok.load(path, encoding=path.stem)
    return protok.load(path)


def between(tok: protok.Tokenizer, id: int) -> set[tuple[bytes, bytes]]:
    """Return what a decoder may write for an id at the start and at the end of a text."""
    two, three = tok.decode_bytes([id, id]), tok.decode_bytes([id, id, id])
    middle = tok.vocab.bytes(id)
    cuts = ((two[:at], two[at:]) for at in range(len(two) + 1))
    return {(first, last) for first, last in cuts if first + middle + last == three}


@pytest.mark.parametrize("name", ARTIFACTS)
def test_mid_text(shared: Path, name: str) -> None:
    tok = load(shared, name)
    letter = tok.encode("e", add_special_tokens=False, special="text").tolist()[-1]
    edges = between(tok, letter)
    assert edges
    step = max(1, tok.vocab.size // MOST)
    ids = [*range(min(600, tok.vocab.size)), *range(600, tok.vocab.size, step), tok.vocab.size - 1]
    for id in ids:
        try:
            alone = tok.vocab.bytes(id)
        except protok.UnknownIdError:
            continue
        whole = tok.decode_bytes([letter, id, letter])
        edges = {(first, last) for first, last in edges if first + alone + last == whole}
        assert edges, (id, tok.vocab.token(id), alone, whole)


@pytest.mark.parametrize("name", ARTIFACTS)
def test_all_at_once(shared: Path, name: str) -> None:
    tok = load(shared, name)
    table = tok.vocab.all_bytes()
    values, offsets = table.values, table.row_offsets
    assert values.dtype == np.dtype("uint8")
    assert offsets.dtype == np.dtype("int64")
    assert len(table) == tok.vocab.size == len(offsets) - 1
    assert (offsets[0], offsets[-1]) == (0, len(values))
    assert not values.flags.writeable
    step = max(1, tok.vocab.size // MOST)
    for id in range(0, tok.vocab.size, step):
        row = values[offsets[id] : offsets[id + 1]].tobytes()
        try:
            assert row == tok.vocab.bytes(id)
        except protok.UnknownIdError:
            assert row == b""
    with pytest.raises(protok.UnknownIdError):
        tok.vocab.bytes(tok.vocab.size)


@pytest.mark.parametrize(
    ("name", "token", "expected"),
    [
        ("gpt2/tokenizer.json", "\u0120the", b" the"),
        ("gpt2/tokenizer.json", "\u00c3", b"\xc3"),
        ("mistral-v0.1/tokenizer.json", "<0xC3>", b"\xc3"),
        ("mistral-v0.1/tokenizer.json", "\u2581the", b" the"),
        ("sentencepiece/llama2_bpe_bytefallback.model", "<0x0A>", b"\n"),
        ("sentencepiece/llama2_bpe_bytefallback.model", "\u2581\u2581", b"  "),
        ("sentencepiece/llama2_bpe_bytefallback.model", "<s>", b""),
        ("t5-base/tokenizer.json", "\u2581the", b" the"),
        ("bert-base-cased/tokenizer.json", "the", b" the"),
        ("bert-base-cased/tokenizer.json", "##ing", b"ing"),
        ("openai-gpt/tokenizer.json", "while</w>", b"while "),
        ("openai-gpt/tokenizer.json", "whi", b"whi"),
        ("gguf/ggml-vocab-llama-spm.gguf", "<0xFF>", b"\xff"),
        ("rwkv-world/rwkv_vocab_v20230424.txt", "the", b"the"),
    ],
)
def test_marks(shared: Path, name: str, token: str, expected: bytes) -> None:
    tok = load(shared, name)
    assert tok.vocab.bytes(tok.vocab[token]) == expected


def test_every_byte_of_a_fallback(shared: Path) -> None:
    for name in ("mistral-v0.1/tokenizer.json", "sentencepiece/mistral_v3.model"):
        tok = load(shared, name)
        found = [tok.vocab.bytes(tok.vocab[f"<0x{byte:02X}>"]) for byte in range(256)]
        assert found == [bytes([byte]) for byte in range(256)]
