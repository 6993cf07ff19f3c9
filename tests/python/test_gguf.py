"""Small GGUF files made here, with what llama.cpp v0.5.0 makes of them."""

from __future__ import annotations

import gguf_files as gguf
import pytest

import protok

TOKENS = ["<pad>", "</s>", "<unk>", "\u2581", "a", "b", "\u2581a", "ab", "<x y>"]
SCORES = [0, 0, 0, -2, -3, -3, -4, -3.5, 0]
KINDS = [3, 3, 2, 1, 1, 1, 1, 1, 4]


def made(model: str, pre: str, tokens: list[str], kinds: list[int], **more: bytes) -> bytes:
    """Put a file together."""
    key = "tokenizer.ggml."
    pairs = {
        "general.architecture": gguf.value(gguf.STRING, "t5"),
        f"{key}model": gguf.value(gguf.STRING, model),
        f"{key}pre": gguf.value(gguf.STRING, pre),
        f"{key}tokens": gguf.value(gguf.ARRAY, (gguf.STRING, tokens)),
        f"{key}token_type": gguf.value(gguf.ARRAY, (5, kinds)),
    }
    return gguf.build(pairs | {key + name: value for name, value in more.items()})


def unigram(**flags: bool) -> protok.Tokenizer:
    """Return a Unigram tokenizer with these flags."""
    more = {
        "scores": gguf.value(gguf.ARRAY, (6, SCORES)),
        "eos_token_id": gguf.value(4, 1),
        "unknown_token_id": gguf.value(4, 2),
    }
    more |= {name: gguf.value(7, flag) for name, flag in flags.items()}
    return protok.Tokenizer({"a.gguf": made("t5", "default", TOKENS, KINDS, **more)})


@pytest.mark.parametrize(
    ("flags", "text", "ids", "decoded"),
    [
        ({}, "a b ab", [4, 3, 5, 3, 7, 1], "a b ab</s>"),
        # "<x" is the start of a user-defined token, and stays apart from the blank.
        ({}, "  zz a<x yb", [3, 3, 2, 6, 2, 3, 2, 5, 1], "  <unk> a<unk> <unk>b</s>"),
        ({}, " ", [3, 1], " </s>"),
        ({}, "<x y>a\u2581b  ", [8, 4, 3, 5, 3, 3, 1], "<x y>a b  </s>"),
        ({"merged": True}, "a b ab", [6, 3, 5, 3, 7, 1], "a b ab</s>"),
        ({"merged": True}, "  zz a<x yb", [3, 2, 6, 2, 3, 2, 5, 1], "<unk> a<unk> <unk>b</s>"),
        ({"merged": True}, " ", [1], "</s>"),
        ({"merged": True}, "<x y>a\u2581b  ", [8, 6, 3, 5, 1], "<x y> a b</s>"),
    ],
)
def test_unigram(flags: dict[str, bool], text: str, ids: list[int], decoded: str) -> None:
    merged = bool(flags)
    tok = unigram(add_space_prefix=merged, remove_extra_whitespaces=merged)
    assert tok.encode(text, special="parse").tolist() == ids
    assert tok.decode(ids) == decoded


def test_offsets_of_merged_blanks() -> None:
    enc = unigram(add_space_prefix=True, remove_extra_whitespaces=True).encode("  a  b ")
    assert enc.tokens == ["\u2581a", "\u2581", "b", "</s>"]
    assert enc.offsets.tolist() == [[0, 3], [3, 5], [5, 6], [0, 0]]


def test_a_byte_without_a_token_keeps_its_neighbours_apart() -> None:
    merges = gguf.value(gguf.ARRAY, (gguf.STRING, ["a b"]))
    tokens = ["a", "b", "ab", "\u0120", "<e>", "c"]
    kinds = [1, 1, 1, 1, 3, 1]
    data = made("gpt2", "poro-chat", tokens, kinds, merges=merges, bos_token_id=gguf.value(4, 4))
    tok = protok.Tokenizer({"a.gguf": data})
    assert tok.encode("ab aqb ab").tolist() == [2, 3, 0, 1, 3, 2]
