"""Pairs, truncation with overflow, padding and stored settings equal the reference's."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from golden.offset_rules import Artifact, Span, classes, trimmed
from golden.records import hugging_face, records

import protok

ARTIFACTS = (
    *("gpt2", "minilm-bert-uncased", "llama3.1", "t5-base", "albert", "clip"),
    *("roberta-robbert-1k", "xlmr-like-1k", "toy/template_multi", "toy/wordlevel"),
    *("toy/trunc_pad", "toy/flags_bytelevel"),
)


@cache
def extra(shared: Path) -> list[dict[str, Any]]:
    return records(shared / "golden/hf_extra.jsonl")


def of(shared: Path, operation: str, name: str) -> list[dict[str, Any]]:
    found = [r for r in extra(shared) if r["op"] == operation and r["artifact"] == name]
    assert found
    return found


@cache
def artifact(shared: Path, name: str) -> Artifact:
    return Artifact(hugging_face(shared, name))


def check(
    subject: Artifact, encoding: protok.Encoding, expected: dict[str, Any], texts: list[str]
) -> None:
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
    theirs = [(int(start), int(end)) for start, end in expected["offsets"]]
    if spans == theirs:
        return
    if subject.trims:
        for place, (span, other) in enumerate(zip(spans, theirs, strict=True)):
            # The reference truncates, then trims each window for itself.
            first = place == 0 or span[0] == 0 or sequences[place - 1] != sequences[place]
            known = (
                [] if masked[place] else trimmed(subject, encoding.tokens[place], span, first=first)
            )
            assert other in (span, *known)
        return
    check_windows(subject, encoding, theirs, texts)


def check_windows(
    subject: Artifact, encoding: protok.Encoding, theirs: list[Span], texts: list[str]
) -> None:
    """Put the reference's spans of a window into its whole text, where the rules look at them."""
    for part in encoding.to_dict()["parts"]:
        start, end, sequence = part["start"], part["end"], part["sequence"]
        if sequence is None:
            assert not any(edge for span in theirs[start:end] for edge in span)
            continue
        whole = subject.tok.encode(texts[sequence], add_special_tokens=False, special="parse")
        spans = [(int(low), int(high)) for low, high in whole.offsets]
        spans[part["first"] : part["first"] + end - start] = theirs[start:end]
        assert None not in classes(subject, texts[sequence], spans)


@pytest.mark.parametrize("name", ARTIFACTS)
def test_pairs(shared: Path, name: str) -> None:
    subject = artifact(shared, name)
    for record in of(shared, "pair", name):
        add = record["add_special_tokens"]
        encoding = subject.tok.encode(
            record["a"], record["b"], add_special_tokens=add, special="parse"
        )
        check(subject, encoding, record["result"], [record["a"], record["b"]])
        batch = subject.tok.encode_batch(
            ["before", (record["a"], record["b"]), "after"],
            add_special_tokens=add,
            special="parse",
        )
        check(subject, batch[1], record["result"], [record["a"], record["b"]])
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
            check(subject, window, one, [text, pair])
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


@pytest.mark.parametrize("name", ["minilm-bert-uncased", "toy/trunc_pad"])
def test_stored_settings(shared: Path, name: str) -> None:
    """What a file stores is no state: passed as arguments, it does what the reference does."""
    subject = artifact(shared, name)
    described = json.loads(subject.tok.describe())
    truncation, padding = described["truncation"], described["padding"]
    assert truncation["strategy"] == "LongestFirst"
    strategy = padding["strategy"]
    to: Any = "longest" if strategy == "BatchLongest" else strategy["Fixed"]
    for record in of(shared, "as_stored", name):
        texts = [record["a"]] if record["b"] is None else [record["a"], record["b"]]
        rows = [texts[0] if len(texts) == 1 else (texts[0], texts[1])]
        options: dict[str, Any] = {
            "special": "parse",
            "max_length": truncation["max_length"],
            "stride": truncation["stride"],
            "truncation": truncation["direction"].lower(),
        }
        if "error" in record:
            with pytest.raises(protok.InputError, match="stride"):
                subject.tok.encode_batch(rows, **options)
            continue
        result = record["result"]
        batch = subject.tok.encode_batch(rows, **options)
        padded = batch.pad(
            to,
            multiple_of=padding["pad_to_multiple_of"] or 1,
            side=padding["direction"].lower(),
            pad_id=padding["pad_id"],
            pad_type_id=padding["pad_type_id"],
        )
        length = len(result["ids"])
        expected = {
            "input_ids": result["ids"],
            "attention_mask": result.get("mask", [1] * length),
            "type_ids": result.get("type_ids", [0] * length),
            "special_mask": result.get("special_mask", [0] * length),
        }
        assert {key: padded[key].tolist()[0] for key in expected} == expected
        # Without being told, protok neither cuts nor pads.
        whole = subject.tok.encode(*texts, special="parse")
        assert len(whole) >= int(sum(expected["attention_mask"]))


@pytest.mark.parametrize("name", ARTIFACTS)
def test_the_texts_of_streams(shared: Path, name: str) -> None:
    """What the reference decodes step by step, as a whole."""
    tok = hugging_face(shared, name)
    for record in of(shared, "decode_stream", name):
        skip = record["skip_special_tokens"]
        decoded = tok.decode(record["ids"], skip_special_tokens=skip, errors="reference")
        assert decoded == record["whole"]
