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


BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
MARKED = ["<bos>", *BYTES, "\u2581", "a", "b", "B", "\n", "\n\n\n", "ab", "\u2581ab", "\u2581a"]
MERGES = ["a b", "\u2581 ab", "\u2581 a"]


def marked(
    model: str, pre: str, more: dict[str, bytes], merges: list[str] = MERGES
) -> protok.Tokenizer:
    """Return a BPE whose tokens spell text, and bytes where that fails."""
    kinds = [3, *[6] * len(BYTES), *[1] * (len(MARKED) - 257)]
    spelled = gguf.value(gguf.ARRAY, (gguf.STRING, merges))
    more = {"merges": spelled, "bos_token_id": gguf.value(4, 0)} | more
    return protok.Tokenizer({"a.gguf": made(model, pre, MARKED, kinds, **more)})


TEXT = " abB\n\n\n b\n\n\n\n\n\u00e9  a"


@pytest.mark.parametrize(
    ("model", "pre", "more", "ids"),
    [
        # Three line ends are a token, which nothing merges to; five are none.
        (
            "gemma4",
            "",
            {"add_bos_token": gguf.value(7, 0)},
            [0, 264, 260, 262, 257, 259, 261, 261, 261, 261, 261, 196, 170, 257, 265],
        ),
        (
            "gpt2",
            "granite-embed-multi-311m",
            {},
            [0, 264, 260, 262, 257, 259, 261, 261, 261, 261, 261, 196, 170, 257, 265],
        ),
        (
            "gpt2",
            "sarvam-moe",
            {},
            [264, 260, 261, 261, 261, 257, 259, 261, 261, 261, 261, 261, 196, 170, 257, 265],
        ),
        ("whitespace", "whitespace", {}, [263, 260, 259, 196, 170, 258]),
        (
            "whitespace",
            "whitespace",
            {"normalizer.lowercase": gguf.value(7, 1)},
            [263, 259, 259, 196, 170, 258],
        ),
    ],
)
def test_tokens_that_spell_text(
    model: str, pre: str, more: dict[str, bytes], ids: list[int]
) -> None:
    tok = marked(model, pre, more)
    assert tok.encode(TEXT).tolist() == ids
    if model != "whitespace":
        assert tok.decode(ids) == "<bos>" * (ids[0] == 0) + TEXT


def test_a_character_outside_the_byte_alphabet_decodes_to_a_note_of_it() -> None:
    tok = marked("whitespace", "whitespace", {})
    assert tok.decode([257, 264]) == "[UNK_BYTE_0xe29681\u2581][UNK_BYTE_0xe29681\u2581ab]ab"


@pytest.mark.parametrize(
    ("model", "pre", "merges", "message"),
    [
        ("hybriddna", "default", MERGES, '"hybriddna" cannot be loaded'),
        ("gpt2", "hybriddna", MERGES, '"hybriddna" is not known'),
        ("gpt2", "whitespace", MERGES, 'does not go with the tokenizer model "gpt2"'),
        ("whitespace", "gpt-2", MERGES, 'does not go with the tokenizer model "whitespace"'),
    ],
)
def test_refusals(model: str, pre: str, merges: list[str], message: str) -> None:
    with pytest.raises(protok.ArtifactError, match=message):
        marked(model, pre, {}, merges)


def test_a_merge_of_byte_tokens_is_refused() -> None:
    tokens = [*BYTES, "a", "<0x0A>a"]
    kinds = [6] * 256 + [1, 1]
    merges = gguf.value(gguf.ARRAY, (gguf.STRING, ["<0x0A> a"]))
    data = made("gpt2", "sarvam-moe", tokens, kinds, merges=merges)
    with pytest.raises(protok.ArtifactError, match=r"merges\[0\].*byte token"):
        protok.Tokenizer({"a.gguf": data})


def test_a_missing_byte_token_is_refused() -> None:
    merges = gguf.value(gguf.ARRAY, (gguf.STRING, []))
    tokens, kinds = [*BYTES[:-1], "a"], [6] * 255 + [1]
    for model, pre in (("gpt2", "sarvam-moe"), ("whitespace", "whitespace")):
        data = made(model, pre, tokens, kinds, merges=merges)
        with pytest.raises(protok.ArtifactError, match="<0xFF> is missing"):
            protok.Tokenizer({"a.gguf": data})


def test_without_byte_tokens_what_is_no_token_is_gone() -> None:
    merges = gguf.value(gguf.ARRAY, (gguf.STRING, ["a b"]))
    data = made("whitespace", "whitespace", ["a", "b", "ab", "<e>"], [1, 1, 1, 3], merges=merges)
    assert protok.Tokenizer({"a.gguf": data}).encode("ab a\u00e9b\tb").tolist() == [2, 0, 1, 1]
