"""Pairs, truncation with overflow, and padding equal the reference's on byte-level artifacts."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from golden.offset_rules import Artifact, trimmed

import protok

ARTIFACTS = ("gpt2", "llama3.1", "clip", "roberta-robbert-1k", "toy/flags_bytelevel")
MINUS_ONE = 0xFFFF_FFFF  # what the reference calls no word


@cache
def records(shared: Path) -> list[dict[str, Any]]:
    lines = (shared / "golden/hf_extra.jsonl").read_text("utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


def of(shared: Path, operation: str, name: str) -> list[dict[str, Any]]:
    found = [r for r in records(shared) if r["op"] == operation and r["artifact"] == name]
    assert found
    return found


@cache
def artifact(shared: Path, name: str) -> Artifact:
    path = f"{name}.json" if name.startswith("toy/") else f"{name}/tokenizer.json"
    data = (shared / "artifacts" / path).read_bytes()
    return Artifact(protok.Tokenizer({"tokenizer.json": data}))


def check(subject: Artifact, encoding: protok.Encoding, expected: dict[str, Any]) -> None:
    """Compare an encoding with a record, which leaves out what is the default."""
    ids = expected["ids"]
    assert encoding.tolist() == ids
    sequences = encoding.sequence_ids
    masked = encoding.special_mask.tolist()
    assert masked == expected.get("special_mask", [0] * len(ids))
    if "sequence_ids" in expected:
        assert sequences == expected["sequence_ids"]
    assert encoding.type_ids.tolist() == expected.get("type_ids", [0] * len(ids))
    assert encoding.attention_mask.tolist() == expected.get("mask", [1] * len(ids))
    assert encoding.word_ids == expected.get("word_ids", [None] * len(ids))
    spans = [(int(start), int(end)) for start, end in encoding.offsets]
    for place, (span, theirs) in enumerate(zip(spans, expected["offsets"], strict=True)):
        known = [span]
        if subject.trims and not masked[place]:
            # The reference truncates, then trims each window for itself.
            first = place == 0 or span[0] == 0 or sequences[place - 1] != sequences[place]
            known += trimmed(subject, encoding.tokens[place], span, first=first)
        assert tuple(theirs) in known


@pytest.mark.parametrize("name", ARTIFACTS)
def test_pairs(shared: Path, name: str) -> None:
    subject = artifact(shared, name)
    for record in of(shared, "pair", name):
        add = record["add_special_tokens"]
        encoding = subject.tok.encode(
            record["a"], record["b"], add_special_tokens=add, special="parse"
        )
        check(subject, encoding, record["result"])
        batch = subject.tok.encode_batch(
            ["before", (record["a"], record["b"]), "after"],
            add_special_tokens=add,
            special="parse",
        )
        check(subject, batch[1], record["result"])
        assert batch[0] == subject.tok.encode("before", add_special_tokens=add)


@pytest.mark.parametrize("name", ARTIFACTS)
def test_truncation(shared: Path, name: str) -> None:
    subject = artifact(shared, name)
    compared = refused = 0
    for record in of(shared, "truncate", name):
        config = record["config"]
        if config["strategy"] != "longest_first":
            continue
        options: dict[str, Any] = {
            "max_length": config["max_length"],
            "stride": config["stride"],
            "truncation": config["direction"],
            "special": "parse",
        }
        if "error" in record:
            refused += 1
            continue
        text, pair, result = record["a"], record["b"], record["result"]
        try:
            encoding = subject.tok.encode(text, pair, **options)
        except protok.InputError:
            # The reference drops the template where it does not fit; that is refused.
            whole = subject.tok.encode(text, pair, special="parse")
            assert config["max_length"] < int(whole.special_mask.sum())
            refused += 1
            continue
        windows = [encoding, *encoding.overflow]
        expected = [result, *result.get("overflowing", [])]
        assert len(windows) == len(expected)
        for window, one in zip(windows, expected, strict=True):
            check(subject, window, one)
        item = text if pair is None else (text, pair)
        row = subject.tok.encode_batch(["a", item], **options)[1]
        assert row == encoding
        assert row.overflow == encoding.overflow
        compared += 1
    assert compared >= 8, (compared, refused)


@pytest.mark.parametrize("name", ARTIFACTS)
def test_padding(shared: Path, name: str) -> None:
    subject = artifact(shared, name)
    for record in of(shared, "pad_batch", name):
        config, expected = record["config"], record["result"]
        batch = subject.tok.encode_batch(record["batch"], special="parse")
        to = config.get("length", "longest")
        if to != "longest" and max(map(len, batch)) > to:
            # The reference leaves such a row as long as it is.
            with pytest.raises(protok.InputError):
                batch.pad(to, pad_id=0)
            continue
        padded = batch.pad(
            to,
            multiple_of=config.get("pad_to_multiple_of", 1),
            side=config.get("direction", "right"),
            pad_id=config["pad_id"],
            pad_type_id=config.get("pad_type_id", 0),
        )
        length = len(expected[0]["ids"])
        zeros, ones = [0] * length, [1] * length
        assert padded["input_ids"].tolist() == [row["ids"] for row in expected]
        assert padded["attention_mask"].tolist() == [row.get("mask", ones) for row in expected]
        assert padded["type_ids"].tolist() == [row.get("type_ids", zeros) for row in expected]
        special = [row.get("special_mask", zeros) for row in expected]
        assert padded["special_mask"].tolist() == special
        assert all(array.dtype == "int64" for array in padded.values())
