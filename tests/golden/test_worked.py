"""Small worked examples with results that were computed twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import protok


def worked(shared: Path, name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((shared / "corpus/worked" / name).read_text("utf-8"))
    return data


def test_gpt2_facts(shared: Path, gpt2: protok.Tokenizer) -> None:
    facts = worked(shared, "e_gpt2_facts.json")
    assert gpt2.vocab.size == facts["n_vocab"]
    assert gpt2.special_tokens == facts["special"]
    model = json.loads(gpt2.describe())["model"]
    assert model["merges"]["pairs"] == facts["merges"]
    assert gpt2.count("<|endoftext|>", special="parse") == 1
    for row in facts["rows"]:
        encoding = gpt2.encode(row["text"], special="text")
        assert encoding.tolist() == row["ids"], row["text"]
        assert len(encoding) == gpt2.count(row["text"]) == row["n_tokens"]
        assert encoding.spans("codepoint").max(initial=0) == row["chars"]
        assert encoding.spans("byte").max(initial=0) == row["bytes"]
        pieces = [gpt2.decode_bytes([id]).hex() for id in encoding]
        assert pieces == row["token_bytes_hex"], row["text"]


def byte_alphabet() -> dict[str, int]:
    """Every byte as its printable character, with the byte as id."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in printable]
    spelled = {byte: chr(byte) for byte in printable}
    spelled |= {byte: chr(256 + place) for place, byte in enumerate(rest)}
    return {spelled[byte]: byte for byte in range(256)}


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_normalisation(shared: Path, form: str) -> None:
    """A tokenizer of 256 byte tokens shows what the normalizer made of a text."""
    byte_level = {"add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    artifact: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": form},
        "pre_tokenizer": {"type": "ByteLevel", **byte_level},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", **byte_level},
        "model": {"type": "BPE", "vocab": byte_alphabet(), "merges": []},
    }
    tok = protok.load(json.dumps(artifact).encode())
    for row in worked(shared, "g_normalisation.json")["rows"]:
        ids = tok.encode(row["text"])
        assert tok.decode(ids) == row[form]["text"], row["codepoints"]
        assert len(ids) == row[form]["bytes"]
        assert ids.normalized == row[form]["text"]
        assert ids.spans("codepoint").max() == row["chars"]
        assert ids.spans("byte").max() == row["bytes"]
        assert ids.spans("codepoint", "normalized").max() == row[form]["chars"]
        assert ids.spans("byte", "normalized").max() == row[form]["bytes"]
