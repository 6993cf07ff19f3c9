"""Encoding, decoding and the policy for control tokens, on GPT-2."""

from __future__ import annotations

import json

import numpy as np
import pytest
from small_artifacts import sentencepiece

import protok

SPELLED = [64, 27, 91, 437, 1659, 5239, 91, 29, 65]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        (" ", [220]),
        ("The cat sat on the", [464, 3797, 3332, 319, 262]),
        ("Akwirw ier", [33901, 86, 343, 86, 220, 959]),
        ("🐈", [8582, 238, 230]),
    ],
)
def test_known_ids(gpt2: protok.Tokenizer, text: str, ids: list[int]) -> None:
    encoding = gpt2.encode(text)
    assert encoding.tolist() == list(encoding) == list(encoding.ids) == ids
    assert len(encoding) == len(ids)
    assert gpt2.encode(text.encode()).tolist() == ids
    assert gpt2.encode_bytes(text.encode()).tolist() == ids
    assert gpt2.count(text) == len(ids)
    assert gpt2.decode(ids) == text
    assert gpt2.decode_bytes(ids) == text.encode()


def test_ids_are_a_read_only_buffer(gpt2: protok.Tokenizer) -> None:
    encoding = gpt2.encode("The cat sat")
    ids = encoding.ids
    assert ids.dtype == np.uint32
    assert not ids.flags.writeable
    assert np.array_equal(np.asarray(encoding), ids)
    assert gpt2.decode(ids) == gpt2.decode(encoding) == gpt2.decode(ids.astype(np.int64))
    assert encoding.tokens == ["The", "Ġcat", "Ġsat"]


def test_special_raise_is_the_default(gpt2: protok.Tokenizer) -> None:
    with pytest.raises(protok.SpecialTokenError) as caught:
        gpt2.encode("a<|endoftext|>b")
    assert caught.value.position == 1
    assert caught.value.value == "<|endoftext|>"
    with pytest.raises(protok.SpecialTokenError):
        gpt2.encode_batch(["a", "a<|endoftext|>b"])


def test_special_text(gpt2: protok.Tokenizer) -> None:
    assert gpt2.encode("a<|endoftext|>b", special="text").tolist() == SPELLED
    assert gpt2.count("a<|endoftext|>b") == len(SPELLED)


def test_special_parse(gpt2: protok.Tokenizer) -> None:
    assert gpt2.encode("a<|endoftext|>b", special="parse").tolist() == [64, 50256, 65]
    assert gpt2.count("a<|endoftext|>b", special="parse") == 3
    assert gpt2.decode([64, 50256, 65]) == "a<|endoftext|>b"
    assert gpt2.decode([64, 50256, 65], skip_special_tokens=True) == "ab"


@pytest.mark.parametrize("names", [{"<|endoftext|>"}, ["<|endoftext|>"], frozenset()])
def test_special_of_a_named_set(
    gpt2: protok.Tokenizer, names: set[str] | list[str] | frozenset[str]
) -> None:
    if names:
        assert gpt2.encode("a<|endoftext|>b", special=names).tolist() == [64, 50256, 65]
    else:
        with pytest.raises(protok.SpecialTokenError):
            gpt2.encode("a<|endoftext|>b", special=names)


@pytest.mark.parametrize("special", ["other", "", {"<|nothing|>"}])
def test_special_of_another_value(gpt2: protok.Tokenizer, special: str | set[str]) -> None:
    with pytest.raises(protok.InputError):
        gpt2.encode("a", special=special)


def test_stray_bytes_are_replaced(gpt2: protok.Tokenizer) -> None:
    assert gpt2.decode([8582]) == "\ufffd"
    assert gpt2.decode_bytes([8582]) == b"\xf0\x9f"
    with pytest.raises(protok.InputError):
        gpt2.decode([8582], errors="strict")


def test_vocab(gpt2: protok.Tokenizer) -> None:
    vocab = gpt2.vocab
    assert vocab["Ġcat"] == 3797
    assert vocab.token(3797) == "Ġcat"
    assert "Ġcat" in vocab
    assert vocab.get("no such token") is None
    assert vocab.size == 50257
    assert gpt2.special_tokens == {"<|endoftext|>": 50256}
    assert [token.content for token in gpt2.control_tokens] == ["<|endoftext|>"]


def test_spec_and_repr(gpt2: protok.Tokenizer) -> None:
    assert gpt2.spec.model.type == "BPE"
    assert gpt2.spec.semantics == "hf"
    assert "BPE" in repr(gpt2)
    assert "50257" in repr(gpt2)


def test_demo_round_trip(demo: protok.Tokenizer) -> None:
    for text in ("", "Hello, world", "naïve café 東京 🐈‍⬛", "\x00\x1b \r\n\t", "a" * 5000):
        assert demo.decode(demo.encode(text)) == text


def test_what_the_chat_template_writes_is_a_control_token(gpt2_files: dict[str, bytes]) -> None:
    marks = {"<think>": 50257, "<table>": 50258, "you": 50259}
    plain = protok.Tokenizer(gpt2_files)
    tokenizer = json.loads(plain.to_files()["tokenizer.json"])
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    tokenizer["added_tokens"] += [
        {"id": id, "content": content, **flags, "special": False} for content, id in marks.items()
    ]
    template = "{# <table> #}{% if think %}{{ '<think>\\n' }}{% endif %}are you"
    config = {"chat_template": template}
    files = {
        "tokenizer.json": json.dumps(tokenizer).encode(),
        "tokenizer_config.json": json.dumps(config).encode(),
    }
    tok = protok.Tokenizer(files)
    reasons = {token.content: token.reason for token in tok.control_tokens}
    assert reasons.pop("<think>") == "written by the chat template"
    assert set(reasons) <= {"<|endoftext|>"}
    with pytest.raises(protok.SpecialTokenError):
        tok.encode("a<think>")
    assert tok.encode("a<think>", special="text").tolist() == plain.encode("a<think>").tolist()
    # GPT-2 has the word "you", so that added token has its id.
    assert tok.encode("<think><table>you", special="parse").tolist() == [50257, 50258, 5832]
    alone = protok.Tokenizer({"tokenizer.json": files["tokenizer.json"]})
    assert alone.encode("<think>").tolist() == [50257]


def test_unknown_text_is_shown_wherever_the_token_stands() -> None:
    """Of a SentencePiece model, in windows, rows, pairs and plain data alike."""
    tok = protok.load(sentencepiece(("\u2581", -2.0), ("x", -3.0), ("y", -3.0)))
    text = "xzy qqx\U0001f408"
    whole = tok.encode(text)
    tokens = ["\u2581", "x", "z", "y", "\u2581", "qq", "x", "\U0001f408"]
    assert whole.tokens == tokens
    for side in ("left", "right"):
        first = tok.encode(text, max_length=3, truncation=side)
        windows = [first, *first.overflow]
        if side == "left":
            windows.reverse()
        assert [token for window in windows for token in window.tokens] == tokens
    pair = tok.encode("zx", text)
    assert pair.tokens == ["\u2581", "z", "x", *tokens]
    assert [row.tokens for row in tok.encode_batch(["y", text])] == [["\u2581", "y"], tokens]
    assert protok.Encoding.from_dict(whole.to_dict(), tok).tokens == tokens
    # The vocabulary has its name.
    assert tok.vocab.token(whole[2]) == "<unk>"
