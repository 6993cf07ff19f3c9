"""``encode_bytes``: bytes that need not be text, in models that fall back to byte tokens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import protok

MARK = "\u2581"
BYTES = {f"<0x{byte:02X}>": byte for byte in range(256)}

STRAY = st.lists(
    st.binary(max_size=6)
    | st.text(max_size=6).map(str.encode)
    | st.sampled_from([b" ", b"  ", b"a", b"\n", "▁".encode(), b"\xf0\x9f\x90", b"\xc3"]),
    max_size=8,
).map(b"".join)

PREPEND = {
    "type": "Sequence",
    "normalizers": [
        {"type": "Prepend", "prepend": MARK},
        {"type": "Replace", "pattern": {"String": " "}, "content": MARK},
    ],
}
METASPACE = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "always", "split": True}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}


def made(normalizer: object = None, pre_tokenizer: object = None, **model: object) -> bytes:
    """Return a tokenizer.json of byte tokens, the mark and ``ab``."""
    vocab = BYTES | {MARK: 256, "a": 257, "b": 258, "ab": 259, MARK + "ab": 260}
    return json.dumps(
        {
            "added_tokens": [],
            "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer,
            "post_processor": None,
            "decoder": {
                "type": "Sequence",
                "decoders": [
                    {"type": "Replace", "pattern": {"String": MARK}, "content": " "},
                    {"type": "ByteFallback"},
                    {"type": "Fuse"},
                    *([STRIP] if normalizer or pre_tokenizer else []),
                ],
            },
            "model": {
                "type": "BPE",
                "byte_fallback": True,
                "vocab": vocab,
                "merges": [["a", "b"], [MARK, "ab"]],
            }
            | model,
        }
    ).encode()


def tokenizer(**parts: object) -> protok.Tokenizer:
    return protok.Tokenizer({"tokenizer.json": made(**parts)})


@pytest.mark.parametrize("parts", [{"normalizer": PREPEND}, {"pre_tokenizer": METASPACE}])
def test_nothing_is_put_where_text_goes_on(parts: dict[str, object]) -> None:
    """A text gets its mark at its start, and not again after bytes that are no text."""
    tok = tokenizer(**parts)
    assert tok.encode_bytes(b"ab\xffab ab\xe2\x82").tolist() == [260, 255, 259, 260, 0xE2, 0x82]
    assert tok.encode_bytes(b"\xffab").tolist() == [255, 259]
    assert tok.encode_bytes(b"\xff ab").tolist() == [255, 260]


def test_spans_of_stray_bytes() -> None:
    encoding = tokenizer(normalizer=PREPEND).encode_bytes("é".encode() + b"\xff\xfeab c")
    assert encoding.tolist() == [256, 0xC3, 0xA9, 255, 254, 259, 256, ord("c")]
    spans = encoding.spans(unit="byte").tolist()
    assert spans == [[0, 0], [0, 1], [1, 2], [2, 3], [3, 4], [4, 6], [6, 7], [7, 8]]
    assert [encoding.bytes(i) for i in (3, 4, 5)] == [b"\xff", b"\xfe", b"ab"]


def test_a_vocabulary_that_lacks_a_byte_refuses() -> None:
    vocab = {token: id for token, id in BYTES.items() if token != "<0xFF>"} | {"?": 256}
    tok = protok.Tokenizer({"tokenizer.json": made(vocab=vocab, merges=[], unk_token="?")})
    with pytest.raises(protok.InputError, match="lacks a token for some byte"):
        tok.encode_bytes(b"\x80")


@pytest.mark.parametrize("parts", [{}, {"normalizer": PREPEND}, {"pre_tokenizer": METASPACE}])
@given(data=STRAY)
def test_bytes_come_back(parts: dict[str, object], data: bytes) -> None:
    """Every byte comes back; a first mark that the text itself holds reads as its blank."""
    tok = tokenizer(**parts)
    encoding = tok.encode_bytes(data)
    expected = data.replace(MARK.encode(), b" ")
    if parts.get("pre_tokenizer") and expected.startswith(b" "):
        expected = expected[1:]  # no mark is put before one
    assert tok.decode_bytes(encoding) == expected
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    assert encoding.tolist() == tok.encode(text).tolist()


ARTIFACTS = [
    "gemma3/tokenizer.json",
    "mistral-v0.1/tokenizer.json",
    "mistral-v0.1/tokenizer.model.v1",
    "sentencepiece/llama2_bpe_bytefallback.model",
    "sentencepiece/mistral_v3.model",
    "gguf/ggml-vocab-llama-spm.gguf",
]
LOADED: dict[str, protok.Tokenizer] = {}


@pytest.mark.parametrize("name", ARTIFACTS)
@given(data=STRAY)
def test_bytes_come_back_from_real_artifacts(shared: Path, name: str, data: bytes) -> None:
    if name not in LOADED:
        LOADED[name] = protok.load(shared / "artifacts" / name)
    tok = LOADED[name]
    ids = tok.encode_bytes(data, special="text", add_special_tokens=False)
    assert tok.decode_bytes(ids) == data.replace(MARK.encode(), b" ")
