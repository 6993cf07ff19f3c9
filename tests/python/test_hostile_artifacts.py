"""Hostile artifacts through the binding: an `ArtifactError` that says where, and no panic.

The kinds of fault are tested in `crates/protok-core/tests/hostile_artifacts`.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

import protok

WORDS = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}
HUGE = struct.pack("<Q", 1 << 63)


def refused(folder: Path, name: str, content: bytes | str | dict[str, Any]) -> protok.ArtifactError:
    if isinstance(content, dict):
        content = json.dumps(content)
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(protok.ArtifactError) as caught:
        protok.load(path)
    assert str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("tokenizer.json", '{"model":', "tokenizer.json"),
        ("tokenizer.json", {"model": None}, "model"),
        ("tokenizer.json", {"model": {**WORDS, "vocab": {"a": 1 << 32}}}, "model.vocab"),
        ("tokenizer.json", {"model": WORDS, "normalizer": {"type": "Nope"}}, "normalizer"),
        (
            "tokenizer.json",
            '{"model":{"type":"WordLevel"},"normalizer":' + "[" * 100_000,
            "tokeniz",
        ),
        ("x.gguf", b"GGUF\x03\0\0\0" + bytes(8) + HUGE, "byte 24"),
        ("x.gguf", b"GGUF\x03\0\0\0" + bytes(8) + b"\1" + bytes(7) + HUGE, "byte 32"),
        ("tokenizer.model", b"\x0a\x0e\x0a\x05<unk>\x15\0\0", "tokenizer.model"),
        ("tokenizer.model", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "tokenizer.model"),
        ("tekken.json", {"vocab": [], "config": {}}, "tekken.json"),
        ("vocab.txt", b"[UNK]\n\xff\n", "vocab.txt"),
    ],
)
def test_each_reader_says_where(
    tmp_path: Path, name: str, content: bytes | str | dict[str, Any], place: str
) -> None:
    assert place in str(refused(tmp_path, name, content))


def test_text_that_grows_without_measure_is_a_limit(tmp_path: Path) -> None:
    double = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    sixty = {"type": "Sequence", "normalizers": [double] * 60}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"model": WORDS, "normalizer": sixty}), "utf-8")
    tok = protok.load(path)
    assert tok.encode("b").tolist() == [0]
    with pytest.raises(protok.LimitError, match="without measure"):
        tok.encode("a")
