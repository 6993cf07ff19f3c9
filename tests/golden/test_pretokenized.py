"""Words that the caller cut equal what `tokenizers` makes of them, in every family."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from golden.offset_rules import Artifact, classes

import protok

ARTIFACTS = (
    "gpt2",
    "minilm-bert-uncased",
    "llama3.1",
    "t5-base",
    "albert",
    "clip",
    "roberta-robbert-1k",
    "xlmr-like-1k",
    "toy/template_multi",
    "toy/wordlevel",
    "toy/trunc_pad",
    "toy/flags_bytelevel",
)


@cache
def records(shared: Path) -> list[dict[str, Any]]:
    lines = (shared / "golden/hf_extra.jsonl").read_text("utf-8").split("\n")
    found = [json.loads(line) for line in lines if line]
    return [record for record in found if record["op"] == "pretokenized"]


def test_all_artifacts_are_compared(shared: Path) -> None:
    assert {record["artifact"] for record in records(shared)} == set(ARTIFACTS)


@pytest.mark.parametrize("name", ARTIFACTS)
def test_pretokenized(shared: Path, name: str) -> None:
    path = f"{name}.json" if name.startswith("toy/") else f"{name}/tokenizer.json"
    data = (shared / "artifacts" / path).read_bytes()
    subject = Artifact(protok.Tokenizer({"tokenizer.json": data}))
    found = [record for record in records(shared) if record["artifact"] == name]
    assert len(found) == 2
    for record in found:
        words, expected = record["words"], record["result"]
        ids = expected["ids"]
        encoding = subject.tok.encode(words, special="parse", is_pretokenized=True)
        assert encoding.tolist() == ids
        assert encoding.word_ids == expected["word_ids"]
        zeros = [0] * len(ids)
        assert encoding.special_mask.tolist() == expected.get("special_mask", zeros)
        assert encoding.type_ids.tolist() == expected.get("type_ids", zeros)
        batch = subject.tok.encode_batch(
            [["before"], words, tuple(words)], special="parse", is_pretokenized=True
        )
        assert batch[1] == batch[2] == encoding
        assert batch[1].word_ids == encoding.word_ids
        # Offsets are in the word. A word is a text, so they differ where a text's do.
        ours = encoding.offsets.tolist()
        for place, word in enumerate(words):
            of_word = [at for at, word_id in enumerate(encoding.word_ids) if word_id == place]
            alone = subject.tok.encode(word, add_special_tokens=False, special="parse")
            assert [ours[at] for at in of_word] == alone.offsets.tolist()
            assert [encoding.tokens[at] for at in of_word] == alone.tokens
            theirs = [tuple(expected["offsets"][at]) for at in of_word]
            assert None not in classes(subject, word, theirs)
        templates = [
            span for span, word in zip(ours, encoding.word_ids, strict=True) if word is None
        ]
        assert templates == [[0, 0]] * len(templates)
