"""Ids, tokens and decoded text equal the references', from tokenizer.json and from rank files."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from golden.records import (
    HUGGING_FACE,
    TIKTOKEN,
    Differences,
    hugging_face,
    hugging_face_file,
    inputs,
    pieces,
    records,
    tiktoken,
)

import protok

# Of longer texts the goldens do not record the stages.
LONGEST_OF_STAGES = 64


def digits(values: Any) -> str:
    return "".join(str(int(value)) for value in values)


@pytest.mark.parametrize("name", HUGGING_FACE)
def test_hugging_face(shared: Path, name: str) -> None:
    tok = hugging_face(shared, name)
    texts = inputs(shared / "golden")
    taking = {token.content for token in tok.added_tokens if token.lstrip or token.rstrip}
    differences = Differences()
    for record in records(shared / "golden" / f"{name}.jsonl"):
        case, text = record["id"], texts[record["id"]]
        plain = tok.encode(text, add_special_tokens=False, special="parse")
        differences.compare(case, "ids", plain.tolist(), record["ids"])
        # A token that took blanks along keeps its name; see docs/differences.md.
        tokens = [token.strip() if token.strip() in taking else token for token in record["tokens"]]
        differences.compare(case, "tokens", plain.tokens, tokens)
        # Nothing but a template puts tokens, and it is left out here.
        assert not record.get("plain_mask")
        assert not plain.special_mask.any()
        count = tok.count(text, special="parse")
        differences.compare(case, "count", count, len(record["ids"]))
        whole = tok.encode(text, special="parse")
        special = record.get("special", {})
        ids = special.get("ids", record["ids"])
        differences.compare(case, "ids with specials", whole.tolist(), ids)
        for key, got in (("mask", whole.special_mask), ("type_ids", whole.type_ids)):
            if key in special:
                differences.compare(case, key, digits(got), special[key])
        decoded = tok.decode(ids, errors="reference")
        differences.compare(case, "decode", decoded, record["decode"])
        skipped = tok.decode(ids, skip_special_tokens=True, errors="reference")
        differences.compare(case, "decode_skip", skipped, record["decode_skip"])
        if "\ufffd" not in record["decode"]:  # all bytes were valid
            differences.compare(case, "decode, replacing", tok.decode(ids), record["decode"])
    differences.check()


@pytest.mark.parametrize("name", HUGGING_FACE)
def test_stages(shared: Path, name: str) -> None:
    """The normalized text and the pieces equal the reference's, which records no added tokens."""
    document = json.loads(hugging_face_file(shared, name))
    document["added_tokens"] = []
    document["post_processor"] = None
    tok = protok.Tokenizer({"tokenizer.json": json.dumps(document).encode()})
    texts = inputs(shared / "golden")
    differences = Differences()
    for record in records(shared / "golden" / f"{name}.jsonl"):
        case, text = record["id"], texts[record["id"]]
        if len(text) > LONGEST_OF_STAGES:
            continue
        normalized = tok.encode(text, special="parse").normalized
        differences.compare(case, "norm", normalized, record.get("norm", text))
        if "pre" in record:
            differences.compare(case, "pre", pieces(tok, text), record["pre"])
    differences.check()


@pytest.mark.parametrize("name", TIKTOKEN)
def test_tiktoken(shared: Path, name: str) -> None:
    tok = tiktoken(shared, name)
    texts = inputs(shared / "golden")
    differences = Differences()
    for record in records(shared / "golden" / f"tiktoken.{name}.jsonl"):
        case, text = record["id"], texts[record["id"]]
        encoding = tok.encode(text, special="text")
        ids = encoding.tolist()
        differences.compare(case, "ids", ids, record["ids"])
        differences.compare(case, "starts", encoding.offsets[:, 0].tolist(), record["starts"])
        differences.compare(case, "decode", tok.decode(ids), record.get("decode", text))
        parsed = tok.encode(text, special="parse").tolist()
        expected = record.get("ids_all_special", record["ids"])
        differences.compare(case, "ids_all_special", parsed, expected)
        try:
            raised = tok.encode(text) is None
        except protok.SpecialTokenError:
            raised = True
        expected_to_raise = bool(record.get("default_encode_raises"))
        differences.compare(case, "special='raise' raises", raised, expected_to_raise)
    differences.check()


@pytest.mark.parametrize("name", [name for name in HUGGING_FACE if not name.startswith("toy.")])
def test_the_folder_means_the_same(shared: Path, name: str) -> None:
    """The companions of a tokenizer.json change no id."""
    alone = hugging_face(shared, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", protok.ArtifactWarning)  # CLIP's, see test_transformers
        whole = protok.load(shared / "artifacts" / name)
    for text in inputs(shared / "golden").values():
        ids = alone.encode(text, special="parse").tolist()
        assert whole.encode(text, special="parse").tolist() == ids
